/*
 * Gradients on a group. S's rows are distributed, so those of A and of S's values are each rank's own; of B and D,
 * whose rows belong to columns of S, each rank has parts of sums, which go back to the owners of the rows. With the
 * transpose A and B change places: ranks fetch rows of A and of the output's gradient, and parts of the sums of dA go
 * back.
 */
#include "core/gradient.h"

#include "group/trade.h"

/* It is a plan that has no pieces. */
static tamis_group_plan *plan_of(const tamis_group_gradient *gradient) {
    return (tamis_group_plan *)(uintptr_t)gradient;
}

typedef struct run {
    tamis_group_plan *plan;
    tamis_operation operation;
    tamis_back_views given, views; /* the caller's operands; the local gradient's */
    tamis_execution execution;
    tamis_fetch fetch;
    tamis_giving giving;
    tamis_dense fetched[TAMIS_TRADED], partial[TAMIS_TRADED];
    int64_t first; /* elements before the first output in a row of sums: none */
} run;

/* ------------------------------------------------------------------------------------------ who has what */

/* A matrix with rows for S's columns. */
typedef struct shared {
    const char *name, *option;
    const tamis_dense *view;
    int64_t cols;
    tamis_layout layout;
    const tamis_dense **local; /* of the local gradient */
    int64_t *skip;             /* the elements before it there */
} shared;

/* Those that are fetched, and those whose gradients are summed; the number of each. */
static int list_fetched(run *r, shared *list) {
    const tamis_options *const o = &r->plan->options;
    tamis_back_views *const x = &r->views;
    const bool spmm = o->operation == TAMIS_OP_SPMM;
    const shared a = {"A", "a_layout", r->given.A, o->inner, o->a_layout, &x->A, &x->skip_a};
    const shared b = {"B", "b_layout", r->given.B, spmm ? o->width : o->inner, o->b_layout, &x->B, &x->skip_b};
    const shared d = {"D", "d_layout", r->given.D, o->width, o->d_layout, &x->D, &x->skip_d};
    const shared e = {spmm ? "dC" : "dE", "output_layout", r->given.dE, o->width, o->output_layout, &x->dE, &x->skip_e};
    const bool fused = o->operation == TAMIS_OP_FUSED;
    list[0] = !o->transpose ? b : spmm ? e : a;
    if (fused) list[1] = o->transpose ? e : d;
    return fused ? 2 : 1;
}

static int list_given(run *r, shared *list) {
    const tamis_options *const o = &r->plan->options;
    tamis_back_views *const x = &r->views;
    const bool spmm = o->operation == TAMIS_OP_SPMM, fused = o->operation == TAMIS_OP_FUSED;
    if (o->transpose) {
        list[0] = (shared){"dA", "a_layout", r->given.dA, o->inner, o->a_layout, &x->dA, &r->first};
        return spmm ? 0 : 1;
    }
    list[0] = (shared){"dB", "b_layout", r->given.dB, spmm ? o->width : o->inner, o->b_layout, &x->dB, &r->first};
    list[1] = (shared){"dD", "d_layout", r->given.dD, o->width, o->d_layout, &x->dD, &x->skip_dd};
    return fused ? 2 : 1;
}

static tamis_status check_shared(const run *r, const shared *x, int64_t members) {
    const tamis_group_plan *const plan = r->plan;
    const tamis_operand operand = {.name = x->name,
                                   .view = x->view,
                                   .rows = tamis_shard_is(plan->shard)->own_rows,
                                   .cols = x->cols,
                                   .type = plan->options.type,
                                   .layout = x->layout,
                                   .option = x->option};
    return tamis_operand_check(plan->group->device, &operand, members);
}

/* ------------------------------------------------------------------------------------------ one call */

static void lay_out(run *r) {
    shared list[TAMIS_TRADED];
    r->views = r->given;
    r->views.skip_values = r->execution.values ? r->plan->values_skip : 0;
    if (tamis_group_in_place(r->plan)) return;
    for (int i = list_fetched(r, list) - 1; i >= 0; i--) {
        r->fetched[i] = tamis_fetch_view(&r->fetch, i, list[i].skip);
        *list[i].local = &r->fetched[i];
    }
    for (int i = tamis_group_gives(r->plan) ? list_given(r, list) - 1 : -1; i >= 0; i--) {
        if (!list[i].view) continue;
        r->partial[i] = tamis_giving_view(&r->giving, i, list[i].skip);
        *list[i].local = &r->partial[i];
    }
}

/* Everything that this rank can find wrong. */
static tamis_status check(run *r, const tamis_execution *execution) {
    const tamis_options *const o = &r->plan->options;
    shared list[TAMIS_TRADED];
    if (o->operation != r->operation)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "gradient was made for %s: it cannot differentiate %s",
                          tamis_operation_name(o->operation), tamis_operation_name(r->operation));
    TRY(tamis_execution_read(execution, &r->execution));
    const int fetched = list_fetched(r, list);
    for (int i = 0; i < fetched; i++) {
        TRY(check_shared(r, &list[i], 1));
        r->fetch.given[i] = list[i].view;
        r->fetch.cols[i] = list[i].cols;
    }
    const int given = list_given(r, list);
    for (int i = 0; i < given; i++) {
        if (!list[i].view) continue;
        TRY(check_shared(r, &list[i], o->batch));
        r->giving.to[i] = list[i].view;
        r->giving.cols[i] = list[i].cols;
        r->fetch.wanted |= 1u << i;
    }
    tamis_fetch_lay_out(&r->fetch, o->batch, fetched > 1 ? o->batch : 0);
    lay_out(r);
    return tamis_gradient_check_run(r->plan->gradient, r->operation, &r->views, &r->execution);
}

static tamis_status compute(void *context) {
    const run *const r = context;
    return tamis_gradient_run(r->plan->gradient, r->operation, &r->views, &r->execution);
}

static tamis_status go_back(const tamis_group_gradient *gradient, tamis_operation operation,
                            const tamis_back_views *views, const tamis_execution *execution) {
    tamis_clear_error();
    if (!gradient)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "gradient = NULL: make one with tamis_group_gradient_create");
    tamis_group_plan *const plan = plan_of(gradient);
    run r = {.plan = plan,
             .operation = operation,
             .given = *views,
             .fetch = {.plan = plan},
             .giving = {.plan = plan, .factor = 1}};
    const tamis_status mine = check(&r, execution);
    /* SpMM's dB needs no rows of B */
    const bool needs = operation != TAMIS_OP_SPMM || plan->options.transpose || views->dS;
    const uint64_t generation = plan->options.transpose ? 0 : r.execution.generation;
    r.fetch.stream = r.giving.stream = r.execution.stream;
    r.fetch.alpha = r.execution.alpha;
    r.giving.keep = r.fetch.beta = r.execution.beta;
    TRY(tamis_fetch_agree(&r.fetch, mine, generation, needs));
    lay_out(&r);
    TRY(tamis_trade(&r.fetch, r.fetch.wanted ? &r.giving : NULL, compute, &r));
    tamis_fetch_keep(&r.fetch, generation);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ entry points */

tamis_status tamis_group_gradient_create(tamis_group *group, const tamis_sparse *S, int64_t own_rows,
                                         const tamis_options *options, tamis_group_gradient **gradient) {
    tamis_clear_error();
    if (gradient) *gradient = NULL;
    return tamis_group_plan_make(group, S, own_rows, options, TAMIS_GROUP_GRADIENT, (tamis_group_plan **)gradient);
}

void tamis_group_gradient_destroy(tamis_group_gradient *gradient) { tamis_group_plan_destroy(plan_of(gradient)); }

tamis_status tamis_group_gradient_workspace_size(const tamis_group_gradient *gradient, size_t *bytes) {
    tamis_clear_error();
    if (!gradient)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "gradient = NULL: make one with tamis_group_gradient_create");
    return tamis_gradient_workspace_size(plan_of(gradient)->gradient, bytes);
}

tamis_status tamis_group_sddmm_backward(const tamis_group_gradient *gradient, const tamis_dense *dP,
                                        const tamis_dense *A, const tamis_dense *B, const tamis_dense *dA,
                                        const tamis_dense *dB, const tamis_dense *dS,
                                        const tamis_execution *execution) {
    const tamis_back_views views = {.dP = dP, .A = A, .B = B, .dA = dA, .dB = dB, .dS = dS};
    return go_back(gradient, TAMIS_OP_SDDMM, &views, execution);
}

tamis_status tamis_group_spmm_backward(const tamis_group_gradient *gradient, const tamis_dense *dC,
                                       const tamis_dense *B, const tamis_dense *dB, const tamis_dense *dS,
                                       const tamis_execution *execution) {
    const tamis_back_views views = {.dE = dC, .B = B, .dB = dB, .dS = dS};
    return go_back(gradient, TAMIS_OP_SPMM, &views, execution);
}

tamis_status tamis_group_fused_backward(const tamis_group_gradient *gradient, const tamis_dense *dE,
                                        const tamis_dense *A, const tamis_dense *B, const tamis_dense *D,
                                        const tamis_dense *dA, const tamis_dense *dB, const tamis_dense *dD,
                                        const tamis_dense *dS, const tamis_execution *execution) {
    const tamis_back_views views = {.dE = dE, .A = A, .B = B, .D = D, .dA = dA, .dB = dB, .dD = dD, .dS = dS};
    return go_back(gradient, TAMIS_OP_FUSED, &views, execution);
}
