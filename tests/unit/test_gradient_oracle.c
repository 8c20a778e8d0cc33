/*
 * The oracle's gradients against finite differences of the oracle's operations, in double, on small random problems:
 * every edge, every operation, CSR and COO out of order, transposed, repeated entries, a batch. Edges with a kink are
 * drawn until no sample is near it.
 *
 * With f the sum of the output's elements, each times a weight of its own, D(h) = (f(x + h) - f(x - h)) / 2h is wrong
 * by h^2 f''' / 6 and terms of h^4 f^(5) / 120, and by rounding, of which each f has a few units in its last place for
 * each of its sums. The first of these is 4/3 of D(h) - D(h / 2); (4 D(h / 2) - D(h)) / 3 does not have it, and what is
 * left of it is smaller by some h^2 = 1e-6: a hundredth is allowed, and for rounding 64 of |f|'s units over h.
 */
#include "support/test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/edges.h"
#include "base/random.h"
#include "support/call.h"
#include "support/seed.h"
#include "support/works.h"

enum { ROWS = 4, COLS = 5, NNZ = 11, K = 3, L = 2, BATCH = 2 };

typedef struct setting {
    tamis_operation operation;
    tamis_options options;
    tamis_execution execution;
    tamis_sparse S;
    int32_t rows[NNZ], columns[NNZ];
    double values[BATCH * NNZ], a[BATCH * COLS * K], b[BATCH * COLS * K], d[BATCH * COLS * L], weights[256];
    tamis_dense A, B, D, G; /* G: the weights, the gradient of the output */
    int64_t outputs;
} setting;

static tamis_random dice;

static double draw(void) { return 2 * tamis_random_uniform(&dice) - 1; }

static void fill(double *x, int64_t count) {
    for (int64_t i = 0; i < count; i++) x[i] = draw();
}

static tamis_dense matrix(double *data, int64_t rows, int64_t cols) {
    return (tamis_dense){.data = data, .rows = rows, .cols = cols, .type = TAMIS_F64, .batch_stride = rows * cols};
}

static bool near_a_kink(const setting *s) {
    double x[BATCH * NNZ];
    tamis_options mask = s->options;
    tamis_sparse S = s->S;
    const double at = s->options.edge == TAMIS_EDGE_QUOTIENT ? s->options.edge_epsilon : 0;
    if (s->operation == TAMIS_OP_SPMM) return false;
    if (s->options.edge != TAMIS_EDGE_QUOTIENT && s->options.edge != TAMIS_EDGE_LEAKY_RELU) return false;
    mask.edge = TAMIS_EDGE_MASK;
    mask.transpose = false;
    works(tamis_reference_sddmm(&S, s->options.transpose ? &s->B : &s->A, s->options.transpose ? &s->A : &s->B, &mask,
                                NULL, x));
    for (int t = 0; t < BATCH * NNZ; t++)
        if (fabs(x[t] - at) < 0.05) return true;
    return false;
}

static void fill_all(setting *s) {
    for (int t = 0; t < NNZ; t++) {
        s->rows[t] = (int32_t)tamis_random_below(&dice, ROWS - 1); /* the last row is empty */
        s->columns[t] = (int32_t)tamis_random_below(&dice, COLS);
    }
    s->rows[NNZ - 1] = s->rows[0];
    s->columns[NNZ - 1] = s->columns[0];
    fill(s->values, BATCH * NNZ);
    fill(s->a, BATCH * COLS * K);
    fill(s->b, BATCH * COLS * K);
    fill(s->d, BATCH * COLS * L);
    fill(s->weights, 256);
}

static setting *make(tamis_operation operation, tamis_edge edge, bool transpose, bool with_values) {
    setting *const s = calloc(1, sizeof *s);
    const tamis_options options = TAMIS_OPTIONS_INIT;
    const tamis_execution execution = TAMIS_EXECUTION_INIT;
    const int64_t rows = transpose ? COLS : ROWS, cols = transpose ? ROWS : COLS;
    assert_non_null(s);
    s->operation = operation;
    s->options = options;
    s->options.edge = edge;
    s->options.transpose = transpose;
    s->options.batch = BATCH;
    s->options.edge_scale = edge == TAMIS_EDGE_LEAKY_RELU ? -1.25 : 0.75;
    s->options.edge_slope = 0.2;
    s->options.edge_epsilon = 0.3;
    s->execution = execution;
    s->execution.alpha = -1.5;
    s->S = (tamis_sparse){.format = TAMIS_COO,
                          .rows = ROWS,
                          .cols = COLS,
                          .nnz = NNZ,
                          .value_type = TAMIS_F64,
                          .row_indices = s->rows,
                          .columns = s->columns,
                          .values = with_values ? s->values : NULL,
                          .batch_stride = with_values ? NNZ : 0};
    s->A = matrix(s->a, rows, K);
    s->B = matrix(s->b, cols, K);
    s->D = matrix(s->d, cols, L);
    s->outputs = operation == TAMIS_OP_SDDMM ? NNZ : rows * L;
    s->G = matrix(s->weights, operation == TAMIS_OP_SDDMM ? NNZ : rows, operation == TAMIS_OP_SDDMM ? 1 : L);
    do fill_all(s);
    while (near_a_kink(s));
    return s;
}

/* f, and the sum of its terms' sizes. */
static double loss(const setting *s, double *size) {
    double out[256], f = 0;
    works(call_oracle(s->operation, &s->S, &s->A, &s->B, &s->D, &s->options, &s->execution, out));
    *size = 1;
    for (int64_t i = 0; i < BATCH * s->outputs; i++) {
        f += s->weights[i] * out[i];
        *size += fabs(s->weights[i] * out[i]);
    }
    return f;
}

static double slope(setting *s, double *x, double h, double *size) {
    const double kept = *x;
    *x = kept + h;
    const double up = loss(s, size);
    *x = kept - h;
    const double down = loss(s, size);
    *x = kept;
    return (up - down) / (2 * h);
}

static void compare(setting *s, const char *what, double *x, const double *gradient, int64_t count) {
    const double h = 1e-3;
    for (int64_t i = 0; i < count; i++) {
        double size;
        const double once = slope(s, x + i, h, &size), half = slope(s, x + i, h / 2, &size);
        const double want = (4 * half - once) / 3, gap = fabs(half - once);
        const double bound = 0.01 * gap + 64 * (DBL_EPSILON / 2) * size / h;
        if (gap > 1e-3 * (1 + fabs(want)) || !(fabs(gradient[i] - want) <= bound))
            fail_msg("%s, edge %s, d%s[%lld] = %.15g, by differences %.15g within %.3g (%.3g)",
                     tamis_operation_name(s->operation), tamis_edge_name(s->options.edge), what, (long long)i,
                     gradient[i], want, bound, gap);
    }
}

static void backward(setting *s, double *da, double *db, double *dd, double *ds) {
    works(
        call_oracle_back(s->operation, &s->S, &s->G, &s->A, &s->B, &s->D, &s->options, &s->execution, da, db, dd, ds));
}

static void one(tamis_operation operation, tamis_edge edge, bool transpose, bool with_values) {
    setting *const s = make(operation, edge, transpose, with_values);
    const bool spmm = operation == TAMIS_OP_SPMM;
    double da[BATCH * COLS * K], db[BATCH * COLS * K], dd[BATCH * COLS * L], ds[BATCH * NNZ], again[BATCH * COLS * L];
    double *const wanted = with_values && (spmm || edge != TAMIS_EDGE_MASK) ? ds : NULL;
    backward(s, da, db, operation == TAMIS_OP_SDDMM ? NULL : dd, wanted);
    if (!spmm) {
        compare(s, "A", s->a, da, BATCH * s->A.rows * K);
        compare(s, "B", s->b, db, BATCH * s->B.rows * K);
    }
    if (operation != TAMIS_OP_SDDMM) compare(s, spmm ? "B" : "D", s->d, dd, BATCH * s->D.rows * L);
    if (wanted) compare(s, "S", s->values, ds, BATCH * NNZ);
    /* what was there counts by beta, and an output by itself is the same */
    s->execution.beta = -2;
    for (int i = 0; i < BATCH * COLS * L; i++) again[i] = i;
    if (operation != TAMIS_OP_SDDMM) {
        backward(s, NULL, NULL, again, NULL);
        for (int i = 0; i < BATCH * s->D.rows * L; i++)
            assert_true(fabs(again[i] - (dd[i] - 2 * i)) <= 1e-12 * (1 + fabs(dd[i]) + 2 * i));
    }
    free(s);
}

TEST(test_differences) {
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
        for (int edge = 0; edge < TAMIS_EDGE_COUNT; edge++)
            for (int k = 0; k < 4; k++) {
                if (operation == TAMIS_OP_SDDMM && k / 2) continue;
                if (operation == TAMIS_OP_SPMM && edge) continue;
                for (int round = 0; round < 3; round++) one((tamis_operation)operation, (tamis_edge)edge, k / 2, k % 2);
            }
}

/* At the kinks, by hand. */
TEST(test_kinks) {
    int32_t offsets[] = {0, 2}, columns[] = {0, 1};
    double values[] = {3, 5}, a[] = {1}, b[] = {0, 0.25}, g[] = {1, 1}, da[1], db[2], ds[2];
    const tamis_sparse S = {.rows = 1,
                            .cols = 2,
                            .nnz = 2,
                            .value_type = TAMIS_F64,
                            .offsets = offsets,
                            .columns = columns,
                            .values = values};
    const tamis_dense A = matrix(a, 1, 1), B = matrix(b, 2, 1), G = matrix(g, 2, 1);
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.edge = TAMIS_EDGE_LEAKY_RELU; /* at 0: that of the right side */
    works(tamis_reference_sddmm_backward(&S, &G, &A, &B, &o, NULL, da, db, ds));
    assert_true(db[0] == 3 && db[1] == 5 && da[0] == 1.25 && ds[0] == 0 && ds[1] == 0.25);
    o.edge = TAMIS_EDGE_QUOTIENT; /* at epsilon and below: 0 by x, 1 / epsilon by s */
    o.edge_epsilon = 0.25;
    works(tamis_reference_sddmm_backward(&S, &G, &A, &B, &o, NULL, da, db, ds));
    assert_true(db[0] == 0 && db[1] == 0 && da[0] == 0 && ds[0] == 4 && ds[1] == 4);
}

TEST(test_values_without_gradient) {
    setting *s = make(TAMIS_OP_SDDMM, TAMIS_EDGE_MASK, false, true);
    double ds[BATCH * NNZ];
    assert_int_equal(tamis_reference_sddmm_backward(&s->S, &s->G, &s->A, &s->B, &s->options, NULL, NULL, NULL, ds),
                     TAMIS_ERROR_ARGUMENT);
    free(s);
    s = make(TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, false, false);
    assert_int_equal(tamis_reference_spmm_backward(&s->S, &s->G, &s->D, &s->options, NULL, NULL, ds),
                     TAMIS_ERROR_ARGUMENT);
    free(s);
}

/* An edge over samples is what SDDMM makes of the same samples. */
TEST(test_edges) {
    for (int edge = 0; edge < TAMIS_EDGE_COUNT; edge++) {
        setting *const s = make(TAMIS_OP_SDDMM, (tamis_edge)edge, false, edge % 2);
        double x[BATCH * NNZ], got[BATCH * NNZ], want[BATCH * NNZ];
        tamis_options mask = s->options;
        mask.edge = TAMIS_EDGE_MASK;
        works(tamis_reference_sddmm(&s->S, &s->A, &s->B, &mask, NULL, x));
        works(tamis_reference_sddmm(&s->S, &s->A, &s->B, &s->options, &s->execution, want));
        const tamis_dense X = matrix(x, NNZ, 1);
        works(tamis_reference_edge(&s->S, &X, &s->options, &s->execution, got));
        for (int t = 0; t < BATCH * NNZ; t++) assert_true(got[t] == want[t]);
        const tamis_dense few = matrix(x, NNZ - 1, 1);
        assert_int_equal(tamis_reference_edge(&s->S, &few, &s->options, &s->execution, got), TAMIS_ERROR_ARGUMENT);
        assert_non_null(strstr(tamis_last_error(), "X"));
        free(s);
    }
}

TEST_RUN() {
    dice = tamis_random_start(test_seed(), 0);
    return test_run(NULL, NULL, NULL, NULL);
}
