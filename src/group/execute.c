/*
 * An execution of a group's plan: all ranks say whether they are well; the rows that others need are packed and sent,
 * this rank's own rows are copied meanwhile, the ghost rows arrive behind them, and the local plan computes.
 */
#include <string.h>

#include "group/plan.h"
#include "sparse/check.h"

typedef struct run {
    tamis_group_plan *plan;
    tamis_operation operation;
    tamis_views given; /* the caller's operands */
    int64_t own_rows, b_cols, d_cols;
    int64_t b_members, d_members; /* matrices of a batch that are exchanged; d_members = 0: D is B */
    int64_t row_bytes;            /* of a row of X */
    tamis_dense B, D;             /* in X */
    tamis_views views;            /* the local plan's operands */
    tamis_execution execution;
} run;

/* ------------------------------------------------------------------------------------------ operands */

/* What X has to hold: all members of a batch unless they share one matrix on all ranks. */
static void lay_out(run *r, int64_t b_members, int64_t d_members) {
    const tamis_group_plan *const plan = r->plan;
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    const int64_t size = (int64_t)tamis_type_size(plan->options.type);
    const int64_t stride = b_members * r->b_cols + d_members * r->d_cols;
    r->b_members = b_members;
    r->d_members = d_members;
    r->row_bytes = stride * size;
    r->views = r->given;
    if (tamis_group_in_place(plan)) return;
    const tamis_dense X = {
        .data = plan->rows, .rows = is->own_rows + is->ghost_rows, .stride = stride, .type = plan->options.type};
    r->B = r->D = X;
    r->B.cols = r->b_cols;
    r->B.batch_stride = b_members > 1 ? r->b_cols : 0;
    r->D.cols = r->d_cols;
    r->D.batch_stride = d_members > 1 ? r->d_cols : 0;
    if (d_members == 0)
        r->D.batch_stride = r->B.batch_stride;
    else
        r->D.data = plan->rows + b_members * r->b_cols * size;
    r->views.B = &r->B;
    r->views.D = r->operation == TAMIS_OP_FUSED ? &r->D : NULL;
}

static tamis_status take_execution(run *r, const tamis_execution *execution) {
    static const tamis_execution initial = TAMIS_EXECUTION_INIT;
    const tamis_group_plan *const plan = r->plan;
    r->execution = execution ? *execution : initial;
    if (r->execution.values)
        r->execution.values = (const char *)r->execution.values + plan->values_skip * (int64_t)plan->value_size;
    return tamis_plan_check_run(plan->local, r->operation, &r->views, &r->execution);
}

/* Everything that this rank can find wrong. */
static tamis_status check(run *r, const tamis_execution *execution) {
    const tamis_group_plan *const plan = r->plan;
    const tamis_options *const o = &plan->options;
    const tamis_operand b = {"B", r->given.B, r->own_rows, r->b_cols, o->type, o->b_layout, "b_layout", -1, 0};
    const tamis_operand d = {"D", r->given.D, r->own_rows, r->d_cols, o->type, o->d_layout, "d_layout", -1, 0};
    TRY(tamis_plan_check_operation(plan->local, r->operation));
    TRY(tamis_operand_check(plan->group->device, &b, 1));
    if (r->operation == TAMIS_OP_FUSED) TRY(tamis_operand_check(plan->group->device, &d, 1));
    if (o->d_is_b) TRY(tamis_d_is_b_check(r->given.B, r->given.D));
    lay_out(r, o->batch, o->d_is_b ? 0 : o->batch);
    return take_execution(r, execution);
}

/* Checks, and agrees with the other ranks on what is exchanged. */
static tamis_status agree(run *r, const tamis_execution *execution) {
    tamis_group *const group = r->plan->group;
    const int64_t batch = r->plan->options.batch;
    const bool fused = r->operation == TAMIS_OP_FUSED;
    int64_t members[2] = {1, 0}; /* a rank without rows leaves it to the others */
    const tamis_status mine = check(r, execution);
    if (mine == TAMIS_OK && r->own_rows > 0) {
        members[0] = r->given.B->batch_stride ? batch : 1;
        if (fused && !tamis_dense_same(r->given.B, r->given.D)) members[1] = r->given.D->batch_stride ? batch : 1;
    }
    TRY(tamis_group_share(group, mine, members, sizeof members));
    for (int rank = 0; rank < group->transport.ranks; rank++) {
        int64_t theirs[2];
        memcpy(theirs, tamis_group_shared(group, rank, sizeof theirs), sizeof theirs);
        for (int i = 0; i < 2; i++)
            if (theirs[i] > members[i]) members[i] = theirs[i];
    }
    lay_out(r, members[0], members[1]);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ exchange */

/* Rows of B, and behind them those of D. */
static void pack(const run *r, const int64_t *rows, int64_t count, char *to) {
    tamis_packing p = {.view = r->given.B,
                       .members = r->b_members,
                       .rows = rows,
                       .count = count,
                       .to = to,
                       .apart = r->row_bytes,
                       .threads = r->plan->options.threads};
    tamis_group_pack(&p);
    if (r->d_members == 0) return;
    p.view = r->given.D;
    p.members = r->d_members;
    p.to = to + r->b_members * r->b_cols * (int64_t)tamis_type_size(r->plan->options.type);
    tamis_group_pack(&p);
}

static tamis_status exchange(const run *r) {
    const tamis_group_plan *const plan = r->plan;
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    const bool in_place = tamis_group_in_place(plan);
    for (int rank = 0; rank <= is->ranks; rank++) {
        plan->send_starts[rank] = is->send_starts[rank] * r->row_bytes;
        plan->receive_starts[rank] = is->receive_starts[rank] * r->row_bytes;
    }
    const tamis_transfer transfer = {.send = plan->send,
                                     .send_starts = plan->send_starts,
                                     .receive = in_place ? NULL : plan->rows + is->own_rows * r->row_bytes,
                                     .receive_starts = plan->receive_starts};
    pack(r, is->sends, is->send_rows, plan->send);
    TRY(tamis_group_exchange_begin(plan->group, &transfer));
    if (!in_place) pack(r, NULL, is->own_rows, plan->rows);
    return tamis_group_exchange_end(plan->group);
}

/* ------------------------------------------------------------------------------------------ entry points */

static tamis_status execute(tamis_group_plan *plan, tamis_operation operation, const tamis_views *views,
                            const tamis_execution *execution) {
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: make one with tamis_group_plan_create");
    const tamis_options *const o = &plan->options;
    run r = {.plan = plan, .operation = operation, .given = *views};
    if (o->d_is_b && !r.given.D) r.given.D = r.given.B;
    r.own_rows = tamis_shard_is(plan->shard)->own_rows;
    r.b_cols = o->operation == TAMIS_OP_SPMM ? o->width : o->inner;
    r.d_cols = o->operation == TAMIS_OP_FUSED ? o->width : 0;
    TRY(agree(&r, execution));
    TRY(exchange(&r));
    const tamis_status status = tamis_plan_run(plan->local, operation, &r.views, &r.execution);
    return status == TAMIS_OK ? TAMIS_OK : tamis_group_abort(plan->group, status);
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
