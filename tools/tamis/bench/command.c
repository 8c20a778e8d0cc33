/* tamis bench: measures algorithms on matrices, checks each result, and gives reliable ratios. */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/peers.h"
#include "cli/command.h"
#include "cli/edges.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "group/choice.h"

#define AT(field) offsetof(tool_bench_settings, field)

static const tool_option options[] = {
    TOOL_OPERATIONS(AT(operations)),
    TOOL_CHOSEN("edge", 'e', "EDGE,...", "scale", AT(edges), &tool_edges,
                "edge operations of sddmm and fused, or expressions"),
    TOOL_LET(AT(let)),
    TOOL_WIDTHS(AT(inner)),
    TOOL_FUSED_WIDTH(AT(width)),
    TOOL_INTEGER("batch", 0, "N", "1", AT(batch), 1, 65536,
                 "number of sets of dense operands for one S, like attention heads"),
    TOOL_ELEMENT_TYPES(AT(types)),
    TOOL_MATH(AT(math)),
    TOOL_CHOSEN("device", 'd', "DEVICE,...", "best", AT(devices), &tool_devices, "devices"),
    TOOL_CHOSEN("devices", 0, "DEVICE,...", NULL, AT(group.devices), &tool_devices,
                "several devices together, each with its rows and a thread, compared with the first of them alone"),
    TOOL_OVERLAP(AT(group.overlap)),
    TOOL_SHARED_OUT(tool_bench_settings),
    TOOL_LINK(AT(group.link)),
    TOOL_NAME("suite", 0, "NAME", AT(suite), "measure a suite: a built-in one, or a file"),
    TOOL_CHOICE("tier", 0, "TIER", "full", AT(tier), &tool_tiers,
                "tier of the suite: its small cases, or the full ones"),
    TOOL_CHOSEN("algorithm", 'a', "NAME,...", "auto", AT(algorithms), &tool_algorithms,
                "auto (what a plan chooses), all, or names from 'tamis algorithms'"),
    TOOL_EFFORT(AT(effort)),
    TOOL_NAME("parameters", 0, "P=V,...", AT(parameters), "parameters of the named algorithms"),
    TOOL_NAME("variants", 0, "NAME:P=V[:P=V...],...", AT(variants),
              "additional contestants: algorithms with parameters"),
    TOOL_NAME("baseline", 'b', "NAME", AT(baseline_name),
              "the algorithm that speed-ups refer to: naive (on the CPU), another algorithm of the device, or a peer"),
    TOOL_CHOSEN("peers", 0, "NAME,...", NULL, AT(peers), &tool_peer_names,
                "other libraries, if installed, on the same data in the same run"),
    TOOL_INTEGERS("threads", 0, "T,...", "0", AT(threads), 0, TOOL_THREADS_MOST,
                  "CPU threads; 0: the device's setting"),
    TOOL_INTEGER("repeat", 'r', "N", "20", AT(repeat), 1, 1e6,
                 "executions of each contestant; fast ones are executed more often"),
    TOOL_REAL("seconds", 's', "S", "10", AT(seconds), 0, 1e6,
              "time budget of a case; slow contestants are executed at least 5 times"),
    TOOL_FLAG("cold", 0, AT(cold), "empty the caches before each execution (on a GPU, the L2)"),
    TOOL_INTEGER("calls", 0, "N", "1000", AT(calls), 1, 1e15,
                 "expected calls of a plan, which decide how much set-up pays off"),
    TOOL_FLAG("gather", 0, AT(gather), "CPU: also time reading the same rows without arithmetic"),
    {"check", 0, TOOL_FLAG, NULL, "yes", "compare each result with the oracle", AT(check), 0, 0, NULL},
    TOOL_JSON_LINES("measurement", AT(json)),
    TOOL_ADDED_TO("timings", 0, "FILE", AT(timings),
                  "add the times to FILE, for 'tamis tune-device --timings'; cases that it has are not measured again"),
    TOOL_CHOICE("values", 0, "HOW", "as-filed", AT(values), &tool_operand_values,
                "S's values: from the file, none (a pattern) or random"),
    TOOL_FLAG("share", 0, AT(share), "fused: use B as D, as in graph attention"),
    TOOL_REAL("beta", 0, "BETA", "0", AT(beta), -1e30, 1e30, "beta; if not 0, the output is also read"),
    TOOL_REAL("edge-scale", 0, "X", "0", AT(edge_scale), -1e30, 1e30,
              "scale of sigmoid, exp, leaky_relu, softmax; 0: 1 / sqrt(K)"),
    TOOL_SEED(AT(seed)),
    TOOL_READING(tool_bench_settings),
    {.name = NULL},
};

static int check_settings(const tool_bench_settings *settings) {
    for (const char *list = settings->variants, *variant; list && *list;) {
        char parameters[128];
        TOOL_TRY(tool_bench_take_variant(&list, &variant, parameters, sizeof parameters));
    }
    const bool all = settings->algorithms.count == 1 && settings->algorithms.at[0] == 1;
    if (settings->timings && (settings->devices.count != 1 || settings->group.devices.count > 0 || settings->suite))
        return tool_usage_error(
            "--timings: the timings are one device's, of matrices that are named: without --devices and --suite");
    if (settings->timings && (!all || settings->cold || settings->beta != 0 || settings->effort != 0))
        return tool_usage_error(
            "--timings: needs --algorithm all, and no --cold, --beta or --effort: predictions are of all algorithms as they are");
    const char *name = settings->baseline_name;
    if (!name || tool_peer_find(name) || tool_choices_find(&tool_algorithms_one, name, strlen(name)) > 0) return 0;
    return tool_usage_error("--baseline: '%s' is neither an algorithm from 'tamis algorithms' nor a peer", name);
}

/* Measures the named matrices, each a file or a folder. */
static int bench_files(tool_bench_run *run, const tool_device *devices, int count, char **operands) {
    tool_inputs inputs = {0};
    int code = 0;
    for (int i = 0; i < count && code == 0; i++) code = tool_inputs_add_path(&inputs, operands[i]);
    run->cases = tool_bench_cases(run->settings) * inputs.count;
    for (int i = 0; i < inputs.count && code == 0 && !tool_interrupted(); i++)
        tool_bench_input(run, &inputs.at[i], devices);
    tool_inputs_free(&inputs);
    return code;
}

static int bench(tool_bench_run *run, const tool_device *devices, int count, char **operands) {
    for (int d = 0; d < run->settings->devices.count; d++) TOOL_TRY(tool_bench_record_run(run, &devices[d]));
    const int code = run->suite ? tool_bench_suite(run, options, devices, count, operands)
                                : bench_files(run, devices, count, operands);
    tool_bench_close_inputs();
    return code;
}

/* Refuses options that compare contestants on one device. */
static int check_together(const tool_bench_settings *settings) {
    const struct {
        const char *name;
        bool given;
    } others[] = {{"--suite", settings->suite != NULL},
                  {"--variants", settings->variants != NULL},
                  {"--baseline", settings->baseline_name != NULL},
                  {"--peers", settings->peers.count > 0},
                  {"--batch", settings->batch > 1},
                  {"--cold", settings->cold},
                  {"--gather", settings->gather}};
    if (settings->group.devices.count == 0) return 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].given) return tool_usage_error("%s does not go with --devices", others[i].name);
    if (settings->algorithms.count == 1 && settings->algorithms.at[0] != 1) return 0;
    return tool_usage_error("--algorithm: with --devices it is one name, or auto");
}

static int run_bench(const void *given, int count, char **operands) {
    tool_bench_settings settled = *(const tool_bench_settings *)given;
    const tool_bench_settings *settings = &settled;
    tool_bench_run run = {.settings = settings, .full = settings->tier == 1};
    TOOL_TRY(tool_edges_let(settings->let));
    TOOL_TRY(tool_group_begin(&settled.group));
    if (settled.group.devices.count > 0) settled.devices = tool_group_first(&settled.group).devices;
    TOOL_TRY(check_settings(settings));
    TOOL_TRY(check_together(settings));
    if (!settings->suite && count == 0) return tool_usage_error("FILE or --suite NAME is missing");
    tool_suite suite = {0};
    if (settings->suite) {
        run.suite = &suite;
        const int opened = tool_suite_open(settings->suite, &suite);
        if (opened) tool_suite_free(&suite);
        TOOL_TRY(opened);
    }
    tool_bench_run_begin(&run);
    setvbuf(stdout, NULL, _IOLBF, 0); /* each line is flushed at once, as a signal may end the process at any moment */
    tool_device *devices = tool_allocate(TOOL_LIST_LIMIT, sizeof *devices);
    int code = 0;
    for (int d = 0; d < settings->devices.count && code == 0; d++)
        code = tool_device_open(settings->devices.at[d], true, &devices[d]);
    tool_timings timings = {.list = NULL};
    if (code == 0 && settings->timings) {
        code = tool_timings_open(&devices[0], settings->timings, &timings);
        run.timings = &timings;
    }
    if (code == 0) code = tool_lines_open(&run.report.lines, settings->json);
    if (code == 0) {
        run.report.table = run.report.lines.out != stdout;
        run.report.bold = run.report.table && isatty(STDOUT_FILENO);
        code = bench(&run, devices, count, operands);
        tool_progress_clear();
        if (code == 0 && !tool_interrupted()) tool_bench_report_end(&run.report, &devices[0]);
        if (timings.skipped > 0)
            tool_note("%lld cases were in %s, and were not measured again", (long long)timings.skipped,
                      settings->timings);
        if (run.report.disturbed > 0)
            tool_warning("other processes used up to %.1f processors during %d of %d cases, which are left out of "
                         "summaries: measure these again",
                         run.report.others, run.report.disturbed, run.report.cases);
        if (code == 0) code = run.worst;
        const int closed = tool_lines_close(&run.report.lines), saved = tool_timings_save(&timings, true);
        if (closed || saved) code = closed ? closed : saved;
        if (tool_interrupted())
            code = tool_failure(TOOL_INTERRUPTED,
                                "interrupted after %lld of %lld cases; the completed measurements have been written",
                                (long long)run.done, (long long)run.cases);
    }
    tamis_timings_destroy(timings.list);
    for (int d = 0; d < settings->devices.count; d++) tool_device_close(&devices[d]);
    free(devices);
    tool_suite_free(&suite);
    return code;
}

const tool_command tool_bench_command =
    TOOL_COMMAND("bench", "[FILE ...]", "time algorithms, check their results, and compare with a baseline", options,
                 tool_bench_settings, .run = run_bench);
