/* tamis bench: measures algorithms on matrices, checks each result, and gives reliable ratios. */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/peers.h"
#include "cli/command.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/text.h"
#include "group/choice.h"

#define AT(field) offsetof(tool_bench_settings, field)

static const tool_option options[] = {
    {"op", 0, TOOL_CHOSEN, "OP,...", "sddmm,spmm,fused", "operations", AT(operations), 0, 0, &tool_operations},
    {"edge", 'e', TOOL_CHOSEN, "EDGE,...", "scale", "edge operations of sddmm and fused", AT(edges), 0, 0, &tool_edges},
    {"inner", 'k', TOOL_INTEGERS, "K,...", "128", "columns of A and B, or of B for spmm", AT(inner), 0, 1e9, NULL},
    {"width", 'l', TOOL_INTEGER, "L", NULL, "columns of D in fused; by default K", AT(width), 1, 1e9, NULL},
    {"batch", 0, TOOL_INTEGER, "N", "1", "number of sets of dense operands for one S, like attention heads", AT(batch),
     1, 65536, NULL},
    {"type", 't', TOOL_CHOSEN, "TYPE,...", "fp32", "element types", AT(types), 0, 0, &tool_types},
    TOOL_MATH(AT(math)),
    {"device", 'd', TOOL_CHOSEN, "DEVICE,...", "best", "devices", AT(devices), 0, 0, &tool_devices},
    {"devices", 0, TOOL_CHOSEN, "DEVICE,...", NULL,
     "several devices together, each with its rows and a thread, compared with the first of them alone",
     AT(group.devices), 0, 0, &tool_devices},
    TOOL_OVERLAP(AT(group.overlap)),
    TOOL_EXCHANGE(AT(group.exchange)),
    TOOL_SPREAD(AT(group.spread)),
    TOOL_PARTITION(AT(group.partition)),
    TOOL_TRANSPORT(AT(group.transport)),
    TOOL_LINK(AT(group.link)),
    {"suite", 0, TOOL_NAME, "NAME", NULL, "measure a suite: a built-in one, or a file", AT(suite), 0, 0, NULL},
    {"tier", 0, TOOL_CHOICE, "TIER", "full", "tier of the suite: its small cases, or the full ones", AT(tier), 0, 0,
     &tool_tiers},
    {"algorithm", 'a', TOOL_CHOSEN, "NAME,...", "auto",
     "auto (what a plan chooses), all, or names from 'tamis algorithms'", AT(algorithms), 0, 0, &tool_algorithms},
    {"effort", 0, TOOL_CHOICE, "EFFORT", "estimate",
     "how auto chooses: by predictions, or by timing the best candidates, once for each kind of problem", AT(effort), 0,
     0, &tool_efforts},
    {"parameters", 0, TOOL_NAME, "P=V,...", NULL, "parameters of the named algorithms", AT(parameters), 0, 0, NULL},
    {"variants", 0, TOOL_NAME, "NAME:P=V[:P=V...],...", NULL, "additional contestants: algorithms with parameters",
     AT(variants), 0, 0, NULL},
    {"baseline", 'b', TOOL_NAME, "NAME", NULL,
     "the algorithm that speed-ups refer to: naive (on the CPU), another algorithm of the device, or a peer",
     AT(baseline_name), 0, 0, NULL},
    {"peers", 0, TOOL_CHOSEN, "NAME,...", NULL, "other libraries, if installed, on the same data in the same run",
     AT(peers), 0, 0, &tool_peer_names},
    {"threads", 0, TOOL_INTEGERS, "T,...", "0", "CPU threads; 0: the device's setting", AT(threads), 0,
     TOOL_THREADS_MOST, NULL},
    {"repeat", 'r', TOOL_INTEGER, "N", "20", "executions of each contestant; fast ones are executed more often",
     AT(repeat), 1, 1e6, NULL},
    {"seconds", 's', TOOL_REAL, "S", "10", "time budget of a case; slow contestants are executed at least 5 times",
     AT(seconds), 0, 1e6, NULL},
    {"cold", 0, TOOL_FLAG, NULL, NULL, "empty the caches before each execution (on a GPU, the L2)", AT(cold), 0, 0,
     NULL},
    {"calls", 0, TOOL_INTEGER, "N", "1000", "expected calls of a plan, which decide how much set-up pays off",
     AT(calls), 1, 1e15, NULL},
    {"gather", 0, TOOL_FLAG, NULL, NULL, "CPU: also time reading the same rows without arithmetic", AT(gather), 0, 0,
     NULL},
    {"check", 0, TOOL_FLAG, NULL, "yes", "compare each result with the oracle", AT(check), 0, 0, NULL},
    TOOL_JSON_LINES("measurement", AT(json)),
    {"values", 0, TOOL_CHOICE, "HOW", "as-filed", "S's values: from the file, none (a pattern) or random", AT(values),
     0, 0, &tool_operand_values},
    {"share", 0, TOOL_FLAG, NULL, NULL, "fused: use B as D, as in graph attention", AT(share), 0, 0, NULL},
    {"beta", 0, TOOL_REAL, "BETA", "0", "beta; if not 0, the output is also read", AT(beta), -1e30, 1e30, NULL},
    {"edge-scale", 0, TOOL_REAL, "X", "0", "scale of sigmoid, exp, leaky_relu, softmax; 0: 1 / sqrt(K)", AT(edge_scale),
     -1e30, 1e30, NULL},
    {"seed", 0, TOOL_INTEGER, "SEED", "1", "seed of the operands", AT(seed), 0, 9e18, NULL},
    TOOL_READING(tool_bench_settings),
    {.name = NULL},
};

static int check_settings(const tool_bench_settings *settings) {
    for (const char *list = settings->variants, *variant; list && *list;) {
        char parameters[128];
        const int code = tool_bench_take_variant(&list, &variant, parameters, sizeof parameters);
        if (code) return code;
    }
    const char *name = settings->baseline_name;
    if (!name || tool_peer_find(name) || tool_choices_find(&tool_algorithms_one, name, strlen(name)) > 0) return 0;
    return tool_usage_error("--baseline: '%s' is neither an algorithm from 'tamis algorithms' nor a peer", name);
}

static int open_devices(const tool_bench_settings *settings, tool_device *devices) {
    for (int d = 0; d < settings->devices.count; d++) {
        const int code = tool_device_open(settings->devices.at[d], true, &devices[d]);
        if (code) return code;
    }
    return 0;
}

/* Measures the named matrices, each a file or a folder. */
static int bench_files(tool_bench_run *run, const tool_device *devices, int count, char **operands) {
    tool_inputs inputs = {0};
    int code = 0;
    for (int i = 0; i < count && code == 0; i++) code = tool_inputs_add_path(&inputs, operands[i]);
    run->cases = tool_bench_cases(run->settings) * inputs.count;
    for (int i = 0; i < inputs.count && code == 0 && !tool_interrupted(); i++) {
        tool_bench_input(run, &inputs.at[i], devices);
    }
    tool_inputs_free(&inputs);
    return code;
}

static int bench(tool_bench_run *run, const tool_device *devices, int count, char **operands) {
    int code = 0;
    for (int d = 0; d < run->settings->devices.count && code == 0; d++) code = tool_bench_record_run(run, &devices[d]);
    if (code) return code;
    code = run->suite ? tool_bench_suite(run, options, devices, count, operands)
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
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i].given) return tool_usage_error("%s does not go with --devices", others[i].name);
    }
    if (settings->algorithms.count == 1 && settings->algorithms.at[0] != 1) return 0;
    return tool_usage_error("--algorithm: with --devices it is one name, or auto");
}

static int run_bench(const void *given, int count, char **operands) {
    tool_bench_settings settled = *(const tool_bench_settings *)given;
    const tool_bench_settings *settings = &settled;
    tool_bench_run run = {.settings = settings, .full = settings->tier == 1};
    int code = tool_group_begin(&settled.group);
    if (settled.group.devices.count > 0) settled.devices = tool_group_first(&settled.group).devices;
    if (code == 0) code = check_settings(settings);
    if (code == 0) code = check_together(settings);
    if (code == 0 && !settings->suite && count == 0) code = tool_usage_error("FILE or --suite NAME is missing");
    if (code) return code;
    tool_suite suite = {0};
    if (settings->suite) {
        code = tool_suite_open(settings->suite, &suite);
        run.suite = &suite;
        if (code) tool_suite_free(&suite);
    }
    if (code) return code;
    tool_bench_run_begin(&run);
    setvbuf(stdout, NULL, _IOLBF, 0); /* each line is flushed at once, as a signal may end the process at any moment */
    tool_device *devices = tool_allocate(TOOL_LIST_LIMIT, sizeof *devices);
    code = open_devices(settings, devices);
    if (code == 0) code = tool_lines_open(&run.report.lines, settings->json);
    if (code == 0) {
        const bool terminal = isatty(STDOUT_FILENO);
        const bool taken = settings->json && strcmp(settings->json, "-") == 0;
        run.report.table = !taken;
        run.report.bold = terminal && !taken;
        if (settings->baseline_name) {
            snprintf(run.report.versus, sizeof run.report.versus, "x %s", settings->baseline_name);
        }
        code = bench(&run, devices, count, operands);
        tool_progress_clear();
        if (code == 0 && !tool_interrupted()) tool_bench_report_end(&run.report, &devices[0]);
        if (run.report.disturbed > 0) {
            tool_warning("other processes used up to %.1f processors during %d of %d cases, which are left out of "
                         "summaries: measure these again",
                         run.report.others, run.report.disturbed, run.report.cases);
        }
        if (code == 0) code = run.worst;
        const int closed = tool_lines_close(&run.report.lines);
        if (closed) code = closed;
        if (tool_interrupted()) {
            tool_error("interrupted after %lld of %lld cases; the completed measurements have been written",
                       (long long)run.done, (long long)run.cases);
            code = TOOL_INTERRUPTED;
        }
    }
    for (int d = 0; d < settings->devices.count; d++) tool_device_close(&devices[d]);
    free(devices);
    tool_suite_free(&suite);
    return code;
}

const tool_command tool_bench_command = {
    .name = "bench",
    .summary = "time algorithms, check their results, and compare with a baseline",
    .operands = "[FILE ...]",
    .options = options,
    .settings_size = sizeof(tool_bench_settings),
    .run = run_bench,
};
