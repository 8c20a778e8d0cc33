/* The oracle's gradients at kinks, and what it refuses; the row gradients of tests/operations compares them with
   differences. */
#include "support/test.h"

#include "base/edges.h"

static tamis_dense matrix(double *data, int64_t rows, int64_t cols) {
    return (tamis_dense){.data = data, .rows = rows, .cols = cols, .type = TAMIS_F64, .batch_stride = rows * cols};
}

/* At the kinks, by hand. */
TEST(test_kinks) {
    int32_t offsets[] = {0, 2}, columns[] = {0, 1};
    double values[] = {3, 5}, a[] = {1}, b[] = {0, 0.25}, g[] = {1, 1}, da[1], db[2], ds[2];
    const tamis_sparse S = CSR(1, 2, offsets, columns, values);
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

/* Two members of a row of two entries and one of one, K = 2. */
static int32_t offsets[] = {0, 2, 3}, columns[] = {0, 2, 1};
static double values[] = {3, 5, -2, 1, 0.5, 4}, a[] = {1, 2, 3, 4, -1, 2, 0.5, 1},
              b[] = {0.5, 1, 0, 2, -1, 1, 1, 1, 2, -1, 0.25, 3}, g[] = {1, 2, 3, 4, 5, 6}, x[6], got[6], want[6];
static const tamis_sparse S = {.rows = 2,
                               .cols = 3,
                               .nnz = 3,
                               .value_type = TAMIS_F64,
                               .offsets = offsets,
                               .columns = columns,
                               .values = values,
                               .batch_stride = 3};

TEST(test_values_without_gradient) {
    const tamis_dense A = matrix(a, 2, 2), B = matrix(b, 3, 2), G = matrix(g, 3, 1), C = matrix(g, 2, 2);
    tamis_options o = with_edge(TAMIS_EDGE_MASK);
    tamis_sparse bare = S;
    bare.values = NULL;
    assert_int_equal(tamis_reference_sddmm_backward(&S, &G, &A, &B, &o, NULL, NULL, NULL, got), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_reference_spmm_backward(&bare, &C, &B, NULL, NULL, NULL, got), TAMIS_ERROR_ARGUMENT);
}

/* An edge over samples is what SDDMM makes of the same samples. */
TEST(test_edges) {
    const tamis_dense A = matrix(a, 2, 2), B = matrix(b, 3, 2), X = matrix(x, 3, 1), few = matrix(x, 2, 1);
    const tamis_execution execution = scaled(-1.5, 0);
    for (int edge = 0; edge < TAMIS_EDGE_COUNT; edge++) {
        tamis_options o = with_edge((tamis_edge)edge), mask = with_edge(TAMIS_EDGE_MASK);
        o.batch = mask.batch = 2;
        works(tamis_reference_sddmm(&S, &A, &B, &mask, NULL, x));
        works(tamis_reference_sddmm(&S, &A, &B, &o, &execution, want));
        works(tamis_reference_edge(&S, &X, &o, &execution, got));
        for (int t = 0; t < 6; t++) assert_true(got[t] == want[t]);
        assert_int_equal(tamis_reference_edge(&S, &few, &o, &execution, got), TAMIS_ERROR_ARGUMENT);
        assert_non_null(strstr(tamis_last_error(), "X"));
    }
}
