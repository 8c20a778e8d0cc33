/*
 * SpMM and fused with S^T, of which a rank has columns: the rows of S that it has. B and D go with the rows of S; A and
 * the output with its columns, as B and D do without the transpose. So the ranks fetch ghost rows of A, each computes
 * what its columns of S^T add to any row of the output, and the sums of others' rows go back to their owners. Of a
 * softmax each rank finishes the part of a row that it has; the owner merges the parts.
 */
#include "group/trade.h"

typedef struct run {
    tamis_group_plan *plan;
    tamis_operation operation;
    tamis_views given, views; /* the caller's operands; the local plan's */
    tamis_execution execution, local;
    tamis_fetch fetch; /* of A */
    tamis_giving giving;
    tamis_dense A, partial;
} run;

static void lay_out(run *r) {
    const tamis_group_plan *const plan = r->plan;
    int64_t none;
    r->views = r->given;
    r->views.skip_values = r->execution.values ? plan->values_skip : 0;
    r->local = r->execution;
    if (r->operation == TAMIS_OP_FUSED && !tamis_group_in_place(plan)) {
        r->A = tamis_fetch_view(&r->fetch, 0, &none);
        r->views.A = &r->A;
    }
    if (!tamis_group_gives(plan)) return;
    r->partial = tamis_giving_view(&r->giving, 0, &none);
    r->views.out = &r->partial;
    r->local.alpha = 1;
    r->local.beta = 0;
    r->local.softmax_rows = r->giving.weighted ? plan->pairs : NULL;
}

/* Everything that this rank can find wrong. */
static tamis_status check(run *r, const tamis_execution *execution) {
    const tamis_group_plan *const plan = r->plan;
    const tamis_device *const device = plan->group->device;
    const tamis_options *const o = &plan->options;
    const bool spmm = o->operation == TAMIS_OP_SPMM;
    const int64_t own_rows = tamis_shard_is(plan->shard)->own_rows;
    const tamis_operand a = {"A", r->given.A, own_rows, o->inner, o->type, o->a_layout, "a_layout", -1, 0};
    const tamis_operand out = {spmm ? "C" : "E", r->given.out,    own_rows, o->width, o->output_type,
                               o->output_layout, "output_layout", -1,       0};
    TRY(tamis_plan_check_operation(plan->pieces[TAMIS_PIECE_FIRST].plan, r->operation));
    TRY(tamis_execution_read(execution, &r->execution));
    if (!spmm) TRY(tamis_operand_check(device, &a, 1));
    TRY(tamis_operand_check(device, &out, o->batch));
    TRY(tamis_softmax_rows_check(device, o, own_rows, &r->execution));
    tamis_fetch_lay_out(&r->fetch, o->batch, 0);
    lay_out(r);
    return tamis_plan_check_run(plan->pieces[TAMIS_PIECE_FIRST].plan, r->operation, &r->views, &r->local);
}

static tamis_status compute(void *context) {
    const run *const r = context;
    return tamis_plan_run(r->plan->pieces[TAMIS_PIECE_FIRST].plan, r->operation, &r->views, &r->local);
}

tamis_status tamis_group_run_transposed(tamis_group_plan *plan, tamis_operation operation, const tamis_views *views,
                                        const tamis_execution *execution) {
    const tamis_options *const o = &plan->options;
    const bool fused = o->operation == TAMIS_OP_FUSED;
    run r = {.plan = plan,
             .operation = operation,
             .given = *views,
             .fetch = {.plan = plan, .cols = {fused ? o->inner : 0, 0}},
             .giving = {.plan = plan, .cols = {o->width, 0}, .weighted = fused && o->edge == TAMIS_EDGE_SOFTMAX}};
    const tamis_status mine = check(&r, execution);
    r.fetch.stream = r.giving.stream = r.execution.stream;
    r.fetch.alpha = r.execution.alpha;
    r.fetch.beta = r.execution.beta;
    if (fused) r.fetch.given[0] = r.given.A;
    TRY(tamis_fetch_agree(&r.fetch, mine, r.execution.generation, fused));
    lay_out(&r);
    r.giving.to[0] = r.given.out;
    r.giving.factor = r.execution.alpha;
    r.giving.keep = r.execution.beta;
    r.giving.softmax_rows = r.execution.softmax_rows;
    TRY(tamis_trade(&r.fetch, &r.giving, compute, &r));
    tamis_fetch_keep(&r.fetch, r.execution.generation);
    return TAMIS_OK;
}
