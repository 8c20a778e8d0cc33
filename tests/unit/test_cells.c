/*
 * cpu-cells multiplies pairs that S does not keep by 0. A number that is not finite must still reach just those results
 * whose pairs are kept: forward and backward against what goes nonzero by nonzero, with one bad row in one operand.
 */
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tamis/gradient.h>

#include "base/random.h"

enum { ROWS = 70, COLS = 90, K = 21, L = 19, PLACES = ROWS * COLS };
enum { A, B, D, DE, INPUTS };

static const int64_t row_counts[INPUTS] = {ROWS, COLS, COLS, ROWS}, widths[INPUTS] = {K, K, L, L};

typedef struct numbers {
    int32_t offsets[ROWS + 1], columns[PLACES];
    float in[INPUTS][COLS * K];
} numbers;

static tamis_dense view(float *data, int64_t rows, int64_t cols) {
    return (tamis_dense){.data = data, .rows = rows, .cols = cols, .type = TAMIS_F32};
}

/* Four tenths of the places. */
static numbers draw(tamis_random *dice) {
    numbers n = {.offsets = {0}};
    int32_t count = 0;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLS; j++)
            if (tamis_random_uniform(dice) < 0.4) n.columns[count++] = j;
        n.offsets[i + 1] = count;
    }
    for (int m = 0; m < INPUTS; m++)
        for (int t = 0; t < COLS * K; t++) n.in[m][t] = (float)(2 * tamis_random_uniform(dice) - 1);
    return n;
}

static tamis_sparse pattern(const numbers *n) {
    return (tamis_sparse){.format = TAMIS_CSR,
                          .rows = ROWS,
                          .cols = COLS,
                          .nnz = n->offsets[ROWS],
                          .offsets = (void *)(uintptr_t)n->offsets,
                          .columns = (void *)(uintptr_t)n->columns,
                          .offset_type = TAMIS_I32,
                          .index_type = TAMIS_I32};
}

static tamis_options options_of(tamis_edge edge, const char *algorithm) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.operation = TAMIS_OP_FUSED;
    o.edge = edge;
    o.inner = K;
    o.width = L;
    o.algorithm = algorithm;
    return o;
}

static void expect_same(const float *x, const float *y, int64_t count, const char *what) {
    for (int64_t t = 0; t < count; t++) {
        if (isfinite(x[t]) != isfinite(y[t]) || (isfinite(x[t]) && fabsf(x[t] - y[t]) > 1e-4f * (1 + fabsf(y[t]))))
            fail_msg("%s: element %lld is %g by cells and %g by nonzeros", what, (long long)t, (double)x[t],
                     (double)y[t]);
    }
}

static void forward(tamis_device *device, numbers *n, tamis_edge edge, const char *algorithm, float *out) {
    const tamis_sparse S = pattern(n);
    const tamis_options o = options_of(edge, algorithm);
    const tamis_dense a = view(n->in[A], ROWS, K), b = view(n->in[B], COLS, K), d = view(n->in[D], COLS, L),
                      e = view(out, ROWS, L);
    tamis_plan *plan;
    memset(out, 0xff, sizeof(float) * ROWS * L);
    assert_int_equal(tamis_plan_create(device, &S, &o, &plan), TAMIS_OK);
    assert_int_equal(tamis_plan_fused(plan, &a, &b, &d, &e, NULL), TAMIS_OK);
    tamis_plan_destroy(plan);
}

static void backward(tamis_device *device, numbers *n, const char *algorithm, float out[3][COLS * K]) {
    const tamis_sparse S = pattern(n);
    const tamis_options o = options_of(TAMIS_EDGE_SOFTMAX, algorithm);
    const tamis_dense a = view(n->in[A], ROWS, K), b = view(n->in[B], COLS, K), d = view(n->in[D], COLS, L),
                      e = view(n->in[DE], ROWS, L);
    const tamis_dense da = view(out[0], ROWS, K), db = view(out[1], COLS, K), dd = view(out[2], COLS, L);
    tamis_gradient *gradient;
    memset(out, 0xff, 3 * sizeof out[0]);
    assert_int_equal(tamis_gradient_create(device, &S, &o, &gradient), TAMIS_OK);
    assert_string_equal(tamis_gradient_algorithm(gradient), algorithm);
    assert_int_equal(tamis_fused_backward(gradient, &e, &a, &b, &d, &da, &db, &dd, NULL, NULL), TAMIS_OK);
    tamis_gradient_destroy(gradient);
}

static void compare(tamis_device *device, numbers *n, const char *what) {
    static const tamis_edge edges[] = {TAMIS_EDGE_SOFTMAX, TAMIS_EDGE_MASK, TAMIS_EDGE_SIGMOID};
    static float x[3][COLS * K], y[3][COLS * K];
    for (int i = 0; i < 3; i++) {
        forward(device, n, edges[i], "cpu-cells", x[0]);
        forward(device, n, edges[i], "cpu-nonzeros", y[0]);
        expect_same(x[0], y[0], ROWS * L, what);
    }
    backward(device, n, "cpu-cells", x);
    backward(device, n, "steps", y);
    expect_same(x[0], y[0], ROWS * K, what);
    expect_same(x[1], y[1], COLS * K, what);
    expect_same(x[2], y[2], COLS * L, what);
}

TEST(test_not_finite) {
    static const char *const names[INPUTS] = {"A", "B", "D", "dE"};
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    static numbers n;
    tamis_device *device;
    tamis_random dice = tamis_random_start(7, 0);
    assert_int_equal(tamis_device_open("cpu", &device), TAMIS_OK);
    n = draw(&dice);
    compare(device, &n, "all finite");
    for (int m = 0; m < INPUTS; m++)
        for (int k = 0; k < 3; k++) {
            char what[64];
            const int64_t row = tamis_random_below(&dice, row_counts[m]);
            n = draw(&dice);
            n.in[m][row * widths[m] + tamis_random_below(&dice, widths[m])] = bad[k];
            snprintf(what, sizeof what, "%g in row %lld of %s", (double)bad[k], (long long)row, names[m]);
            compare(device, &n, what);
        }
    tamis_device_close(device);
}
