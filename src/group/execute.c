/*
 * An execution of a group's plan. It describes which operands the ranks exchange and what each local plan gets;
 * tamis_call_run (exchange/call.c) does the steps.
 *
 * B and D are distributed like the columns of S: their ghost rows are fetched. A plan may overlap computation and
 * communication. Then the first piece computes the entries with own columns from the caller's memory while ghost rows
 * arrive, and the second adds the rest. Or the first computes an interior of rows that need no ghost rows, and the
 * second and third compute the rows around it.
 *
 * With a joint cover, ranks compute parts of each other's rows: from B alone, or from rows of A too, which are sent
 * first.
 *
 * With the transpose, S^T is distributed by columns, which are the ranks' rows of S. B and D are distributed like the
 * rows of S, A and the output like its columns. So the ranks fetch ghost rows of A, each computes its columns'
 * contributions to all rows of the output, and the sums for others' rows go back to the owners. For a softmax each rank
 * completes its part of a row, and the owner merges the parts.
 */
#include "group/exchange/exchange.h"
#include "group/plan.h"
#include "group/share.h"
#include "sparse/check.h"

typedef struct run {
    tamis_group_plan *plan;
    tamis_operation operation;
    tamis_views given;                                          /* the caller's operands */
    tamis_operand_list operands;                                /* what is expected of them */
    tamis_dense samples[TAMIS_PIECES], rows_of_a[TAMIS_PIECES]; /* samples: of SDDMM, else rows of the output */
    tamis_dense values, own_sums;    /* for a joint cover: S's values; this rank's sums of its own rows */
    tamis_views views[TAMIS_PIECES]; /* the pieces' */
    tamis_execution executions[TAMIS_PIECES];
    tamis_call call;
    tamis_fetch *came; /* the call's fetch of S's values, for a joint cover */
} run;

static tamis_status compute(const run *r, int piece) {
    return tamis_plan_run(r->plan->pieces[piece].plan, r->operation, &r->views[piece], &r->executions[piece]);
}

/* Copies the received values to the memory that the plan of others' rows reads. */
static tamis_status unpack_values(run *r) {
    tamis_cover *const c = &r->plan->cover;
    const tamis_device *const device = r->plan->exchange.group->device;
    const tamis_row_exchange *const x = &c->values;
    const int64_t nnz = r->plan->pieces[TAMIS_PIECE_GIVEN].S.nnz, size = (int64_t)tamis_type_size(x->type);
    tamis_execution *const execution = &r->executions[TAMIS_PIECE_GIVEN];
    if (r->came->exchanges) c->sets = r->came->members[0];
    execution->values = c->sets > 1 ? c->packed : x->rows;
    execution->values_stride = c->sets > 1 ? nnz : 0;
    for (int64_t m = 0; r->came->exchanges && c->sets > 1 && m < c->sets; m++) {
        const tamis_gathering set = {.type = x->type,
                                     .threads = x->threads,
                                     .layout = TAMIS_ROW_MAJOR,
                                     .from = {x->rows, m * size},
                                     .to = {c->packed, m * nnz * size},
                                     .stride = c->sets,
                                     .to_stride = 1,
                                     .cols = 1,
                                     .count = nnz};
        TRY(device->backend->gather(device->handle, execution->stream, &set));
    }
    c->fresh = !r->call.execution.values && tamis_group_on_device(r->plan->exchange.group);
    return TAMIS_OK;
}

/* Computes for others, and with own columns if the plan overlaps, while rows of B arrive. */
static tamis_status compute_given(void *context) {
    run *const r = context;
    if (r->came) TRY(unpack_values(r));
    if (r->plan->pieces[TAMIS_PIECE_GIVEN].S.rows > 0) TRY(compute(r, TAMIS_PIECE_GIVEN));
    return r->plan->overlaps ? compute(r, TAMIS_PIECE_FIRST) : TAMIS_OK;
}

static tamis_status compute_first(void *context) { return compute(context, TAMIS_PIECE_FIRST); }
static tamis_status compute_ghost(void *context) { return compute(context, TAMIS_PIECE_GHOST); }

/* Computes the rows before and behind the interior, which read the same rows of X. */
static tamis_status compute_around(void *context) {
    run *const r = context;
    tamis_views *const before = &r->views[TAMIS_BEFORE], *const behind = &r->views[TAMIS_BEHIND];
    behind->B = before->B;
    behind->D = before->D;
    behind->skip_b = before->skip_b;
    behind->skip_d = before->skip_d;
    if (r->plan->ranges[TAMIS_BEFORE].S.rows > 0) TRY(compute(r, TAMIS_BEFORE));
    return r->plan->ranges[TAMIS_BEHIND].S.rows > 0 ? compute(r, TAMIS_BEHIND) : TAMIS_OK;
}

/* Checks the first piece's operands; the second gets the same, apart from rows of X and the views that `divide`
   makes. */
static tamis_status check_first(run *r) {
    TRY(tamis_plan_check_run(r->plan->pieces[TAMIS_PIECE_FIRST].plan, r->operation, &r->views[TAMIS_PIECE_FIRST],
                             &r->executions[TAMIS_PIECE_FIRST]));
    for (int i = 0; i < TAMIS_PIECES; i++) r->views[i].checked = true;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ S */

/* Returns the piece that reads B and D from X; NULL if all read the caller's. */
static tamis_views *reader_of_x(run *r) {
    if (r->plan->overlaps) return &r->views[TAMIS_PIECE_GHOST];
    return r->plan->exchange.in_place ? NULL : &r->views[TAMIS_PIECE_FIRST];
}

static void share_b_and_d(run *r) {
    const tamis_options *const o = &r->plan->options;
    tamis_views *const reader = reader_of_x(r), *const at = reader ? reader : &r->given;
    tamis_fetch *const f = r->call.fetches;
    f->from[0] = (tamis_shared_rows){r->operands.b, reader ? &at->B : NULL, &at->skip_b};
    f->from[1] = (tamis_shared_rows){r->operands.d, reader ? &at->D : NULL, &at->skip_d};
    f->count = o->operation == TAMIS_OP_FUSED ? 2 : 1;
    f->needs = true;
    f->second_is_first = o->d_is_b;
}

/* Restricts a matrix with a row for each row of S to a range of rows. */
static void narrow(const tamis_dense **view, int64_t *skip, int64_t first, int64_t rows, tamis_dense *narrowed) {
    if (!*view) return;
    *narrowed = **view;
    narrowed->rows = rows;
    *skip += first * (narrowed->layout == TAMIS_ROW_MAJOR ? tamis_dense_stride(narrowed) : 1);
    *view = narrowed;
}

/* Gives each range of rows its own rows, or samples, of the output. */
static tamis_status divide_rows(run *r) {
    const tamis_group_plan *const plan = r->plan;
    const bool sddmm = r->operation == TAMIS_OP_SDDMM;
    TRY(tamis_operand_list_check(plan->exchange.group->device, &plan->options, &r->operands));
    for (int i = 0; i < TAMIS_ROW_RANGES; i++) {
        const tamis_row_range *const range = &plan->ranges[i];
        tamis_views *const x = &r->views[i];
        r->executions[i].workspace = NULL; /* the caller's workspace is for one plan */
        if (r->executions[i].values) x->skip_values += range->first_entry;
        narrow(&x->A, &x->skip_a, range->first_row, range->S.rows, &r->rows_of_a[i]);
        narrow(&x->out, &x->skip_out, sddmm ? range->first_entry : range->first_row,
               sddmm ? range->S.nnz : range->S.rows, &r->samples[i]);
    }
    return TAMIS_OK;
}

/* Makes the second piece add to the first's output; with SDDMM each writes the samples of its own entries. */
static void divide(run *r) {
    const bool sddmm = r->operation == TAMIS_OP_SDDMM;
    for (int i = 0; i < TAMIS_PIECE_GIVEN; i++) {
        r->executions[i].workspace = NULL; /* the caller's workspace is for one plan */
        if (i == TAMIS_PIECE_GHOST && !sddmm) r->executions[i].beta = 1;
        if (!sddmm) continue;
        r->samples[i] = *r->given.out;
        r->samples[i].rows = r->plan->pieces[i].S.nnz;
        r->views[i].out = &r->samples[i];
    }
}

/* Sets up the exchanges of a joint cover: rows of A and S's values come first, partial rows go back. If own sums are
   rounded together with the partial rows, they are written in front of them. */
static void share_cover(run *r) {
    tamis_cover *const c = &r->plan->cover;
    tamis_views *const given = &r->views[TAMIS_PIECE_GIVEN];
    tamis_giving *const g = &r->call.giving;
    if (r->operation == TAMIS_OP_FUSED)
        r->call.fetches[++r->call.more] = (tamis_fetch){
            .exchange = &c->rows, .from = {{r->operands.a, &given->A, &given->skip_a}}, .count = 1, .needs = true};
    if (c->kind > 1) {
        const tamis_operand values = {.name = "values", .view = &r->values, .cols = 1};
        r->came = &r->call.fetches[++r->call.more];
        *r->came = (tamis_fetch){.exchange = &c->values, .from = {{.given = values}}, .count = 1};
    }
    g->exchange = &c->rows;
    g->to[0] = (tamis_shared_rows){r->operands.out, &given->out, &given->skip_out};
    g->count = 1;
}

/* Sets the factors of a joint cover's exchange and piece, and fetches S's values if they have changed: on a GPU only
   executions that pass values change them. */
static void set_cover(run *r) {
    const tamis_cover *const c = &r->plan->cover;
    const tamis_row_exchange *const x = &c->rows;
    const tamis_sparse *const S = &tamis_row_lists(&r->plan->exchange)->local;
    const tamis_execution *const e = &r->call.execution;
    tamis_execution *const given = &r->executions[TAMIS_PIECE_GIVEN];
    tamis_giving *const g = &r->call.giving;
    g->factor = e->alpha;
    g->keep = x->own_sums > 0 ? e->beta : 1;
    given->alpha = 1;
    given->beta = 0;
    given->workspace = NULL;
    r->views[TAMIS_PIECE_GIVEN].skip_values = 0;
    if (r->came) {
        r->values = (tamis_dense){.data = (void *)(uintptr_t)(e->values ? e->values : c->own),
                                  .rows = S->nnz,
                                  .cols = 1,
                                  .stride = 1,
                                  .type = c->values.type,
                                  .batch_stride = e->values ? e->values_stride : S->batch_stride};
        r->came->from[0].given.skip = e->values ? r->plan->values_skip : 0;
        r->came->needs = e->values || !c->fresh;
    }
    if (x->own_sums == 0) return;
    const int64_t width = r->plan->options.width;
    r->own_sums = (tamis_dense){.data = x->partial,
                                .rows = x->own_sums,
                                .cols = width,
                                .stride = x->batch * width,
                                .type = tamis_sum_type(x->type),
                                .location = x->group->device->backend->location,
                                .batch_stride = x->batch > 1 ? width : 0};
    for (int i = 0; i < TAMIS_PIECE_GIVEN; i++) {
        r->views[i].out = &r->own_sums;
        r->executions[i].alpha = 1;
        r->executions[i].beta = i == TAMIS_PIECE_GHOST;
    }
}

static tamis_status check(void *context) {
    run *const r = context;
    const tamis_group_plan *const plan = r->plan;
    const bool fused = r->operation == TAMIS_OP_FUSED;
    if (plan->options.d_is_b && fused && !plan->exchange.in_place) TRY(tamis_d_is_b_check(r->given.B, r->given.D));
    if (plan->overlaps && !plan->by_rows && r->operation == TAMIS_OP_SDDMM) /* each piece writes its own entries */
        TRY(tamis_operand_check(plan->exchange.group->device, &r->operands.out));
    for (int i = 0; i < TAMIS_PIECES; i++) {
        r->views[i].skip_values = r->call.execution.values ? plan->values_skip : 0;
        r->executions[i] = r->call.execution;
    }
    if (plan->by_rows)
        TRY(divide_rows(r));
    else if (plan->overlaps)
        divide(r);
    if (plan->cover.used) set_cover(r);
    return check_first(r);
}

/* ------------------------------------------------------------------------------------------ S^T */

static void share_a_and_output(run *r) {
    const tamis_row_exchange *const e = &r->plan->exchange;
    const tamis_options *const o = &r->plan->options;
    const bool spmm = o->operation == TAMIS_OP_SPMM;
    tamis_views *const views = &r->views[TAMIS_PIECE_FIRST];
    tamis_fetch *const f = r->call.fetches;
    tamis_giving *const g = &r->call.giving;
    if (!spmm) f->from[0] = (tamis_shared_rows){r->operands.a, e->in_place ? NULL : &views->A, &views->skip_a};
    f->count = !spmm;
    f->needs = !spmm;
    g->to[0] = (tamis_shared_rows){r->operands.out, e->gives ? &views->out : NULL, &views->skip_out};
    g->count = 1;
    g->weighted = !spmm && o->edge == TAMIS_EDGE_SOFTMAX;
}

static tamis_status check_transposed(void *context) {
    run *const r = context;
    const tamis_row_exchange *const e = &r->plan->exchange;
    const tamis_execution *const given = &r->call.execution;
    tamis_giving *const g = &r->call.giving;
    tamis_execution *const local = &r->executions[TAMIS_PIECE_FIRST];
    TRY(tamis_softmax_rows_check(e->group->device, &r->plan->options, tamis_row_lists(e)->own_rows, given));
    r->views[TAMIS_PIECE_FIRST].skip_values = given->values ? r->plan->values_skip : 0;
    *local = *given;
    g->factor = given->alpha;
    g->keep = given->beta;
    g->softmax_rows = given->softmax_rows;
    if (e->gives) {
        local->alpha = 1;
        local->beta = 0;
        local->softmax_rows = g->weighted ? e->pairs : NULL;
    }
    return check_first(r);
}

/* ------------------------------------------------------------------------------------------ entry points */

static tamis_status execute(tamis_group_plan *plan, tamis_operation operation, const tamis_views *views,
                            const tamis_execution *execution) {
    tamis_clear_error();
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: make one with tamis_group_plan_create");
    const tamis_options *const o = &plan->options;
    const tamis_shard_description *const is = tamis_row_lists(&plan->exchange);
    run r = {.plan = plan, .operation = operation, .given = *views};
    if (o->d_is_b && !r.given.D) r.given.D = r.given.B;
    for (int i = 0; i < TAMIS_PIECES; i++) r.views[i] = r.given;
    r.operands = tamis_operands_of(o, o->transpose ? is->own_rows : is->local.rows,
                                   o->transpose ? is->local.rows : is->own_rows, is->local.nnz, &r.given);
    r.call = (tamis_call){.exchange = &plan->exchange,
                          .mine = tamis_plan_check_operation(plan->pieces[TAMIS_PIECE_FIRST].plan, operation),
                          .given = execution,
                          .context = &r,
                          .check = o->transpose ? check_transposed : check,
                          .compute_own = plan->cover.used ? compute_given
                                         : plan->overlaps ? compute_first
                                                          : NULL,
                          .compute = plan->by_rows    ? compute_around
                                     : plan->overlaps ? compute_ghost
                                                      : compute_first};
    if (o->transpose)
        share_a_and_output(&r);
    else
        share_b_and_d(&r);
    if (plan->cover.used) share_cover(&r);
    return tamis_call_run(&r.call);
}

tamis_status tamis_group_plan_sddmm(tamis_group_plan *plan, const tamis_dense *A, const tamis_dense *B,
                                    const tamis_dense *P, const tamis_execution *execution) {
    const tamis_views views = {.A = A, .B = B, .out = P};
    return execute(plan, TAMIS_OP_SDDMM, &views, execution);
}

tamis_status tamis_group_plan_spmm(tamis_group_plan *plan, const tamis_dense *B, const tamis_dense *C,
                                   const tamis_execution *execution) {
    const tamis_views views = {.B = B, .out = C};
    return execute(plan, TAMIS_OP_SPMM, &views, execution);
}

tamis_status tamis_group_plan_fused(tamis_group_plan *plan, const tamis_dense *A, const tamis_dense *B,
                                    const tamis_dense *D, const tamis_dense *E, const tamis_execution *execution) {
    const tamis_views views = {.A = A, .B = B, .D = D, .out = E};
    return execute(plan, TAMIS_OP_FUSED, &views, execution);
}
