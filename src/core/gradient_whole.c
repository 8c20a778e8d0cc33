#include "core/gradient_plans.h"

#include <string.h>

#include "backend/edge.h"
#include "base/status.h"
#include "select/ceilings.h"
#include "select/choose.h"
#include "sparse/check.h"

/* The problems of op(S) and of its transpose, each with its evidence. */
typedef struct pair {
    tamis_problem problems[2];
    tamis_evidence evidence[2];
} pair;

static bool row_major(const tamis_options *o) {
    return o->a_layout == TAMIS_ROW_MAJOR && o->b_layout == TAMIS_ROW_MAJOR && o->d_layout == TAMIS_ROW_MAJOR &&
           o->output_layout == TAMIS_ROW_MAJOR;
}

static tamis_problem problem_of(const tamis_whole_request *r, const tamis_sparse *pattern, tamis_evidence *evidence) {
    const tamis_options *const o = r->options;
    tamis_problem p = tamis_problem_of(r->device, o, r->text, evidence);
    p.operation = TAMIS_OP_FUSED;
    p.output_type = o->type;
    p.rows = pattern->rows;
    p.cols = pattern->cols;
    p.nnz = pattern->nnz;
    p.offsets = pattern->offsets;
    p.columns = pattern->columns;
    p.offset_type = pattern->offset_type;
    p.index_type = pattern->index_type;
    p.mask = pattern->mask;
    p.mask_turned = pattern == r->U;
    p.keep_softmax = p.d_is_b = false;
    p.deterministic = true;
    p.parameters = "";
    return p;
}

static void describe_both(const tamis_whole_request *r, pair *p) {
    const tamis_sparse *const patterns[2] = {r->T, r->U};
    const tamis_device *const device = r->device;
    for (int i = 0; i < 2; i++) {
        tamis_evidence *const e = &p->evidence[i];
        tamis_ceilings_get(device->backend, device->number, device->description.threads, TAMIS_PROBE_IF_NEEDED,
                           &e->ceilings, e->rates, &e->rates_source);
        p->problems[i] = problem_of(r, patterns[i], e);
    }
}

/* Adds the seconds of a step, as its plan would predict them for one batch member. */
static tamis_status add_step(const tamis_problem *whole, tamis_operation operation, int64_t columns, double *seconds) {
    tamis_problem step = *whole;
    tamis_choice choice;
    step.operation = operation;
    step.edge_constants.text = NULL;
    step.edge = operation == TAMIS_OP_SPMM ? TAMIS_EDGE_SCALE : TAMIS_EDGE_MASK;
    step.inner = operation == TAMIS_OP_SPMM ? 0 : columns;
    step.width = operation == TAMIS_OP_SPMM ? columns : 0;
    step.has_values = operation == TAMIS_OP_SPMM;
    if (operation == TAMIS_OP_SPMM)
        step.value_type = tamis_sum_type(step.type);
    else
        step.output_type = tamis_sum_type(step.type);
    TRY(tamis_choose(step.backend, &step, NULL, false, &choice));
    *seconds += choice.prediction.call_seconds;
    return TAMIS_OK;
}

/* Predicts the steps of gradient.c: two samplings, the pass over the nonzeros, two permutations, three products. The
   pass and the permutations read and write about fourteen numbers per nonzero, some out of order. */
static tamis_status predict_steps(const pair *p, double *seconds) {
    enum { NUMBERS = 14 };
    const tamis_problem *const T = &p->problems[0], *const U = &p->problems[1];
    const double bytes = (double)NUMBERS * (double)tamis_type_size(tamis_sum_type(T->type)) * (double)T->nnz;
    *seconds = bytes / (1e9 * p->evidence[0].ceilings.memory_gbs[1]);
    TRY(add_step(T, TAMIS_OP_SDDMM, T->inner, seconds));
    TRY(add_step(T, TAMIS_OP_SDDMM, T->width, seconds));
    TRY(add_step(T, TAMIS_OP_SPMM, T->inner, seconds));
    TRY(add_step(U, TAMIS_OP_SPMM, T->inner, seconds));
    return add_step(U, TAMIS_OP_SPMM, T->width, seconds);
}

tamis_status tamis_whole_gradient_make(const tamis_whole_request *r, tamis_prepared_backward **whole) {
    const tamis_backward_functions *const back = r->device->backend->back;
    const tamis_options *const o = r->options;
    pair p = {.problems = {{.rows = 0}, {.rows = 0}}};
    double steps = 0;
    const bool named = back && r->algorithm && strcmp(r->algorithm, back->algorithm) == 0;
    *whole = NULL;
    if (r->algorithm && strcmp(r->algorithm, "steps") == 0) return TAMIS_OK;
    if (!back || o->operation != TAMIS_OP_FUSED || r->has_values || r->partial || !row_major(o) || r->T->nnz == 0)
        return TAMIS_OK;
    describe_both(r, &p);
    if (r->T->mask && !(back->unlisted && back->unlisted(&p.problems[0]))) return TAMIS_OK;
    for (int i = 0; i < 2; i++) TRY(r->device->backend->profile(&p.problems[i], &p.evidence[i]));
    const double seconds = back->seconds(&p.problems[0], &p.problems[1]);
    if (seconds == 0) return TAMIS_OK;
    if (!named) TRY(predict_steps(&p, &steps));
    return named || seconds < steps ? back->prepare(&p.problems[0], &p.problems[1], whole) : TAMIS_OK;
}

static tamis_matrix matrix_of(const tamis_dense *view, int64_t skip) {
    tamis_matrix x = tamis_matrix_of(view);
    if (!view) return x;
    x.at.bytes = skip * (int64_t)tamis_type_size(view->type);
    x.batch_stride = view->batch_stride;
    return x;
}

tamis_status tamis_whole_gradient_run(const tamis_device *device, const tamis_prepared_backward *whole,
                                      const tamis_back_views *x, const tamis_execution *given) {
    const tamis_backward_operands operands = {.a = matrix_of(x->A, x->skip_a),
                                              .b = matrix_of(x->B, x->skip_b),
                                              .d = matrix_of(x->D, x->skip_d),
                                              .e = matrix_of(x->dE, x->skip_e),
                                              .da = matrix_of(x->dA, 0),
                                              .db = matrix_of(x->dB, 0),
                                              .dd = matrix_of(x->dD, x->skip_dd),
                                              .alpha = given->alpha,
                                              .beta = given->beta,
                                              .softmax_rows = {given->softmax_rows, 0},
                                              .result = matrix_of(given->result, 0),
                                              .scratch = {given->workspace, 0}};
    return device->backend->back->execute(whole, given->stream, &operands);
}
