/* Copies between the caller's arrays and packed, pinned host memory, which the device copies asynchronously. */
#include "slabs/slabs.h"

#include <string.h>

#include "base/threads.h"
#include "sparse/check.h"
#include "sparse/element.h"
#include "sparse/structure.h"

enum { SMALL = 1 << 16 /* fewer bytes do not justify a second thread */ };

static void run(const tamis_slab_plan *plan, int64_t bytes, tamis_thread_body *body, void *context) {
    tamis_threads_run(bytes < SMALL ? 1 : plan->options.threads, body, context);
}

/* ------------------------------------------------------------------------------------------ blocks */

typedef struct block {
    char *to;
    const char *from;
    int64_t bytes;
} block;

static void copy_share(void *context, int thread, int threads) {
    const block *const b = context;
    const int64_t begin = tamis_partition_even(b->bytes, threads, thread);
    const int64_t end = tamis_partition_even(b->bytes, threads, thread + 1);
    if (end > begin) memcpy(b->to + begin, b->from + begin, (size_t)(end - begin));
}

static void copy(const tamis_slab_plan *plan, void *to, const void *from, int64_t bytes) {
    block b = {.to = to, .from = from, .bytes = bytes};
    run(plan, bytes, copy_share, &b);
}

/* ------------------------------------------------------------------------------------------ entries */

typedef struct scatter {
    size_t size;
    const int64_t *entries;
    char *array, *packed;
    int64_t count;
    bool out;
} scatter;

/* With a constant size, an element is a load and a store. */
static inline void move_some(const scatter *s, int64_t begin, int64_t end, size_t size) {
    for (int64_t t = begin; t < end; t++) {
        char *const here = s->packed + (size_t)t * size, *const there = s->array + (size_t)s->entries[t] * size;
        memcpy(s->out ? there : here, s->out ? here : there, size);
    }
}

static void scatter_share(void *context, int thread, int threads) {
    const scatter *const s = context;
    const int64_t begin = tamis_partition_even(s->count, threads, thread);
    const int64_t end = tamis_partition_even(s->count, threads, thread + 1);
    if (s->size == 2)
        move_some(s, begin, end, 2);
    else if (s->size == 4)
        move_some(s, begin, end, 4);
    else
        move_some(s, begin, end, 8);
}

void tamis_slab_move_entries(const tamis_slab_plan *plan, const tamis_slab_piece *piece, size_t size, void *array,
                             void *packed, bool out) {
    const tamis_slab *const slab = &plan->slabs[piece->slab];
    char *const of_slab = (char *)array + (size_t)slab->first_entry * size;
    const int64_t bytes = piece->nnz * (int64_t)size;
    if (piece->nnz == 0) return;
    if (!plan->tiles.entries) {
        copy(plan, out ? of_slab : packed, out ? packed : of_slab, bytes);
        return;
    }
    scatter s = {.size = size,
                 .entries = plan->tiles.entries + piece->first_entry,
                 .array = of_slab,
                 .packed = packed,
                 .count = piece->nnz,
                 .out = out};
    run(plan, bytes, scatter_share, &s);
}

/* ------------------------------------------------------------------------------------------ patterns */

void tamis_slab_stage_offsets(const tamis_slab_plan *plan, const tamis_slab_piece *piece, int32_t *to) {
    const tamis_slab *const slab = &plan->slabs[piece->slab];
    if (!plan->report.keeps_b) {
        const int32_t *const offsets = plan->tiles.offsets + piece->first_offset;
        copy(plan, to, offsets, (slab->rows + 1) * (int64_t)sizeof *to);
        return;
    }
    for (int64_t i = 0; i <= slab->rows; i++)
        to[i] = (int32_t)(tamis_slab_entry(&plan->S, slab->first_row + i) - slab->first_entry);
}

void tamis_slab_stage_columns(const tamis_slab_plan *plan, const tamis_slab_piece *piece, void *to) {
    const tamis_sparse *const S = &plan->S;
    if (!plan->report.keeps_b) {
        const int32_t *const columns = plan->tiles.columns + piece->first_entry;
        copy(plan, to, columns, piece->nnz * (int64_t)sizeof *columns);
        return;
    }
    copy(plan, to, tamis_index_at(S->columns, S->index_type, S->offset_base + piece->first_entry),
         piece->nnz * (int64_t)tamis_index_size(S->index_type));
}

/* ------------------------------------------------------------------------------------------ dense matrices */

tamis_status tamis_slab_pack_rows(const tamis_slab_plan *plan, const tamis_dense *X, int64_t member,
                                  const int64_t *rows, int64_t first, int64_t count, void *to) {
    const int64_t stride = tamis_dense_stride(X), skip = X->layout == TAMIS_ROW_MAJOR ? first * stride : first;
    const tamis_gathering g = {.type = X->type,
                               .threads = plan->options.threads,
                               .layout = X->layout,
                               .from = {X->data, (member * X->batch_stride + skip) * (int64_t)tamis_type_size(X->type)},
                               .to = {to, 0},
                               .stride = stride,
                               .to_stride = X->cols,
                               .cols = X->cols,
                               .count = count,
                               .rows = rows};
    return plan->host->backend->gather(NULL, NULL, &g);
}

typedef struct outputs {
    const tamis_slab_plan *plan;
    const tamis_dense *X;
    char *at; /* of the first element of the member */
    char *packed;
    int64_t first, count;
    bool out;
} outputs;

static void move_row(const outputs *o, int64_t i) {
    const tamis_dense *const X = o->X;
    const int64_t stride = tamis_dense_stride(X), row = o->first + i;
    const size_t size = tamis_type_size(X->type), packed_size = tamis_type_size(o->plan->out_type);
    char *const packed = o->packed + (size_t)(i * X->cols) * packed_size;
    if (size == packed_size && X->layout == TAMIS_ROW_MAJOR) {
        char *const there = o->at + (size_t)(row * stride) * size;
        memcpy(o->out ? there : packed, o->out ? packed : there, (size_t)X->cols * size);
        return;
    }
    for (int64_t k = 0; k < X->cols; k++) {
        const int64_t at = X->layout == TAMIS_ROW_MAJOR ? row * stride + k : k * stride + row;
        char *const there = o->at + (size_t)at * size, *const here = packed + (size_t)k * packed_size;
        if (size != packed_size && o->out) /* a 16-bit output, and the device's fp32 sums */
            tamis_element_store(there, X->type, 0, tamis_element_load(here, TAMIS_F32, 0));
        else if (size != packed_size)
            tamis_element_store(here, TAMIS_F32, 0, tamis_element_load(there, X->type, 0));
        else
            memcpy(o->out ? there : here, o->out ? here : there, size);
    }
}

static void move_share(void *context, int thread, int threads) {
    const outputs *const o = context;
    TAMIS_EACH_OF_SHARE(i, o->count, threads, thread) move_row(o, i);
}

void tamis_slab_move_output(const tamis_slab_plan *plan, const tamis_dense *X, int64_t member, int64_t first,
                            int64_t count, void *packed, bool out) {
    const int64_t size = (int64_t)tamis_type_size(X->type);
    outputs o = {.plan = plan, .X = X, .packed = packed, .first = first, .count = count, .out = out};
    if (count == 0 || X->cols == 0) return;
    o.at = (char *)X->data + member * X->batch_stride * size;
    run(plan, count * X->cols * size, move_share, &o);
}
