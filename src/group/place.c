/* What a group's plan has in the memory that its device computes on: the pieces' patterns, lists and buffers. */
#include <string.h>

#include "base/memory.h"
#include "group/trade.h"

/* At least one byte, so that empty arrays are somewhere. */
static tamis_status allocate(const tamis_group *group, int64_t bytes, const char *what, void **memory) {
    return group->device->backend->allocate(group->device->handle, TAMIS_ALL_STREAMS, bytes > 0 ? (size_t)bytes : 1,
                                            what, memory);
}

/* A copy of the host's array; on the CPU the array itself. */
static tamis_status put(const tamis_group *group, const void *array, int64_t bytes, const char *what, void **memory,
                        const void **at) {
    *at = array;
    if (!tamis_group_on_device(group) || !array) return TAMIS_OK;
    TRY(allocate(group, bytes, what, memory));
    *at = *memory;
    if (bytes == 0) return TAMIS_OK;
    return group->device->backend->copy_in(group->device->handle, NULL, (tamis_place){*memory, 0}, array,
                                           (size_t)bytes);
}

/* ------------------------------------------------------------------------------------------ pieces */

/* Sets of values that S has: one for each member of a batch, or one. */
static int64_t sets_of(const tamis_group_plan *plan) {
    return tamis_shard_is(plan->shard)->local.batch_stride ? plan->options.batch : 1;
}

/* The values of a piece, one set after another. `entries` has the numbers of its entries in each set of `whole`. */
static tamis_status collect_values(const tamis_group_plan *plan, const int64_t *entries, int64_t nnz, void **values) {
    const tamis_sparse *const whole = &tamis_shard_is(plan->shard)->local;
    const int64_t sets = sets_of(plan);
    const int64_t size = (int64_t)tamis_type_size(whole->value_type);
    TRY(tamis_allocate(nnz * sets, (size_t)size, "the values of a part", values));
    for (int64_t s = 0; s < sets; s++)
        for (int64_t t = 0; t < nnz; t++) {
            const char *const from = (const char *)whole->values + (s * whole->batch_stride + entries[t]) * size;
            char *const to = (char *)*values + (s * nnz + t) * size;
            memcpy(to, from, (size_t)size);
        }
    return TAMIS_OK;
}

/* The values on the device: those that the operation reads. */
static tamis_status put_values(const tamis_group_plan *plan, const int64_t *entries, tamis_piece *piece) {
    const tamis_group *const group = plan->group;
    const tamis_sparse *const whole = &tamis_shard_is(plan->shard)->local;
    const int64_t size = (int64_t)tamis_type_size(whole->value_type);
    void *collected = NULL;
    tamis_status status = TAMIS_OK;
    piece->S.values = NULL;
    if (!whole->values || !tamis_needs_values(plan->options.operation, plan->options.edge)) return TAMIS_OK;
    if (!entries) {
        const int64_t count = (sets_of(plan) - 1) * whole->batch_stride + whole->nnz;
        return put(group, whole->values, count * size, "the values of a shard", &piece->memory[2], &piece->S.values);
    }
    piece->S.batch_stride = whole->batch_stride ? piece->S.nnz : 0;
    TRY_GOTO(done, collect_values(plan, entries, piece->S.nnz, &collected));
    TRY_GOTO(done, put(group, collected, piece->S.nnz * sets_of(plan) * size, "the values of a part", &piece->memory[2],
                       &piece->S.values));
done:
    tamis_release(collected);
    return status;
}

/* S where the device reads it. On the CPU a part reads the values of the whole, which may change. */
static tamis_status put_pattern(const tamis_group_plan *plan, const tamis_sparse *S, const int64_t *entries,
                                tamis_piece *piece) {
    const tamis_group *const group = plan->group;
    const tamis_sparse *const whole = &tamis_shard_is(plan->shard)->local;
    piece->S = *S;
    piece->S.values = whole->values;
    piece->S.batch_stride = whole->batch_stride;
    if (!tamis_group_on_device(group)) return TAMIS_OK;
    piece->S.location = TAMIS_DEVICE;
    TRY(put(group, S->offsets, (S->rows + 1) * (int64_t)tamis_index_size(S->offset_type), "the offsets of a shard",
            &piece->memory[0], &piece->S.offsets));
    TRY(put(group, S->columns, S->nnz * (int64_t)tamis_index_size(S->index_type), "the columns of a shard",
            &piece->memory[1], &piece->S.columns));
    return put_values(plan, entries, piece);
}

static tamis_status make_part(tamis_group_plan *plan, const tamis_sparse *S, const int64_t *entries,
                              const tamis_options *options, tamis_piece *piece) {
    const tamis_part part = {.entries = entries, .own_values = tamis_group_on_device(plan->group)};
    TRY(put_pattern(plan, S, entries, piece));
    return tamis_plan_make_part(plan->group->device, &piece->S, &part, options, &piece->plan);
}

/* The plan of op(S) = S^T reads A from X, and gives back the rows that it computes. */
static tamis_status make_transposed(tamis_group_plan *plan, tamis_options *o) {
    tamis_piece *const first = &plan->pieces[TAMIS_PIECE_FIRST];
    const bool softmax = o->operation == TAMIS_OP_FUSED && o->edge == TAMIS_EDGE_SOFTMAX;
    if (!tamis_group_in_place(plan)) o->a_layout = TAMIS_ROW_MAJOR;
    if (tamis_group_gives(plan)) {
        o->output_layout = TAMIS_ROW_MAJOR;
        o->output_type = tamis_sum_type(o->type);
        o->keep_softmax = softmax;
    }
    TRY(put_pattern(plan, &tamis_shard_is(plan->shard)->local, NULL, first));
    return tamis_plan_create(plan->group->device, &first->S, o, &first->plan);
}

/* A gradient reads B and D from X, of S^T A and the output's; and gives back the sums of the same rows. */
static tamis_status make_gradient(tamis_group_plan *plan, tamis_options *o) {
    tamis_piece *const first = &plan->pieces[TAMIS_PIECE_FIRST];
    const bool gives = tamis_group_gives(plan);
    TRY(put_pattern(plan, &tamis_shard_is(plan->shard)->local, NULL, first));
    if (!tamis_group_in_place(plan)) {
        if (o->transpose)
            o->a_layout = o->output_layout = TAMIS_ROW_MAJOR;
        else
            o->b_layout = o->d_layout = TAMIS_ROW_MAJOR;
    }
    return tamis_gradient_make(plan->group->device, &first->S, o, gives, &plan->gradient);
}

tamis_status tamis_group_make_pieces(tamis_group_plan *plan, const tamis_options *options) {
    tamis_piece *const first = &plan->pieces[TAMIS_PIECE_FIRST], *const ghost = &plan->pieces[TAMIS_PIECE_GHOST];
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    tamis_options o = *options, of_x = *options;
    o.trust_input = of_x.trust_input = true; /* the shard has been made of checked arrays */
    of_x.b_layout = of_x.d_layout = TAMIS_ROW_MAJOR;
    if (plan->kind == TAMIS_GROUP_ROWS) return TAMIS_OK;
    if (plan->kind == TAMIS_GROUP_GRADIENT) return make_gradient(plan, &o);
    if (o.transpose) return make_transposed(plan, &o);
    if (plan->overlaps) {
        TRY(tamis_shard_split(plan->shard));
        TRY(make_part(plan, &is->own, is->own_entries, &o, first));
        return make_part(plan, &is->ghost, is->ghost_entries, &of_x, ghost);
    }
    TRY(put_pattern(plan, &is->local, NULL, first));
    return tamis_plan_create(plan->group->device, &first->S, tamis_group_in_place(plan) ? &o : &of_x, &first->plan);
}

/* ------------------------------------------------------------------------------------------ buffers */

static tamis_status make_buffer(tamis_group_plan *plan, int64_t rows, int64_t row_bytes, const char *what,
                                void **buffer) {
    int64_t bytes;
    if (__builtin_mul_overflow(rows, row_bytes, &bytes))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s: %lld rows of %lld bytes do not fit 64 bits", what, (long long)rows,
                          (long long)row_bytes);
    TRY(allocate(plan->group, bytes, what, buffer));
    plan->report.buffer_bytes += (size_t)bytes;
    return TAMIS_OK;
}

static int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }

/* What a GPU needs beside buffers: a stream, what that reads, and where the transport cannot reach its memory, the
   host's. */
static tamis_status make_exchange(tamis_group_plan *plan) {
    const tamis_device *const device = plan->group->device;
    const tamis_backend *const backend = device->backend;
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    const int64_t there = plan->report.row_bytes, back = plan->report.back_bytes;
    const void *at;
    TRY(put(plan->group, is->sends, is->send_rows * (int64_t)sizeof(int64_t), "the list of rows to send", &plan->sends,
            &at));
    TRY(backend->stream_create(device->handle, &plan->stream));
    if (plan->group->direct) return TAMIS_OK;
    TRY(backend->host_allocate(device->handle, (size_t)larger(is->send_rows * there, is->ghost_rows * back),
                               &plan->host_send));
    return backend->host_allocate(device->handle, (size_t)larger(is->ghost_rows * there, is->send_rows * back),
                                  &plan->host_received);
}

/* For each own row, the numbers of the rows among those received that are for it, in ascending order: that of ranks. */
static tamis_status list_sums(tamis_group_plan *plan) {
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    const int64_t size = (int64_t)sizeof(int64_t);
    void *starts = NULL, *places = NULL;
    tamis_status status = TAMIS_OK;
    const void *at;
    TRY_GOTO(done, tamis_allocate_zeroed(is->own_rows + 2, sizeof(int64_t), "the starts of sums", &starts));
    TRY_GOTO(done, tamis_allocate(larger(is->send_rows, 1), sizeof(int64_t), "the rows of sums", &places));
    int64_t *const next = (int64_t *)starts + 1, *const rows = places;
    for (int64_t t = 0; t < is->send_rows; t++) next[is->sends[t] + 1]++;
    for (int64_t i = 0; i < is->own_rows; i++) next[i + 1] += next[i];
    for (int64_t t = 0; t < is->send_rows; t++) rows[next[is->sends[t]]++] = t; /* next[i] becomes starts[i + 1] */
    if (!tamis_group_on_device(plan->group)) {
        plan->sum_starts = starts;
        plan->sum_places = places;
        return TAMIS_OK;
    }
    TRY_GOTO(done, put(plan->group, starts, (is->own_rows + 1) * size, "the starts of sums", &plan->sum_starts, &at));
    TRY_GOTO(done, put(plan->group, places, is->send_rows * size, "the rows of sums", &plan->sum_places, &at));
done:
    tamis_release(starts);
    tamis_release(places);
    return status;
}

/* For sums that go back. */
static tamis_status make_back(tamis_group_plan *plan) {
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    const tamis_options *const o = &plan->options;
    const int64_t rows = is->own_rows + is->ghost_rows, row_bytes = plan->report.back_bytes;
    if (!tamis_group_gives(plan)) return TAMIS_OK;
    TRY(list_sums(plan));
    TRY(make_buffer(plan, rows, row_bytes, "partial sums", &plan->partial));
    TRY(make_buffer(plan, is->send_rows, row_bytes, "partial sums of others", &plan->received));
    if (plan->kind == TAMIS_GROUP_GRADIENT || o->edge != TAMIS_EDGE_SOFTMAX) return TAMIS_OK;
    return make_buffer(plan, rows, 2 * o->batch * (int64_t)tamis_type_size(tamis_sum_type(o->type)),
                       "the pairs of softmax", &plan->pairs);
}

tamis_status tamis_group_make_buffers(tamis_group_plan *plan) {
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    const int64_t own = tamis_group_own_rows_of_x(plan);
    TRY(make_buffer(plan, own + is->ghost_rows, plan->report.row_bytes, "own and ghost rows", &plan->rows));
    TRY(make_buffer(plan, is->send_rows, plan->report.row_bytes, "rows to send", &plan->send));
    TRY(make_back(plan));
    return tamis_group_on_device(plan->group) ? make_exchange(plan) : TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ the end */

void tamis_group_release_places(tamis_group_plan *plan) {
    const tamis_device *const device = plan->group->device;
    const tamis_backend *const backend = device->backend;
    void *const buffers[] = {plan->sends,   plan->send,     plan->rows,       plan->pairs,
                             plan->partial, plan->received, plan->sum_starts, plan->sum_places};
    if (plan->stream) (void)backend->finish(device->handle, plan->stream); /* others read what is sent until then */
    tamis_gradient_destroy(plan->gradient);
    for (int i = 0; i < TAMIS_PIECES; i++) {
        tamis_plan_destroy(plan->pieces[i].plan);
        for (int j = 0; j < 3; j++)
            backend->release_memory(device->handle, TAMIS_ALL_STREAMS, plan->pieces[i].memory[j]);
    }
    for (int i = 0; i < 8; i++) backend->release_memory(device->handle, TAMIS_ALL_STREAMS, buffers[i]);
    if (!plan->stream) return;
    if (plan->called) backend->release_event(device->handle, plan->called);
    if (plan->arrived) backend->release_event(device->handle, plan->arrived);
    if (plan->host_send) backend->host_release(device->handle, plan->host_send);
    if (plan->host_received) backend->host_release(device->handle, plan->host_received);
    backend->stream_destroy(device->handle, plan->stream);
}
