/* What becomes of a gradient: workspaces of the caller's, and what is refused; the rows of tests/operations compare its
 * results, test_shared_plan has threads that share it. test_gradient [DEVICE [0]]; 0: a few small cases. */
#include "support/test.h"

#include "device_fixture.h"
#include "gradient_case.h"

static bool quick;

static gradient_case *attention(void) {
    const gradient_shape s = {.rows = 50,
                              .cols = 60,
                              .nnz = quick ? 300 : 5000,
                              .hub = 0.5,
                              .format = TAMIS_COO,
                              .inner = quick ? 4 : 24,
                              .width = quick ? 4 : 40,
                              .batch = 2,
                              .with_values = true};
    return gradient_case_make(device, TAMIS_OP_FUSED, TAMIS_EDGE_SOFTMAX, TAMIS_F32, &s, 0, &dice);
}

TEST(test_operands_refused) {
    OWN(gradient_case) *const c = attention();
    tamis_gradient *const gradient = gradient_case_gradient(c);
    c->out[OUT_B].there.batch_stride = 0;
    REFUSED(ARGUMENT, "dB.batch_stride = 0", gradient_case_run(c, gradient, gradient_case_outputs(c)));
    works(gradient_case_run(c, gradient, 1 << OUT_A));
    REFUSED(ARGUMENT, "made for fused", tamis_sddmm_backward(gradient, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    REFUSED(ARGUMENT, "gradient = NULL", tamis_spmm_backward(NULL, NULL, NULL, NULL, NULL, NULL));
    tamis_gradient_destroy_async(gradient, NULL);
}

TEST(test_values_refused) {
    gradient_shape s = {.rows = 5, .cols = 6, .nnz = 9, .inner = 3, .width = 3, .batch = 1, .with_values = true};
    gradient_case *c = gradient_case_make(device, TAMIS_OP_SDDMM, TAMIS_EDGE_MASK, TAMIS_F32, &s, 0, &dice);
    tamis_gradient *gradient = gradient_case_gradient(c);
    REFUSED(ARGUMENT, "the mask edge", gradient_case_run(c, gradient, 1 << OUT_S));
    tamis_gradient_destroy(gradient);
    gradient_case_free(c);
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++) {
        s.with_values = false;
        c = gradient_case_make(device, (tamis_operation)operation, TAMIS_EDGE_SCALE, TAMIS_F32, &s, 0, &dice);
        gradient = gradient_case_gradient(c);
        REFUSED(ARGUMENT, "S has no values", gradient_case_run(c, gradient, 1 << OUT_S));
        c->there.values = c->in[IN_A].there.data;
        REFUSED(ARGUMENT, "execution.values", gradient_case_run(c, gradient, 1 << OUT_B));
        tamis_gradient_destroy(gradient);
        gradient_case_free(c);
    }
}

TEST(test_workspaces_refused) {
    OWN(gradient_case) *const c = attention();
    size_t bytes = 0;
    c->options.no_workspace = true;
    OWN(tamis_gradient) *const gradient = gradient_case_gradient(c);
    REFUSED(ARGUMENT, "execution.workspace = NULL", gradient_case_run(c, gradient, 1 << OUT_A));
    works(tamis_gradient_workspace_size(gradient, &bytes));
    assert_true(bytes >= 3 * 2 * (size_t)c->shape.nnz * sizeof(float));
    works(tamis_device_allocate(device, bytes, &c->there.workspace));
    c->there.workspace_bytes = bytes - 1;
    REFUSED(ARGUMENT, "tamis_gradient_workspace_size", gradient_case_run(c, gradient, 1 << OUT_A));
    c->there.workspace_bytes = bytes;
    gradient_case_expect(c);
    gradient_case_poison(c);
    works(gradient_case_run(c, gradient, gradient_case_outputs(c)));
    gradient_case_check(c, gradient_case_outputs(c), "a workspace of the caller's");
    REFUSED(ARGUMENT, "bytes = NULL", tamis_gradient_workspace_size(gradient, NULL));
    REFUSED(ARGUMENT, "gradient = NULL", tamis_gradient_workspace_size(NULL, &bytes));
    tamis_device_free(device, c->there.workspace);
}

TEST(test_options_refused) {
    OWN(gradient_case) *const c = attention();
    tamis_gradient *gradient = NULL;
    tamis_options o = c->options;
    SPOILT_MADE(gradient, o.inner, -1, ARGUMENT, "options.inner = -1",
                tamis_gradient_create(device, &c->S_there, &o, &gradient));
    SPOILT(o.type, TAMIS_F64, ARGUMENT, "S.value_type", tamis_gradient_create(device, &c->S_there, &o, &gradient));
    REFUSED(ARGUMENT, "S = NULL", tamis_gradient_create(device, NULL, &c->options, &gradient));
    REFUSED(ARGUMENT, "device = NULL", tamis_gradient_create(NULL, &c->S_there, &c->options, &gradient));
    REFUSED(ARGUMENT, "gradient = NULL", tamis_gradient_create(device, &c->S_there, &c->options, NULL));
    tamis_sparse bare = c->S_there;
    bare.values = NULL;
    bare.batch_stride = 0;
    o.type = TAMIS_F16;
    o.output_type = TAMIS_F32;
    REFUSED(UNSUPPORTED, "options.output_type", tamis_gradient_create(device, &bare, &o, &gradient));
    tamis_sparse wrong = c->S_there; /* its columns as rows are too many */
    wrong.rows = 10;
    REFUSED(PATTERN, "", tamis_gradient_create(device, &wrong, &c->options, &gradient));
    OWN(tamis_plan) *const fused = gradient_case_plan(c);
    REFUSED(ARGUMENT, "made for fused", tamis_plan_edge(fused, NULL, NULL, NULL));
    c->options.operation = TAMIS_OP_SDDMM;
    OWN(tamis_plan) *const sddmm = gradient_case_plan(c);
    REFUSED(ARGUMENT, "X = NULL", tamis_plan_edge(sddmm, NULL, &c->out[OUT_S].there, NULL));
    REFUSED(ARGUMENT, "P = NULL", tamis_plan_edge(sddmm, &c->out[OUT_S].there, NULL, NULL));
    tamis_gradient_destroy(NULL);
}

TEST_RUN() {
    if (!device_is_named(argc, argv)) return 77;
    quick = argc > 2 && atoi(argv[2]) == 0;
    return test_run(name, NULL, set_up, tear_down);
}
