/*
 * How far the sums of SDDMM in fp32 are from those in double, relative to the sum of the magnitudes: no farther than an
 * fp32 sum in order on the same operands, or 2^-20. That is what tensor cores may take: 2^-21 for fp32 numbers split
 * into two of eleven bits (2^-23 for each operand, 2^-22 for the product of the low parts), and 2^-21 for sixteen
 * products added at once, of which what lies below 2^-25 of the largest is cut off. Operands are normal, positive, of
 * magnitudes spread within rows, and spread the other way in B, where large ones of A meet small ones; also near the
 * ends of fp32; and what is not finite must come out as in double. The same of SpMM, with such numbers in S and in B;
 * and of means of D's rows: fused with softmax of scores that are all 0. test_sums [DEVICE [ALGORITHM...]]: "cpu" and
 * cpu-nonzeros; on a device alone, every algorithm of SDDMM, SpMM and fused there.
 */
#include "support/test.h"

#include <float.h>
#include <tamis/algorithms.h>

#include "device_fixture.h"

enum { ROWS = 140, COLS = 270 };

static const char *const *named; /* algorithms; NULL: all */
static const char *const usual[] = {"cpu-nonzeros", NULL};

/* ------------------------------------------------------------------------------------------ operands */

static double normal(void) {
    const double u = tamis_random_uniform(&dice), v = tamis_random_uniform(&dice);
    return sqrt(-2 * log(u > 0 ? u : 1e-300)) * cos(6.283185307179586 * v);
}

/* One number of A, and of B, at place k of K. `spread` goes from -1 to 1 along a row, the same in all. */
typedef double maker(double spread, bool of_b);
static double make_normal(double spread, bool of_b) { return normal(); }
static double make_positive(double spread, bool of_b) { return tamis_random_uniform(&dice); }
static double make_lognormal(double spread, bool of_b) { return exp(2 * normal()); }
static double make_wild(double spread, bool of_b) { return normal() * pow(10, 12 * tamis_random_uniform(&dice) - 6); }
static double make_against_4(double spread, bool of_b) { return normal() * pow(10, of_b ? -4 * spread : 4 * spread); }
static double make_against_6(double spread, bool of_b) { return normal() * pow(10, of_b ? -6 * spread : 6 * spread); }
static double make_zeros(double spread, bool of_b) {
    return tamis_random_below(&dice, 3) ? 0 : make_against_6(spread, of_b);
}
static double make_huge(double spread, bool of_b) { return normal() * (of_b ? 1e-30 : 1e37); }
static double make_tiny(double spread, bool of_b) { return normal() * (of_b ? 1e30 : 1e-41); }

/* What is computed; from SPMM on, sums of rows. */
typedef enum summing { SDDMM, SPMM, MEANS } summing;
static const tamis_operation operations[] = {TAMIS_OP_SDDMM, TAMIS_OP_SPMM, TAMIS_OP_FUSED};
static const tamis_edge edges[] = {TAMIS_EDGE_MASK, TAMIS_EDGE_SCALE, TAMIS_EDGE_SOFTMAX};

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

/* What one sum would be: term by term. */
typedef struct sum {
    double exact, magnitudes;
    float in_order;
} sum;

static void add(sum *to, float x, float y) {
    to->exact += (double)x * (double)y;
    to->magnitudes += fabs((double)x * (double)y);
    to->in_order = fmaf(x, y, to->in_order);
}

static void compare(errors *most, const sum *of, float ours, const char *what) {
    if (!isfinite(of->exact)) {
        if (isnan(of->exact) ? !isnan(ours) : (double)ours != of->exact)
            fail_msg("%s: %g, not %g", what, (double)ours, of->exact);
        return;
    }
    const double least = of->magnitudes > FLT_MIN ? of->magnitudes : FLT_MIN;
    const double error = fabs((double)ours - of->exact) / least;
    if (!(error <= most->ours)) most->ours = error; /* NaN as well */
    most->in_order = fmax(most->in_order, fabs((double)of->in_order - of->exact) / least);
}

/* A: of SDDMM rows of K, else weights of S's nonzeros. B: rows of `width`. */
static errors compare_all(const tamis_sparse *S, summing what_sums, const float *A, const float *B, int64_t width,
                          const float *result, const char *what) {
    errors most = {0, 0};
    const int32_t *const offsets = S->offsets, *const columns = S->columns;
    for (int64_t r = 0; r < S->rows; r++)
        if (what_sums != SDDMM) {
            for (int64_t l = 0; l < width; l++) {
                sum one = {0, 0, 0};
                for (int32_t t = offsets[r]; t < offsets[r + 1]; t++) add(&one, A[t], B[columns[t] * width + l]);
                compare(&most, &one, result[r * width + l], what);
            }
        } else {
            for (int32_t t = offsets[r]; t < offsets[r + 1]; t++) {
                sum one = {0, 0, 0};
                for (int64_t k = 0; k < width; k++) add(&one, A[r * width + k], B[columns[t] * width + k]);
                compare(&most, &one, result[t], what);
            }
        }
    return most;
}

static tamis_dense view(void *data, int64_t rows, int64_t cols, tamis_location location) {
    return (tamis_dense){.data = data, .rows = rows, .cols = cols, .stride = cols, .location = location};
}

/* False where the algorithm declines. */
static bool run(const tamis_sparse *S, summing what, const float *A, const float *B, int64_t width,
                const char *algorithm, float *result) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    tamis_device_description about;
    tamis_plan *plan = NULL;
    tamis_sparse there = *S;
    enum { SCORED = 8 }; /* K of means */
    static const float zeros[COLS * SCORED];
    const int64_t a_count = what == SDDMM ? ROWS * width : S->nnz, count = what == SDDMM ? S->nnz : ROWS * width;
    works(tamis_device_describe(device, &about));
    void *const offsets = sent(S->offsets, (ROWS + 1) * sizeof(int32_t)),
                *const columns = sent(S->columns, (size_t)S->nnz * sizeof(int32_t)),
                *const a = sent(A, (size_t)a_count * 4), *const b = sent(B, (size_t)(COLS * width) * 4),
                *const none = sent(zeros, sizeof zeros);
    memset(result, 0xff, (size_t)count * 4);
    void *const to = sent(result, (size_t)count * 4);
    there.offsets = offsets;
    there.columns = columns;
    there.location = about.location;
    if (what == SPMM) there.values = a;
    options.operation = operations[what];
    options.edge = edges[what];
    *(what == SDDMM ? &options.inner : &options.width) = width;
    if (what == MEANS) options.inner = SCORED;
    options.algorithm = algorithm;
    const tamis_status status = tamis_plan_create(device, &there, &options, &plan);
    if (status != TAMIS_ERROR_UNSUPPORTED) works(status);
    if (plan) {
        const tamis_dense left = view(a, ROWS, width, about.location), right = view(b, COLS, width, about.location),
                          samples = {.data = to, .rows = S->nnz, .cols = 1, .location = about.location},
                          product = view(to, ROWS, width, about.location),
                          no_a = view(none, ROWS, SCORED, about.location),
                          no_b = view(none, COLS, SCORED, about.location);
        works(what == SPMM    ? tamis_plan_spmm(plan, &right, &product, &execution)
              : what == SDDMM ? tamis_plan_sddmm(plan, &left, &right, &samples, &execution)
                              : tamis_plan_fused(plan, &no_a, &no_b, &right, &product, &execution));
        works(tamis_device_download(device, NULL, result, to, 0, (size_t)count * 4));
    }
    const bool ran = plan != NULL;
    tamis_plan_destroy(plan);
    for (int i = 0; i < 6; i++) tamis_device_free(device, (void *[]){offsets, columns, a, b, none, to}[i]);
    return ran;
}

/* What K or the width, and the kind of operands, give for one pattern. */
static void check_one(const tamis_sparse *S, summing sums, int64_t width, const struct kind *kind,
                      const char *algorithm, const char *pattern) {
    const double allowed = 0x1p-20;
    const int32_t *const offsets = S->offsets, *const columns = S->columns;
    char what[160];
    const bool spmm = sums != SDDMM;
    OWN(float) *const A = spmm ? malloc((size_t)S->nnz * sizeof *A) : operand(ROWS, width, kind->make, false);
    OWN(float) *const B = operand(COLS, width, kind->make, true);
    OWN(float) *const result = malloc((size_t)(spmm ? ROWS * width : S->nnz) * sizeof *result);
    snprintf(what, sizeof what, "%s, %s, %s = %lld, %s", algorithm, pattern,
             sums == SDDMM  ? "K"
             : sums == SPMM ? "width"
                            : "width of means",
             (long long)width, kind->name);
    if (spmm) { /* spread from column to column of S, which are the rows of B */
        for (int64_t t = 0; t < S->nnz; t++) A[t] = (float)kind->make(2.0 * columns[t] / (COLS - 1) - 1, false);
        for (int64_t i = 0; i < COLS * width; i++)
            B[i] = (float)kind->make(2.0 * (double)(i / width) / (COLS - 1) - 1, true);
    }
    for (int64_t r = 0; sums == MEANS && r < ROWS; r++)
        for (int32_t t = offsets[r]; t < offsets[r + 1]; t++) A[t] = 1.0F / (float)(offsets[r + 1] - offsets[r]);
    if (sums != MEANS) {
        A[spmm ? offsets[17] : 17 * width] = INFINITY;
        A[spmm ? offsets[18] : 18 * width] = NAN;
    }
    B[20 * width + width - 1] = -INFINITY;
    if (run(S, sums, A, B, width, algorithm, result)) {
        const errors e = compare_all(S, sums, A, B, width, result, what);
        printf("%-70s %.2g, in order %.2g\n", what, e.ours, e.in_order);
        if (!(e.ours <= fmax(e.in_order, allowed))) fail_msg("%s: %g, in order %g", what, e.ours, e.in_order);
    }
}

static void check(const tamis_algorithm_description *about, summing sums) {
    static const int64_t widths[] = {1, 3, 7, 32, 37, 64, 100, 128, 200, 256, 512, 1000, 1024, 4096};
    if (!(about->operations & 1u << operations[sums])) return;
    for (int dense = 0; dense < 2; dense++) {
        const tamis_sparse S = make_pattern(dense);
        /* the longest take most of the time; the CPU's are in the cross tests */
        const int64_t most = sums != SDDMM ? 256 : strcmp(name, "cpu") == 0 ? 1024 : 4096;
        for (size_t w = 0; w < sizeof widths / sizeof widths[0] && widths[w] <= most; w++)
            for (int kind = 0; kind < KINDS; kind++)
                check_one(&S, sums, widths[w], &kinds[kind], about->name, dense ? "dense" : "band");
        free((void *)(uintptr_t)S.offsets);
        free((void *)(uintptr_t)S.columns);
    }
}

static bool is_named(const char *algorithm) {
    for (const char *const *one = named; *one; one++)
        if (strcmp(*one, algorithm) == 0) return true;
    return false;
}

TEST(sums_are_as_exact_as_in_order) {
    int checked = 0;
    for (int a = 0; a < tamis_algorithm_count(); a++) {
        tamis_algorithm_description about;
        works(tamis_algorithm_at(a, &about));
        if (strcmp(about.device, strcmp(name, "cpu") == 0 ? "cpu" : "gpu") != 0) continue;
        if (named && !is_named(about.name)) continue;
        for (summing sums = SDDMM; sums <= MEANS; sums++) check(&about, sums);
        checked++;
    }
    assert_true(checked > 0);
}

TEST_RUN() {
    if (!device_is_named(argc, argv)) return 77;
    if (argc == 1) named = usual;
    if (argc > 2) named = (const char *const *)argv + 2;
    dice = tamis_random_start(1, 0);
    return test_run(name, NULL, set_up, tear_down);
}
