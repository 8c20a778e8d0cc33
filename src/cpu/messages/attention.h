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

typedef struct attention {
    const tamis_attention_job *job;
    entry_order order;
    rows_of q, k, v, e, b, out, log_sums, d_out, dq, dk, dv, de, db;
    char *weights;
    int64_t size, heads, width; /* size: bytes of an element */
    real scale;
    int64_t ahead; /* prefetch distance in entries; 0: none */
} attention;

static attention attention_of(const tamis_attention_job *job) {
    const int64_t size = element_bytes(TYPE), bytes = job->heads * job->width * size + 1;
    const int64_t ahead = 2048 / bytes;
    return (attention){.job = job,
                       .order = entry_order_of(&job->order),
                       .q = rows_at(job->q, size),
                       .k = rows_at(job->k, size),
                       .v = rows_at(job->v, size),
                       .e = rows_at(job->e, size),
                       .b = rows_at(job->b, size),
                       .out = rows_at(job->out, size),
                       .d_out = rows_at(job->d_out, size),
                       .dq = rows_at(job->dq, size),
                       .dk = rows_at(job->dk, size),
                       .dv = rows_at(job->dv, size),
                       .de = rows_at(job->de, size),
                       .db = rows_at(job->db, size),
                       .log_sums = rows_at(job->log_sums, (int64_t)sizeof(real)),
                       .weights = pass_address(job->weights),
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
        const int64_t column = order_column(&a->order, t), next = t + a->ahead;
        c->entry[n] = order_entry(&a->order, t);
        c->k[n] = a->k.at + column * a->k.stride;
        c->v[n] = a->v.at + column * a->v.stride;
        c->e[n] = a->e.at ? a->e.at + c->entry[n] * a->e.stride : NULL;
        c->k_ahead[n] = c->v_ahead[n] = c->e_ahead[n] = NULL;
        if (!a->ahead || next >= a->job->order.nnz) continue;
        const int64_t ahead = order_column(&a->order, next);
        c->k_ahead[n] = a->k.at + ahead * a->k.stride;
        c->v_ahead[n] = a->v.at + ahead * a->v.stride;
        if (a->e.at && a->order.entries) c->e_ahead[n] = a->e.at + a->order.entries[next] * a->e.stride;
    }
}

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

/* Vector k of `count` scores of a chunk; lanes past the end are -infinity. */
INLINE vector chunk_vector(const real *x, int k, int count) {
    const vector v = vector_load((const char *)(x + k * LANES), REAL);
    const int left = count - k * LANES;
    return left >= LANES ? v : vector_first(v, left < 0 ? 0 : left, vector_of(SOFTMAX_NONE));
}

/* softmax_piece for a chunk: a constant number of vectors. */
INLINE real attention_weights(softmax_state *s, real *scores, int count) {
    vector largest = vector_of(SOFTMAX_NONE), sum = vector_zero();
    for (int k = 0; k < CHUNK / LANES; k++) largest = vector_max(chunk_vector(scores, k, count), largest);
    const real old = s->most;
    s->most = softmax_most(s, vector_largest(largest));
    const real shift = softmax_shift(s->most);
    for (int k = 0; k < CHUNK / LANES; k++) {
        const vector p = vector_exp(chunk_vector(scores, k, count) - vector_of(shift));
        vector_store((char *)(scores + k * LANES), REAL, p);
        sum += p;
    }
    const real again = s->most == old ? 1 : vector_exp(vector_of(old - shift))[0];
    s->sum = s->sum * again + vector_sum(sum);
    return again;
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
    EACH_BLOCK(REGISTERS, width,
               attention_add(a, c, weights, again, (element + i) * a->size, tail, sums + i, has_e, vectors));
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
            const real again = attention_weights(&states[h], x, c.count);
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
