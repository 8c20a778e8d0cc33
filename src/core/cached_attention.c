/* Attention to caches: checks, then the backend computes. The kernels clamp the contents of lengths and table. */
#include "backend/cached_attention.h"

#include <math.h>

#include "base/reserved.h"
#include "base/sizes.h"
#include "base/status.h"
#include "core/device.h"
#include "sparse/check.h"

enum { MOST = 1 << 30 }; /* upper limit of everything that kernels count in 32 bits */

/* ------------------------------------------------------------------------------------------ checks */

static tamis_status check_types(const tamis_cached_attention_options *o) {
    const bool narrow = o->type == TAMIS_F16 || o->type == TAMIS_BF16;
    if ((unsigned)o->type > TAMIS_BF16)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.type = %d: expected 0 .. %d", (int)o->type, (int)TAMIS_BF16);
    if (o->output_type == o->type || (narrow && o->output_type == TAMIS_F32)) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.output_type = %d: expected %s%s", (int)o->output_type,
                      tamis_type_name(o->type), narrow ? " or fp32" : "");
}

static tamis_status check_sizes(const tamis_cached_attention_options *o) {
    const int64_t widest = o->type == TAMIS_F64 ? 256 : 512;
    const bool paged = o->table != NULL;
    const tamis_range ranges[] = {{"sequences", o->sequences, 0, MOST},
                                  {"heads", o->heads, 1, MOST},
                                  {"key_heads", o->key_heads, 1, o->heads},
                                  {"inner", o->inner, 1, widest},
                                  {"width", o->width, 1, widest},
                                  {"capacity", o->capacity, 0, MOST},
                                  {"window", o->window, 0, MOST},
                                  {"length_type", o->length_type, 0, TAMIS_I64},
                                  {"table_type", o->table_type, 0, TAMIS_I64},
                                  {"page", paged ? o->page : 1, 1, MOST},
                                  {"pages", paged ? o->pages : 1, o->capacity > 0 && paged ? 1 : 0, INT32_MAX},
                                  {"table_stride", paged ? o->table_stride : 0, 0, TAMIS_SIZE_MOST}};
    TRY(tamis_ranges_check("options", ranges, sizeof ranges / sizeof *ranges));
    if (o->heads % o->key_heads)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.heads = %lld: expected a multiple of key_heads = %lld",
                          (long long)o->heads, (long long)o->key_heads);
    return TAMIS_OK;
}

static tamis_status check_table(const tamis_cached_attention_options *o) {
    if (!o->table) return TAMIS_OK;
    if (o->page & (o->page - 1))
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "options.page = %lld: expected a power of two", (long long)o->page);
    const int64_t needed = (o->capacity + o->page - 1) / o->page;
    if (o->sequences <= 1 || o->table_stride >= needed) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT,
                      "options.table_stride = %lld: expected %lld or more, the pages of %lld positions",
                      (long long)o->table_stride, (long long)needed, (long long)o->capacity);
}

static tamis_status check_numbers(const tamis_device *device, const void *numbers, tamis_index_type type,
                                  const char *name) {
    if (!numbers) return TAMIS_OK;
    if (!device->backend->handles && (uintptr_t)numbers % tamis_index_size(type))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = %p is not aligned to %zu bytes", name, numbers,
                          tamis_index_size(type));
    return tamis_device_check_place(device, numbers, name);
}

/* Checks vectors of `type` with `heads` heads, `sequences` sequences or pages, and positions if there is more than
   one. */
static tamis_status check_vectors(const tamis_device *device, const tamis_vectors *x, const char *name, tamis_type type,
                                  bool positions) {
    const size_t size = tamis_type_size(type);
    if (!x) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected vectors", name);
    TRY(TAMIS_RESERVED(x, name));
    if (!x->data) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.data = NULL: expected an array", name);
    const int64_t most = INT64_MAX / 16 / MOST;
    const tamis_range strides[] = {{"sequence_stride", x->sequence_stride, 0, most},
                                   {"position_stride", positions ? x->position_stride : 0, 0, most},
                                   {"head_stride", x->head_stride, 0, most}};
    TRY(tamis_ranges_check(name, strides, 3));
    if (!device->backend->handles && (uintptr_t)x->data % size)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.data = %p is not aligned to %zu bytes", name, x->data, size);
    return tamis_device_check_place(device, x->data, name);
}

/* Checks that results do not overlap. */
static tamis_status check_apart(const tamis_cached_attention_options *o, const tamis_vectors *out) {
    if (o->heads > 1 && out->head_stride < o->width)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "out.head_stride = %lld: expected %lld or more",
                          (long long)out->head_stride, (long long)o->width);
    if (o->sequences > 1 && out->sequence_stride < o->width)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "out.sequence_stride = %lld: expected %lld or more",
                          (long long)out->sequence_stride, (long long)o->width);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ the call */

static tamis_cached_vectors vectors_of(const tamis_vectors *x) {
    return (tamis_cached_vectors){.at = tamis_place_at(x->data, 0),
                                  .sequence = x->sequence_stride,
                                  .position = x->position_stride,
                                  .head = x->head_stride};
}

tamis_status tamis_cached_attention(tamis_device *device, const tamis_cached_attention_options *options,
                                    const tamis_vectors *q, const tamis_vectors *k, const tamis_vectors *v,
                                    const tamis_vectors *out, void *log_sums, void *stream) {
    tamis_clear_error();
    TRY(tamis_device_check_stream(device, stream));
    if (!options) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected sizes, types and lengths");
    TRY(TAMIS_RESERVED(options, "options"));
    TRY(check_types(options));
    if (!isfinite(options->scale))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.scale = %g: expected a number, or 0 for 1 / sqrt(inner)",
                          options->scale);
    TRY(check_sizes(options));
    TRY(check_table(options));
    if (options->sequences == 0) return TAMIS_OK;
    if (!options->lengths)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.lengths = NULL: expected %lld lengths",
                          (long long)options->sequences);
    TRY(check_numbers(device, options->lengths, options->length_type, "options.lengths"));
    TRY(check_numbers(device, options->table, options->table_type, "options.table"));
    TRY(check_numbers(device, log_sums, options->type == TAMIS_F64 ? TAMIS_I64 : TAMIS_I32, "log_sums"));
    TRY(check_vectors(device, q, "q", options->type, false));
    TRY(check_vectors(device, k, "k", options->type, true));
    TRY(check_vectors(device, v, "v", options->type, true));
    TRY(check_vectors(device, out, "out", options->output_type, false));
    TRY(check_apart(options, out));
    tamis_cached_job job = {.device = device->handle,
                            .stream = stream,
                            .threads = device->description.threads,
                            .o = *options,
                            .q = vectors_of(q),
                            .k = vectors_of(k),
                            .v = vectors_of(v),
                            .out = vectors_of(out),
                            .lengths = tamis_place_at(options->lengths, 0),
                            .table = tamis_place_at(options->table, 0),
                            .log_sums = tamis_place_at(log_sums, 0)};
    if (job.o.scale == 0) job.o.scale = 1 / sqrt((double)job.o.inner);
    return device->backend->cached_attend(&job);
}
