/* A job as the kernels of message passing read it: addresses, and strides in bytes. */
#ifndef TAMIS_CPU_MESSAGES_PASS_H
#define TAMIS_CPU_MESSAGES_PASS_H

#include <math.h>

#include "cpu/kernels/segment.h"
#include "cpu/messages/kernels.h"

#define TYPE TAMIS_KERNEL_TYPE

/* Prefetch distance in entries, if a matrix is larger than NEAR bytes: AHEAD, or for short rows as many as have
   AHEAD_BYTES, up to AHEAD_MOST. */
enum { AHEAD = 12, AHEAD_BYTES = 8192, AHEAD_MOST = 64, NEAR = 1 << 20 };

INLINE char *pass_address(tamis_place place) { return place.base ? (char *)place.base + place.bytes : NULL; }

/* A matrix of a job: its address, NULL if it is absent, and the bytes from one row to the next. */
typedef struct rows_of {
    char *at;
    int64_t stride;
} rows_of;

static rows_of rows_at(tamis_matrix x, int64_t size) { return (rows_of){pass_address(x.at), x.stride * size}; }

/* The entries of a job, row by row. */
typedef struct entry_order {
    const char *offsets, *columns;
    const int64_t *entries; /* NULL: they are numbered in this order */
    int wide_offsets, wide_columns;
} entry_order;

static entry_order entry_order_of(const tamis_message_order *order) {
    return (entry_order){order->offsets, order->columns, order->entries, order->offset_type == TAMIS_I64,
                         order->column_type == TAMIS_I64};
}

INLINE int64_t order_offset(const entry_order *o, int64_t row) { return column_at(o->offsets, row, o->wide_offsets); }
INLINE int64_t order_column(const entry_order *o, int64_t t) { return column_at(o->columns, t, o->wide_columns); }
INLINE int64_t order_entry(const entry_order *o, int64_t t) { return o->entries ? o->entries[t] : t; }

typedef struct pass {
    const tamis_message_job *job;
    entry_order order;
    rows_of x, y, z, w, out;
    char *argument;
    const char *other_offsets;
    int wide_other, wide_argument;
    int64_t size, all; /* bytes of an element; elements of a row of all heads */
    int64_t ahead;
    real least; /* TAMIS_TERM_ADD: lower bound of terms */
} pass;

static int64_t ahead_of(int64_t row_bytes) {
    const int64_t rows = AHEAD_BYTES / row_bytes;
    return rows < AHEAD ? AHEAD : rows > AHEAD_MOST ? AHEAD_MOST : rows;
}

static pass pass_of(const tamis_message_job *job) {
    const int64_t size = element_bytes(TYPE), row_bytes = job->heads * job->width * size;
    return (pass){.job = job,
                  .order = entry_order_of(&job->order),
                  .x = rows_at(job->x, size),
                  .y = rows_at(job->y, size),
                  .z = rows_at(job->z, size),
                  .w = rows_at(job->w, size),
                  .out = rows_at(job->out, size),
                  .argument = pass_address(job->argument),
                  .other_offsets = job->other_offsets,
                  .wide_other = job->other_offset_type == TAMIS_I64,
                  .wide_argument = job->argument_type == TAMIS_I64,
                  .size = size,
                  .all = job->heads * job->width,
                  .ahead = job->order.cols * row_bytes > NEAR ? ahead_of(row_bytes) : 0,
                  .least = job->term == TAMIS_TERM_RELU ? 0 : -(real)INFINITY};
}

/* 1 / (number of entries of the row at the other end), for the gradient of a mean. */
INLINE real pass_weight(const pass *p, int64_t column) {
    if (!p->other_offsets) return 1;
    return 1 / (real)(column_at(p->other_offsets, column + 1, p->wide_other) -
                      column_at(p->other_offsets, column, p->wide_other));
}

/* A vector of a row, or its first `tail` elements if tail > 0. */
INLINE vector pass_load(const char *at, int tail) { return part_load(at, TYPE, tail); }
INLINE void pass_store(char *at, int tail, vector x) { part_store(at, TYPE, tail, x); }

INLINE void prefetch_bytes(const char *at, int64_t from, int64_t bytes) {
    for (int64_t i = 0; at && i < bytes; i += 64) __builtin_prefetch(at + from + i);
}

/* The lanes where x is larger than `best`, or the first NaN. */
INLINE vector_bits pass_larger(vector x, vector best) {
    return ~(vector_bits)(x <= best) & (vector_bits)(best == best);
}

/* x, but 0 where the sum of both ends is 0 or less: the gradient of a ReLU message. */
INLINE vector pass_gated(vector x, vector sum) {
    return vector_select(~(vector_bits)(sum <= vector_zero()), x, vector_zero());
}

/* The lanes whose argument is that entry; lanes past the tail are not set. */
INLINE vector_bits pass_taken(const pass *p, int64_t row, int64_t element, int tail, int64_t entry) {
    const char *const at = p->argument + (row * p->all + element) * (p->wide_argument ? 8 : 4);
    vector_bits taken = {0};
    if (!tail && p->wide_argument == (sizeof(real) == 8)) {
        memcpy(&taken, at, sizeof taken);
        return (vector_bits)(taken == (real_bits)entry);
    }
    for (int i = 0; i < (tail ? tail : LANES); i++)
        taken[i] = column_at(at, i, p->wide_argument) == entry ? (real_bits)-1 : 0;
    return taken;
}

/* Converts places within a row to entries, for `lanes` elements from `element` on. */
static void store_arguments(const pass *p, int64_t row, int64_t element, int lanes, int64_t begin, int64_t stop,
                            vector_bits places) {
    char *const to = p->argument + (row * p->all + element) * (p->wide_argument ? 8 : 4);
    for (int i = 0; i < lanes; i++)
        column_store(to, i, p->wide_argument, begin < stop ? order_entry(&p->order, begin + places[i]) : -1);
}

#endif
