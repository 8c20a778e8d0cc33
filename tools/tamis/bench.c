/* tamis bench: measures algorithms on matrices, each result checked, in ratios that can be trusted. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "exit.h"
#include "peers.h"
#include "progress.h"
#include "text.h"

#define AT(field) offsetof(tool_bench_settings, field)

static const tool_option options[] = {
    {"op", 0, TOOL_CHOSEN, "OP,...", "sddmm,spmm,fused", "operations", AT(operations), 0, 0, &tool_operations},
    {"edge", 'e', TOOL_CHOSEN, "EDGE,...", "scale", "edge operations of sddmm and fused", AT(edges), 0, 0, &tool_edges},
    {"inner", 'k', TOOL_INTEGERS, "K,...", "128", "columns of A and B; spmm: of B", AT(inner), 0, 1e9, NULL},
    {"width", 'l', TOOL_INTEGER, "L", "0", "columns of D in fused; 0: as K", AT(width), 0, 1e9, NULL},
    {"type", 't', TOOL_CHOSEN, "TYPE,...", "fp32", "element types", AT(types), 0, 0, &tool_types},
    {"device", 'd', TOOL_CHOSEN, "DEVICE,...", "best", "devices", AT(devices), 0, 0, &tool_devices},
    {"algorithm", 'a', TOOL_CHOSEN, "NAME,...", "auto",
     "auto (what a plan chooses), all, or names as 'tamis algorithms' lists them", AT(algorithms), 0, 0,
     &tool_algorithms},
    {"parameters", 0, TOOL_NAME, "P=V,...", NULL, "parameters of the algorithms named", AT(parameters), 0, 0, NULL},
    {"baseline", 'b', TOOL_NAME, "NAME", NULL,
     "the algorithm whose time over the others' is the speed-up: naive (on the CPU), another of the device, or a peer",
     AT(baseline_name), 0, 0, NULL},
    {"peers", 0, TOOL_CHOSEN, "NAME,...", NULL,
     "CUDA: other libraries, opened where they are installed, on the same data in the same run", AT(peers), 0, 0,
     &tool_peer_names},
    {"threads", 0, TOOL_INTEGERS, "T,...", "0", "threads of the CPU; 0: the device's", AT(threads), 0, 4096, NULL},
    {"repeat", 'r', TOOL_INTEGER, "N", "20", "executions of each; quick ones are executed more often", AT(repeat), 1,
     1e6, NULL},
    {"seconds", 's', TOOL_REAL, "S", "10", "budget of a case; slow ones are executed 5 times at least", AT(seconds), 0,
     1e6, NULL},
    {"cold", 0, TOOL_FLAG, NULL, NULL, "empty the caches before each execution (a GPU's: its L2)", AT(cold), 0, 0,
     NULL},
    {"calls", 0, TOOL_INTEGER, "N", "1000", "calls a plan expects, against which set-up is weighed", AT(calls), 1, 1e15,
     NULL},
    {"gather", 0, TOOL_FLAG, NULL, NULL, "CPU: also time reading the same rows with no arithmetic", AT(gather), 0, 0,
     NULL},
    {"check", 0, TOOL_FLAG, NULL, "yes", "compare each result with the oracle", AT(check), 0, 0, NULL},
    {"json", 'j', TOOL_PATH, "OUT.jsonl", NULL,
     "append one JSON object a line for each measurement, flushed at once; - for standard output", AT(json), 0, 0,
     NULL},
    {"values", 0, TOOL_CHOICE, "HOW", "as-filed", "S's values: the file's, none (a pattern) or random", AT(values), 0,
     0, &tool_operand_values},
    {"share", 0, TOOL_FLAG, NULL, NULL, "fused: D is B itself, as in graph attention", AT(share), 0, 0, NULL},
    {"beta", 0, TOOL_REAL, "BETA", "0", "beta; not 0: the output is read too", AT(beta), -1e30, 1e30, NULL},
    {"edge-scale", 0, TOOL_REAL, "X", "0", "scale of sigmoid, exp, leaky_relu, softmax; 0: 1 / sqrt(K)", AT(edge_scale),
     -1e30, 1e30, NULL},
    {"seed", 0, TOOL_INTEGER, "SEED", "1", "of the operands", AT(seed), 0, 9e18, NULL},
    {"from", 0, TOOL_CHOICE, "FORMAT", "auto", "format of the files", AT(from), 0, 0, &tool_file_formats},
    {"relabel", 0, TOOL_FLAG, NULL, NULL, "number the ids of edge lists and ratings 0, 1, ...", AT(relabel), 0, 0,
     NULL},
    {"undirected", 0, TOOL_FLAG, NULL, NULL, "store each edge of an edge list both ways", AT(undirected), 0, 0, NULL},
    {.name = NULL},
};

static const tool_example examples[] = {
    {"tamis bench mesh.mtx --baseline naive", "the three operations at K = 128 beside the naive loop"},
    {"tamis bench *.npz --inner 32,128,512 --threads 1,2 --algorithm all --json out.jsonl",
     "every algorithm on many matrices, one JSON line a measurement"},
    {"tamis bench generate:rmat:rows=262144,nnz=8M,name=rmat18 --op sddmm --gather",
     "a generated matrix, and what reading its rows alone takes"},
    {"tamis bench mesh.mtx --device cuda:0 --algorithm all --peers cusparse,cublas --baseline cusparse --cold",
     "a GPU beside the vendor's libraries, from an empty L2"},
    {NULL, NULL},
};

static const double BUSY = 0.15; /* processors of others from which results are doubtful */

/* The run as a whole. */
typedef struct bench_run {
    const tool_bench_settings *settings;
    tool_bench_report report;
    int64_t cases, done;
    int worst;
} bench_run;

static void note(bench_run *run, int code) {
    if (code && (run->worst == 0 || run->worst == TOOL_FAILED)) run->worst = code;
}

/* The oracle of a problem; NULL where there is none to be had. */
static const tool_oracle *make_oracle(bench_run *run, const tool_problem *problem, tool_oracle *oracle) {
    const double budget = 5e7; /* multiplications: well under a second */
    const tamis_status status = tool_oracle_create(problem, budget, oracle);
    if (status == TAMIS_OK) return oracle;
    note(run, tool_library_error(status, "oracle"));
    return NULL;
}

static bool peers_wanted(const tool_bench_settings *settings, const tool_device *device) {
    const bool baseline = settings->baseline_name && tool_peer_find(settings->baseline_name);
    return device->gpu && device->addresses && (settings->peers.count > 0 || baseline);
}

/* All thread counts of one problem; its operands and its oracles serve them all. A GPU has one. */
static void bench_threads(bench_run *run, tool_bench_case *one) {
    const tool_bench_settings *settings = run->settings;
    const tool_problem *problem = &one->problem;
    const int counts = one->device->gpu ? 1 : settings->threads.count;
    for (int i = 0; i < counts && !tool_interrupted(); i++) {
        const int64_t wanted = one->device->gpu ? 0 : settings->threads.at[i];
        one->threads = wanted > 0 ? (int)wanted : one->device->description.threads;
        tool_progress((double)run->done / (double)run->cases, "%s %s K = %lld", one->source->name,
                      tamis_operation_name(problem->operation), (long long)problem->inner);
        tool_bench_results results;
        note(run, tool_bench_measure(one, &results));
        if (results.interrupted) return;
        note(run, tool_bench_report_case(&run->report, one, &results));
        run->done++;
    }
    run->done += settings->threads.count - counts;
}

static void bench_problem(bench_run *run, tool_bench_case *one) {
    const tool_bench_settings *settings = run->settings;
    tool_operands operands;
    tool_problem *problem = &one->problem;
    tamis_status status = tool_operands_random(problem, TAMIS_ROW_MAJOR, 0, 0, (uint64_t)settings->seed, &operands);
    if (status != TAMIS_OK) {
        note(run, tool_library_error(status, one->source->name));
        run->done += settings->threads.count;
        return;
    }
    if (settings->share && problem->operation == TAMIS_OP_FUSED && problem->width == problem->inner) {
        problem->D = problem->B;
    }
    tool_oracle oracle = {0}, masked = {0};
    one->oracle = one->masked = settings->check ? make_oracle(run, problem, &oracle) : NULL;
    if (one->oracle && tool_uses_edge(problem->operation) && problem->edge == TAMIS_EDGE_SCALE &&
        peers_wanted(settings, one->device)) {
        tool_problem other = *problem;
        other.edge = TAMIS_EDGE_MASK;
        one->masked = make_oracle(run, &other, &masked);
    }
    bench_threads(run, one);
    one->oracle = one->masked = NULL;
    tool_oracle_free(&oracle);
    tool_oracle_free(&masked);
    tool_operands_free(&operands);
}

static void bench_operations(bench_run *run, tool_bench_case *one) {
    const tool_bench_settings *settings = run->settings;
    for (int o = 0; o < settings->operations.count; o++) {
        const tamis_operation operation = (tamis_operation)settings->operations.at[o];
        const int edges = tool_uses_edge(operation) ? settings->edges.count : 1;
        for (int e = 0; e < edges; e++) {
            for (int k = 0; k < settings->inner.count && !tool_interrupted(); k++) {
                tool_problem *problem = &one->problem;
                const int64_t inner = settings->inner.at[k];
                problem->operation = operation;
                problem->edge = tool_uses_edge(operation) ? (tamis_edge)settings->edges.at[e] : TAMIS_EDGE_SCALE;
                problem->inner = inner;
                problem->width = operation == TAMIS_OP_FUSED && settings->width > 0 ? settings->width : inner;
                problem->edge_scale = settings->edge_scale != 0 ? settings->edge_scale : tool_default_scale(inner);
                problem->edge_slope = 0.01;
                problem->edge_epsilon = 1e-10;
                problem->alpha = 1;
                problem->beta = settings->beta;
                bench_problem(run, one);
            }
        }
    }
}

/* S's values in the type wanted, and by the --values policy; NULL for a pattern. *failed on an error. */
static void *make_values(const tool_bench_settings *settings, const tamis_sparse *S, tamis_type type, int *code) {
    enum { AS_FILED, NONE, RANDOM };
    if (settings->values == NONE || (settings->values == AS_FILED && !S->values)) return NULL;
    if (settings->values == AS_FILED) return tool_values_convert(S->values, S->value_type, type, S->nnz);
    void *values = tool_allocate((size_t)S->nnz, tamis_type_size(type));
    const tamis_dense view = {.data = values, .rows = S->nnz, .cols = 1, .stride = 1, .type = type};
    const tamis_status status = tamis_fill_uniform(&view, (uint64_t)settings->seed, -1, 1);
    if (status != TAMIS_OK) *code = tool_library_error(status, "values");
    return values;
}

static void bench_types(bench_run *run, tool_bench_case *one) {
    const tool_bench_settings *settings = run->settings;
    const tamis_sparse *S = one->source->S;
    for (int t = 0; t < settings->types.count && !tool_interrupted(); t++) {
        one->problem.type = (tamis_type)settings->types.at[t];
        one->problem.S = *S;
        one->problem.S.value_type = one->problem.type;
        int code = 0;
        void *values = make_values(settings, S, one->problem.type, &code);
        one->problem.S.values = values;
        note(run, code);
        if (code == 0) bench_operations(run, one);
        free(values);
    }
}

static void bench_source(bench_run *run, const tool_source *source, const tool_device *device) {
    tool_bench_case one = {.settings = run->settings, .source = source, .device = device};
    one.touched = tool_touched_count(source->S);
    const int code = run->settings->cold ? tool_flush_create(device, device->description.threads, &one.flush) : TOOL_OK;
    note(run, code);
    if (code == 0) bench_types(run, &one);
    tool_flush_free(one.flush);
}

static int64_t cases_of_a_matrix(const tool_bench_settings *settings) {
    int64_t cases = 0;
    for (int o = 0; o < settings->operations.count; o++) {
        cases += tool_uses_edge((tamis_operation)settings->operations.at[o]) ? settings->edges.count : 1;
    }
    return cases * settings->inner.count * settings->types.count * settings->threads.count * settings->devices.count;
}

static int check_settings(const tool_bench_settings *settings) {
    const char *name = settings->baseline_name;
    if (!name || tool_peer_find(name) || tool_choices_find(&tool_algorithms_one, name, strlen(name)) > 0) return 0;
    return tool_usage_error("--baseline: '%s' is neither an algorithm, as 'tamis algorithms' lists them, nor a peer",
                            name);
}

static int open_devices(const tool_bench_settings *settings, tool_device *devices) {
    for (int d = 0; d < settings->devices.count; d++) {
        const int code = tool_device_open(settings->devices.at[d], true, &devices[d]);
        if (code) return code;
    }
    return 0;
}

static void bench_file(bench_run *run, const char *path, const tool_device *devices) {
    const tool_bench_settings *settings = run->settings;
    tamis_read_options reading = TAMIS_READ_OPTIONS_INIT;
    reading.file_format = (tamis_file_format)settings->from;
    reading.value_type = settings->types.count == 1 ? (tamis_type)settings->types.at[0] : TAMIS_F64;
    reading.relabel = settings->relabel;
    reading.undirected = settings->undirected;
    tool_source source;
    const int code = tool_source_open(path, &reading, &source);
    if (code) {
        note(run, code);
        run->done += cases_of_a_matrix(settings);
        return;
    }
    tool_bench_report_matrix(&run->report, &source);
    for (int d = 0; d < settings->devices.count && !tool_interrupted(); d++) bench_source(run, &source, &devices[d]);
    tool_source_close(&source);
}

static int run_bench(const void *given, int count, char **operands) {
    const tool_bench_settings *settings = given;
    bench_run run = {.settings = settings, .cases = cases_of_a_matrix(settings) * count};
    int code = check_settings(settings);
    if (code) return code;
    tool_device *devices = tool_allocate(TOOL_LIST_LIMIT, sizeof *devices);
    tool_interrupt_catch(); /* before the devices: their probe takes a while on a new machine */
    code = open_devices(settings, devices);
    if (code == 0) code = tool_lines_open(&run.report.lines, settings->json);
    if (code == 0) {
        const bool terminal = isatty(STDOUT_FILENO);
        const bool taken = settings->json && strcmp(settings->json, "-") == 0;
        run.report.table = !taken && (terminal || !settings->json);
        run.report.bold = terminal && !taken;
        if (settings->baseline_name) {
            snprintf(run.report.versus, sizeof run.report.versus, "x %s", settings->baseline_name);
        }
        for (int i = 0; i < count && !tool_interrupted(); i++) bench_file(&run, operands[i], devices);
        tool_progress_clear();
        if (!tool_interrupted()) tool_bench_report_end(&run.report, &devices[0]);
        if (tool_measure_disturbance() > BUSY) {
            tool_warning("other processes kept %.1f processors busy meanwhile: trust the least times more than the "
                         "medians, or measure again",
                         tool_measure_disturbance());
        }
        code = run.worst;
        const int closed = tool_lines_close(&run.report.lines);
        if (closed) code = closed;
        if (tool_interrupted()) {
            tool_error("interrupted after %lld of %lld cases; what was measured has been written", (long long)run.done,
                       (long long)run.cases);
            code = TOOL_INTERRUPTED;
        }
    }
    for (int d = 0; d < settings->devices.count; d++) tool_device_close(&devices[d]);
    free(devices);
    return code;
}

const tool_command tool_bench_command = {
    .name = "bench",
    .summary = "measure algorithms, each result checked, beside floor and baseline",
    .operands = "FILE ...",
    .least = 1,
    .most = -1,
    .description =
        "Measures operations on each FILE through plans: the algorithms, the baseline and the gather take turns (A B C A "
        "B C ...), so that what else the machine does hits all alike; medians are reported. The operands are random and "
        "seeded, in aligned memory on huge pages, the same for all. Each result is compared with the oracle on sampled "
        "rows; one out of tolerance ends the program with code 1.\n\n"
        "On a GPU the executions of a turn are put into its queue together, each between two of its events, after three "
        "that warm up; copying to the device and making the plan (init_ms of the JSON lines), computing (median_ms) and "
        "fetching the result and freeing (cleanup_ms) are measured apart. --cold has the GPU itself read four times "
        "its L2 before each. --peers adds cuSPARSE (sddmm, whose result is that of edge mask; spmm by the fastest "
        "of its algorithms; fused as one after the other) and cuBLAS (sddmm: the whole dense product, where it fits a "
        "quarter of the free memory); TAMIS_CUSPARSE, TAMIS_CUBLAS name their files where they are not found.\n\n"
        "The floor is the larger of the arithmetic over the measured peak and the bytes that must move (each input read "
        "once, each output written once) over the measured memory bandwidth. FILE may also be generate:KIND:rows=..,"
        "nnz=..,name=.. with the options of 'tamis generate' as keys. A bad file is reported and the rest goes on. After "
        "Ctrl-C the lines written are complete.",
    .options = options,
    .examples = examples,
    .settings_size = sizeof(tool_bench_settings),
    .run = run_bench,
};
