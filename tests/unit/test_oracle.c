/* The oracle against values worked out by hand. Everything else is tested against the oracle, so it needs somebody too.
 */
#include "support/test.h"

/* S = [ 2 . ]   A = [ 1 2 ]   B = [ 3 -1 ]   A B^T at (0,0) = 1*3 + 2*-1 = 1, at (1,0) = 0.5*3 - 1 = 0.5,
       [ -3 4 ]      [ .5 1 ]      [ 0  4 ]             at (1,1) = 0.5*0 + 1*4 = 4 */
static int32_t offsets[] = {0, 1, 3}, columns[] = {0, 0, 1}, rows[] = {0, 1, 1};
static double values[] = {2, -3, 4}, a[] = {1, 2, 0.5, 1}, b[] = {3, -1, 0, 4};
static const tamis_dense A = {.data = a, .rows = 2, .cols = 2, .type = TAMIS_F64};
static const tamis_dense B = {.data = b, .rows = 2, .cols = 2, .type = TAMIS_F64};

static tamis_sparse matrix(void) { return csr_of(TAMIS_F64, 2, 2, 3, offsets, columns, values); }

#define NEAR(got, ...)                                                                                                 \
    near_all(got, (const double[]){__VA_ARGS__}, (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

static void near_all(const double *got, const double *want, int count) {
    for (int i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-14 * (1 + fabs(want[i]))))
            fail_msg("number %d is %.17g, expected %.17g", i, got[i], want[i]);
}

static void sample(const tamis_sparse *S, test_call call, double w0, double w1, double w2) {
    double p[3] = {10, 20, 30};
    works(tamis_reference_sddmm(S, &A, &B, &call.options, &call.execution, p));
    NEAR(p, w0, w1, w2);
}

static test_call with_scale(test_call call, double scale, double slope) {
    call.options.edge_scale = scale;
    call.options.edge_slope = slope;
    return call;
}

static test_call with_epsilon(test_call call, double epsilon) {
    call.options.edge_epsilon = epsilon;
    return call;
}

TEST(test_edges) {
    const tamis_sparse S = matrix();
    sample(&S, call_of(TAMIS_EDGE_SCALE, 1, 0), 2, -1.5, 16);
    sample(&S, call_of(TAMIS_EDGE_MASK, 1, 0), 1, 0.5, 4);
    sample(&S, call_of(TAMIS_EDGE_RESIDUAL, 1, 0), 1, -3.5, 0);
    sample(&S, call_of(TAMIS_EDGE_QUOTIENT, 1, 0), 2, -6, 1);
    sample(&S, with_epsilon(call_of(TAMIS_EDGE_QUOTIENT, 1, 0), 2), 1, -1.5, 1);
    sample(&S, with_scale(call_of(TAMIS_EDGE_EXP, 1, 0), 2, 0.01), 2 * exp(2), -3 * exp(1), 4 * exp(8));
    sample(&S, with_scale(call_of(TAMIS_EDGE_SIGMOID, 1, 0), -1, 0.01), 2 / (1 + exp(1)), -3 / (1 + exp(0.5)),
           4 / (1 + exp(4)));
    sample(&S, with_scale(call_of(TAMIS_EDGE_LEAKY_RELU, 1, 0), -1, 0.5), -1, 0.75, -8);
    sample(&S, call_of(TAMIS_EDGE_SOFTMAX, 1, 0), 1, 1 / (1 + exp(10.5)), 1 / (1 + exp(-10.5)));
}

TEST(test_scalars) {
    const tamis_sparse S = matrix();
    sample(&S, call_of(TAMIS_EDGE_SCALE, 2, 0.5), 4 + 5, -3 + 10, 32 + 15);
    sample(&S, call_of(TAMIS_EDGE_SCALE, 0, 1), 10, 20, 30);
    double p[3] = {NAN, NAN, NAN};
    works(tamis_reference_sddmm(&S, &A, &B, NULL, NULL, p));
    NEAR(p, 2, -1.5, 16);
}

TEST(test_patterns) {
    tamis_sparse S = matrix();
    S.values = NULL;
    sample(&S, call_of(TAMIS_EDGE_SCALE, 1, 0), 1, 0.5, 4);
    sample(&S, call_of(TAMIS_EDGE_RESIDUAL, 1, 0), 0, 0.5, -3);
    sample(&S, call_of(TAMIS_EDGE_SOFTMAX, 1, 0), 1, 1 / (1 + exp(3.5)), 1 / (1 + exp(-3.5)));
    S.format = TAMIS_COO;
    S.row_indices = rows;
    S.offsets = NULL;
    sample(&S, call_of(TAMIS_EDGE_MASK, 1, 0), 1, 0.5, 4);
}

TEST(test_products) {
    const tamis_sparse S = matrix();
    double c[4] = {1, 1, 1, 1};
    const tamis_execution less = scaled(1, -1);
    works(tamis_reference_spmm(&S, &B, NULL, &less, c));
    NEAR(c, 2 * 3 - 1, 2 * -1 - 1, -3 * 3 + 4 * 0 - 1, -3 * -1 + 4 * 4 - 1);
    double e[4];
    works(tamis_reference_fused(&S, &A, &B, &B, NULL, NULL, e));
    NEAR(e, 2 * 3, 2 * -1, -1.5 * 3, 1.5 + 64);
}

TEST(test_softmax_rows) {
    /* a row of one entry is 1 whatever its score; a row whose biases are all -infinity, and an empty row, are beta */
    int32_t starts[] = {0, 1, 3, 3}, at[] = {1, 0, 1};
    double bias[] = {100, -INFINITY, -INFINITY}, x[6] = {1, 1, 1, 1, 1, 1}, e[6] = {5, 5, 5, 5, 5, 5};
    const tamis_sparse S = {
        .rows = 3, .cols = 2, .nnz = 3, .value_type = TAMIS_F64, .offsets = starts, .columns = at, .values = bias};
    const tamis_dense Q = {.data = x, .rows = 3, .cols = 2, .type = TAMIS_F64};
    const test_call call = call_of(TAMIS_EDGE_SOFTMAX, 1, 2);
    works(tamis_reference_fused(&S, &Q, &B, &B, &call.options, &call.execution, e));
    NEAR(e, 0 + 10, 4 + 10, 10, 10, 10);
}

TEST(test_batch) {
    tamis_sparse S = matrix();
    double two[6] = {2, -3, 4, 20, -30, 40}, p[6];
    S.values = two;
    S.batch_stride = 3;
    tamis_options two_sets = TAMIS_OPTIONS_INIT;
    two_sets.batch = 2;
    works(tamis_reference_sddmm(&S, &A, &B, &two_sets, NULL, p));
    NEAR(p, 2, -1.5, 16, 20, -15, 160);
}

/* The matrices of above in column-major order, with two elements between columns that are not theirs. */
TEST(test_column_major) {
    const tamis_sparse S = matrix();
    double turned_a[] = {1, 0.5, NAN, NAN, 2, 1}, turned_b[] = {3, 0, NAN, NAN, -1, 4}, p[3], c[4];
    tamis_dense TA = A, TB = B;
    TA.data = turned_a;
    TB.data = turned_b;
    TA.layout = TB.layout = TAMIS_COLUMN_MAJOR;
    TA.stride = TB.stride = 4;
    works(tamis_reference_sddmm(&S, &TA, &B, NULL, NULL, p));
    NEAR(p, 2, -1.5, 16);
    works(tamis_reference_sddmm(&S, &A, &TB, NULL, NULL, p));
    NEAR(p, 2, -1.5, 16);
    works(tamis_reference_spmm(&S, &TB, NULL, NULL, c));
    NEAR(c, 6, -2, -9, 19);
}

/* Members one behind the other with gaps, members beside one another, one for all. */
TEST(test_batch_operands) {
    tamis_sparse S = matrix();
    double two_values[] = {2, -3, 4, NAN, 1, 1, 1}, p[6], c[8];
    double two_a[] = {1, 2, 0.5, 1, NAN, NAN, 10, 20, 5, 10}, beside_b[] = {3, -1, 1, 0, 0, 4, 0, 1};
    tamis_dense both_a = A, both_b = B;
    tamis_options two = TAMIS_OPTIONS_INIT;
    two.batch = 2;
    both_a.data = two_a;
    both_a.batch_stride = 6;
    works(tamis_reference_sddmm(&S, &both_a, &B, &two, NULL, p)); /* values and B for both */
    NEAR(p, 2, -1.5, 16, 20, -15, 160);
    S.values = two_values;
    S.batch_stride = 4;
    both_b.data = beside_b; /* the second one is the identity */
    both_b.stride = 4;
    both_b.batch_stride = 2;
    works(tamis_reference_spmm(&S, &both_b, &two, NULL, c));
    NEAR(c, 6, -2, -9, 19, 1, 0, 1, 1);            /* then the pattern itself */
    tamis_execution others = TAMIS_EXECUTION_INIT; /* the second set for both */
    others.values = two_values + 4;
    works(tamis_reference_spmm(&S, &both_b, &two, &others, c));
    NEAR(c, 3, -1, 3, 3, 1, 0, 1, 1);
}

/* ------------------------------------------------------------------------------------------ comparisons */

static tamis_oracle *make_oracle(const tamis_sparse *S, const tamis_dense *A0, tamis_operation operation,
                                 double budget) {
    const tamis_options o = options_for(operation, -1, -1); /* as wide as the operands are */
    tamis_oracle *oracle = NULL;
    works(tamis_oracle_create(S, A0, &B, &B, &o, budget, &oracle));
    return oracle;
}

static bool passes(const tamis_oracle *oracle, double *results, int64_t count, int64_t cols, double alpha, double beta,
                   double *before) {
    const tamis_dense output = {.data = results, .rows = count, .cols = cols, .type = TAMIS_F64};
    const tamis_dense old = {.data = before, .rows = count, .cols = cols, .type = TAMIS_F64};
    tamis_comparison found;
    works(tamis_oracle_compare(oracle, &output, alpha, beta, before ? &old : NULL, &found));
    assert_int_equal(found.compared, count * cols);
    assert_true(found.share == 1 && found.tolerance > 0 && found.tolerance < 1e-12);
    assert_true(found.passed == (found.error <= found.tolerance && !found.stray));
    return found.passed;
}

/* The products above, right, and one of them off in the tenth digit; a slice of the matrix; an old output. */
TEST(test_comparison) {
    const tamis_sparse S = matrix();
    double p[] = {2, -1.5, 16}, c[] = {6, -2, -9, 19}, after[4];
    tamis_oracle *oracle = make_oracle(&S, &A, TAMIS_OP_SDDMM, HUGE_VAL);
    assert_true(passes(oracle, p, 3, 1, 1, 0, NULL));
    p[1] *= 1 + 1e-10;
    assert_false(passes(oracle, p, 3, 1, 1, 0, NULL));
    tamis_oracle_free(oracle);
    oracle = make_oracle(&S, NULL, TAMIS_OP_SPMM, HUGE_VAL);
    for (int i = 0; i < 4; i++) after[i] = -2 * c[i] + 0.5 * (i + 1);
    double before[] = {1, 2, 3, 4};
    assert_true(passes(oracle, after, 2, 2, -2, 0.5, before));
    assert_false(passes(oracle, after, 2, 2, -2, 0.25, before));
    tamis_oracle_free(oracle);
    tamis_sparse slice = S; /* row 1 */
    tamis_dense lower = A;
    slice.rows = 1;
    slice.offsets = offsets + 1;
    slice.offset_base = 1;
    slice.nnz = 2;
    lower.data = a + 2;
    lower.rows = 1;
    p[1] = -1.5;
    oracle = make_oracle(&slice, &lower, TAMIS_OP_SDDMM, HUGE_VAL);
    assert_true(passes(oracle, p + 1, 2, 1, 1, 0, NULL));
    assert_false(passes(oracle, p, 2, 1, 1, 0, NULL));
    tamis_oracle_free(oracle);
}

/* Partial sums of terms of one sign grow to the result itself, and so do their roundings: a plain loop in fp32 passes,
   by the rule for sums of so many terms and not by more. */
TEST(test_sums_of_one_sign) {
    enum { TERMS = 4096, COLS = 8 };
    static int32_t column[TERMS];
    static float s[TERMS], dense[TERMS * COLS];
    int32_t ends[] = {0, TERMS};
    float c[COLS] = {0};
    for (int j = 0; j < TERMS; j++) {
        column[j] = j;
        s[j] = 0.5f + 0.37f * (float)(j % 5);
        for (int l = 0; l < COLS; l++) dense[j * COLS + l] = 0.1f + 0.013f * (float)((j + 3 * l) % 71);
        for (int l = 0; l < COLS; l++) c[l] += s[j] * dense[j * COLS + l];
    }
    const tamis_sparse S = {.rows = 1, .cols = TERMS, .nnz = TERMS, .offsets = ends, .columns = column, .values = s};
    const tamis_dense X = {.data = dense, .rows = TERMS, .cols = COLS}, output = {.data = c, .rows = 1, .cols = COLS};
    const double rule = 1e-6 * sqrt(TERMS / 128 + 1);
    const tamis_options o = options_for(TAMIS_OP_SPMM, -1, -1);
    tamis_oracle *oracle = NULL;
    tamis_comparison found;
    works(tamis_oracle_create(&S, NULL, &X, NULL, &o, HUGE_VAL, &oracle));
    works(tamis_oracle_compare(oracle, &output, 1, 0, NULL, &found));
    assert_true(found.passed && found.error > 1e-7); /* more than terms of random signs are allowed: rule / 64 */
    assert_true(fabs(found.tolerance / rule - 1) < 1e-3);
    for (int l = 0; l < COLS; l++) c[l] *= 1 + 1e-5f;
    works(tamis_oracle_compare(oracle, &output, 1, 0, NULL, &found));
    assert_false(found.passed);
    tamis_oracle_free(oracle);
}

/* With little to spend the longest row is compared, and nothing else is read. */
TEST(test_rows_compared) {
    const tamis_sparse S = matrix();
    const int64_t *which = NULL;
    double c[] = {NAN, NAN, -9, 19};
    const tamis_dense output = {.data = c, .rows = 2, .cols = 2, .type = TAMIS_F64};
    tamis_comparison found;
    tamis_oracle *oracle = make_oracle(&S, NULL, TAMIS_OP_SPMM, 0);
    assert_int_equal(tamis_oracle_rows(oracle, &which), 1);
    assert_int_equal(which[0], 1);
    works(tamis_oracle_compare(oracle, &output, 1, 0, NULL, &found));
    assert_true(found.passed && found.share == 0.5 && found.compared == 2 && found.not_finite == 0);
    c[3] = 18;
    works(tamis_oracle_compare(oracle, &output, 1, 0, NULL, &found));
    assert_true(!found.passed && found.row == 1 && found.col == 1 && found.found == 18 &&
                fabs(found.expected - 19) < 1e-9);
    tamis_oracle_free(oracle);
    oracle = make_oracle(&S, &A, TAMIS_OP_SDDMM, 0);
    assert_int_equal(tamis_oracle_rows(oracle, &which), 2);
    assert_true(which[0] == 1 && which[1] == 2);
    tamis_oracle_free(oracle);
    assert_int_equal(tamis_oracle_rows(NULL, &which), 0);
}

TEST(test_comparison_arguments) {
    tamis_sparse S = matrix(), other = S;
    tamis_options o = options_for(TAMIS_OP_FUSED, -1, -1);
    tamis_dense wide = A;
    wide.cols = 1;
    tamis_oracle *oracle;
    REFUSED_MADE(oracle, ARGUMENT, "S = NULL", tamis_oracle_create(NULL, &A, &B, &B, &o, 0, &oracle));
    REFUSED_MADE(oracle, ARGUMENT, "A = NULL", tamis_oracle_create(&S, NULL, &B, &B, &o, 0, &oracle));
    REFUSED_MADE(oracle, ARGUMENT, "B = NULL", tamis_oracle_create(&S, &A, NULL, &B, &o, 0, &oracle));
    REFUSED_MADE(oracle, ARGUMENT, "D = NULL", tamis_oracle_create(&S, &A, &B, NULL, &o, 0, &oracle));
    REFUSED_MADE(oracle, ARGUMENT, "options = NULL", tamis_oracle_create(&S, &A, &B, &B, NULL, 0, &oracle));
    REFUSED_MADE(oracle, ARGUMENT, "budget = -1", tamis_oracle_create(&S, &A, &B, &B, &o, -1, &oracle));
    REFUSED_MADE(oracle, ARGUMENT, "A", tamis_oracle_create(&S, &wide, &B, &B, &o, 0, &oracle));
    other.format = TAMIS_COO;
    other.row_indices = rows;
    REFUSED_MADE(oracle, UNSUPPORTED, "S.format = coo", tamis_oracle_create(&other, &A, &B, &B, &o, 0, &oracle));
#define SPOILT_CREATE(field, value, want, words)                                                                       \
    SPOILT_MADE(oracle, field, value, want, words, tamis_oracle_create(&S, &A, &B, &B, &o, 0, &oracle))
    SPOILT_CREATE(o.transpose, true, UNSUPPORTED, "options.transpose = true");
    SPOILT_CREATE(o.batch, 2, UNSUPPORTED, "options.batch = 2");
    SPOILT_CREATE(columns[1], 2, PATTERN, "columns[1]");
    double c[4] = {0};
    tamis_comparison found;
    tamis_dense output = {.data = c, .rows = 2, .cols = 1, .type = TAMIS_F64};
    oracle = make_oracle(&S, NULL, TAMIS_OP_SPMM, 0);
    REFUSED(ARGUMENT, "output.cols = 1", tamis_oracle_compare(oracle, &output, 1, 0, NULL, &found));
    output.cols = 2;
    REFUSED(ARGUMENT, "old = NULL", tamis_oracle_compare(oracle, &output, 1, 1, NULL, &found));
    assert_int_equal(tamis_oracle_compare(NULL, &output, 1, 0, NULL, &found), TAMIS_ERROR_ARGUMENT);
    tamis_oracle_free(oracle);
}
