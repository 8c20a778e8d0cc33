/*
 * An execution of a group's plan: all ranks say whether they are well; the rows that others need are packed and sent,
 * the ghost rows arrive, and the local plan computes. Of a plan that overlaps, the first piece is computed between
 * sending and arriving, in the caller's memory; else this rank's own rows are copied meanwhile, in front of the others.
 * On a GPU the exchange has a stream of its own. Events order it with the caller's; the host does not wait for either,
 * but where rows pass through its memory.
 */
#include <string.h>

#include "group/plan.h"
#include "sparse/check.h"

typedef struct run {
    tamis_group_plan *plan;
    tamis_operation operation;
    tamis_views given; /* the caller's operands */
    tamis_execution execution;
    int64_t own_rows, b_cols, d_cols;
    int64_t b_members, d_members; /* matrices of a batch that are exchanged; d_members = 0: D is B */
    int64_t row_bytes;            /* of a row of X */
    bool exchanges;               /* X does not have these rows yet */
    tamis_dense B, D;             /* in X */
    tamis_dense samples[TAMIS_PIECES];
    tamis_views views[TAMIS_PIECES]; /* the pieces' operands */
    tamis_execution executions[TAMIS_PIECES];
} run;

static int pieces_of(const tamis_group_plan *plan) { return plan->overlaps ? TAMIS_PIECES : 1; }

static int64_t element_bytes(const run *r) { return (int64_t)tamis_type_size(r->plan->options.type); }

/* ------------------------------------------------------------------------------------------ operands */

/* B and D of a piece that reads X. */
static void read_x(run *r, tamis_views *views) {
    const tamis_group_plan *const plan = r->plan;
    const int64_t stride = r->row_bytes / element_bytes(r);
    r->B = r->D = (tamis_dense){.data = plan->rows,
                                .rows = tamis_group_own_rows_of_x(plan) + tamis_shard_is(plan->shard)->ghost_rows,
                                .stride = stride,
                                .type = plan->options.type,
                                .location = plan->group->device->backend->location};
    r->B.cols = r->b_cols;
    r->B.batch_stride = r->b_members > 1 ? r->b_cols : 0;
    r->D.cols = r->d_cols;
    r->D.batch_stride = r->d_members > 1 ? r->d_cols : 0;
    if (r->d_members == 0)
        r->D.batch_stride = r->B.batch_stride;
    else
        views->skip_d = r->b_members * r->b_cols;
    views->B = &r->B;
    views->D = r->operation == TAMIS_OP_FUSED ? &r->D : NULL;
}

/* What X has to hold, all members of a batch unless they share one matrix on all ranks; and who reads what. */
static void lay_out(run *r, int64_t b_members, int64_t d_members) {
    const tamis_group_plan *const plan = r->plan;
    const bool sddmm = r->operation == TAMIS_OP_SDDMM;
    r->b_members = b_members;
    r->d_members = d_members;
    r->row_bytes = (b_members * r->b_cols + d_members * r->d_cols) * element_bytes(r);
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
    const tamis_operand b = {"B", r->given.B, r->own_rows, r->b_cols, o->type, o->b_layout, "b_layout", -1, 0};
    const tamis_operand d = {"D", r->given.D, r->own_rows, r->d_cols, o->type, o->d_layout, "d_layout", -1, 0};
    TRY(tamis_plan_check_operation(plan->pieces[TAMIS_PIECE_FIRST].plan, r->operation));
    TRY(tamis_execution_read(execution, &r->execution));
    TRY(tamis_operand_check(device, &b, 1));
    if (r->operation == TAMIS_OP_FUSED) TRY(tamis_operand_check(device, &d, 1));
    if (o->d_is_b) TRY(tamis_d_is_b_check(r->given.B, r->given.D));
    TRY(check_samples(r));
    lay_out(r, o->batch, o->d_is_b ? 0 : o->batch);
    for (int i = 0; i < pieces_of(plan); i++)
        TRY(tamis_plan_check_run(plan->pieces[i].plan, r->operation, &r->views[i], &r->executions[i]));
    return TAMIS_OK;
}

/* What a rank tells the others of an execution. */
typedef struct wish {
    int64_t b_members, d_members; /* a rank without rows leaves it to the others */
    int64_t exchange;             /* its B and D may have changed */
} wish;

static wish wish_of(const run *r) {
    const int64_t batch = r->plan->options.batch;
    const uint64_t generation = r->execution.generation;
    wish mine = {1, 0, generation == 0 || generation != r->plan->generation};
    if (r->own_rows == 0) return mine;
    mine.b_members = r->given.B->batch_stride ? batch : 1;
    if (r->operation == TAMIS_OP_FUSED && !tamis_dense_same(r->given.B, r->given.D))
        mine.d_members = r->given.D->batch_stride ? batch : 1;
    return mine;
}

/* Checks, and agrees with the other ranks on what is exchanged. */
static tamis_status agree(run *r, const tamis_execution *execution) {
    tamis_group *const group = r->plan->group;
    const tamis_status mine = check(r, execution);
    wish all = mine == TAMIS_OK ? wish_of(r) : (wish){1, 0, 1};
    TRY(tamis_group_share(group, mine, &all, sizeof all));
    for (int rank = 0; rank < group->transport.ranks; rank++) {
        wish theirs;
        memcpy(&theirs, tamis_group_shared(group, rank, sizeof theirs), sizeof theirs);
        if (theirs.b_members > all.b_members) all.b_members = theirs.b_members;
        if (theirs.d_members > all.d_members) all.d_members = theirs.d_members;
        all.exchange |= theirs.exchange;
    }
    lay_out(r, all.b_members, all.d_members);
    r->exchanges = r->plan->report.ghosts > 0 &&
                   (all.exchange || all.b_members != r->plan->kept_b || all.d_members != r->plan->kept_d);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ packing */

/* Rows of all members of a matrix, `skip` bytes behind the start of X's or the sent rows. */
static tamis_status gather(const run *r, void *stream, const tamis_dense *X, int64_t members, const void *rows,
                           int64_t count, void *to, int64_t skip) {
    const tamis_device *const device = r->plan->group->device;
    const int64_t size = element_bytes(r);
    for (int64_t m = 0; m < members; m++) {
        const tamis_gathering g = {.type = X->type,
                                   .threads = r->plan->options.threads,
                                   .layout = X->layout,
                                   .from = {X->data, m * X->batch_stride * size},
                                   .to = {to, skip + m * X->cols * size},
                                   .stride = tamis_dense_stride(X),
                                   .apart = r->row_bytes / size,
                                   .cols = X->cols,
                                   .count = count,
                                   .rows = rows};
        TRY(device->backend->gather(device->handle, stream, &g));
    }
    return TAMIS_OK;
}

/* Rows of B, and behind them those of D. */
static tamis_status pack(const run *r, void *stream, const void *rows, int64_t count, void *to) {
    if (count == 0) return TAMIS_OK;
    TRY(gather(r, stream, r->given.B, r->b_members, rows, count, to, 0));
    if (r->d_members == 0) return TAMIS_OK;
    return gather(r, stream, r->given.D, r->d_members, rows, count, to, r->b_members * r->b_cols * element_bytes(r));
}

static tamis_status pack_sends(const run *r) {
    const tamis_group_plan *const plan = r->plan;
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    return pack(r, plan->stream, plan->sends ? plan->sends : is->sends, is->send_rows, plan->send);
}

/* In the caller's stream, which has read X before: the others wait only for what is sent. */
static tamis_status pack_own(const run *r) {
    if (tamis_group_in_place(r->plan)) return TAMIS_OK;
    return pack(r, r->execution.stream, NULL, r->own_rows, r->plan->rows);
}

/* ------------------------------------------------------------------------------------------ exchange */

/* Where the ghost rows begin in X. */
static int64_t ghosts_at(const run *r) { return tamis_group_own_rows_of_x(r->plan) * r->row_bytes; }

/* The bytes of the exchange, received `first` bytes behind the start. */
static void set_starts(const run *r, int64_t first) {
    const tamis_group_plan *const plan = r->plan;
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    for (int rank = 0; rank <= is->ranks; rank++) {
        plan->send_starts[rank] = is->send_starts[rank] * r->row_bytes;
        plan->receive_starts[rank] = first + is->receive_starts[rank] * r->row_bytes;
    }
}

static tamis_transfer transfer_between(const run *r, const void *send, void *receive) {
    return (tamis_transfer){.send = send,
                            .send_starts = r->plan->send_starts,
                            .receive = receive,
                            .receive_starts = r->plan->receive_starts};
}

/* The stream of the exchange comes behind what the caller's stream has: it has written B and D, and read X. */
static tamis_status follow_caller(const run *r) {
    tamis_group_plan *const plan = r->plan;
    const tamis_device *const device = plan->group->device;
    TRY(device->backend->mark(device->handle, r->execution.stream, &plan->called));
    return device->backend->stream_wait(device->handle, plan->stream, plan->called);
}

/* The caller's stream comes behind the rows' arrival. */
static tamis_status lead_caller(const run *r) {
    tamis_group_plan *const plan = r->plan;
    const tamis_device *const device = plan->group->device;
    TRY(device->backend->mark(device->handle, plan->stream, &plan->arrived));
    return device->backend->stream_wait(device->handle, r->execution.stream, plan->arrived);
}

/* The three ways of an exchange, each in three steps: `begin` sends, `arrive` makes the rows usable in the caller's
   stream, `end` says that the others have theirs. */
typedef struct route {
    tamis_status (*begin)(const run *r, tamis_transfer *transfer);
    tamis_status (*arrive)(const run *r);
    tamis_status (*end)(const run *r);
} route;

static tamis_status nothing(const run *r) {
    (void)r;
    return TAMIS_OK;
}

static tamis_status begin_on_host(const run *r, tamis_transfer *transfer) {
    const tamis_group_plan *const plan = r->plan;
    set_starts(r, ghosts_at(r));
    *transfer = transfer_between(r, plan->send, plan->rows);
    TRY(pack_sends(r));
    TRY(tamis_group_exchange_begin(plan->group, transfer));
    return pack_own(r);
}

static tamis_status arrive_on_host(const run *r) { return tamis_group_exchange_end(r->plan->group); }

static tamis_status begin_between_devices(const run *r, tamis_transfer *transfer) {
    const tamis_group_plan *const plan = r->plan;
    set_starts(r, ghosts_at(r));
    *transfer = transfer_between(r, plan->send, plan->rows);
    TRY(follow_caller(r));
    TRY(pack_sends(r));
    TRY(pack_own(r));
    return tamis_group_device_begin(plan->group, plan->stream, transfer);
}

static tamis_status end_between_devices(const run *r) { return tamis_group_device_end(r->plan->group); }

static tamis_status begin_through_host(const run *r, tamis_transfer *transfer) {
    const tamis_group_plan *const plan = r->plan;
    const tamis_device *const device = plan->group->device;
    const int64_t bytes = tamis_shard_is(plan->shard)->send_rows * r->row_bytes;
    set_starts(r, 0);
    *transfer = transfer_between(r, plan->host_send, plan->host_received);
    TRY(follow_caller(r));
    TRY(pack_sends(r));
    TRY(pack_own(r));
    if (bytes > 0)
        TRY(device->backend->copy_out(device->handle, plan->stream, plan->host_send, (tamis_place){plan->send, 0},
                                      (size_t)bytes));
    return tamis_group_exchange_begin(plan->group, transfer);
}

static tamis_status arrive_through_host(const run *r) {
    const tamis_group_plan *const plan = r->plan;
    const tamis_device *const device = plan->group->device;
    const int64_t bytes = tamis_shard_is(plan->shard)->ghost_rows * r->row_bytes;
    TRY(tamis_group_exchange_end(plan->group));
    if (bytes > 0)
        TRY(device->backend->copy_in_async(device->handle, plan->stream, (tamis_place){plan->rows, ghosts_at(r)},
                                           plan->host_received, (size_t)bytes));
    return lead_caller(r);
}

static const route on_host = {begin_on_host, arrive_on_host, nothing};
static const route between_devices = {begin_between_devices, lead_caller, end_between_devices};
static const route through_host = {begin_through_host, arrive_through_host, nothing};

static const route *route_of(const tamis_group *group) {
    return group->direct ? &between_devices : tamis_group_on_device(group) ? &through_host : &on_host;
}

/* ------------------------------------------------------------------------------------------ entry points */

static tamis_status compute(const run *r, int piece) {
    return tamis_plan_run(r->plan->pieces[piece].plan, r->operation, &r->views[piece], &r->executions[piece]);
}

/* Both pieces with the exchange around them. What has been begun is ended in any case, so that no rank's memory is in
   use when this returns. */
static tamis_status run_with_exchange(const run *r) {
    const route *const way = route_of(r->plan->group);
    const bool overlaps = r->plan->overlaps;
    tamis_transfer transfer;
    tamis_message kept;
    TRY(way->begin(r, &transfer));
    const tamis_status own = overlaps ? compute(r, TAMIS_PIECE_FIRST) : TAMIS_OK;
    if (own != TAMIS_OK) (void)tamis_group_abort(r->plan->group, own); /* the others must not wait */
    tamis_message_keep(&kept);
    tamis_status status = way->arrive(r);
    if (own == TAMIS_OK && status == TAMIS_OK) status = compute(r, overlaps ? TAMIS_PIECE_GHOST : TAMIS_PIECE_FIRST);
    if (own == TAMIS_OK) tamis_message_keep(&kept);
    if (own != TAMIS_OK) status = own;
    const tamis_status ended = way->end(r);
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
    run r = {.plan = plan, .operation = operation, .given = *views};
    if (o->d_is_b && !r.given.D) r.given.D = r.given.B;
    r.own_rows = tamis_shard_is(plan->shard)->own_rows;
    r.b_cols = o->operation == TAMIS_OP_SPMM ? o->width : o->inner;
    r.d_cols = o->operation == TAMIS_OP_FUSED ? o->width : 0;
    TRY(agree(&r, execution));
    if (r.exchanges) plan->generation = 0;
    const tamis_status status = r.exchanges ? run_with_exchange(&r) : run_alone(&r);
    if (status != TAMIS_OK) return plan->group->broken ? status : tamis_group_abort(plan->group, status);
    plan->generation = r.execution.generation;
    plan->kept_b = r.b_members;
    plan->kept_d = r.d_members;
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
