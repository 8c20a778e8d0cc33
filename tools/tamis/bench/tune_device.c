/*
 * tamis tune-device: measures every algorithm on generated matrices, and stores a correction factor for each
 * prediction.
 *
 * The factor of an algorithm, operation, type and width is the geometric mean of measured over predicted times. Nothing
 * else is fitted: the cost model describes how time grows with a matrix, a factor the speed of this device. Cases
 * disturbed by other processes are left out; if there are many, nothing is stored, since a wrong factor would spoil the
 * choices of all plans until the next tuning.
 */
#include <tamis/ceilings.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "bench/bench.h"
#include "cli/command.h"
#include "cli/exit.h"
#include "cli/json.h"
#include "cli/progress.h"

typedef struct settings {
    int device;
    tool_chosen types, operations;
    tool_integers inner;
    double seconds;
    bool json, small, reset;
} settings;

#define AT(field) offsetof(settings, field)

static const tool_option options[] = {
    TOOL_CHOICE("device", 'd', "DEVICE", "best", AT(device), &tool_devices, "the device"),
    TOOL_OPERATIONS(AT(operations)),
    TOOL_ELEMENT_TYPES(AT(types)),
    TOOL_INTEGERS("inner", 'k', "K,...", "32,128", AT(inner), 1, 1e6, "columns of A and B, or of B for spmm"),
    TOOL_REAL("seconds", 's', "S", "1", AT(seconds), 0, 1e6, "time budget of a case"),
    TOOL_FLAG("small", 0, AT(small), "matrices of thousands of nonzeros, to try the command"),
    TOOL_FLAG("reset", 0, AT(reset), "forget what was measured before, and measure nothing"),
    TOOL_JSON_OBJECT(AT(json)),
    {.name = NULL},
};

/* Graphs, meshes, bands, attention and layers, of typical sizes. */
static const char *const matrices[] = {
    "generate:rmat:rows=20000,nnz=200000,name=graph",
    "generate:rmat:rows=131072,nnz=2000000,name=large-graph",
    "generate:uniform:rows=30000,nnz=900000,name=uniform",
    "generate:fem:rows=15000,nnz=600000,block=3,name=mesh",
    "generate:banded:rows=60000,nnz=360000,band=64,name=band",
    "generate:scatter:rows=20000,nnz=120000,name=circuit",
    "generate:window:rows=4096,band=256,global=16,name=window",
    "generate:uniform:rows=2048,density=0.1,name=layer-10",
    "generate:uniform:rows=2048,density=0.3,name=layer-30",
};
static const char *const small_matrices[] = {"generate:rmat:rows=500,nnz=5000,name=graph",
                                             "generate:banded:rows=600,nnz=6000,band=20,name=band",
                                             "generate:uniform:rows=128,density=0.2,name=layer"};

/* One algorithm's times of one case. */
typedef struct timing {
    int number, row; /* index of the case; of the correction */
    double predicted, measured;
} timing;

/* State of the factors: sums of logarithms. */
typedef struct tally {
    int count, cases, timed, disturbed;
    tamis_correction rows[TAMIS_CORRECTIONS_MOST];
    double logs[TAMIS_CORRECTIONS_MOST], squares[TAMIS_CORRECTIONS_MOST];
    timing *timings;
    bool full;
} tally;

static tamis_correction *row_of(tally *t, const tool_problem *problem, const char *algorithm) {
    for (int i = 0; i < t->count; i++) {
        tamis_correction *const row = &t->rows[i];
        if (strcmp(row->algorithm, algorithm) == 0 && row->operation == problem->operation &&
            row->type == problem->type && row->columns == problem->inner)
            return row;
    }
    if (t->count == TAMIS_CORRECTIONS_MOST) {
        t->full = true;
        return NULL;
    }
    tamis_correction *const row = &t->rows[t->count++];
    *row = (tamis_correction){.operation = problem->operation, .type = problem->type, .columns = problem->inner};
    snprintf(row->algorithm, sizeof row->algorithm, "%s", algorithm);
    return row;
}

static void observe(void *context, const tool_bench_case *one, const tool_bench_results *results) {
    tally *const t = context;
    const int before = t->timed;
    t->disturbed += results->load.disturbed;
    for (int i = 0; i < results->count && !results->load.disturbed; i++) {
        const tool_bench_result *const result = &results->at[i];
        if (result->predicted <= 0 || result->time.median <= 0) continue;
        tamis_correction *const row = row_of(t, &one->problem, result->algorithm);
        if (!row) continue;
        const double log_ratio = log(result->time.median / result->predicted);
        const int number = (int)(row - t->rows);
        t->logs[number] += log_ratio;
        t->squares[number] += log_ratio * log_ratio;
        row->cases++;
        t->timings[t->timed++] = (timing){t->cases, number, result->predicted, result->time.median};
    }
    if (t->timed > before) t->cases++;
}

/* Returns the regret of the predictions: the measured time of the algorithm predicted fastest over the fastest time, as
   a geometric mean over the cases. corrected: use the corrected predictions, else the model's. */
static double regret(const tally *t, bool corrected) {
    double logs = 0;
    for (int i = 0; i < t->timed;) {
        double best = INFINITY, chosen = INFINITY, predicted = INFINITY;
        const int number = t->timings[i].number;
        for (; i < t->timed && t->timings[i].number == number; i++) {
            const timing *const at = &t->timings[i];
            const double seconds = at->predicted * (corrected ? t->rows[at->row].factor : 1);
            if (at->measured < best) best = at->measured;
            if (seconds >= predicted) continue;
            predicted = seconds;
            chosen = at->measured;
        }
        logs += log(chosen / best);
    }
    return t->cases > 0 ? exp(logs / t->cases) : NAN;
}

/* Returns the geometric standard deviation of a row's ratios. */
static double spread(const tally *t, int i) {
    const double n = (double)t->rows[i].cases, mean = t->logs[i] / n;
    return exp(sqrt(fmax(0, t->squares[i] / n - mean * mean)));
}

/* ------------------------------------------------------------------------------------------ measuring */

static int measure(const settings *set, tool_device *device, tally *t) {
    const int count =
        set->small ? (int)(sizeof small_matrices / sizeof *small_matrices) : (int)(sizeof matrices / sizeof *matrices);
    const tool_bench_settings how = {.operations = set->operations,
                                     .edges = {.count = 1, .at = {TAMIS_EDGE_SCALE}},
                                     .types = set->types,
                                     .devices = {.count = 1, .at = {set->device}},
                                     .algorithms = {.count = 1, .at = {1}}, /* all */
                                     .inner = set->inner,
                                     .threads = {.count = 1, .at = {0}},
                                     .repeat = 10,
                                     .calls = 1000,
                                     .seed = 1,
                                     .batch = 1,
                                     .seconds = set->seconds};
    tool_bench_run run = {.settings = &how, .observe = observe, .observer = t};
    run.cases = tool_bench_cases(&how) * count;
    t->timings = tool_allocate(tamis_bytes(run.cases, TOOL_BENCH_CONTESTANTS), sizeof *t->timings);
    for (int i = 0; i < count && !tool_interrupted(); i++) {
        char spec[128];
        snprintf(spec, sizeof spec, "%s", set->small ? small_matrices[i] : matrices[i]);
        const tool_input input = {.spec = spec};
        tool_bench_input(&run, &input, device);
    }
    tool_bench_close_inputs();
    tool_progress_clear();
    return run.worst;
}

/* ------------------------------------------------------------------------------------------ reporting */

static void print_text(const tally *t) {
    printf("%-16s %-6s %-5s %6s %8s %8s %6s\n", "algorithm", "op", "type", "K", "factor", "spread", "cases");
    for (int i = 0; i < t->count; i++) {
        const tamis_correction *const row = &t->rows[i];
        printf("%-16s %-6s %-5s %6lld %8.2f %8.2f %6lld\n", row->algorithm, tamis_operation_name(row->operation),
               tamis_type_name(row->type), (long long)row->columns, row->factor, spread(t, i), (long long)row->cases);
    }
    if (t->cases > 0)
        printf("%d cases; what auto takes took %.3f times the time of the fastest, and %.3f times with these factors\n",
               t->cases, regret(t, false), regret(t, true));
}

static void print_json(const tally *t) {
    tool_json json = tool_json_open(stdout, true);
    tool_json_put(&json, TOOL_OF(*t, cases), tool_num("auto_over_fastest", regret(t, false)),
                  tool_num("corrected_over_fastest", regret(t, true)));
    tool_json_array(&json, "corrections");
    for (int i = 0; i < t->count; i++) {
        const tamis_correction *const row = &t->rows[i];
        tool_json_item(&json, TOOL_OF(*row, algorithm), tool_str("operation", tamis_operation_name(row->operation)),
                       tool_str("type", tamis_type_name(row->type)), TOOL_OF(*row, columns), TOOL_OF(*row, factor),
                       tool_num("spread", spread(t, i)), TOOL_OF(*row, cases));
    }
    tool_json_end_array(&json);
    tool_json_finish(&json);
}

/* Measured predictions must be the model's own: removes earlier corrections, and restores them if nothing new is
   found. */
static int tune(const settings *set, tool_device *device) {
    tally *const t = tool_allocate(1, sizeof *t);
    tamis_correction *const before = tool_allocate(TAMIS_CORRECTIONS_MOST, sizeof *before);
    int64_t kept = 0;
    tamis_status status = tamis_device_corrections(device->device, before, TAMIS_CORRECTIONS_MOST, &kept);
    if (status == TAMIS_OK) status = tamis_device_correct(device->device, NULL, 0);
    int code = tool_library_error(status, device->description.name);
    if (code == 0 && !set->reset) {
        code = measure(set, device, t);
        for (int i = 0; i < t->count; i++) t->rows[i].factor = exp(t->logs[i] / (double)t->rows[i].cases);
        const bool quiet = 4 * t->disturbed <= t->cases; /* at most a fifth is left out */
        const bool whole = code == 0 && !tool_interrupted() && quiet;
        const bool better = whole && regret(t, true) < regret(t, false);
        status = tamis_device_correct(device->device, whole ? t->rows : before, !whole ? kept : better ? t->count : 0);
        if (status != TAMIS_OK) code = tool_library_error(status, device->description.name);
        if (tool_interrupted()) code = tool_failure(TOOL_INTERRUPTED, "interrupted: what was known before is kept");
        if (t->disturbed > 0)
            tool_warning("other processes used processors during %d of %d cases: %s", t->disturbed,
                         t->cases + t->disturbed,
                         quiet ? "these are left out" : "what was known before is kept; measure when they have ended");
        if (whole && !better) tool_warning("the factors do not choose better than the model alone: none is kept");
        if (t->full) tool_warning("only %d corrections are kept: name fewer types or widths", TAMIS_CORRECTIONS_MOST);
    }
    if (code == 0 && set->json) print_json(t);
    if (code == 0 && !set->json && !set->reset) print_text(t);
    free(t->timings);
    free(before);
    free(t);
    return code;
}

static int run_tune_device(const void *given, int count, char **operands) {
    const settings *const set = given;
    tool_device device;
    (void)count, (void)operands;
    TOOL_TRY(tool_device_open(set->device, true, &device));
    const int code = tune(set, &device);
    tool_device_close(&device);
    return code;
}

const tool_command tool_correct_command =
    TOOL_COMMAND("tune-device", "", "measure algorithms on this device, so that plans choose well on it", options,
                 settings, .run = run_tune_device);
