/*
 * tamis tune-device: times every algorithm on generated matrices, and fits the rates of the device's predictions to
 * these times, or to timings of an earlier run, or of `tamis bench --timings`.
 *
 * The matrices, operations, types and widths are taken in an order in which each prefix has a bit of all, so that any
 * time will do. Cases disturbed by other processes are left out; if there are many, nothing is kept, since wrong rates
 * would spoil the choices of all plans until the next tuning.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/timings.h"
#include "cli/command.h"
#include "cli/exit.h"
#include "cli/json.h"
#include "cli/progress.h"

typedef struct settings {
    int device;
    tool_chosen types, operations;
    tool_integers inner;
    double minutes;
    const char *timings, *export_to;
    bool json, small, reset, no_clobber;
} settings;

#define AT(field) offsetof(settings, field)

static const tool_option options[] = {
    TOOL_CHOICE("device", 'd', "DEVICE", "best", AT(device), &tool_devices, "the device"),
    TOOL_OPERATIONS(AT(operations)),
    TOOL_CHOSEN("type", 't', "TYPE,...", "fp32,bf16,fp16,fp64", AT(types), &tool_types, "element types"),
    TOOL_INTEGERS("inner", 'k', "K,...", "64,16,256", AT(inner), 1, 1e6, "columns of A and B, or of B for spmm"),
    TOOL_REAL("minutes", 0, "N", "10", AT(minutes), 0, 1e5, "time for measuring; 0: fit what --timings has"),
    TOOL_ADDED_TO("timings", 0, "FILE", AT(timings),
                  "keep the timings in FILE; what is there is not measured again, and counts in the fit"),
    TOOL_OUTPUT("export", 0, "FILE", AT(export_to), "also write the rates, as a profile to build in"),
    TOOL_NO_CLOBBER(AT(no_clobber)),
    TOOL_FLAG("small", 0, AT(small), "matrices of thousands of nonzeros, to try the command"),
    TOOL_FLAG("reset", 0, AT(reset), "forget what was fitted before, and measure nothing"),
    TOOL_JSON_OBJECT(AT(json)),
    {.name = NULL},
};

/* Graphs, meshes, bands, attention, blocks and layers, from thousands to millions of nonzeros. */
static const char *const matrices[] = {
    "rmat:rows=20000,nnz=200000",
    "uniform:rows=2048,density=0.1",
    "fem:rows=15000,nnz=600000,block=3",
    "window:rows=4096,band=256,global=16",
    "banded:rows=60000,nnz=360000,band=64",
    "uniform:rows=30000,nnz=900000",
    "scatter:rows=20000,nnz=120000",
    "block:rows=2048,density=0.1,block=16",
    "rmat:rows=131072,nnz=1000000",
    "uniform:rows=5000,nnz=50000",
    "uniform:rows=2048,density=0.3",
    "fem:rows=3000,nnz=100000,block=3",
    "uniform:rows=2000,cols=60000,nnz=1200000",
    "window:rows=4096,band=64",
    "rmat:rows=2000,nnz=20000",
    "banded:rows=20000,nnz=1000000,band=100",
    "uniform:rows=200000,nnz=1000000",
    "block:rows=4096,density=0.02,block=8",
    "uniform:rows=1024,density=0.2",
    "fem:rows=20000,nnz=300000,block=1",
    "uniform:rows=60000,cols=2000,nnz=1200000",
    "scatter:rows=200000,nnz=1000000",
    "uniform:rows=2048,density=0.5",
    "window:rows=8192,band=128",
    "rmat:rows=262144,nnz=3000000",
    "uniform:rows=1000,nnz=4000",
    "fem:rows=60000,nnz=2400000,block=3",
    "uniform:rows=512,density=0.1",
    "block:rows=16384,density=0.01,block=64",
    "uniform:rows=300000,nnz=2400000",
    "banded:rows=200000,nnz=1400000,band=8",
    "uniform:rows=100000,nnz=4000",
};
static const char *const small_matrices[] = {"rmat:rows=500,nnz=5000", "banded:rows=600,nnz=6000,band=20",
                                             "uniform:rows=128,density=0.2"};

/* Settings of a pass over all matrices. */
typedef struct pass {
    int type, edge;
    int64_t inner;
    bool pattern; /* S has no values */
} pass;

static tool_bench_settings settings_of(const settings *set, const pass *one, const tool_device *device) {
    tool_bench_settings how = {.operations = set->operations,
                               .edges = {.count = 1, .at = {one->edge}},
                               .types = {.count = 1, .at = {one->type}},
                               .devices = {.count = 1, .at = {set->device}},
                               .algorithms = {.count = 1, .at = {1}}, /* all */
                               .inner = {.count = 1, .at = {one->inner}},
                               .threads = {.count = 1, .at = {0}},
                               .repeat = 10,
                               .calls = 1000,
                               .seed = 1,
                               .batch = 1,
                               .seconds = 0.2};
    enum { NONE = 1 };
    if (one->pattern) how.values = NONE;
    if (!device->gpu && device->description.threads > 1) { /* one thread, and all */
        how.threads.count = 2;
        how.threads.at[1] = 1;
    }
    return how;
}

/* Passes take turns by type, width and pattern, so that any time has a bit of all; each takes every fourth matrix. */
static int measure(const settings *set, tool_device *device, tool_timings *timings) {
    enum { STEP = 4 };
    const int count =
        set->small ? (int)(sizeof small_matrices / sizeof *small_matrices) : (int)(sizeof matrices / sizeof *matrices);
    const int kinds = 2 * set->types.count * set->inner.count;
    const double end = tool_seconds() + 60 * set->minutes;
    int worst = 0;
    for (int p = 0; p < STEP * kinds; p++) {
        const int kind = p % kinds, first = (p + p / kinds) % STEP; /* other matrices each time a kind comes round */
        const pass one = {.type = set->types.at[kind / 2 % set->types.count],
                          .edge = kind % 2 ? TAMIS_EDGE_SOFTMAX : TAMIS_EDGE_SCALE,
                          .inner = set->inner.at[kind / 2 / set->types.count],
                          .pattern = kind % 2 != 0};
        const tool_bench_settings how = settings_of(set, &one, device);
        for (int i = first; i < count && !tool_interrupted() && tool_seconds() < end; i += STEP) {
            char spec[128];
            tool_bench_run run = {
                .settings = &how, .timings = timings, .silent = true, .cases = tool_bench_cases(&how)};
            snprintf(spec, sizeof spec, "generate:%s", set->small ? small_matrices[i] : matrices[i]);
            const tool_input input = {.spec = spec};
            tool_bench_input(&run, &input, device);
            if (run.worst > worst) worst = run.worst;
        }
        tool_bench_close_inputs();
    }
    tool_progress_clear();
    return worst;
}

/* ------------------------------------------------------------------------------------------ reporting */

static void print_row(const char *title, const tamis_choices_judged *judged) {
    printf("  %-40s %8.3f %9.1f %% %8.2f %9.1f %%\n", title, judged->mean, 100 * judged->within, judged->most,
           100 * judged->error);
}

static void print_text(const tamis_fit *fit, bool kept) {
    printf("%lld cases, %d rates\n", (long long)fit->before.cases, fit->rates);
    printf("  %-40s %8s %11s %8s %11s\n", "auto over the fastest algorithm", "mean", "within 1.1", "most", "error");
    print_row("before", &fit->before);
    print_row("a third, fitted to the other two", &fit->crossed);
    print_row("after", &fit->after);
    printf("%s\n", kept ? "the fitted rates are kept" : "the rates stay as they were");
}

static void put_judged(tool_json *json, const char *name, const tamis_choices_judged *judged) {
    tool_json_object(json, name);
    tool_json_put(json, TOOL_OF(*judged, cases), TOOL_OF(*judged, mean), TOOL_OF(*judged, within),
                  TOOL_OF(*judged, most), TOOL_OF(*judged, error));
    tool_json_end_object(json);
}

static void print_json(const tamis_fit *fit, bool kept) {
    tool_json json = tool_json_open(stdout, true);
    tool_json_put(&json, TOOL_OF(*fit, rates), tool_yes("kept", kept));
    put_judged(&json, "before", &fit->before);
    put_judged(&json, "crossed", &fit->crossed);
    put_judged(&json, "after", &fit->after);
    tool_json_finish(&json);
}

/* Keeps the rates if they choose better on patterns that they were not fitted to. */
static int fit_all(const settings *set, const tool_timings *timings, int64_t measured) {
    const bool quiet = 4 * timings->disturbed <= measured; /* at most a fifth is left out */
    tamis_fit fit;
    if (measured == 0 && timings->disturbed > 0)
        return tool_failure(TOOL_FAILED,
                            "other processes used processors during all %d cases: measure when they have ended",
                            timings->disturbed);
    int code = tool_library_error(tamis_timings_fit(timings->list, &fit), NULL);
    if (code != 0) return code;
    if (timings->disturbed > 0)
        tool_warning("other processes used processors during %d of %lld cases: %s", timings->disturbed,
                     (long long)measured + timings->disturbed,
                     quiet ? "these are left out" : "the rates stay as they were; measure when they have ended");
    if (set->export_to) code = tool_timings_export(timings, set->export_to);
    bool kept = code == 0 && quiet && !timings->foreign && fit.crossed.mean < fit.before.mean;
    if (kept) code = tool_library_error(tamis_timings_keep(timings->list), NULL);
    if (code != 0) kept = false;
    if (set->json)
        print_json(&fit, kept);
    else
        print_text(&fit, kept);
    return code;
}

static int tune(const settings *set, tool_device *device) {
    tool_timings timings;
    int code = tool_timings_open(device, set->timings, &timings);
    if (code == 0 && set->minutes > 0 && timings.foreign)
        code = tool_usage_error(
            "--timings: %s has timings of another machine: name another file, or fit them alone by --minutes 0",
            set->timings);
    if (code == 0) {
        const int worst = set->minutes > 0 ? measure(set, device, &timings) : 0; /* a case that failed is left out */
        code = tool_timings_save(&timings, true);
        if (code == 0 && tool_interrupted())
            code = tool_failure(TOOL_INTERRUPTED, "interrupted: the rates stay as they were%s",
                                set->timings ? "; the timings are kept, and the same command goes on" : "");
        if (code == 0) code = fit_all(set, &timings, timings.measured);
        if (code == 0) code = worst;
    }
    tamis_timings_destroy(timings.list);
    return code;
}

static int run_tune_device(const void *given, int count, char **operands) {
    const settings *const set = given;
    tool_device device;
    (void)count, (void)operands;
    TOOL_TRY(tool_device_open(set->device, true, &device));
    const int code = set->reset ? tool_library_error(tamis_device_forget_rates(device.device), device.description.name)
                                : tune(set, &device);
    tool_device_close(&device);
    return code;
}

const tool_command tool_tune_device_command =
    TOOL_COMMAND("tune-device", "", "fit predictions to this device, so that plans choose well on it", options,
                 settings, .run = run_tune_device);
