/* Runs the cases of a suite one after the other, each with its own options. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/visible.h"

/* A case of the suite, ready to run. */
typedef struct suite_case {
    const tool_suite_case *one;
    tool_bench_settings settings;
    tool_inputs inputs;
} suite_case;

/* Fills in the settings of a case: the presets, then its own options, then the command line's. */
static int read_settings(const tool_suite *suite, const tool_option *options, suite_case *ready) {
    const tool_suite_case *one = ready->one;
    char **words = tool_allocate((size_t)one->option_count, sizeof *words); /* the parser moves operands to the front */
    for (int i = 0; i < one->option_count; i++) words[i] = one->options[i];
    int operands = 0;
    bool help = false;
    tool_options_preset(options, &ready->settings);
    int code = tool_options_parse(options, &ready->settings, one->option_count, words, &operands, &help);
    if (code == 0 && (operands > 0 || help))
        code = tool_usage_error("'%s' is not an option", operands > 0 ? words[0] : "--help");
    free((void *)words);
    if (code) tool_error("%s: line %d: invalid options", suite->path, one->line);
    return code ? code : tool_options_repeat(options, &ready->settings);
}

static bool applies(const tool_bench_run *run, const tool_suite_case *one, const tool_device *devices) {
    if (one->full != run->full) return false;
    for (int d = 0; d < run->settings->devices.count; d++)
        if (tool_bench_is_place(&devices[d], one->place)) return true;
    return false;
}

static void show_title(const tool_bench_run *run, const suite_case *ready, int number, int count) {
    if (!run->report.table) return;
    tool_progress_clear();
    printf("%s%scase %d of %d:", number > 1 ? "\n" : "", run->report.bold ? "\033[1m" : "", number, count);
    for (int i = 0; i < ready->one->option_count; i++) printf(" %s", tool_visible(ready->one->options[i]));
    printf("%s\n\n", run->report.bold ? "\033[0m" : "");
}

static void measure(tool_bench_run *run, const suite_case *ready, const tool_device *devices) {
    run->settings = &ready->settings;
    run->place = ready->one->place;
    for (int i = 0; i < ready->inputs.count && !tool_interrupted(); i++)
        tool_bench_input(run, &ready->inputs.at[i], devices);
}

int tool_bench_suite(tool_bench_run *run, const tool_option *options, const tool_device *devices, int count,
                     char *const *files) {
    const tool_suite *suite = run->suite;
    const tool_bench_settings *whole = run->settings;
    suite_case *ready = tool_allocate((size_t)suite->case_count, sizeof *ready);
    int cases = 0, code = 0;
    for (int c = 0; c < suite->case_count && code == 0; c++) {
        if (!applies(run, &suite->cases[c], devices)) continue;
        suite_case *next = &ready[cases++];
        next->one = &suite->cases[c];
        code = read_settings(suite, options, next);
        if (code == 0) code = tool_suite_inputs(suite, next->one, count, files, &next->inputs);
        run->cases += tool_bench_cases(&next->settings) * next->inputs.count;
    }
    if (code == 0 && cases == 0)
        code = tool_failure(TOOL_UNSUPPORTED, "suite %s has no %s case for %s", suite->name,
                            run->full ? "full" : "small", devices[0].description.name);
    if (code == 0 && run->report.table)
        printf("%s\n%s\n", tool_visible(suite->title ? suite->title : suite->name),
               suite->about ? tool_visible(suite->about) : "");
    for (int c = 0; c < cases && code == 0 && !tool_interrupted(); c++) {
        show_title(run, &ready[c], c + 1, cases);
        measure(run, &ready[c], devices);
    }
    run->settings = whole;
    for (int c = 0; c < cases; c++) tool_inputs_free(&ready[c].inputs);
    free(ready);
    return code;
}
