/* Makes an out-of-core plan: checks, slabs, and two sets of buffers of the largest piece's size. */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/reserved.h"
#include "base/status.h"
#include "base/text_buffer.h"
#include "slabs/slabs.h"
#include "sparse/check.h"

/* A B that stays on the device is copied in parts of at most PART_BYTES. */
enum { PART_BYTES = 16 << 20 };

/* ------------------------------------------------------------------------------------------ checks */

static tamis_status check_options(tamis_slab_plan *plan, const tamis_options *options) {
    tamis_options *const o = &plan->options;
    TRY(tamis_options_read(options, plan->device, o));
    if (options->threads == 0)
        o->threads = plan->host->description.threads; /* threads copy, whichever device computes */
    if (o->transpose)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "options.transpose = true: plans out of core do not multiply by the transpose; convert S");
    if (o->edge == TAMIS_EDGE_TEXT)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "options.edge = text: plans out of core have the edges with names; write one of these");
    if (o->keep_softmax)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "options.keep_softmax = true: plans out of core do not keep the statistics of softmax");
    if (o->allocator) plan->allocator = *o->allocator;
    TRY(tamis_text_copy(o->algorithm, "the name of an algorithm", &plan->algorithm));
    TRY(tamis_text_copy(o->parameters, "the parameters of an algorithm", &plan->parameters));
    TRY(tamis_memory_source_create(o, plan->device->backend->handles, &plan->source));
    o->algorithm = plan->algorithm;
    o->parameters = plan->parameters;
    o->allocator = o->allocator ? &plan->allocator : NULL;
    return TAMIS_OK;
}

static tamis_status check_memory(tamis_slab_plan *plan, const tamis_slab_options *slabs) {
    int64_t *const memory = &plan->report.device_memory;
    if (slabs) {
        TRY(TAMIS_RESERVED(slabs, "slabs"));
        if (slabs->device_memory < 0)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "slabs.device_memory = %lld: expected 0 or more",
                              (long long)slabs->device_memory);
        *memory = slabs->device_memory;
    }
    if (*memory > 0) return TAMIS_OK;
    *memory = plan->device->description.memory / 10 * 9;
    if (*memory > 0) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "slabs.device_memory = 0: %s does not tell how much memory it has; set it",
                      plan->device->description.name);
}

static tamis_status check_matrix(tamis_slab_plan *plan, const tamis_sparse *S) {
    if (!S) return tamis_fail(TAMIS_ERROR_ARGUMENT, "S = NULL: expected a sparse matrix");
    if (S->location != TAMIS_HOST)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "S.location = device: a plan out of core reads S in host memory");
    TRY(tamis_sparse_check(S, "S")); /* with a list of columns, which a plan of a mask needs not have */
    TRY(tamis_plan_check_view(plan->host, S, &plan->options));
    TRY(tamis_format_check(S, TAMIS_CSR));
    plan->S = *S;
    if (plan->options.trust_input) return TAMIS_OK;
    return plan->host->backend->validate(NULL, NULL, plan->options.threads, S);
}

/* ------------------------------------------------------------------------------------------ sizes */

static int64_t index_bytes(const tamis_slab_plan *plan) {
    return plan->report.keeps_b ? (int64_t)tamis_index_size(plan->S.index_type) : (int64_t)sizeof(int32_t);
}

/* Finds the largest size of each buffer, and counts the total bytes moved. */
static void measure_pieces(tamis_slab_plan *plan, int64_t most[TAMIS_SLAB_BUFFERS]) {
    const tamis_slab_bytes *const b = &plan->bytes;
    tamis_slab_report *const r = &plan->report;
    for (int64_t i = 0; i < r->pieces; i++) {
        const tamis_slab_piece *const piece = &plan->pieces[i];
        const int64_t rows = plan->slabs[piece->slab].rows;
        tamis_slab_raise(&most[TAMIS_SLAB_A], rows * b->a);
        tamis_slab_raise(&most[TAMIS_SLAB_OUT], rows * b->out + piece->nnz * b->sample);
        tamis_slab_raise(&most[TAMIS_SLAB_OFFSETS], (rows + 1) * (int64_t)sizeof(int32_t));
        tamis_slab_raise(&most[TAMIS_SLAB_COLUMNS], piece->nnz * index_bytes(plan));
        tamis_slab_raise(&most[TAMIS_SLAB_VALUES], piece->nnz * b->value);
        tamis_slab_raise(&most[TAMIS_SLAB_B], piece->b_rows * b->b);
        tamis_slab_raise(&most[TAMIS_SLAB_D], piece->b_rows * b->d);
        r->upload_bytes += (rows + 1) * (int64_t)sizeof(int32_t) + piece->nnz * (index_bytes(plan) + b->value);
    }
    r->upload_bytes += tamis_times(plan->S.rows, b->a) + tamis_times(r->b_rows, b->b_row);
    r->download_bytes = tamis_times(plan->S.rows, b->out) + tamis_times(plan->S.nnz, b->sample);
    r->operand_bytes = tamis_times(plan->S.rows + 1, (int64_t)tamis_index_size(plan->S.offset_type)) +
                       tamis_times(plan->S.nnz, (int64_t)tamis_index_size(plan->S.index_type) + b->value + b->sample) +
                       tamis_times(plan->S.rows, b->row) + tamis_times(plan->S.cols, b->b_row);
    r->kept_bytes += r->slabs * (int64_t)sizeof *plan->slabs + r->pieces * (int64_t)sizeof *plan->pieces +
                     plan->tiles.count * (int64_t)sizeof *plan->tiles.rows_of_b;
    const int64_t way = r->upload_bytes > r->download_bytes ? r->upload_bytes : r->download_bytes;
    if (tamis_slab_on_device(plan)) r->link_seconds = (double)way / (1e9 * TAMIS_SLAB_LINK_GBS);
}

/* ------------------------------------------------------------------------------------------ buffers */

/* Allocates at least one byte, so that pointers to empty arrays are not NULL. */
static tamis_status allocate(tamis_slab_plan *plan, int64_t bytes, const char *what, void **memory) {
    const tamis_backend *const backend = plan->device->backend;
    TRY(backend->allocate(plan->device->handle, TAMIS_ALL_STREAMS, bytes > 0 ? (size_t)bytes : 1, what, memory));
    plan->report.buffer_bytes += bytes;
    return TAMIS_OK;
}

static tamis_status make_buffer(tamis_slab_plan *plan, int64_t bytes, int64_t pinned, tamis_slab_buffer *buffer) {
    const tamis_backend *const backend = plan->device->backend;
    buffer->bytes = pinned;
    TRY(allocate(plan, bytes, "a slab", &buffer->device));
    buffer->host = buffer->device;
    if (!tamis_slab_on_device(plan)) return TAMIS_OK;
    buffer->host = NULL;
    if (pinned == 0) return TAMIS_OK;
    plan->report.pinned_bytes += pinned;
    return backend->host_allocate(plan->device->handle, (size_t)pinned, &buffer->host);
}

/* Returns the bytes of pinned memory for a part of B, at least one row. */
static int64_t part_bytes(const tamis_slab_plan *plan, int64_t row_bytes) {
    const int64_t all = plan->S.cols * row_bytes;
    if (!tamis_slab_on_device(plan) || all <= PART_BYTES) return all;
    return row_bytes > PART_BYTES ? row_bytes : PART_BYTES / row_bytes * row_bytes;
}

static tamis_status make_set(tamis_slab_plan *plan, const int64_t most[TAMIS_SLAB_BUFFERS], tamis_slab_set *set) {
    const int64_t rows[] = {plan->bytes.b, plan->bytes.d};
    for (int i = 0; i < TAMIS_SLAB_BUFFERS; i++) {
        if (i >= TAMIS_SLAB_B && plan->report.keeps_b && !tamis_slab_on_device(plan)) continue;
        const int64_t part = i >= TAMIS_SLAB_B && plan->report.keeps_b ? part_bytes(plan, rows[i - TAMIS_SLAB_B]) : 0;
        TRY(make_buffer(plan, most[i], part > 0 ? part : most[i], &set->buffers[i]));
    }
    return plan->device->backend->stream_create(plan->device->handle, false, &set->stream);
}

static tamis_status make_buffers(tamis_slab_plan *plan) {
    const int64_t rows[] = {plan->bytes.b, plan->bytes.d};
    int64_t most[TAMIS_SLAB_BUFFERS] = {0};
    measure_pieces(plan, most);
    for (int i = 0; i < 2 && plan->report.keeps_b; i++)
        TRY(allocate(plan, tamis_times(plan->S.cols, rows[i]), "B and D", &plan->whole[i]));
    for (int i = 0; i < TAMIS_SLAB_SETS; i++) TRY(make_set(plan, most, &plan->sets[i]));
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ the whole */

static tamis_status make_with_source(tamis_slab_plan *plan) {
    tamis_memory_source *const before = tamis_memory_source_enter(plan->source);
    const tamis_status status = make_buffers(plan);
    tamis_memory_source_leave(before);
    return status;
}

/* After a failure, cuts again with more memory until everything fits, so that the message states a sufficient size: the
   first part that does not fit may not be the last. */
static tamis_status cut(tamis_slab_plan *plan) {
    tamis_slab_report *const report = &plan->report;
    const int64_t given = report->device_memory;
    tamis_message first;
    tamis_status status = tamis_slab_cut(plan);
    if (status != TAMIS_ERROR_MEMORY || plan->memory_needed == 0) return status;
    tamis_message_keep(&first);
    while (status == TAMIS_ERROR_MEMORY && plan->memory_needed > report->device_memory) {
        const int64_t more = report->device_memory + report->device_memory / 16;
        *report = (tamis_slab_report){.device_memory = plan->memory_needed > more ? plan->memory_needed : more};
        plan->tiles.count = plan->memory_needed = 0;
        status = tamis_slab_cut(plan);
    }
    const char *const reason = strstr(first.text, "since ");
    return tamis_fail(TAMIS_ERROR_MEMORY, "slabs.device_memory = %lld: expected at least %lld, %s", (long long)given,
                      (long long)report->device_memory, reason ? reason : first.text);
}

static tamis_status make(tamis_slab_plan *plan, const tamis_sparse *S, const tamis_options *options,
                         const tamis_slab_options *slabs) {
    const double start = tamis_clock_seconds();
    TRY(tamis_device_open("cpu", &plan->host));
    TRY(check_options(plan, options));
    TRY(check_memory(plan, slabs));
    TRY(check_matrix(plan, S));
    TRY(cut(plan));
    TRY(make_with_source(plan));
    plan->report.setup_seconds = tamis_clock_seconds() - start;
    return TAMIS_OK;
}

tamis_status tamis_slab_plan_create(tamis_device *device, const tamis_sparse *S, const tamis_options *options,
                                    const tamis_slab_options *slabs, tamis_slab_plan **plan) {
    tamis_status status = TAMIS_OK;
    tamis_slab_plan *made = NULL;
    tamis_clear_error();
    if (!plan) return tamis_fail(TAMIS_ERROR_ARGUMENT, "plan = NULL: expected an address for the result");
    *plan = NULL;
    TRY(tamis_device_check(device));
    TRY(tamis_allocate_zeroed(1, sizeof *made, "a plan out of core", (void **)&made));
    made->device = device;
    TRY_GOTO(failed, make(made, S, options, slabs));
    *plan = made;
    return TAMIS_OK;
failed:
    tamis_slab_plan_destroy(made);
    return status;
}

static void release_set(const tamis_slab_plan *plan, tamis_slab_set *set) {
    const tamis_backend *const backend = plan->device->backend;
    void *const handle = plan->device->handle;
    void *const events[] = {set->uploaded, set->computed, set->freed, set->downloaded};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i]) backend->release_event(handle, events[i]);
    if (set->stream) backend->stream_destroy(handle, set->stream);
    for (int i = 0; i < TAMIS_SLAB_BUFFERS; i++) {
        const tamis_slab_buffer *const b = &set->buffers[i];
        if (b->host && b->host != b->device) backend->host_release(handle, b->host);
        if (b->device) backend->release_memory(handle, TAMIS_ALL_STREAMS, b->device);
    }
}

void tamis_slab_plan_destroy(tamis_slab_plan *plan) {
    if (!plan) return;
    tamis_message kept;
    tamis_message_keep(&kept);
    tamis_memory_source *const before = tamis_memory_source_enter(plan->source);
    for (int i = 0; i < TAMIS_SLAB_SETS; i++) release_set(plan, &plan->sets[i]);
    for (int i = 0; i < 2; i++)
        if (plan->whole[i])
            plan->device->backend->release_memory(plan->device->handle, TAMIS_ALL_STREAMS, plan->whole[i]);
    tamis_memory_source_leave(before);
    tamis_memory_source_destroy(plan->source);
    tamis_device_close(plan->host);
    void *const lists[] = {plan->slabs,         plan->pieces,        plan->tiles.rows_of_b, plan->tiles.columns,
                           plan->tiles.offsets, plan->tiles.entries, plan->algorithm,       plan->parameters};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) tamis_release(lists[i]);
    tamis_release(plan);
    tamis_message_restore(&kept);
}
