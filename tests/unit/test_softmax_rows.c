/* The statistics of softmax's rows: plans and gradients that keep none or are given none, and what is refused; the rows
 * of tests/operations compare them. test_softmax_rows [DEVICE] */
#include "support/test.h"

#include "device_fixture.h"
#include "softmax_kept.h"

static gradient_case *make(tamis_operation operation, tamis_type type, const gradient_shape *s) {
    return gradient_case_make(device, operation, TAMIS_EDGE_SOFTMAX, type, s, 0, &dice);
}

/* A gradient that was made without statistics gives the same bits as one that is not given them. */
TEST(test_not_given) {
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation += TAMIS_OP_FUSED) {
        const gradient_shape s = gradient_draw((tamis_operation)operation, 1, !is_cpu, &dice);
        OWN(gradient_case) *const c = make((tamis_operation)operation, TAMIS_F32, &s);
        void *first[OUTS];
        for (int keeps = 0; keeps < 2; keeps++) {
            c->options.keep_softmax = keeps;
            OWN(tamis_gradient) *const gradient = gradient_case_gradient(c);
            gradient_case_poison(c);
            works(gradient_case_run(c, gradient, gradient_case_outputs(c)));
            gradient_case_fetch(c);
            for (int i = 0; i < OUTS; i++) {
                if (keeps) assert_memory_equal(first[i], c->out[i].twin.host, c->out[i].twin.bytes);
                if (keeps) free(first[i]);
                if (!keeps) first[i] = matrix_copy(&c->out[i]);
            }
        }
    }
}

static const gradient_shape small = {
    .rows = 5, .cols = 6, .nnz = 9, .inner = 3, .width = 3, .batch = 1, .with_values = true};

TEST(test_options_refused) {
    OWN(gradient_case) *const c = make(TAMIS_OP_FUSED, TAMIS_F32, &small);
    tamis_plan *plan = NULL;
    tamis_gradient *gradient = NULL;
    tamis_options o = c->options;
    o.keep_softmax = true;
    for (int edge = 0; edge < TAMIS_EDGE_SOFTMAX; edge++) {
        char words[96];
        snprintf(words, sizeof words, "options.keep_softmax = true needs options.edge = softmax, not %s",
                 tamis_edge_name((tamis_edge)edge));
        o.edge = (tamis_edge)edge;
        REFUSED(ARGUMENT, words, tamis_plan_create(device, &c->S_there, &o, &plan));
        REFUSED(ARGUMENT, words, tamis_gradient_create(device, &c->S_there, &o, &gradient));
    }
    o.edge = TAMIS_EDGE_SOFTMAX;
    SPOILT(o.operation, TAMIS_OP_SPMM, ARGUMENT, "options.keep_softmax",
           tamis_plan_create(device, &c->S_there, &o, &plan));
    o.algorithm = is_cpu ? "naive" : "study-fused-back-to-back";
    REFUSED(UNSUPPORTED, is_cpu ? "do not support softmax" : "keep_softmax",
            tamis_plan_create(device, &c->S_there, &o, &plan));
}

TEST(test_executions_refused) {
    OWN(gradient_case) *const c = make(TAMIS_OP_FUSED, TAMIS_F32, &small);
    OWN(kept) k = kept_make(c);
    tamis_execution execution = kept_asking(c, &k);
    OWN(tamis_plan) *const without = gradient_case_plan(c);
    REFUSED(ARGUMENT, "execution.softmax_rows", kept_forward(c, without, &k, &execution));
    OWN(tamis_gradient) *const back = gradient_case_gradient(c);
    c->there.softmax_rows = twin_there(&k.pairs);
    REFUSED(ARGUMENT, "it needs options.keep_softmax", gradient_case_run(c, back, 1 << OUT_A));
    c->options.keep_softmax = true;
    OWN(tamis_gradient) *const gradient = gradient_case_gradient(c);
    OWN(tamis_plan) *const plan = gradient_case_plan(c);
    if (!c->copies) { /* on OpenCL it is a handle */
        execution.softmax_rows = c->there.softmax_rows = (char *)twin_there(&k.pairs) + 2;
        REFUSED(ARGUMENT, "a multiple of 4", kept_forward(c, plan, &k, &execution));
        REFUSED(ARGUMENT, "a multiple of 4", gradient_case_run(c, gradient, 1 << OUT_A));
    }
}

TEST(test_edge_refused) {
    OWN(gradient_case) *const c = make(TAMIS_OP_SDDMM, TAMIS_F32, &small);
    OWN(kept) k = kept_make(c);
    const tamis_execution execution = kept_asking(c, &k);
    c->options.keep_softmax = true;
    OWN(tamis_plan) *const plan = gradient_case_plan(c);
    REFUSED(ARGUMENT, "execution.softmax_rows",
            tamis_plan_edge(plan, &c->in[IN_OUT].there, &c->out[OUT_S].there, &execution));
}

TEST_ON_DEVICE(set_up, tear_down)
