/*
 * cpu-cells multiplies pairs that S does not keep by 0. A number that is not finite must still reach just those results
 * whose pairs are kept: forward and backward against what goes nonzero by nonzero, with one bad row in one operand.
 */
#include "support/test.h"

#include "base/random.h"
#include "cpu_device.h"
#include "softmax_kept.h"

static void expect_same(double *x, double *y, const matrix *of, const char *what) {
    for (int64_t t = 0; t < of->here.rows * of->here.cols; t++)
        if (isfinite(x[t]) != isfinite(y[t]) || (isfinite(x[t]) && fabs(x[t] - y[t]) > 1e-4 * (1 + fabs(y[t]))))
            fail_msg("%s: element %lld is %g by cells and %g by nonzeros", what, (long long)t, x[t], y[t]);
    free(x);
    free(y);
}

static double *forward(const gradient_case *c, kept *k, tamis_edge edge, const char *algorithm) {
    tamis_options o = c->options;
    OWN(tamis_plan) *plan;
    o.edge = edge;
    o.algorithm = algorithm;
    kept_poison(c, k);
    works(tamis_plan_create(device, &c->S_there, &o, &plan));
    works(kept_forward(c, plan, k, &c->there));
    return matrix_values(&k->out);
}

static void backward(gradient_case *c, const char *algorithm, double *found[OUTS]) {
    c->options.algorithm = algorithm;
    gradient_case_poison(c);
    OWN(tamis_gradient) *const gradient = gradient_case_gradient(c);
    assert_string_equal(tamis_gradient_algorithm(gradient), algorithm);
    works(gradient_case_run(c, gradient, gradient_case_outputs(c)));
    for (int k = OUT_A; k <= OUT_D; k++) found[k] = matrix_values(&c->out[k]);
}

/* Four tenths of the places are kept. bad: in one place of that input; NULL: nowhere. */
static void compare(tamis_random *dice, int which, const float *bad, const char *what) {
    static const tamis_edge edges[] = {TAMIS_EDGE_SOFTMAX, TAMIS_EDGE_MASK, TAMIS_EDGE_SIGMOID};
    const gradient_shape shape = {.rows = 70, .cols = 90, .kept = 0.4, .inner = 21, .width = 19, .batch = 1};
    OWN(gradient_case) *const c =
        gradient_case_make(device, TAMIS_OP_FUSED, TAMIS_EDGE_SOFTMAX, TAMIS_F32, &shape, 0, dice);
    matrix *const in = &c->in[which];
    OWN(kept) k = kept_make(c);
    double *x[OUTS], *y[OUTS];
    if (bad)
        matrix_put(in, 0, tamis_random_below(dice, in->here.rows), tamis_random_below(dice, in->here.cols),
                   (double)*bad);
    matrix_send(device, in);
    for (int i = 0; i < 3; i++)
        expect_same(forward(c, &k, edges[i], "cpu-cells"), forward(c, &k, edges[i], "cpu-nonzeros"), &k.out, what);
    backward(c, "cpu-cells", x);
    backward(c, "steps", y);
    for (int i = OUT_A; i <= OUT_D; i++) expect_same(x[i], y[i], &c->out[i], what);
}

TEST(test_not_finite) {
    static const char *const names[INS] = {"A", "B", "D", "dE"};
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    tamis_random dice = tamis_random_start(7, 0);
    compare(&dice, IN_A, NULL, "all finite");
    for (int m = 0; m < INS; m++)
        for (int i = 0; i < 3; i++) {
            char what[64];
            snprintf(what, sizeof what, "%g in %s", (double)bad[i], names[m]);
            compare(&dice, m, &bad[i], what);
        }
}

TEST_FIXTURE(set_up, tear_down)
