/*
 * An execution out of core. Pieces take the two sets of buffers, and their streams, in turn:
 *
 *   host      fills the pinned buffers of piece p  | gives piece p - 2's output to the caller
 *   stream 0  upload p, compute p, download p                          upload p + 2, ...
 *   stream 1      upload p + 1,         compute p + 1, download p + 1
 *
 * The host waits only for the upload of piece p - 2, whose pinned buffers it refills, and for the download of the
 * output that occupies a buffer it needs. Events serialise computations, since the pieces of a slab accumulate into one
 * output.
 */
#include "base/clock.h"
#include "base/status.h"
#include "slabs/slabs.h"
#include "sparse/check.h"

/* An output on its way to a set's pinned buffer. */
typedef struct tamis_slab_due {
    bool is;
    int64_t piece;
} due;

typedef struct run {
    tamis_slab_plan *plan;
    tamis_execution execution;
    const tamis_dense *A, *B, *D, *out;
    int64_t member;
    bool in_order; /* steps one after another, each timed */
    due due[TAMIS_SLAB_SETS];
    void *computed; /* event of the last computation; NULL: none yet */
} run;

static bool sddmm(const run *r) { return r->plan->options.operation == TAMIS_OP_SDDMM; }

/* ------------------------------------------------------------------------------------------ waiting, timing */

/* Waits for an event on the host. */
static tamis_status await(const run *r, void *event) {
    double none;
    return r->plan->device->backend->elapsed(r->plan->device->handle, event, event, &none);
}

static tamis_status record(const run *r, void *stream, void **event) {
    return r->plan->device->backend->record(r->plan->device->handle, stream, event);
}

static tamis_status follow(const run *r, void *stream, void *event) {
    return event ? r->plan->device->backend->stream_wait(r->plan->device->handle, stream, event) : TAMIS_OK;
}

static tamis_status finish(const run *r, void *stream) {
    return r->plan->device->backend->finish(r->plan->device->handle, stream);
}

/* If in_order: waits, and adds the time since *since to *seconds. */
static tamis_status take_time(const run *r, void *stream, double *since, double *seconds) {
    if (!r->in_order) return TAMIS_OK;
    TRY(finish(r, stream));
    const double now = tamis_clock_seconds();
    *seconds += now - *since;
    *since = now;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ uploads */

static tamis_status put(const run *r, const tamis_slab_set *set, const tamis_slab_buffer *buffer, int64_t bytes) {
    if (buffer->host == buffer->device || bytes == 0) return TAMIS_OK;
    return r->plan->device->backend->copy_in_async(r->plan->device->handle, set->stream,
                                                   (tamis_place){buffer->device, 0}, buffer->host, (size_t)bytes);
}

/* Copies B or D to the device, where it stays; its parts go through the two sets' pinned buffers. */
static tamis_status bring_whole(const run *r, const tamis_dense *X, int kind, int64_t row_bytes) {
    tamis_slab_plan *const plan = r->plan;
    const tamis_backend *const backend = plan->device->backend;
    void *const whole = plan->whole[kind - TAMIS_SLAB_B];
    if (row_bytes == 0 || X->rows == 0) return TAMIS_OK;
    if (!tamis_slab_on_device(plan)) return tamis_slab_pack_rows(plan, X, r->member, NULL, 0, X->rows, whole);
    const int64_t at_once = plan->sets[0].buffers[kind].bytes / row_bytes;
    for (int64_t first = 0, i = 0; first < X->rows; first += at_once, i++) {
        tamis_slab_set *const set = &plan->sets[i % TAMIS_SLAB_SETS];
        const int64_t rows = X->rows - first < at_once ? X->rows - first : at_once;
        if (set->used) TRY(await(r, set->uploaded));
        TRY(tamis_slab_pack_rows(plan, X, r->member, NULL, first, rows, set->buffers[kind].host));
        TRY(backend->copy_in_async(plan->device->handle, set->stream, (tamis_place){whole, first * row_bytes},
                                   set->buffers[kind].host, (size_t)(rows * row_bytes)));
        TRY(record(r, set->stream, &set->uploaded));
        set->used = true;
    }
    return TAMIS_OK;
}

/* Copies B and D if they stay on the device, and makes both streams wait for them. */
static tamis_status bring_b(const run *r) {
    tamis_slab_plan *const plan = r->plan;
    double since = tamis_clock_seconds();
    if (!plan->report.keeps_b) return TAMIS_OK;
    TRY(bring_whole(r, r->B, TAMIS_SLAB_B, plan->bytes.b));
    if (plan->bytes.d > 0) TRY(bring_whole(r, r->D, TAMIS_SLAB_D, plan->bytes.d));
    for (int i = 0; i < TAMIS_SLAB_SETS; i++)
        if (plan->sets[i].used) TRY(follow(r, plan->sets[1 - i].stream, plan->sets[i].uploaded));
    for (int i = 0; i < TAMIS_SLAB_SETS; i++)
        TRY(take_time(r, plan->sets[i].stream, &since, &plan->report.transfer_seconds));
    return TAMIS_OK;
}

/* Copies the piece's pattern and values, and its rows of B, to the pinned buffers. */
static tamis_status stage_piece(const run *r, const tamis_slab_piece *piece, const tamis_slab_set *set) {
    const tamis_slab_plan *const plan = r->plan;
    const tamis_slab_buffer *const b = set->buffers;
    const int64_t value = plan->bytes.value;
    tamis_slab_stage_offsets(plan, piece, b[TAMIS_SLAB_OFFSETS].host);
    tamis_slab_stage_columns(plan, piece, b[TAMIS_SLAB_COLUMNS].host);
    if (value > 0) {
        char *const values = (char *)(uintptr_t)r->execution.values +
                             (r->member * r->execution.values_stride + plan->S.offset_base) * value;
        tamis_slab_move_entries(plan, piece, (size_t)value, values, b[TAMIS_SLAB_VALUES].host, false);
    }
    if (plan->report.keeps_b) return TAMIS_OK;
    const int64_t *const rows = plan->tiles.rows_of_b + piece->first_b;
    TRY(tamis_slab_pack_rows(plan, r->B, r->member, rows, 0, piece->b_rows, b[TAMIS_SLAB_B].host));
    if (plan->bytes.d == 0) return TAMIS_OK;
    return tamis_slab_pack_rows(plan, r->D, r->member, rows, 0, piece->b_rows, b[TAMIS_SLAB_D].host);
}

static tamis_status put_piece(const run *r, const tamis_slab_piece *piece, const tamis_slab_set *set) {
    const tamis_slab_plan *const plan = r->plan;
    const tamis_slab_bytes *const bytes = &plan->bytes;
    const tamis_slab_buffer *const b = set->buffers;
    const int64_t index = plan->report.keeps_b ? (int64_t)tamis_index_size(plan->S.index_type) : 4;
    TRY(put(r, set, &b[TAMIS_SLAB_OFFSETS], (plan->slabs[piece->slab].rows + 1) * (int64_t)sizeof(int32_t)));
    TRY(put(r, set, &b[TAMIS_SLAB_COLUMNS], piece->nnz * index));
    TRY(put(r, set, &b[TAMIS_SLAB_VALUES], piece->nnz * bytes->value));
    if (plan->report.keeps_b) return TAMIS_OK;
    TRY(put(r, set, &b[TAMIS_SLAB_B], piece->b_rows * bytes->b));
    return put(r, set, &b[TAMIS_SLAB_D], piece->b_rows * bytes->d);
}

/* ------------------------------------------------------------------------------------------ outputs */

static int64_t out_bytes(const run *r, const tamis_slab_piece *piece) {
    const tamis_slab_bytes *const b = &r->plan->bytes;
    return sddmm(r) ? piece->nnz * b->sample : r->plan->slabs[piece->slab].rows * b->out;
}

/* Copies between the caller's output and a pinned buffer. */
static void move_output(const run *r, const tamis_slab_piece *piece, void *pinned, bool out) {
    const tamis_slab *const slab = &r->plan->slabs[piece->slab];
    if (!sddmm(r)) {
        tamis_slab_move_output(r->plan, r->out, r->member, slab->first_row, slab->rows, pinned, out);
        return;
    }
    const int64_t size = r->plan->bytes.sample;
    char *const samples = (char *)r->out->data + r->member * r->out->batch_stride * size;
    tamis_slab_move_entries(r->plan, piece, (size_t)size, samples, pinned, out);
}

/* Copies this set's pending output to the caller. */
static tamis_status drain(run *r, int number) {
    const tamis_slab_set *const set = &r->plan->sets[number];
    if (!r->due[number].is) return TAMIS_OK;
    TRY(await(r, set->downloaded));
    move_output(r, &r->plan->pieces[r->due[number].piece], set->buffers[TAMIS_SLAB_OUT].host, true);
    r->due[number].is = false;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ one piece */

static tamis_dense matrix(const run *r, void *memory, int64_t rows, int64_t cols, tamis_type type) {
    return (tamis_dense){.data = memory,
                         .rows = rows,
                         .cols = cols,
                         .stride = cols > 0 ? cols : 1,
                         .type = type,
                         .location = r->plan->device->backend->location};
}

static tamis_status compute(const run *r, const tamis_slab_piece *piece, const tamis_slab_set *set,
                            const tamis_slab_set *of_slab, const tamis_slab_set *of_out, bool first) {
    tamis_slab_plan *const plan = r->plan;
    const tamis_options *const o = &plan->options;
    const int64_t rows = plan->slabs[piece->slab].rows;
    const int64_t cols = plan->report.keeps_b ? plan->S.cols : piece->b_rows;
    const bool stays = plan->report.keeps_b, spmm = o->operation == TAMIS_OP_SPMM;
    void *const b = stays ? plan->whole[0] : set->buffers[TAMIS_SLAB_B].device;
    void *const d = stays ? plan->whole[1] : set->buffers[TAMIS_SLAB_D].device;
    const tamis_sparse S = {.format = TAMIS_CSR,
                            .location = plan->device->backend->location,
                            .rows = rows,
                            .cols = cols,
                            .nnz = piece->nnz,
                            .index_type = stays ? plan->S.index_type : TAMIS_I32,
                            .offset_type = TAMIS_I32,
                            .value_type = plan->S.value_type,
                            .offsets = set->buffers[TAMIS_SLAB_OFFSETS].device,
                            .columns = set->buffers[TAMIS_SLAB_COLUMNS].device,
                            .values = plan->bytes.value > 0 ? set->buffers[TAMIS_SLAB_VALUES].device : NULL};
    const tamis_dense A = matrix(r, of_slab->buffers[TAMIS_SLAB_A].device, rows, o->inner, o->type);
    const tamis_dense B = matrix(r, b, cols, spmm ? o->width : o->inner, o->type);
    const tamis_dense D = o->d_is_b ? B : matrix(r, d, cols, o->width, o->type);
    void *const out = of_out->buffers[TAMIS_SLAB_OUT].device;
    const tamis_dense P = matrix(r, out, piece->nnz, 1, plan->out_type);
    const tamis_dense E = matrix(r, out, rows, o->width, plan->out_type);
    tamis_options options = *o;
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    options.trust_input = true;
    options.batch = 1;
    execution.stream = set->stream;
    execution.alpha = r->execution.alpha;
    execution.beta = first || sddmm(r) ? r->execution.beta : 1;
    switch (o->operation) {
    case TAMIS_OP_SDDMM: return tamis_sddmm(plan->device, &S, &A, &B, &P, &options, &execution);
    case TAMIS_OP_SPMM: return tamis_spmm(plan->device, &S, &B, &E, &options, &execution);
    case TAMIS_OP_FUSED: return tamis_fused(plan->device, &S, &A, &B, &D, &E, &options, &execution);
    }
    return TAMIS_ERROR_INTERNAL;
}

/* Uploads the slab's part: A. */
static tamis_status put_slab(run *r, const tamis_slab_piece *piece, const tamis_slab_set *set,
                             tamis_slab_set *of_slab) {
    const tamis_slab *const slab = &r->plan->slabs[piece->slab];
    if (of_slab->slab_used) TRY(follow(r, set->stream, of_slab->freed));
    return put(r, set, &of_slab->buffers[TAMIS_SLAB_A], slab->rows * r->plan->bytes.a);
}

static tamis_status run_piece(run *r, int64_t number) {
    tamis_slab_plan *const plan = r->plan;
    tamis_slab_report *const report = &plan->report;
    const tamis_backend *const backend = plan->device->backend;
    const tamis_slab_piece *const piece = &plan->pieces[number];
    const tamis_slab *const slab = &plan->slabs[piece->slab];
    const bool first = number == slab->first_piece, last = number == slab->first_piece + slab->pieces - 1;
    const bool old = r->execution.beta != 0 && (first || sddmm(r));
    const int out_number = (int)((sddmm(r) ? number : piece->slab) % TAMIS_SLAB_SETS);
    tamis_slab_set *const set = &plan->sets[number % TAMIS_SLAB_SETS];
    tamis_slab_set *const of_slab = &plan->sets[piece->slab % TAMIS_SLAB_SETS];
    tamis_slab_set *const of_out = &plan->sets[out_number];
    const tamis_slab_buffer *const out = &of_out->buffers[TAMIS_SLAB_OUT];

    if (set->used) TRY(await(r, set->uploaded)); /* this also frees A's buffer, whose slab began before that piece */
    double since = tamis_clock_seconds();
    TRY(stage_piece(r, piece, set));
    if (first && plan->bytes.a > 0)
        TRY(tamis_slab_pack_rows(plan, r->A, r->member, NULL, slab->first_row, slab->rows,
                                 of_slab->buffers[TAMIS_SLAB_A].host));
    if (old) {
        TRY(drain(r, out_number));
        move_output(r, piece, out->host, false);
    }
    TRY(take_time(r, set->stream, &since, &report->staging_seconds));

    if (first) TRY(put_slab(r, piece, set, of_slab));
    TRY(put_piece(r, piece, set));
    if (old) TRY(put(r, set, out, out_bytes(r, piece)));
    TRY(record(r, set->stream, &set->uploaded));
    set->used = true;
    TRY(take_time(r, set->stream, &since, &report->transfer_seconds));
    if (!old && (first || sddmm(r))) TRY(drain(r, out_number)); /* on the CPU this buffer is written next */
    TRY(take_time(r, set->stream, &since, &report->staging_seconds));

    TRY(follow(r, set->stream, r->computed));
    TRY(compute(r, piece, set, of_slab, of_out, first));
    TRY(record(r, set->stream, &set->computed));
    r->computed = set->computed;
    TRY(take_time(r, set->stream, &since, &report->compute_seconds));

    if (!sddmm(r) && !last) return TAMIS_OK;
    if (out->host != out->device && out_bytes(r, piece) > 0)
        TRY(backend->copy_out_async(plan->device->handle, set->stream, out->host, (tamis_place){out->device, 0},
                                    (size_t)out_bytes(r, piece)));
    TRY(record(r, set->stream, &of_out->downloaded));
    r->due[out_number] = (due){true, number};
    if (last) {
        TRY(record(r, set->stream, &of_slab->freed));
        of_slab->slab_used = true;
    }
    return take_time(r, set->stream, &since, &report->transfer_seconds);
}

static tamis_status run_member(run *r) {
    TRY(bring_b(r));
    for (int64_t i = 0; i < r->plan->report.pieces; i++) TRY(run_piece(r, i));
    double since = tamis_clock_seconds();
    for (int i = 0; i < TAMIS_SLAB_SETS; i++) TRY(drain(r, i));
    return take_time(r, NULL, &since, &r->plan->report.staging_seconds);
}

/* ------------------------------------------------------------------------------------------ entry points */

static tamis_status check_execution(const tamis_slab_plan *plan, const tamis_execution *given, tamis_execution *e) {
    TRY(tamis_execution_read(given, e));
    if (e->stream || e->workspace || e->softmax_rows || e->edge_operands)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "execution.%s is set: a plan out of core takes none, expected NULL",
                          e->stream         ? "stream"
                          : e->workspace    ? "workspace"
                          : e->softmax_rows ? "softmax_rows"
                                            : "edge_operands");
    return tamis_values_take(plan->host, &plan->S, plan->S.values ? plan->S.value_type : plan->options.type,
                             plan->options.batch, tamis_needs_values(plan->options.operation, plan->options.edge), e);
}

static tamis_status check_operands(const tamis_slab_plan *plan, const run *r) {
    const tamis_sparse *const S = &plan->S;
    const tamis_views views = {.A = r->A, .B = r->B, .D = r->D, .out = r->out};
    const tamis_operand_list x = tamis_operands_of(&plan->options, S->rows, S->cols, S->nnz, &views);
    return tamis_operand_list_check(plan->host, &plan->options, &x);
}

/* Waits for both streams, also after an error, since the device may still read the caller's memory. */
static tamis_status finish_all(run *r, tamis_status status) {
    tamis_message kept;
    tamis_message_keep(&kept);
    for (int i = 0; i < TAMIS_SLAB_SETS; i++) {
        const tamis_status ended = finish(r, r->plan->sets[i].stream);
        if (status == TAMIS_OK && ended != TAMIS_OK) return ended;
        r->plan->sets[i].used = r->plan->sets[i].slab_used = false;
    }
    if (status != TAMIS_OK) tamis_message_restore(&kept);
    return status;
}

static tamis_status execute(tamis_slab_plan *plan, tamis_operation operation, run *r,
                            const tamis_execution *execution) {
    tamis_status status = TAMIS_OK;
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: make one with tamis_slab_plan_create");
    if (plan->options.operation != operation)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan was made for %s: it cannot execute %s",
                          tamis_operation_name(plan->options.operation), tamis_operation_name(operation));
    r->plan = plan;
    r->in_order = plan->options.overlap == TAMIS_OVERLAP_NEVER;
    if (plan->options.d_is_b && !r->D) r->D = r->B;
    TRY(check_execution(plan, execution, &r->execution));
    TRY(check_operands(plan, r));
    const double start = tamis_clock_seconds();
    tamis_slab_report *const report = &plan->report;
    report->staging_seconds = report->transfer_seconds = report->compute_seconds = 0;
    const bool empty = r->out->rows == 0 || r->out->cols == 0; /* nothing to compute */
    for (int64_t m = 0; !empty && m < plan->options.batch && status == TAMIS_OK; m++) {
        r->member = m;
        status = run_member(r);
    }
    status = finish_all(r, status);
    report->seconds = tamis_clock_seconds() - start;
    return status;
}

tamis_status tamis_slab_plan_sddmm(tamis_slab_plan *plan, const tamis_dense *A, const tamis_dense *B,
                                   const tamis_dense *P, const tamis_execution *execution) {
    run r = {.A = A, .B = B, .out = P};
    tamis_clear_error();
    return execute(plan, TAMIS_OP_SDDMM, &r, execution);
}

tamis_status tamis_slab_plan_spmm(tamis_slab_plan *plan, const tamis_dense *B, const tamis_dense *C,
                                  const tamis_execution *execution) {
    run r = {.B = B, .out = C};
    tamis_clear_error();
    return execute(plan, TAMIS_OP_SPMM, &r, execution);
}

tamis_status tamis_slab_plan_fused(tamis_slab_plan *plan, const tamis_dense *A, const tamis_dense *B,
                                   const tamis_dense *D, const tamis_dense *E, const tamis_execution *execution) {
    run r = {.A = A, .B = B, .D = D, .out = E};
    tamis_clear_error();
    return execute(plan, TAMIS_OP_FUSED, &r, execution);
}
