/*
 * Kernels of fp16 and bf16 on numbers whose sums are exact, so that not one bit may differ, whatever the order: small
 * integers at every width that makes another kernel, rows of S of no to many nonzeros, rows of dense matrices that
 * begin anywhere. Then one number in them that is subnormal, infinite or NaN: docs/manual/numerics.md says which of
 * them a processor that multiplies pairs of bf16 may take for 0.
 */
#include "support/test.h"

#include "cpu/predict.h"
#include "cross.h"
#include "support/algorithms.h"

enum { ROWS = 23, COLS = 19, WIDEST = 777 };

/* Around the widths of registers of every instruction set, and of blocks of them. */
static const int widths[] = {1,  2,  4,  5,  7,  8,   9,   15,  16,  17,  24,  31,  32,  33,  40,  47,  48,  49,
                             63, 64, 65, 95, 96, 127, 128, 129, 160, 200, 255, 256, 257, 288, 300, 511, 512, 777};
enum { WIDTHS = sizeof widths / sizeof *widths };

typedef struct fixture {
    tamis_device *device;
    const char *isa;
    tamis_type type;
    int width, nnz;
    int32_t offsets[ROWS + 1], narrow[ROWS * COLS];
    int64_t wide[ROWS * COLS];
    double a[ROWS * WIDEST], b[COLS * WIDEST], d[COLS * WIDEST], s[ROWS * COLS];
    tamis_sparse S;
    matrix A, B, D, values;
    bool d_is_b;
} fixture;

/* Packed doubles as a matrix of the type with padded rows that begins `odd` elements into its block. */
static matrix stored(const fixture *f, const double *from, int64_t rows, int odd) {
    matrix m = matrix_room(f->type, rows, f->width, (matrix_place){.padding = odd, .front = odd, .behind = odd});
    matrix_fill(&m, from);
    return m;
}

/* Row i of S has i % 12 nonzeros and one has all columns. */
static void fill(fixture *f, int width, tamis_random *random) {
    f->width = width;
    f->nnz = 0;
    for (int i = 0; i < ROWS; i++) {
        const int count = i == ROWS / 2 ? COLS : i % 12;
        for (int n = 0; n < count; n++) {
            f->wide[f->nnz] = f->narrow[f->nnz] = (i + n) % COLS;
            f->s[f->nnz++] = (double)tamis_random_below(random, 5) - 2;
        }
        f->offsets[i + 1] = f->nnz;
    }
    for (int i = 0; i < ROWS * width; i++) f->a[i] = (double)tamis_random_below(random, 5) - 2;
    for (int i = 0; i < COLS * width; i++) f->b[i] = (double)tamis_random_below(random, 5) - 2;
    for (int i = 0; i < COLS * width; i++) f->d[i] = (double)tamis_random_below(random, 3) - 1;
}

static void start(fixture *f, int odd, bool wide, bool d_is_b) {
    if (d_is_b) memcpy(f->d, f->b, sizeof f->b);
    f->d_is_b = d_is_b;
    f->A = stored(f, f->a, ROWS, odd);
    f->B = stored(f, f->b, COLS, odd);
    f->D = stored(f, f->d, COLS, odd);
    f->values = matrix_room(f->type, f->nnz, 1, (matrix_place){.front = 0});
    matrix_fill(&f->values, f->s);
    const void *const columns = wide ? (const void *)f->wide : f->narrow;
    f->S = csr_of(f->type, ROWS, COLS, f->nnz, f->offsets, columns, f->values.here.data);
    if (wide) f->S.index_type = TAMIS_I64;
}

static void stop(fixture *f) {
    matrix *const all[] = {&f->A, &f->B, &f->D, &f->values};
    for (int i = 0; i < 4; i++) matrix_free(all[i]);
}

/* <A_i, B_j> and so on, in double: exact for all numbers of this file. */
static double dot_of(const fixture *f, int i, int j) {
    double sum = 0;
    for (int k = 0; k < f->width; k++) sum += f->a[i * f->width + k] * f->b[j * f->width + k];
    return sum;
}

/* Element l of row i of S B, or of the fused product. */
static double sum_of(const fixture *f, tamis_operation operation, int i, int l) {
    double sum = 0;
    for (int t = f->offsets[i]; t < f->offsets[i + 1]; t++) {
        const int j = f->narrow[t];
        sum += operation == TAMIS_OP_SPMM ? f->s[t] * f->b[j * f->width + l] : dot_of(f, i, j) * f->d[j * f->width + l];
    }
    return sum;
}

static void compute(const fixture *f, tamis_operation operation, const char *algorithm, int threads,
                    const tamis_dense *out) {
    const tamis_dense *const B = &f->B.here, *const D = operation == TAMIS_OP_SPMM || f->d_is_b ? B : &f->D.here;
    tamis_options o = with_edge(TAMIS_EDGE_MASK);
    o.algorithm = algorithm;
    o.threads = threads;
    works(call_at_once(f->device, operation, &f->S, &f->A.here, B, D, out, &o, NULL));
}

typedef bool accepts(const fixture *f, double right, double found);

static bool is_exact(const fixture *f, double right, double found) { return found == right; }

static void check(const fixture *f, tamis_operation operation, accepts *right_enough) {
    const bool sddmm = operation == TAMIS_OP_SDDMM;
    double want[ROWS * WIDEST];
    int count = 0;
    /* fp32, so that nothing is rounded */
    matrix out = matrix_room(TAMIS_F32, sddmm ? f->nnz : ROWS, sddmm ? 1 : f->width, (matrix_place){.front = 1});
    for (int i = 0; i < ROWS; i++) {
        if (sddmm)
            for (int t = f->offsets[i]; t < f->offsets[i + 1]; t++) want[count++] = dot_of(f, i, f->narrow[t]);
        else
            for (int l = 0; l < f->width; l++) want[count++] = sum_of(f, operation, i, l);
    }
    const char *algorithms[CPU_ALGORITHMS_MOST + 1];
    const int algorithm_count = cpu_algorithms_of_halves(operation, f->type, algorithms);
    for (int n = 0; n < algorithm_count; n++)
        for (int threads = 1; threads <= 3; threads += 2) {
            matrix_poison(&out);
            compute(f, operation, algorithms[n], threads, &out.here);
            assert_int_equal(matrix_touched(&out), -1);
            for (int i = 0; i < count; i++) {
                const double found = test_load(out.here.data, TAMIS_F32, i);
                if (!right_enough(f, want[i], found))
                    fail_msg("%s of %s by %s on %s, %d threads, width %d, element %d: %g, %g is right",
                             tamis_operation_name(operation), tamis_type_name(f->type), algorithms[n], f->isa, threads,
                             f->width, i, found, want[i]);
            }
        }
    matrix_free(&out);
}

typedef void body(fixture *f, tamis_random *random);

/* On every instruction set that runs here, in both types. */
static void everywhere(body *run) {
    static fixture f;
    static const tamis_type types[] = {TAMIS_F16, TAMIS_BF16};
    int runnable = 0;
    for (int i = 0; i < CROSS_ISAS; i++) {
        const unsigned own = cross_isa_types(cross_isas[i]);
        if (own == 0) continue;
        f.isa = cross_isas[i];
        works(tamis_device_open("cpu", &f.device));
        for (int n = 0; n < 2; n++) {
            if (!(own >> types[n] & 1)) continue;
            tamis_random random = tamis_random_start(17, (uint64_t)n);
            f.type = types[n];
            run(&f, &random);
        }
        tamis_device_close(f.device);
        runnable++;
    }
    assert_true(runnable > 0);
}

static void integers(fixture *f, tamis_random *random) {
    for (int w = 0; w < WIDTHS; w++)
        for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++) {
            fill(f, widths[w], random);
            start(f, (w + operation) % 3, w % 4 == 3, operation == TAMIS_OP_FUSED && w % 2);
            check(f, (tamis_operation)operation, is_exact);
            stop(f);
        }
}

TEST(sums_of_integers_are_exact_at_every_width) { everywhere(integers); }

/* What is not finite stays so; what does not touch it stays exact. */
static bool is_of_the_class(const fixture *f, double right, double found) {
    return isfinite(right) ? found == right : isnan(right) ? isnan(found) : !isfinite(found);
}

static void specials(fixture *f, tamis_random *random) {
    const double list[] = {(double)INFINITY, -(double)INFINITY, (double)NAN};
    for (int w = 0; w < WIDTHS; w++)
        for (int n = 0; n < 3; n++) {
            fill(f, widths[w], random);
            const int last = f->width - 1; /* next to what a mask leaves out */
            f->b[3 * f->width + last] = list[n];
            f->a[7 * f->width + (w % 2 ? 0 : last)] = list[n];
            start(f, w % 2, false, false);
            check(f, TAMIS_OP_SDDMM, is_of_the_class);
            check(f, TAMIS_OP_SPMM, is_of_the_class);
            stop(f);
        }
}

TEST(infinities_and_nan_go_where_the_formula_takes_them) { everywhere(specials); }

/* One subnormal number of bf16 in each sum, times 2^100; all other products are 0. */
static bool is_there_or_zero(const fixture *f, double right, double found) {
    const bool pairs = strcmp(f->isa, "v4-bf16") == 0 || cpu_isa_has_amx();
    return found == right || (pairs && found == 0);
}

static void subnormals(fixture *f, tamis_random *random) {
    if (f->type != TAMIS_BF16) return; /* those of fp16 are normal numbers of fp32 */
    for (int w = 0; w < WIDTHS; w++) {
        fill(f, widths[w], random);
        const int at = (w * 5) % f->width;
        for (int i = 0; i < ROWS * f->width; i++) f->a[i] = i % f->width == at ? ldexp(1 + i % 64, -133) : 0;
        for (int i = 0; i < COLS * f->width; i++) f->b[i] = 0x1p100;
        for (int i = 0; i < ROWS; i++)
            for (int t = f->offsets[i]; t < f->offsets[i + 1]; t++)
                f->s[t] = t == f->offsets[i] + i % 5 ? ldexp(1 + i, -133) : 0;
        start(f, w % 2, w % 4 == 3, false);
        check(f, TAMIS_OP_SDDMM, is_there_or_zero);
        check(f, TAMIS_OP_SPMM, is_there_or_zero);
        stop(f);
    }
}

TEST(subnormal_numbers_are_taken_for_zero_by_pairs_alone) { everywhere(subnormals); }

/* Where nothing but arithmetic counts, what is predicted follows the rate of pairs: of dot products, and of sums whose
   weights are bf16. */
TEST(pairs_are_predicted_at_their_rate) {
    static const struct {
        tamis_operation operation;
        tamis_type type, values;
        double dots, sums; /* K = L = 100 each, in one of the two ways or in pairs */
    } rows[] = {{TAMIS_OP_SDDMM, TAMIS_BF16, TAMIS_BF16, 1, 0},
                {TAMIS_OP_SPMM, TAMIS_BF16, TAMIS_BF16, 0, 1},
                {TAMIS_OP_SPMM, TAMIS_BF16, TAMIS_F32, 0, 0},
                {TAMIS_OP_FUSED, TAMIS_BF16, TAMIS_BF16, 0.5, 0},
                {TAMIS_OP_SDDMM, TAMIS_F16, TAMIS_F16, 0, 0}};
    tamis_evidence evidence = {.cache_l1 = 1 << 15, .cache_l2 = 1 << 20};
    tamis_cpu_rates rates = {.dots.products = 1, .sums.products = 1, .amx = 2};
    memcpy(evidence.rates, &rates, sizeof rates);
    tamis_ceilings *const c = &evidence.ceilings;
    c->threads = 1;
    c->fp32_gflops[0] = 1;
    c->memory_gbs[0] = 1e12;
    for (int i = 0; i < 6; i++) {
        c->gather_gbs[0][i] = 1e12;
        c->gather_bytes[i] = 1 << (15 + 2 * i);
    }
    if (!cross_isa_runs("v4-bf16")) return;
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        const bool sddmm = rows[n].operation == TAMIS_OP_SDDMM, spmm = rows[n].operation == TAMIS_OP_SPMM;
        const tamis_problem multiplied = {.operation = rows[n].operation,
                                          .type = rows[n].type,
                                          .output_type = rows[n].type,
                                          .value_type = rows[n].values,
                                          .rows = 1,
                                          .cols = 1000,
                                          .nnz = 1000000,
                                          .inner = spmm ? 0 : 100,
                                          .width = sddmm ? 0 : 100,
                                          .threads = 1,
                                          .evidence = &evidence};
        assert_true(cross_isa_runs("v4"));
        evidence.sampled[TAMIS_CPU_SAMPLED_PAIRS] = tamis_cpu_pairs_of(rows[n].type);
        const double before = tamis_cpu_products(&multiplied);
        assert_true(cross_isa_runs("v4-bf16"));
        evidence.sampled[TAMIS_CPU_SAMPLED_PAIRS] = tamis_cpu_pairs_of(rows[n].type);
        const double now = tamis_cpu_products(&multiplied);
        const double saved = (rows[n].dots + rows[n].sums) * (1 - 1 / rates.amx);
        assert_true(fabs(now / before - (1 - saved)) < 1e-4);
    }
}

/* A small alpha makes subnormal results of normal sums: they are rounded like others. */
static void small_results(fixture *f, tamis_random *random) {
    static uint16_t out[ROWS * WIDEST];
    if (f->type != TAMIS_BF16) return;
    fill(f, 100, random);
    start(f, 0, false, false);
    const tamis_dense C = {.data = out, .rows = ROWS, .cols = f->width, .type = f->type};
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    o.threads = 1;
    for (int n = -3; n <= 0; n++) {
        execution.alpha = ldexp(-1, n == 0 ? 0 : -127 + n);
        works(tamis_spmm(f->device, &f->S, &f->B.here, &C, &o, &execution));
        for (int i = 0; i < ROWS * f->width; i++) {
            const double sum = sum_of(f, TAMIS_OP_SPMM, i / f->width, i % f->width);
            assert_true(test_load(out, f->type, i) == execution.alpha * sum);
        }
    }
    stop(f);
}

TEST(small_results_are_not_lost) { everywhere(small_results); }
