/*
 * Overhead of calls beside their kernels, on a small matrix whose data are on the device: the first plan of a kind in
 * the process, including compilation; an execution of a plan; single calls that check S and that trust it. Prints
 * medians of the time until the call returns; "in a row" is the time per call of many, including the wait for the last.
 * On CUDA the last line is the floor of an execution: the driver's time to launch an empty kernel with as many
 * arguments. Usage: bench_calls [DEVICE [CALLS]] (with an empty XDG_CACHE_HOME it compiles everything;
 * CUDA_CACHE_DISABLE=1 turns off NVRTC's cache in the driver)
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tamis/generate.h>
#include <tamis/matrix.h>
#include <tamis/stream.h>
#include <time.h>

#include "bench.h"

enum { ROWS = 1813, NNZ = 11000, K = 128, CALLS_MOST = 200 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tamis_device *device;
static tamis_sparse S;
static tamis_dense A, B, D, P, E;
static int calls = CALLS_MOST;

/* Copies `host` (NULL: zeros) to the device's memory. */
static void *bring(const void *host, size_t bytes) {
    void *memory;
    void *const zeros = calloc(1, bytes);
    if (!zeros) exit(1);
    need(tamis_device_allocate(device, bytes, &memory));
    need(tamis_device_upload(device, NULL, memory, 0, host ? host : zeros, bytes));
    free(zeros);
    return memory;
}

static tamis_dense matrix(int64_t rows, int64_t cols, tamis_location location) {
    return (tamis_dense){.data = bring(NULL, (size_t)(rows * cols) * 4),
                         .rows = rows,
                         .cols = cols,
                         .stride = cols,
                         .location = location};
}

static tamis_status run_plan(const tamis_plan *plan, tamis_operation operation) {
    if (operation == TAMIS_OP_SDDMM) return tamis_plan_sddmm(plan, &A, &B, &P, NULL);
    if (operation == TAMIS_OP_SPMM) return tamis_plan_spmm(plan, &B, &E, NULL);
    return tamis_plan_fused(plan, &A, &B, &D, &E, NULL);
}

static tamis_status run_once(const tamis_options *o) {
    if (o->operation == TAMIS_OP_SDDMM) return tamis_sddmm(device, &S, &A, &B, &P, o, NULL);
    if (o->operation == TAMIS_OP_SPMM) return tamis_spmm(device, &S, &B, &E, o, NULL);
    return tamis_fused(device, &S, &A, &B, &D, &E, o, NULL);
}

/* Measures a plan, or single calls if there is none. */
static void measure(const char *what, const tamis_plan *plan, const tamis_options *o) {
    static double times[CALLS_MOST];
    for (int i = 0; i < 5; i++) need(plan ? run_plan(plan, o->operation) : run_once(o));
    need(tamis_stream_synchronize(device, NULL));
    for (int i = 0; i < calls; i++) {
        const double start = now();
        need(plan ? run_plan(plan, o->operation) : run_once(o));
        times[i] = now() - start;
        need(tamis_stream_synchronize(device, NULL));
    }
    qsort(times, (size_t)calls, sizeof *times, compare);
    const double start = now();
    for (int i = 0; i < calls; i++) need(plan ? run_plan(plan, o->operation) : run_once(o));
    need(tamis_stream_synchronize(device, NULL));
    printf("  %-24s %7.1f us to return, %7.1f us in a row\n", what, 1e6 * times[calls / 2],
           1e6 * (now() - start) / calls);
}

/* An operation's plans, and the time of the first in the process. */
typedef struct operation {
    tamis_options options;
    tamis_plan *plan;
    double first_plan, second_plan, first_call; /* seconds */
} operation;

static void make_plans(operation *x, tamis_operation which) {
    tamis_plan *second;
    *x = (operation){.options = TAMIS_OPTIONS_INIT};
    x->options.operation = which;
    x->options.inner = which == TAMIS_OP_SPMM ? 0 : K;
    x->options.width = K;
    double start = now();
    need(tamis_plan_create(device, &S, &x->options, &x->plan));
    x->first_plan = now() - start;
    start = now();
    need(tamis_plan_create(device, &S, &x->options, &second));
    x->second_plan = now() - start;
    tamis_plan_destroy(second);
    start = now();
    need(run_once(&x->options));
    need(tamis_stream_synchronize(device, NULL));
    x->first_call = now() - start;
}

static void measure_operation(operation *x) {
    tamis_plan_report about;
    need(tamis_plan_describe(x->plan, &about));
    printf("%s\n  %-24s %7.1f ms, %s\n", tamis_operation_name(x->options.operation), "first plan", 1e3 * x->first_plan,
           about.algorithm);
    printf("  %-24s %7.2f ms\n", "second plan", 1e3 * x->second_plan);
    printf("  %-24s %7.1f ms\n", "first single call", 1e3 * x->first_call);
    measure("a plan's execution", x->plan, &x->options);
    measure("single call", NULL, &x->options);
    x->options.trust_input = true;
    measure("single call, trusted", NULL, &x->options);
    tamis_plan_destroy(x->plan);
}

/* The driver's part of an execution: an empty kernel with as many arguments. Skipped without a CUDA driver. */
static struct driver {
    int (*retain)(void **context, int number);
    int (*enter)(void *context);
    int (*load)(void **module, const void *text);
    int (*find)(void **function, void *module, const char *name);
    int (*launch)(void *function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threads_y,
                  unsigned threads_z, unsigned shared, void *stream, void **arguments, void **extra);
    int (*wait)(void);
} driver;

static bool open_driver(void) {
    static const char *const names[] = {"cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuModuleLoadData",
                                        "cuModuleGetFunction",      "cuLaunchKernel",  "cuCtxSynchronize"};
    void **const found[] = {(void **)&driver.retain, (void **)&driver.enter,  (void **)&driver.load,
                            (void **)&driver.find,   (void **)&driver.launch, (void **)&driver.wait};
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; library && i < sizeof names / sizeof *names; i++)
        if (!(*found[i] = dlsym(library, names[i]))) return false;
    return library != NULL;
}

static void measure_launch(int number) {
    enum { ARGUMENTS = 24 };
    static double times[CALLS_MOST];
    char text[2048];
    void *context, *module, *function, *value = NULL, *arguments[ARGUMENTS];
    int used = snprintf(text, sizeof text, ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry empty(");
    for (int i = 0; i < ARGUMENTS; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "%s.param .u64 p%d", i ? ", " : "", i);
        arguments[i] = &value;
    }
    snprintf(text + used, sizeof text - (size_t)used, ")\n{\nret;\n}\n");
    if (!open_driver() || driver.retain(&context, number) != 0 || driver.enter(context) != 0) return;
    if (driver.load(&module, text) != 0 || driver.find(&function, module, "empty") != 0) return;
    for (int i = -5; i < calls; i++) {
        const double start = now();
        if (driver.launch(function, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL) != 0) return;
        if (i >= 0) times[i] = now() - start;
        driver.wait();
    }
    qsort(times, (size_t)calls, sizeof *times, compare);
    printf("the driver alone\n  %-24s %7.1f us to return\n", "an empty kernel", 1e6 * times[calls / 2]);
}

int main(int argc, char **argv) {
    tamis_generate_options g = TAMIS_GENERATE_OPTIONS_INIT;
    tamis_device_description about;
    tamis_owned_sparse *made;
    setenv("TAMIS_PROBE", "0", 0);
    if (argc > 2 && atoi(argv[2]) > 0 && atoi(argv[2]) < CALLS_MOST) calls = atoi(argv[2]);
    need(tamis_device_open(argc > 1 ? argv[1] : "cuda:0", &device));
    need(tamis_device_describe(device, &about));
    g.rows = ROWS;
    g.nnz = NNZ;
    need(tamis_generate(&g, &made));
    S = *tamis_owned_sparse_view(made);
    S.location = about.location;
    S.offsets = bring(S.offsets, (ROWS + 1) * 4);
    S.columns = bring(S.columns, (size_t)S.nnz * 4);
    S.values = bring(S.values, (size_t)S.nnz * 4);
    A = matrix(ROWS, K, about.location);
    B = matrix(ROWS, K, about.location);
    D = matrix(ROWS, K, about.location);
    E = matrix(ROWS, K, about.location);
    P = matrix(S.nnz, 1, about.location);
    printf("%s: %d rows, %lld nonzeros, K = %d, fp32\n", about.name, ROWS, (long long)S.nnz, K);
    operation all[TAMIS_OP_FUSED + 1];
    for (int i = TAMIS_OP_SDDMM; i <= TAMIS_OP_FUSED; i++) make_plans(&all[i], (tamis_operation)i);
    for (int i = TAMIS_OP_SDDMM; i <= TAMIS_OP_FUSED; i++) measure_operation(&all[i]); /* in a warm process */
    if (argc < 2 || strncmp(argv[1], "cuda:", 5) == 0) measure_launch(argc < 2 ? 0 : atoi(argv[1] + 5));
    tamis_owned_sparse_free(made); /* device memory is freed with the process */
    tamis_device_close(device);
    return 0;
}
