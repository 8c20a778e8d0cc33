/* Edges by themselves: the memory that tamis_plan_edge asks for is all that it uses; derivatives at a kink. */
#include "support/test.h"

#include "backend/edge.h"
#include "cpu_device.h"

/* ------------------------------------------------------------------------------------------ workspace */

enum { BATCH = 300, FEW = 4, GUARD = 4096, FILL = 0x5a };

/* One row in S, that stretches cut where it is long. */
static void softmax_of(int64_t nnz, int64_t batch, const char *algorithm) {
    const int64_t all = nnz * batch;
    int32_t *const columns = calloc((size_t)nnz, sizeof *columns), offsets[2] = {0, (int32_t)nnz};
    OWN(float) *const x = calloc((size_t)all, sizeof *x), *const p = calloc((size_t)all, sizeof *p);
    assert_true(columns && x && p);
    for (int64_t t = 0; t < nnz; t++) columns[t] = (int32_t)t;
    const tamis_sparse S = {.rows = 1, .cols = nnz, .nnz = nnz, .offsets = offsets, .columns = columns};
    const tamis_dense X = {.data = x, .rows = nnz, .cols = 1, .batch_stride = nnz};
    const tamis_dense P = {.data = p, .rows = nnz, .cols = 1, .batch_stride = nnz};
    tamis_options o = options_for(TAMIS_OP_SDDMM, 1, 0);
    o.edge = TAMIS_EDGE_SOFTMAX;
    o.batch = batch;
    o.threads = 1;
    o.no_workspace = true;
    o.algorithm = algorithm;
    OWN(tamis_plan) *plan = NULL;
    size_t bytes = 0;
    works(tamis_plan_create(device, &S, &o, &plan));
    works(tamis_plan_workspace_size(plan, &bytes));
    assert_true(bytes >= (size_t)(batch * tamis_edge_scratch(TAMIS_EDGE_SOFTMAX, nnz)));
    const size_t room = (bytes + 63) / 64 * 64;
    unsigned char *const memory = aligned_alloc(64, room + GUARD);
    assert_non_null(memory);
    memset(memory, FILL, room + GUARD);
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    execution.workspace = memory;
    execution.workspace_bytes = bytes;
    works(tamis_plan_edge(plan, &X, &P, &execution));
    for (size_t i = bytes; i < room + GUARD; i++) assert_int_equal(memory[i], FILL);
    for (int64_t i = 0; i < all; i++) assert_float_equal(p[i], 1 / (float)nnz, 1e-6F); /* all scores are 0 */
    free(memory);
    free(columns);
}

/* The algorithm's own scratch is smaller in some of these. */
TEST(workspace_is_enough) {
    softmax_of(FEW, BATCH, "cpu-nonzeros");
    softmax_of(3 * TAMIS_EDGE_STRETCH, 2, "cpu-nonzeros");
    softmax_of(3 * TAMIS_EDGE_STRETCH + 1, 1, NULL);
}

/* ------------------------------------------------------------------------------------------ at epsilon */

/* A row for each product: above epsilon, at it, and below. By x the derivative of s / max(x, epsilon) is -s / x^2 above
   alone; by s it is 1 / max(x, epsilon). All numbers are exact. */
TEST(quotient_at_epsilon) {
    enum { ROWS = 5 };
    int32_t offsets[ROWS + 1], columns[ROWS];
    double values[ROWS], b[ROWS], ones[ROWS], da[ROWS], db[ROWS], dd[ROWS], ds[ROWS];
    double a[ROWS] = {0.5, 0.25, 0.125, 0, -1};
    const double by_x[ROWS] = {-12, 0, 0, 0, 0}, by_s[ROWS] = {2, 4, 4, 4, 4};
    for (int i = 0; i < ROWS; i++) {
        offsets[i] = columns[i] = i;
        values[i] = 3;
        b[i] = ones[i] = 1;
    }
    offsets[ROWS] = ROWS;
    const tamis_sparse S = csr_of(TAMIS_F64, ROWS, ROWS, ROWS, offsets, columns, values);
    const tamis_dense A = {.data = a, .rows = ROWS, .cols = 1, .type = TAMIS_F64};
    tamis_dense B = A, D = A, G = A, dA = A, dB = A, dD = A, dS = A;
    B.data = b, D.data = ones, G.data = ones, dA.data = da, dB.data = db, dD.data = dd, dS.data = ds;
    for (int fused = 0; fused < 2; fused++) {
        OWN(tamis_gradient) *gradient = NULL;
        tamis_options o = options_for(fused ? TAMIS_OP_FUSED : TAMIS_OP_SDDMM, 1, fused);
        o.edge = TAMIS_EDGE_QUOTIENT;
        o.edge_epsilon = 0.25;
        o.type = o.output_type = TAMIS_F64;
        works(tamis_gradient_create(device, &S, &o, &gradient));
        if (fused)
            works(tamis_fused_backward(gradient, &G, &A, &B, &D, &dA, &dB, &dD, &dS, NULL));
        else
            works(tamis_sddmm_backward(gradient, &G, &A, &B, &dA, &dB, &dS, NULL));
        for (int i = 0; i < ROWS; i++) {
            assert_true(da[i] == by_x[i] && db[i] == by_x[i] * a[i] && ds[i] == by_s[i]);
            if (fused) assert_true(dd[i] == 3 * by_s[i]);
        }
    }
}

TEST_FIXTURE(set_up, tear_down)
