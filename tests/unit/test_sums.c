/*
 * How far the sums of SDDMM in fp32 are from those in double, relative to the sum of the magnitudes: no farther than an
 * fp32 sum in order on the same operands, or 2^-20. That is what tensor cores may take: 2^-21 for fp32 numbers split
 * into two of eleven bits (2^-23 for each operand, 2^-22 for the product of the low parts), and 2^-21 for sixteen
 * products added at once, of which what lies below 2^-25 of the largest is cut off. Operands are normal, positive, of
 * magnitudes spread within rows, and spread the other way in B, where large ones of A meet small ones; also near the
 * ends of fp32; and what is not finite must come out as in double. test_sums [DEVICE [ALGORITHM...]]: "cpu" and
 * cpu-nonzeros; on a device alone, every algorithm of SDDMM there.
 */
#include "cmocka_first.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tamis/algorithms.h>
#include <tamis/stream.h>

#include "base/random.h"
#include "named_device.h"

enum { ROWS = 140, COLS = 270 };

static const char *name = "cpu";
static const char *const *named; /* algorithms; NULL: all */
static const char *const usual[] = {"cpu-nonzeros", NULL};
static tamis_device *device;
static tamis_random dice;

static void works(tamis_status status) {
    if (status != TAMIS_OK) fail_msg("%s: %s", tamis_status_name(status), tamis_last_error());
}

/* ------------------------------------------------------------------------------------------ operands */

static double normal(void) {
    const double u = tamis_random_uniform(&dice), v = tamis_random_uniform(&dice);
    return sqrt(-2 * log(u > 0 ? u : 1e-300)) * cos(6.283185307179586 * v);
}

/* One number of A, and of B, at place k of K. `spread` goes from -1 to 1 along a row, the same in all. */
typedef double maker(double spread, bool of_b);
static double make_normal(double spread, bool of_b) { return (void)spread, (void)of_b, normal(); }
static double make_positive(double spread, bool of_b) { return (void)spread, (void)of_b, tamis_random_uniform(&dice); }
static double make_lognormal(double spread, bool of_b) { return (void)spread, (void)of_b, exp(2 * normal()); }
static double make_wild(double spread, bool of_b) {
    return (void)spread, (void)of_b, normal() * pow(10, 12 * tamis_random_uniform(&dice) - 6);
}
static double make_against_4(double spread, bool of_b) { return normal() * pow(10, of_b ? -4 * spread : 4 * spread); }
static double make_against_6(double spread, bool of_b) { return normal() * pow(10, of_b ? -6 * spread : 6 * spread); }
static double make_zeros(double spread, bool of_b) {
    return tamis_random_below(&dice, 3) ? 0 : make_against_6(spread, of_b);
}
static double make_huge(double spread, bool of_b) { return (void)spread, normal() * (of_b ? 1e-30 : 1e37); }
static double make_tiny(double spread, bool of_b) { return (void)spread, normal() * (of_b ? 1e30 : 1e-41); }

static const struct kind {
    const char *name;
    maker *make;
} kinds[] = {{"normal", make_normal},
             {"positive", make_positive},
             {"lognormal", make_lognormal},
             {"10^+-6 within rows", make_wild},
             {"10^+-4 against each other", make_against_4},
             {"10^+-6 against each other", make_against_6},
             {"the same with zeros", make_zeros},
             {"1e37 by 1e-30", make_huge},
             {"1e-41 by 1e30", make_tiny}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static float *operand(int64_t rows, int64_t inner, maker *make, bool of_b) {
    float *const x = malloc((size_t)(rows * inner) * sizeof *x);
    for (int64_t i = 0; i < rows * inner; i++)
        x[i] = (float)make(inner > 1 ? 2.0 * (double)(i % inner) / (double)(inner - 1) - 1 : 0, of_b);
    return x;
}

/* ------------------------------------------------------------------------------------------ patterns */

/* Rows of 4 of 10 columns, or of a band that few rows share. */
static tamis_sparse make_pattern(bool dense) {
    int32_t *const offsets = calloc(ROWS + 1, sizeof *offsets), *const columns = malloc(ROWS * COLS * sizeof *columns);
    for (int32_t r = 0, nnz = 0; r < ROWS; r++) {
        for (int32_t c = 0; c < COLS; c++)
            if (dense ? tamis_random_below(&dice, 10) < 4 : abs(c - r) < 9 && tamis_random_below(&dice, 4))
                columns[nnz++] = c;
        offsets[r + 1] = nnz;
    }
    return (tamis_sparse){.rows = ROWS, .cols = COLS, .nnz = offsets[ROWS], .offsets = offsets, .columns = columns};
}

static void *sent(const void *from, size_t bytes) {
    void *there = NULL;
    works(tamis_device_allocate(device, bytes, &there));
    works(tamis_device_upload(device, NULL, there, 0, from, bytes));
    return there;
}

/* ------------------------------------------------------------------------------------------ sums */

typedef struct errors {
    double ours, in_order;
} errors;

static errors compare(const tamis_sparse *S, const float *A, const float *B, int64_t inner, const float *P,
                      const char *what) {
    errors most = {0, 0};
    const int32_t *const offsets = S->offsets, *const columns = S->columns;
    for (int64_t r = 0; r < S->rows; r++)
        for (int32_t t = offsets[r]; t < offsets[r + 1]; t++) {
            const float *const a = A + r * inner, *const b = B + columns[t] * inner;
            double exact = 0, magnitudes = 0;
            float in_order = 0;
            for (int64_t k = 0; k < inner; k++) {
                exact += (double)a[k] * (double)b[k];
                magnitudes += fabs((double)a[k] * (double)b[k]);
                in_order = fmaf(a[k], b[k], in_order);
            }
            if (!isfinite(exact)) {
                if (isnan(exact) ? !isnan(P[t]) : (double)P[t] != exact)
                    fail_msg("%s: P[%d] is %g, not %g", what, t, (double)P[t], exact);
                continue;
            }
            const double least = magnitudes > FLT_MIN ? magnitudes : FLT_MIN;
            const double error = fabs((double)P[t] - exact) / least;
            if (!(error <= most.ours)) most.ours = error; /* NaN as well */
            most.in_order = fmax(most.in_order, fabs((double)in_order - exact) / least);
        }
    return most;
}

static tamis_dense view(void *data, int64_t rows, int64_t cols, tamis_location location) {
    return (tamis_dense){.data = data, .rows = rows, .cols = cols, .stride = cols, .location = location};
}

/* False where the algorithm declines. */
static bool run(const tamis_sparse *S, const float *A, const float *B, int64_t inner, const char *algorithm, float *P) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    tamis_device_description about;
    tamis_plan *plan = NULL;
    tamis_sparse there = *S;
    works(tamis_device_describe(device, &about));
    void *const offsets = sent(S->offsets, (ROWS + 1) * sizeof(int32_t)), *const columns =
                                                                              sent(S->columns,
                                                                                   (size_t)S->nnz * sizeof(int32_t));
    there.offsets = offsets;
    there.columns = columns;
    there.location = about.location;
    options.operation = TAMIS_OP_SDDMM;
    options.edge = TAMIS_EDGE_MASK;
    options.inner = inner;
    options.algorithm = algorithm;
    const tamis_status status = tamis_plan_create(device, &there, &options, &plan);
    if (status != TAMIS_ERROR_UNSUPPORTED) works(status);
    if (plan) {
        void *const a = sent(A, (size_t)(ROWS * inner) * 4), *const b = sent(B, (size_t)(COLS * inner) * 4);
        memset(P, 0xff, (size_t)S->nnz * 4);
        void *const p = sent(P, (size_t)S->nnz * 4);
        const tamis_dense out = {.data = p, .rows = S->nnz, .cols = 1, .location = about.location},
                          left = view(a, ROWS, inner, about.location), right = view(b, COLS, inner, about.location);
        works(tamis_plan_sddmm(plan, &left, &right, &out, &execution));
        works(tamis_device_download(device, NULL, P, p, 0, (size_t)S->nnz * 4));
        tamis_device_free(device, a);
        tamis_device_free(device, b);
        tamis_device_free(device, p);
        tamis_plan_destroy(plan);
    }
    tamis_device_free(device, offsets);
    tamis_device_free(device, columns);
    return plan != NULL;
}

static void check(const char *algorithm, bool dense) {
    static const int64_t widths[] = {1, 3, 7, 32, 37, 64, 100, 128, 200, 256, 512, 1000, 1024, 4096};
    const double allowed = 0x1p-20;
    const tamis_sparse S = make_pattern(dense);
    float *const P = malloc((size_t)S.nnz * sizeof *P);
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
        for (int kind = 0; kind < KINDS; kind++) {
            char what[160];
            const int64_t inner = widths[w];
            float *const A = operand(ROWS, inner, kinds[kind].make, false), *const B = operand(COLS, inner,
                                                                                               kinds[kind].make, true);
            snprintf(what, sizeof what, "%s, %s, K = %lld, %s", algorithm, dense ? "dense" : "band", (long long)inner,
                     kinds[kind].name);
            A[17 * inner] = INFINITY;
            A[18 * inner] = NAN;
            B[20 * inner + inner - 1] = -INFINITY;
            if (run(&S, A, B, inner, algorithm, P)) {
                const errors e = compare(&S, A, B, inner, P, what);
                printf("%-70s %.2g, in order %.2g\n", what, e.ours, e.in_order);
                if (!(e.ours <= fmax(e.in_order, allowed))) fail_msg("%s: %g, in order %g", what, e.ours, e.in_order);
            }
            free(A);
            free(B);
        }
    free(P);
    free((void *)(uintptr_t)S.offsets);
    free((void *)(uintptr_t)S.columns);
}

static void sums_are_as_exact_as_in_order(void **state) {
    (void)state;
    for (const char *const *one = named; one && *one; one++)
        for (int dense = 0; dense < 2; dense++) check(*one, dense);
    for (int a = 0; !named && a < tamis_algorithm_count(); a++) {
        tamis_algorithm_description about;
        works(tamis_algorithm_at(a, &about));
        if (!(about.operations & 1u << TAMIS_OP_SDDMM) ||
            strcmp(about.device, strcmp(name, "cpu") == 0 ? "cpu" : "gpu") != 0)
            continue;
        for (int dense = 0; dense < 2; dense++) check(about.name, dense);
    }
}

static int set_up(void **state) {
    (void)state;
    return tamis_device_open(name, &device) != TAMIS_OK;
}

static int tear_down(void **state) {
    (void)state;
    tamis_device_close(device);
    return 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_as_exact_as_in_order)};
    if (!named_device_is_here(argc, argv, &name)) return 77;
    if (argc == 1) named = usual;
    if (argc > 2) named = (const char *const *)argv + 2;
    dice = tamis_random_start(1, 0);
    return cmocka_run_group_tests_name(name, tests, set_up, tear_down);
}
