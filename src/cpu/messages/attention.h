/*
 * Attention on a graph, forward (online softmax): processes the entries of a row in chunks, whose scores and sums stay
 * in L1. Moves: rows of q and of the output per row; for each entry a row of e from memory, which stays in L2 between
 * the scores and the sums, and rows of k and v.
 *
 * A head's operations and their order do not depend on the heads computed with it, so results do not depend on how
 * threads divide the heads of a hub.
 */
#ifndef TAMIS_CPU_MESSAGES_ATTENTION_H
#define TAMIS_CPU_MESSAGES_ATTENTION_H

#include "cpu/kernels/softmax.h"
#include "cpu/messages/pass.h"

/* Entries of a chunk, heads at once, sums at once, and vectors of sums in registers. CHUNK and SUMS are multiples of
   LANES. */
enum { CHUNK = 16, HEADS = 64, SUMS = 4096, REGISTERS = 4 };

/* A matrix of a job: its address, NULL if it is absent, and the bytes from one row to the next. */
typedef struct rows_of {
    char *at;
    int64_t stride;
} rows_of;

typedef struct attention {
    const tamis_attention_job *job;
    rows_of q, k, v, e, b, out, log_sums, d_out, dq, dk, dv, de, db;
    char *weights;
    const char *offsets, *columns;
    const int64_t *entries;
    int wide_offsets, wide_columns;
    int64_t size, heads, width; /* size: bytes of an element */
    real scale;
    int64_t ahead; /* prefetch distance in entries; 0: none */
} attention;

static rows_of rows_at(tamis_message_operand x, int64_t size) { return (rows_of){pass_address(x.at), x.stride * size}; }

static attention attention_of(const tamis_attention_job *job) {
    const int64_t size = element_bytes(TYPE), bytes = job->heads * job->width * size + 1;
    const int64_t ahead = 2048 / bytes;
    return (attention){.job = job,
                       .q = rows_at(job->q, size),
                       .k = rows_at(job->k, size),
                       .v = rows_at(job->v, size),
                       .e = rows_at(job->e, size),
                       .b = rows_at(job->b, size),
                       .out = rows_at(job->out, size),
                       .log_sums = rows_at(job->log_sums, (int64_t)sizeof(real)),
                       .d_out = rows_at(job->d_out, size),
                       .dq = rows_at(job->dq, size),
                       .dk = rows_at(job->dk, size),
                       .dv = rows_at(job->dv, size),
                       .de = rows_at(job->de, size),
                       .db = rows_at(job->db, size),
                       .weights = pass_address(job->weights),
                       .offsets = job->order.offsets,
                       .columns = job->order.columns,
                       .entries = job->order.entries,
                       .wide_offsets = job->order.offset_type == TAMIS_I64,
                       .wide_columns = job->order.column_type == TAMIS_I64,
                       .size = size,
                       .heads = job->heads,
                       .width = job->width,
                       .scale = (real)job->scale,
                       .ahead = job->order.cols * bytes <= NEAR ? 0
                                : ahead < 1                     ? 1
                                : ahead > AHEAD                 ? AHEAD
                                                                : ahead};
}

/* ------------------------------------------------------------------------------------------ chunks */

/* Some entries of a row, with their addresses. */
typedef struct chunk {
    int count;
    int64_t entry[CHUNK];
    const char *k[CHUNK], *v[CHUNK], *e[CHUNK];
    const char *k_ahead[CHUNK], *v_ahead[CHUNK], *e_ahead[CHUNK]; /* NULL: not prefetched */
} chunk;

static void chunk_at(const attention *a, int64_t t, int64_t stop, chunk *c) {
    c->count = stop - t < CHUNK ? (int)(stop - t) : CHUNK;
    for (int n = 0; n < c->count; n++, t++) {
        const int64_t column = column_at(a->columns, t, a->wide_columns), next = t + a->ahead;
        c->entry[n] = a->entries ? a->entries[t] : t;
        c->k[n] = a->k.at + column * a->k.stride;
        c->v[n] = a->v.at + column * a->v.stride;
        c->e[n] = a->e.at ? a->e.at + c->entry[n] * a->e.stride : NULL;
        c->k_ahead[n] = c->v_ahead[n] = c->e_ahead[n] = NULL;
        if (!a->ahead || next >= a->job->order.nnz) continue;
        const int64_t ahead = column_at(a->columns, next, a->wide_columns);
        c->k_ahead[n] = a->k.at + ahead * a->k.stride;
        c->v_ahead[n] = a->v.at + ahead * a->v.stride;
        if (a->e.at && a->entries) c->e_ahead[n] = a->e.at + a->entries[next] * a->e.stride;
    }
}

/* Blocks of `width` elements: the statements are compiled for `vectors` = REGISTERS, for single vectors, and for the
   last one, if that has only `tail` elements. `i` is the first element of a block. */
#define EACH_BLOCK(width, ...)                                                                                         \
    do {                                                                                                               \
        int64_t i = 0;                                                                                                 \
        for (; i + REGISTERS * LANES <= (width); i += REGISTERS * LANES) {                                             \
            const int vectors = REGISTERS, tail = 0;                                                                   \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
        for (; i + LANES <= (width); i += LANES) {                                                                     \
            const int vectors = 1, tail = 0;                                                                           \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
        if (i < (width)) {                                                                                             \
            const int vectors = 1, tail = (int)((width)-i);                                                            \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    } while (0)

/* <x, y + e> over the elements of a head; e may be NULL. */
INLINE real attention_dot(const attention *a, const char *x, const char *y, const char *e, int has_e) {
    vector sum = vector_zero();
    EACH_VECTOR(a->width, {
        vector other = pass_load(y + t * a->size, tail);
        if (has_e) other += pass_load(e + t * a->size, tail);
        sum += pass_load(x + t * a->size, tail) * other;
    });
    return vector_sum(sum);
}

/* Computes the scores of a chunk for heads first .. last - 1, a row of CHUNK for each. */
INLINE void attention_scores(const attention *a, const chunk *c, const char *q, int64_t first, int64_t last,
                             real *scores, int has_e) {
    const int64_t bytes = a->width * a->size;
    for (int n = 0; n < c->count; n++) {
        const char *const b = a->b.at ? a->b.at + c->entry[n] * a->b.stride : NULL;
        for (int64_t h = first; h < last; h++) {
            prefetch_bytes(c->k_ahead[n], h * bytes, bytes);
            prefetch_bytes(c->v_ahead[n], h * bytes, bytes);
            prefetch_bytes(c->e_ahead[n], h * bytes, bytes);
            const real x =
                attention_dot(a, q + h * bytes, c->k[n] + h * bytes, has_e ? c->e[n] + h * bytes : NULL, has_e);
            scores[(h - first) * CHUNK + n] = a->scale * x + (b ? element_load(b + h * a->size, TYPE) : 0);
        }
    }
}

/* ------------------------------------------------------------------------------------------ sums */

/* Adds a chunk's weighted v + e to `vectors` vectors of sums; `from`: their byte offset in a row of v. */
INLINE void attention_add(const attention *a, const chunk *c, const real *weights, real again, int64_t from, int tail,
                          real *sums, int has_e, int vectors) {
    vector sum[REGISTERS];
#pragma GCC unroll 4
    for (int k = 0; k < vectors; k++) sum[k] = again * vector_load((const char *)(sums + k * LANES), REAL);
    for (int n = 0; n < c->count; n++) {
        const char *const v = c->v[n] + from, *const e = has_e ? c->e[n] + from : NULL;
#pragma GCC unroll 4
        for (int k = 0; k < vectors; k++) {
            vector x = pass_load(v + k * LANES * a->size, tail);
            if (has_e) x += pass_load(e + k * LANES * a->size, tail);
            sum[k] += weights[n] * x;
        }
    }
#pragma GCC unroll 4
    for (int k = 0; k < vectors; k++) vector_store((char *)(sums + k * LANES), REAL, sum[k]);
}

INLINE void attention_add_head(const attention *a, const chunk *c, const real *weights, real again, int64_t element,
                               int64_t width, real *sums, int has_e) {
    EACH_BLOCK(width, attention_add(a, c, weights, again, (element + i) * a->size, tail, sums + i, has_e, vectors));
}

/* Stores the sums of a head, divided. */
INLINE void attention_store(const attention *a, const real *sums, real divisor, char *to, int64_t width) {
    EACH_VECTOR(width, pass_store(to + t * a->size, tail, vector_load((const char *)(sums + t), REAL) / divisor));
}

/* ------------------------------------------------------------------------------------------ rows */

/* Elements of a head summed at once, from `from` on; a head's sums are padded to a multiple of LANES. */
INLINE int64_t sums_width(const attention *a, int64_t from) { return a->width - from < SUMS ? a->width - from : SUMS; }
INLINE int64_t sums_stride(int64_t width) { return (width + LANES - 1) / LANES * LANES; }

/* Heads computed at once. */
INLINE int64_t heads_at_once(const attention *a) {
    const int64_t most = SUMS / (sums_stride(sums_width(a, 0)) + 1);
    return most < 1 ? 1 : most > HEADS ? HEADS : most;
}

/* Computes heads first .. last - 1 of a row, `width` elements of each from element `from` on. */
INLINE void attention_row(const attention *a, int64_t row, int64_t begin, int64_t stop, int64_t first, int64_t last,
                          int64_t from, int64_t width, int has_e) {
    softmax_state states[HEADS];
    real scores[HEADS * CHUNK], sums[SUMS];
    chunk c;
    const int64_t stride = sums_stride(width), heads = last - first;
    for (int64_t h = 0; h < heads; h++) states[h] = softmax_begin();
    for (int64_t i = 0; i < heads * stride; i++) sums[i] = 0;
    for (int64_t t = begin; t < stop; t += CHUNK) {
        chunk_at(a, t, stop, &c);
        attention_scores(a, &c, a->q.at + row * a->q.stride, first, last, scores, has_e);
        for (int64_t h = 0; h < heads; h++) {
            real *const x = scores + h * CHUNK;
            const real again = softmax_piece(&states[h], x, x, c.count);
            attention_add_head(a, &c, x, again, (first + h) * a->width + from, width, sums + h * stride, has_e);
        }
    }
    for (int64_t h = 0; h < heads; h++) {
        attention_store(a, sums + h * stride, softmax_divisor(states[h].sum),
                        a->out.at + row * a->out.stride + ((first + h) * a->width + from) * a->size, width);
        if (a->log_sums.at && from == 0)
            ((real *)(void *)(a->log_sums.at + row * a->log_sums.stride))[first + h] = softmax_log_sum(&states[h]);
    }
}

#endif
