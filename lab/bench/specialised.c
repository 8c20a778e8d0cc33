/*
 * SpMM on the CPU beside `specialised`: the smallest loop that does the job, as generators of code write it. The whole
 * row of C is in registers, K is a constant, nothing is checked, and threads get whole rows with equal nonzeros. It is
 * compiled for this machine, and takes turns with Tamis on the same arrays in one process.
 *   bench_specialised [-t THREADS] [-k K] [-r ROUNDS] [-a ALGORITHM,...] [-p PARAMETERS] FILE...
 * One line a matrix, K, number of threads and algorithm: milliseconds of both (the least, the median), the ratio
 * specialised / Tamis of both, the predicted over the measured time, and the largest difference between the results
 * over the largest result.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tamis/matrix.h>
#include <tamis/tamis.h>
#include <time.h>

#include "base/threads.h"
#include "bench.h"

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define BLOCK        16 /* vectors of C that fit into the registers, with room for the row of B */
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#define BLOCK        8
#else
#define VECTOR_BYTES 16
#define BLOCK        8
#endif
#define LANES (VECTOR_BYTES / 4)

typedef float vector __attribute__((vector_size(VECTOR_BYTES)));
typedef float vector_anywhere __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));

enum { ROUNDS_MOST = 1000, ALGORITHMS_MOST = 8, THREADS_MOST = 256 };

typedef struct product {
    const int32_t *offsets, *columns;
    const float *values, *b;
    float *c;
    int64_t rows;
} product;

static inline __attribute__((always_inline)) void block(const product *x, int64_t row, int width, int first,
                                                        int vectors) {
    vector sum[BLOCK];
#pragma GCC unroll 16
    for (int k = 0; k < vectors; k++) sum[k] = (vector){0};
    for (int32_t t = x->offsets[row]; t < x->offsets[row + 1]; t++) {
        const float *const b = x->b + (int64_t)x->columns[t] * width + first;
        const vector w = x->values[t] - (vector){0};
#pragma GCC unroll 16
        for (int k = 0; k < vectors; k++) sum[k] += w * *(const vector_anywhere *)(const void *)(b + k * LANES);
    }
#pragma GCC unroll 16
    for (int k = 0; k < vectors; k++) *(vector_anywhere *)(void *)(x->c + row * width + first + k * LANES) = sum[k];
}

static inline __attribute__((always_inline)) void rows(const product *x, int64_t begin, int64_t end, int width) {
    const int vectors = width / LANES, most = vectors < BLOCK ? vectors : BLOCK;
    for (int64_t row = begin; row < end; row++)
#pragma GCC unroll 4
        for (int first = 0; first < width; first += most * LANES) block(x, row, width, first, most);
}

static __attribute__((noinline)) void rows_32(const product *x, int64_t begin, int64_t end) { rows(x, begin, end, 32); }
static __attribute__((noinline)) void rows_64(const product *x, int64_t begin, int64_t end) { rows(x, begin, end, 64); }
static __attribute__((noinline)) void rows_128(const product *x, int64_t begin, int64_t end) {
    rows(x, begin, end, 128);
}

/* One thread's own time is what it took a processor: others may use the machine. */
static double now(int threads) {
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Aligned, on huge pages where there are any. */
static float *numbers(int64_t count) {
    const size_t huge = (size_t)2 << 20, bytes = ((size_t)count * 4 + huge) / huge * huge;
    float *const x = aligned_alloc(huge, bytes);
    if (!x) exit(1);
#ifdef MADV_HUGEPAGE
    madvise(x, bytes, MADV_HUGEPAGE);
#endif
    uint32_t state = 1;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) * 0x1p-23f - 1;
    }
    return x;
}

static int64_t first_row_from(const product *x, int64_t nonzero) {
    int64_t row = 0;
    while (row < x->rows && x->offsets[row] < nonzero) row++;
    return row;
}

typedef struct team {
    const product *x;
    void (*range)(const product *, int64_t, int64_t);
    const int64_t *begins;
} team;

static void share_rows(void *context, int share, int shares) {
    const team *const t = context;
    (void)shares;
    t->range(t->x, t->begins[share], t->begins[share + 1]);
}

static void specialised(const product *x, int width, int threads, const int64_t *begins) {
    void (*const range)(const product *, int64_t, int64_t) = width == 32 ? rows_32 : width == 64 ? rows_64 : rows_128;
    tamis_threads_run(threads, share_rows, &(team){.x = x, .range = range, .begins = begins});
}

typedef struct contestant {
    char name[48];
    tamis_plan *plan; /* NULL: specialised */
    double predicted, times[ROUNDS_MOST];
} contestant;

static void measure(tamis_device *device, const tamis_sparse *S, const char *name, int width, int threads, int rounds,
                    const char *algorithms, const char *parameters) {
    static contestant all[ALGORITHMS_MOST + 1];
    char list[256];
    int count = 1;
    int64_t begins[THREADS_MOST + 1];
    snprintf(all[0].name, sizeof all[0].name, "specialised");
    snprintf(list, sizeof list, "%s", algorithms);
    for (char *rest = list, *one; (one = strtok_r(rest, ",", &rest)) && count <= ALGORITHMS_MOST; count++) {
        tamis_options o = TAMIS_OPTIONS_INIT;
        tamis_plan_report info;
        o.operation = TAMIS_OP_SPMM;
        o.width = width;
        o.threads = threads;
        o.expected_calls = 1000; /* code that is generated for a K is for many calls, too */
        o.algorithm = one;
        o.parameters = parameters;
        need(tamis_plan_create(device, S, &o, &all[count].plan));
        need(tamis_plan_describe(all[count].plan, &info));
        all[count].predicted = info.predicted_seconds;
        snprintf(all[count].name, sizeof all[count].name, "%s%s", strcmp(one, "auto") == 0 ? "auto=" : "",
                 info.algorithm);
    }
    float *const b = numbers(S->cols * width), *const c = numbers(S->rows * width), *const e = numbers(S->rows * width);
    float *const ones = S->values ? NULL : numbers(S->nnz);
    if (ones)
        for (int64_t t = 0; t < S->nnz; t++) ones[t] = 1;
    const product x = {S->offsets, S->columns, S->values ? S->values : ones, b, c, S->rows};
    const tamis_dense B = {.data = b, .rows = S->cols, .cols = width, .stride = width};
    const tamis_dense E = {.data = e, .rows = S->rows, .cols = width, .stride = width};
    for (int t = 0; t <= threads; t++) begins[t] = t == threads ? S->rows : first_row_from(&x, S->nnz * t / threads);
    double worst = 0, largest = 0;
    for (int r = -2; r < rounds; r++) {
        for (int i = 0; i < count; i++) {
            const int turn = r % 2 ? count - 1 - i : i;
            const double start = now(threads);
            if (turn)
                need(tamis_plan_spmm(all[turn].plan, &B, &E, NULL));
            else
                specialised(&x, width, threads, begins);
            if (r >= 0) all[turn].times[r] = now(threads) - start;
            if (r < -1 && turn)
                for (int64_t j = 0; j < S->rows * width; j++) {
                    worst = fmax(worst, fabs((double)c[j] - (double)e[j]));
                    largest = fmax(largest, fabs((double)c[j]));
                }
        }
    }
    for (int i = 0; i < count; i++) qsort(all[i].times, (size_t)rounds, sizeof(double), compare);
    for (int i = 1; i < count; i++)
        printf("%-24s %4d %2d  %-22s %9.4f %9.4f  %9.4f %9.4f  %5.2f %5.2f  %5.2f  %.1e\n", name, width, threads,
               all[i].name, 1e3 * all[0].times[0], 1e3 * all[0].times[rounds / 2], 1e3 * all[i].times[0],
               1e3 * all[i].times[rounds / 2], all[0].times[0] / all[i].times[0],
               all[0].times[rounds / 2] / all[i].times[rounds / 2], all[i].predicted / all[i].times[rounds / 2],
               largest > 0 ? worst / largest : 0);
    fflush(stdout);
    for (int i = 1; i < count; i++) tamis_plan_destroy(all[i].plan);
    free(b), free(c), free(e), free(ones);
}

int main(int argc, char **argv) {
    const char *algorithms = "auto", *parameters = NULL;
    int threads = 0, width = 0, rounds = 0;
    tamis_device *device;
    need(tamis_device_open("cpu", &device));
    printf("%-24s %4s %2s  %-22s %9s %9s  %9s %9s  %5s %5s  %5s\n", "matrix", "K", "T", "algorithm", "least", "median",
           "least", "median", "ratio", "ratio", "model");
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && i + 1 < argc) {
            const char option = argv[i][1], *const value = argv[++i];
            if (option == 't') threads = atoi(value);
            if (option == 'k') width = atoi(value);
            if (option == 'r') rounds = atoi(value);
            if (option == 'a') algorithms = value;
            if (option == 'p') parameters = value;
            continue;
        }
        tamis_owned_sparse *S;
        const char *const slash = strrchr(argv[i], '/');
        need(tamis_read_sparse(argv[i], NULL, &S));
        const tamis_sparse *const view = tamis_owned_sparse_view(S);
        for (int k = 32; k <= 128; k *= 2) {
            if (width ? k != width : k == 64) continue;
            const double work = (double)view->nnz * k * 1e-10;
            const int enough = rounds ? rounds : (int)fmin(200, fmax(15, 0.5 / work));
            for (int t = 1; t <= 2; t++)
                if (threads ? t == 1 : 1)
                    measure(device, view, slash ? slash + 1 : argv[i], k, threads ? threads : t,
                            enough < ROUNDS_MOST ? enough : ROUNDS_MOST, algorithms, parameters);
        }
        tamis_owned_sparse_free(S);
    }
    tamis_device_close(device);
    return 0;
}
