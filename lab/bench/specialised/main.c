/*
 * The CPU's operations beside `specialised`: the smallest loops that do the job (loops.h). Threads get whole rows with
 * equal nonzeros, and both take turns on the same arrays in one process.
 *   bench_specialised [-o OPERATION,...] [-t THREADS] [-k K] [-r ROUNDS] [-a ALGORITHM,...] [-p PARAMETERS] FILE...
 * One line an operation, matrix, K (32, 100, 128), number of threads (1, 2) and algorithm: milliseconds of both (the
 * least, the median), the ratio specialised / Tamis of both, the predicted over the measured time, and the largest
 * difference between the results over the largest result. At the end the geometric means of both ratios, and the least
 * median. Fused with its own D stands beside two specialised calls (fused) and beside one pass (fused-once).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tamis/matrix.h>
#include <tamis/tamis.h>
#include <time.h>

#include "base/half.h"
#include "base/threads.h"
#include "bench.h"
#include "loops.h"

enum { ROUNDS_MOST = 1000, ALGORITHMS_MOST = 8, THREADS_MOST = 256, WIDTHS = 3 };

static const int widths[WIDTHS] = {32, 100, 128};

static const struct {
    const char *name;
    tamis_operation tamis;
    tamis_edge edge;
    tamis_type type;
    bool d_is_b;
} operations[OPERATIONS] = {
    [SPMM] = {"spmm", TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, TAMIS_F32, false},
    [SDDMM_MASK] = {"sddmm-mask", TAMIS_OP_SDDMM, TAMIS_EDGE_MASK, TAMIS_F32, false},
    [SDDMM_SCALE] = {"sddmm-scale", TAMIS_OP_SDDMM, TAMIS_EDGE_SCALE, TAMIS_F32, false},
    [FUSED] = {"fused", TAMIS_OP_FUSED, TAMIS_EDGE_SCALE, TAMIS_F32, false},
    [FUSED_ONCE] = {"fused-once", TAMIS_OP_FUSED, TAMIS_EDGE_SCALE, TAMIS_F32, false},
    [FUSED_SAME] = {"fused-same", TAMIS_OP_FUSED, TAMIS_EDGE_SCALE, TAMIS_F32, true},
    [SOFTMAX] = {"softmax", TAMIS_OP_FUSED, TAMIS_EDGE_SOFTMAX, TAMIS_F32, false},
    [SPMM_BF16] = {"spmm-bf16", TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, TAMIS_BF16, false},
    [SDDMM_BF16] = {"sddmm-bf16", TAMIS_OP_SDDMM, TAMIS_EDGE_MASK, TAMIS_BF16, false},
};

/* One thread's own time is what it took a processor: others may use the machine. */
static double now(int threads) {
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Aligned, on huge pages where there are any. */
static void *numbers(int64_t count, tamis_type type) {
    const size_t huge = (size_t)2 << 20, bytes = ((size_t)count * 4 + huge) / huge * huge;
    float *const x = aligned_alloc(huge, bytes);
    if (!x) exit(1);
#ifdef MADV_HUGEPAGE
    madvise(x, bytes, MADV_HUGEPAGE);
#endif
    uint32_t state = 1;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        const float one = (float)(state >> 8) * 0x1p-23f - 1;
        if (type == TAMIS_F32)
            x[i] = one;
        else
            ((uint16_t *)x)[i] = tamis_bf16_store(one);
    }
    return x;
}

static double number_at(const void *x, tamis_type type, int64_t i) {
    return type == TAMIS_F32 ? (double)((const float *)x)[i] : (double)tamis_bf16_load(((const uint16_t *)x)[i]);
}

static int64_t first_row_from(const product *x, int64_t nonzero) {
    int64_t row = 0;
    while (row < x->rows && x->offsets[row] < nonzero) row++;
    return row;
}

typedef struct team {
    const product *x;
    range_loop *range;
    const int64_t *begins;
} team;

static void share_rows(void *context, int share, int shares) {
    const team *const t = context;
    (void)shares;
    t->range(t->x, t->begins[share], t->begins[share + 1]);
}

static void specialised(operation_kind operation, const product *x, int width, int threads, const int64_t *begins) {
    range_loop *range;
    for (int pass = 0; (range = specialised_loop(operation, width, pass)); pass++)
        tamis_threads_run(threads, share_rows, &(team){.x = x, .range = range, .begins = begins});
}

typedef struct contestant {
    char name[48];
    tamis_plan *plan; /* NULL: specialised */
    double predicted, times[ROUNDS_MOST];
} contestant;

typedef struct settings {
    const char *operations, *algorithms, *parameters;
    int threads, width, rounds;
} settings;

/* Statistics printed at the end. */
static struct {
    double log_least, log_median, worst;
    int count;
    char matrix[48];
} means[OPERATIONS][WIDTHS][2];

static void execute(const tamis_plan *plan, operation_kind operation, const tamis_dense *A, const tamis_dense *B,
                    const tamis_dense *D, const tamis_dense *out) {
    switch (operations[operation].tamis) {
    case TAMIS_OP_SDDMM: need(tamis_plan_sddmm(plan, A, B, out, NULL)); break;
    case TAMIS_OP_SPMM: need(tamis_plan_spmm(plan, B, out, NULL)); break;
    case TAMIS_OP_FUSED: need(tamis_plan_fused(plan, A, B, D, out, NULL)); break;
    }
}

static void measure(tamis_device *device, const tamis_sparse *given, const char *name, operation_kind operation, int k,
                    int threads, const settings *set) {
    static contestant all[ALGORITHMS_MOST + 1];
    const int width = widths[k];
    const tamis_type type = operations[operation].type;
    const bool sddmm = operations[operation].tamis == TAMIS_OP_SDDMM, softmax = operation == SOFTMAX;
    const double work = (double)given->nnz * width * 1e-10;
    const int enough = set->rounds ? set->rounds : (int)fmin(200, fmax(7, 0.1 / work));
    const int rounds = enough < ROUNDS_MOST ? enough : ROUNDS_MOST;
    char list[256];
    int count = 1;
    int64_t begins[THREADS_MOST + 1];
    void *const values = numbers(given->nnz, type);
    tamis_sparse S = *given;
    S.values = softmax ? NULL : values;
    S.value_type = type;
    snprintf(all[0].name, sizeof all[0].name, "specialised");
    snprintf(list, sizeof list, "%s", set->algorithms);
    for (char *rest = list, *one; (one = strtok_r(rest, ",", &rest)) && count <= ALGORITHMS_MOST; count++) {
        tamis_options o = TAMIS_OPTIONS_INIT;
        tamis_plan_report info;
        o.operation = operations[operation].tamis;
        o.edge = operations[operation].edge;
        o.type = type;
        o.inner = o.width = width;
        o.d_is_b = operations[operation].d_is_b;
        o.threads = threads;
        o.expected_calls = 1000; /* code that is generated for a K is for many calls, too */
        o.algorithm = one;
        o.parameters = set->parameters;
        need(tamis_plan_create(device, &S, &o, &all[count].plan));
        need(tamis_plan_describe(all[count].plan, &info));
        all[count].predicted = info.predicted_seconds;
        snprintf(all[count].name, sizeof all[count].name, "%s%s", strcmp(one, "auto") == 0 ? "auto=" : "",
                 info.algorithm);
    }
    const int64_t results = sddmm ? S.nnz : S.rows * width;
    void *const a = numbers(S.rows * width, type), *const b = numbers(S.cols * width, type);
    void *const own = numbers(S.cols * width, type), *const d = operations[operation].d_is_b ? b : own;
    void *const c = numbers(results, type), *const e = numbers(results, type);
    float *const samples = numbers(S.nnz, TAMIS_F32);
    const product x = {S.offsets, S.columns, values, a, b, d, c, samples, S.rows};
    const tamis_dense A = {.data = a, .rows = S.rows, .cols = width, .stride = width, .type = type};
    const tamis_dense B = {.data = b, .rows = S.cols, .cols = width, .stride = width, .type = type};
    const tamis_dense D = {.data = d, .rows = S.cols, .cols = width, .stride = width, .type = type};
    const tamis_dense out = {.data = e,
                             .rows = sddmm ? S.nnz : S.rows,
                             .cols = sddmm ? 1 : width,
                             .stride = sddmm ? 1 : width,
                             .type = type};
    for (int t = 0; t <= threads; t++) begins[t] = t == threads ? S.rows : first_row_from(&x, S.nnz * t / threads);
    double worst = 0, largest = 0;
    for (int r = -2; r < rounds; r++) {
        for (int i = 0; i < count; i++) {
            const int turn = r % 2 ? count - 1 - i : i;
            const double start = now(threads);
            if (turn)
                execute(all[turn].plan, operation, &A, &B, &D, &out);
            else
                specialised(operation, &x, width, threads, begins);
            if (r >= 0) all[turn].times[r] = now(threads) - start;
            if (r == -1 && turn)
                for (int64_t j = 0; j < results; j++) {
                    worst = fmax(worst, fabs(number_at(c, type, j) - number_at(e, type, j)));
                    largest = fmax(largest, fabs(number_at(c, type, j)));
                }
        }
    }
    for (int i = 0; i < count; i++) qsort(all[i].times, (size_t)rounds, sizeof(double), compare);
    for (int i = 1; i < count; i++) {
        const double least = all[0].times[0] / all[i].times[0];
        const double median = all[0].times[rounds / 2] / all[i].times[rounds / 2];
        printf("%-11s %-18s %4d %2d  %-20s %9.4f %9.4f  %9.4f %9.4f  %5.2f %5.2f  %5.2f  %.1e\n",
               operations[operation].name, name, width, threads, all[i].name, 1e3 * all[0].times[0],
               1e3 * all[0].times[rounds / 2], 1e3 * all[i].times[0], 1e3 * all[i].times[rounds / 2], least, median,
               all[i].predicted / all[i].times[rounds / 2], largest > 0 ? worst / largest : 0);
        if (i > 1) continue;
        const int t = threads > 1;
        means[operation][k][t].log_least += log(least);
        means[operation][k][t].log_median += log(median);
        if (means[operation][k][t].count++ == 0 || median < means[operation][k][t].worst) {
            means[operation][k][t].worst = median;
            snprintf(means[operation][k][t].matrix, sizeof means[operation][k][t].matrix, "%s", name);
        }
    }
    fflush(stdout);
    for (int i = 1; i < count; i++) tamis_plan_destroy(all[i].plan);
    free(a), free(b), free(own), free(c), free(e), free(samples), free(values);
}

static bool named(const char *list, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || !at[length])) return true;
    return !list;
}

static void measure_file(tamis_device *device, const char *path, const settings *set) {
    tamis_owned_sparse *S;
    const char *const slash = strrchr(path, '/');
    char name[19];
    need(tamis_read_sparse(path, NULL, &S));
    snprintf(name, sizeof name, "%s", slash ? slash + 1 : path);
    char *const dot = strchr(name, '.');
    if (dot) *dot = 0;
    for (int o = 0; o < OPERATIONS; o++)
        for (int k = 0; k < WIDTHS; k++)
            for (int t = 1; t <= 2; t++)
                if (named(set->operations, operations[o].name) && (!set->width || widths[k] == set->width) &&
                    (!set->threads || t == 1))
                    measure(device, tamis_owned_sparse_view(S), name, (operation_kind)o, k,
                            set->threads ? set->threads : t, set);
    tamis_owned_sparse_free(S);
}

static void print_means(void) {
    printf("\n%-11s %4s %7s  %5s %5s  %5s\n", "means", "K", "threads", "least", "median", "worst");
    for (int o = 0; o < OPERATIONS; o++)
        for (int k = 0; k < WIDTHS; k++)
            for (int t = 0; t < 2; t++)
                if (means[o][k][t].count)
                    printf("%-11s %4d %7s  %5.2f %5.2f  %5.2f %s\n", operations[o].name, widths[k], t ? "more" : "1",
                           exp(means[o][k][t].log_least / means[o][k][t].count),
                           exp(means[o][k][t].log_median / means[o][k][t].count), means[o][k][t].worst,
                           means[o][k][t].matrix);
}

int main(int argc, char **argv) {
    settings set = {.algorithms = "auto"};
    tamis_device *device;
    need(tamis_device_open("cpu", &device));
    printf("%-11s %-18s %4s %2s  %-20s %9s %9s  %9s %9s  %5s %5s  %5s\n", "operation", "matrix", "K", "T", "algorithm",
           "least", "median", "least", "median", "ratio", "ratio", "model");
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && i + 1 < argc) {
            const char option = argv[i][1], *const value = argv[++i];
            if (option == 'o') set.operations = value;
            if (option == 't') set.threads = atoi(value);
            if (option == 'k') set.width = atoi(value);
            if (option == 'r') set.rounds = atoi(value);
            if (option == 'a') set.algorithms = value;
            if (option == 'p') set.parameters = value;
            continue;
        }
        measure_file(device, argv[i], &set);
    }
    print_means();
    tamis_device_close(device);
    return 0;
}
