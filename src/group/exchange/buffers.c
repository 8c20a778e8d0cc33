/* The buffers of an exchange. */
#include "group/exchange/exchange.h"

#include "base/memory.h"

void tamis_row_exchange_set_widths(tamis_row_exchange *e, int64_t fetched, int64_t back) {
    e->row_bytes = fetched * e->batch * (int64_t)tamis_type_size(e->type);
    e->back_bytes = back * e->batch * (int64_t)tamis_type_size(tamis_sum_type(e->type));
}

static tamis_status make_buffer(tamis_row_exchange *e, int64_t rows, int64_t row_bytes, const char *what,
                                void **buffer) {
    int64_t bytes;
    if (__builtin_mul_overflow(rows, row_bytes, &bytes))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s: %lld rows of %lld bytes do not fit 64 bits", what, (long long)rows,
                          (long long)row_bytes);
    TRY(tamis_group_allocate(e->group, bytes, what, buffer));
    e->buffer_bytes += (size_t)bytes;
    return TAMIS_OK;
}

static int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }

/* Makes a GPU's other resources: a stream, a copy of the list, and pinned host memory if the transport cannot access
   the device's. */
static tamis_status prepare_device(tamis_row_exchange *e) {
    const tamis_device *const device = e->group->device;
    const tamis_backend *const backend = device->backend;
    const tamis_shard_description *const is = tamis_row_lists(e);
    const int64_t there = e->row_bytes, back = e->back_bytes;
    const void *at;
    TRY(tamis_group_put(e->group, is->sends, is->send_rows * (int64_t)sizeof(int64_t), "the list of rows to send",
                        &e->sends, &at));
    /* high priority: rows are packed while a product computes, rather than after all its blocks */
    TRY(backend->stream_create(device->handle, true, &e->stream));
    if (e->group->direct) return TAMIS_OK;
    TRY(backend->host_allocate(device->handle,
                               (size_t)larger(tamis_times(is->send_rows, there), tamis_times(is->ghost_rows, back)),
                               &e->host_send));
    return backend->host_allocate(device->handle,
                                  (size_t)larger(tamis_times(is->ghost_rows, there), tamis_times(is->send_rows, back)),
                                  &e->host_received);
}

/* Lists for each own row the received rows to add to it, in ascending order, which is the order of ranks. */
static tamis_status list_sums(tamis_row_exchange *e) {
    const tamis_shard_description *const is = tamis_row_lists(e);
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
    if (!tamis_group_on_device(e->group)) {
        e->sum_starts = starts;
        e->sum_places = places;
        return TAMIS_OK;
    }
    TRY_GOTO(done,
             tamis_group_put(e->group, starts, (is->own_rows + 1) * size, "the starts of sums", &e->sum_starts, &at));
    TRY_GOTO(done, tamis_group_put(e->group, places, is->send_rows * size, "the rows of sums", &e->sum_places, &at));
done:
    tamis_release(starts);
    tamis_release(places);
    return status;
}

/* Allocates the buffers of partial sums. pair_bytes: bytes of a row's softmax pairs, 0: none. */
static tamis_status make_sums(tamis_row_exchange *e, int64_t pair_bytes) {
    const tamis_shard_description *const is = tamis_row_lists(e);
    const int64_t rows = e->own_sums + is->ghost_rows;
    TRY(list_sums(e));
    TRY(make_buffer(e, rows, e->back_bytes, "partial sums", &e->partial));
    TRY(make_buffer(e, is->send_rows, e->back_bytes, "partial sums of others", &e->received));
    return pair_bytes > 0 ? make_buffer(e, rows, pair_bytes, "the pairs of softmax", &e->pairs) : TAMIS_OK;
}

tamis_status tamis_row_exchange_make_buffers(tamis_row_exchange *e, bool pairs) {
    const tamis_shard_description *const is = tamis_row_lists(e);
    const int64_t pair_bytes = 2 * e->batch * (int64_t)tamis_type_size(tamis_sum_type(e->type));
    TRY(make_buffer(e, tamis_own_rows_of_x(e) + is->ghost_rows, e->row_bytes, "own and ghost rows", &e->rows));
    TRY(make_buffer(e, is->send_rows, e->row_bytes, "rows to send", &e->send));
    if (e->gives) TRY(make_sums(e, pairs ? pair_bytes : 0));
    return tamis_group_on_device(e->group) ? prepare_device(e) : TAMIS_OK;
}

void tamis_row_exchange_release_buffers(tamis_row_exchange *e) {
    const tamis_device *const device = e->group->device;
    const tamis_backend *const backend = device->backend;
    void *const buffers[] = {e->sends,   e->send,     e->rows,       e->pairs,
                             e->partial, e->received, e->sum_starts, e->sum_places};
    if (e->stream) (void)backend->finish(device->handle, e->stream); /* others may still be reading the sent data */
    for (int i = 0; i < 8; i++) tamis_group_release(e->group, buffers[i]);
    if (!e->stream) return;
    if (e->called) backend->release_event(device->handle, e->called);
    if (e->arrived) backend->release_event(device->handle, e->arrived);
    if (e->host_send) backend->host_release(device->handle, e->host_send);
    if (e->host_received) backend->host_release(device->handle, e->host_received);
    backend->stream_destroy(device->handle, e->stream);
}
