/*
 * An execution of a group's plan: all ranks say whether they are well; the rows that others need are packed and sent,
 * the ghost rows arrive, and the local plan computes. Of a plan that overlaps, the first piece is computed between
 * sending and arriving, in the caller's memory; else this rank's own rows are copied meanwhile, in front of the others.
 */
#include "group/trade.h"
#include "sparse/check.h"

typedef struct run {
    tamis_group_plan *plan;
    tamis_operation operation;
    tamis_views given; /* the caller's operands */
    tamis_execution execution;
    int64_t own_rows;
    tamis_fetch fetch; /* of B and D */
    tamis_dense B, D;  /* in X */
    tamis_dense samples[TAMIS_PIECES];
    tamis_views views[TAMIS_PIECES]; /* the pieces' operands */
    tamis_execution executions[TAMIS_PIECES];
} run;

static int pieces_of(const tamis_group_plan *plan) { return plan->overlaps ? TAMIS_PIECES : 1; }

/* ------------------------------------------------------------------------------------------ operands */

/* B and D of a piece that reads X. */
static void read_x(run *r, tamis_views *views) {
    int64_t none;
    r->B = tamis_fetch_view(&r->fetch, 0, &none);
    views->B = &r->B;
    if (r->operation != TAMIS_OP_FUSED) return;
    r->D = tamis_fetch_view(&r->fetch, 1, &views->skip_d);
    views->D = &r->D;
}

/* Who reads what. */
static void lay_out(run *r) {
    const tamis_group_plan *const plan = r->plan;
    const bool sddmm = r->operation == TAMIS_OP_SDDMM;
    for (int i = 0; i < pieces_of(plan); i++) {
        r->views[i] = r->given;
        if (i == TAMIS_PIECE_GHOST || !tamis_group_in_place(plan)) read_x(r, &r->views[i]);
        r->views[i].skip_values = r->execution.values ? plan->values_skip : 0;
        r->executions[i] = r->execution;
        if (!plan->overlaps) continue;
        r->executions[i].workspace = NULL; /* the caller's is for one plan */
        if (i == TAMIS_PIECE_GHOST && !sddmm) r->executions[i].beta = 1;
        if (!sddmm) continue;
        r->samples[i] = *r->given.out;
        r->samples[i].rows = plan->pieces[i].S.nnz;
        r->views[i].out = &r->samples[i];
    }
}

/* Samples of all entries, of which each piece writes its own. */
static tamis_status check_samples(const run *r) {
    const tamis_group_plan *const plan = r->plan;
    const tamis_options *const o = &plan->options;
    const tamis_operand p = {
        "P", r->given.out, tamis_shard_is(plan->shard)->local.nnz, 1, o->output_type, TAMIS_ROW_MAJOR, NULL, -1, 0};
    if (!plan->overlaps || r->operation != TAMIS_OP_SDDMM) return TAMIS_OK;
    TRY(tamis_operand_check(plan->group->device, &p, o->batch));
    return tamis_operand_check_packed(&p);
}

/* Everything that this rank can find wrong. */
static tamis_status check(run *r, const tamis_execution *execution) {
    const tamis_group_plan *const plan = r->plan;
    const tamis_device *const device = plan->group->device;
    const tamis_options *const o = &plan->options;
    const int64_t *const cols = r->fetch.cols;
    const tamis_operand b = {"B", r->given.B, r->own_rows, cols[0], o->type, o->b_layout, "b_layout", -1, 0};
    const tamis_operand d = {"D", r->given.D, r->own_rows, cols[1], o->type, o->d_layout, "d_layout", -1, 0};
    TRY(tamis_plan_check_operation(plan->pieces[TAMIS_PIECE_FIRST].plan, r->operation));
    TRY(tamis_execution_read(execution, &r->execution));
    TRY(tamis_operand_check(device, &b, 1));
    if (r->operation == TAMIS_OP_FUSED) TRY(tamis_operand_check(device, &d, 1));
    if (o->d_is_b) TRY(tamis_d_is_b_check(r->given.B, r->given.D));
    TRY(check_samples(r));
    tamis_fetch_lay_out(&r->fetch, o->batch, o->d_is_b ? 0 : o->batch);
    lay_out(r);
    for (int i = 0; i < pieces_of(plan); i++)
        TRY(tamis_plan_check_run(plan->pieces[i].plan, r->operation, &r->views[i], &r->executions[i]));
    return TAMIS_OK;
}

/* Checks, and agrees with the other ranks on what is exchanged. */
static tamis_status agree(run *r, const tamis_execution *execution) {
    const tamis_status mine = check(r, execution);
    r->fetch.stream = r->execution.stream;
    r->fetch.alpha = r->execution.alpha;
    r->fetch.beta = r->execution.beta;
    r->fetch.given[0] = r->given.B;
    if (r->operation == TAMIS_OP_FUSED) r->fetch.given[1] = r->given.D;
    TRY(tamis_fetch_agree(&r->fetch, mine, r->execution.generation, true));
    lay_out(r);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ entry points */

static tamis_status compute(const run *r, int piece) {
    return tamis_plan_run(r->plan->pieces[piece].plan, r->operation, &r->views[piece], &r->executions[piece]);
}

/* Both pieces with the exchange around them. What has been begun is ended in any case, so that no rank's memory is in
   use when this returns. */
static tamis_status run_with_exchange(run *r) {
    const bool overlaps = r->plan->overlaps;
    tamis_message kept;
    TRY(tamis_fetch_begin(&r->fetch));
    const tamis_status own = overlaps ? compute(r, TAMIS_PIECE_FIRST) : TAMIS_OK;
    if (own != TAMIS_OK) (void)tamis_group_abort(r->plan->group, own); /* the others must not wait */
    tamis_message_keep(&kept);
    tamis_status status = tamis_fetch_arrive(&r->fetch);
    if (own == TAMIS_OK && status == TAMIS_OK) status = compute(r, overlaps ? TAMIS_PIECE_GHOST : TAMIS_PIECE_FIRST);
    if (own == TAMIS_OK) tamis_message_keep(&kept);
    if (own != TAMIS_OK) status = own;
    const tamis_status ended = tamis_fetch_end(&r->fetch);
    if (status == TAMIS_OK) return ended;
    tamis_message_restore(&kept);
    return status;
}

static tamis_status run_alone(const run *r) {
    for (int i = 0; i < pieces_of(r->plan); i++) TRY(compute(r, i));
    return TAMIS_OK;
}

static tamis_status execute(tamis_group_plan *plan, tamis_operation operation, const tamis_views *views,
                            const tamis_execution *execution) {
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: make one with tamis_group_plan_create");
    const tamis_options *const o = &plan->options;
    run r = {.plan = plan, .operation = operation, .given = *views, .fetch = {.plan = plan}};
    if (o->transpose) return tamis_group_run_transposed(plan, operation, views, execution);
    if (o->d_is_b && !r.given.D) r.given.D = r.given.B;
    r.own_rows = tamis_shard_is(plan->shard)->own_rows;
    r.fetch.cols[0] = o->operation == TAMIS_OP_SPMM ? o->width : o->inner;
    r.fetch.cols[1] = o->operation == TAMIS_OP_FUSED ? o->width : 0;
    TRY(agree(&r, execution));
    const tamis_status status = r.fetch.exchanges ? run_with_exchange(&r) : run_alone(&r);
    if (status != TAMIS_OK) return plan->group->broken ? status : tamis_group_abort(plan->group, status);
    tamis_fetch_keep(&r.fetch, r.execution.generation);
    return TAMIS_OK;
}

tamis_status tamis_group_plan_sddmm(tamis_group_plan *plan, const tamis_dense *A, const tamis_dense *B,
                                    const tamis_dense *P, const tamis_execution *execution) {
    const tamis_views views = {.A = A, .B = B, .out = P};
    tamis_clear_error();
    return execute(plan, TAMIS_OP_SDDMM, &views, execution);
}

tamis_status tamis_group_plan_spmm(tamis_group_plan *plan, const tamis_dense *B, const tamis_dense *C,
                                   const tamis_execution *execution) {
    const tamis_views views = {.B = B, .out = C};
    tamis_clear_error();
    return execute(plan, TAMIS_OP_SPMM, &views, execution);
}

tamis_status tamis_group_plan_fused(tamis_group_plan *plan, const tamis_dense *A, const tamis_dense *B,
                                    const tamis_dense *D, const tamis_dense *E, const tamis_execution *execution) {
    const tamis_views views = {.A = A, .B = B, .D = D, .out = E};
    tamis_clear_error();
    return execute(plan, TAMIS_OP_FUSED, &views, execution);
}
