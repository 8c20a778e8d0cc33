/*
 * Attention on a graph, backward. Over the rows: the weights p and the gradients of the scores, ds = p (<dout, v + e> -
 * <dout, out>), whose sums are dq = scale ds (k + e), and de = scale ds q + p dout. Over the columns: dk = scale ds q
 * and dv = p dout, summed. Moves for each entry a row of e and of de, and in the first pass rows of k and v, in the
 * second of q and dout.
 */
#ifndef TAMIS_CPU_MESSAGES_ATTENTION_BACK_H
#define TAMIS_CPU_MESSAGES_ATTENTION_BACK_H

#include "cpu/messages/attention.h"

/* ------------------------------------------------------------------------------------------ over the rows */

/* p and scale * (gradients of the scores) for a chunk and some heads; rows of CHUNK. */
typedef struct score_gradients {
    real p[HEADS * CHUNK], d[HEADS * CHUNK];
} score_gradients;

/* A row of q, dout and out, and the heads that are computed. */
typedef struct back_row {
    const char *q, *g, *out;
    const real *log_sums;
    int64_t first, last;
} back_row;

INLINE void back_scores(const attention *a, const back_row *r, const chunk *c, const real *outer, score_gradients *s,
                        int has_e) {
    const int64_t bytes = a->width * a->size;
    attention_scores(a, c, r->q, r->first, r->last, s->p, has_e);
    for (int n = 0; n < c->count; n++)
        for (int64_t h = r->first; h < r->last; h++)
            s->d[(h - r->first) * CHUNK + n] =
                attention_dot(a, r->g + h * bytes, c->v[n] + h * bytes, has_e ? c->e[n] + h * bytes : NULL, has_e);
    for (int64_t h = 0; h < r->last - r->first; h++) {
        char *const p = (char *)(s->p + h * CHUNK), *const d = (char *)(s->d + h * CHUNK);
        const real shift = softmax_shift(r->log_sums[r->first + h]);
        EACH_VECTOR(c->count, {
            const int64_t at = t * (int64_t)sizeof(real);
            const vector weights = vector_exp(part_load(p + at, REAL, tail) - shift);
            part_store(p + at, REAL, tail, weights);
            part_store(d + at, REAL, tail, weights * (part_load(d + at, REAL, tail) - outer[h]));
        });
    }
}

/* Stores p and ds for the pass over the columns, and the gradients of b. */
static void back_keep(const attention *a, const back_row *r, const chunk *c, const score_gradients *s) {
    for (int n = 0; a->weights && n < c->count; n++) {
        real *const p = (real *)(void *)a->weights + 2 * a->heads * c->entry[n];
        for (int64_t h = r->first; h < r->last; h++) {
            p[h] = s->p[(h - r->first) * CHUNK + n];
            p[a->heads + h] = s->d[(h - r->first) * CHUNK + n];
        }
    }
    for (int n = 0; a->db.at && n < c->count; n++)
        for (int64_t h = r->first; h < r->last; h++)
            element_store(a->db.at + c->entry[n] * a->db.stride + h * a->size, TYPE, s->d[(h - r->first) * CHUNK + n]);
}

/* Adds to `vectors` vectors of dq, and stores those of de; `from`: their byte offset in a row. */
INLINE void back_add(const attention *a, const back_row *r, const chunk *c, const real *p, const real *d, int64_t from,
                     int tail, real *sums, int has_e, int vectors) {
    vector sum[REGISTERS], q[REGISTERS], g[REGISTERS];
#pragma GCC unroll 4
    for (int k = 0; k < vectors; k++) {
        sum[k] = vector_load((const char *)(sums + k * LANES), REAL);
        q[k] = pass_load(r->q + from + k * LANES * a->size, tail);
        g[k] = pass_load(r->g + from + k * LANES * a->size, tail);
    }
    for (int n = 0; n < c->count; n++) {
        const real weight = a->scale * d[n];
        char *const de = a->de.at ? a->de.at + c->entry[n] * a->de.stride + from : NULL;
#pragma GCC unroll 4
        for (int k = 0; k < vectors; k++) {
            vector x = pass_load(c->k[n] + from + k * LANES * a->size, tail);
            if (has_e) x += pass_load(c->e[n] + from + k * LANES * a->size, tail);
            sum[k] += weight * x;
            if (has_e && de) pass_store(de + k * LANES * a->size, tail, weight * q[k] + p[n] * g[k]);
        }
    }
#pragma GCC unroll 4
    for (int k = 0; k < vectors; k++) vector_store((char *)(sums + k * LANES), REAL, sum[k]);
}

INLINE void back_add_head(const attention *a, const back_row *r, const chunk *c, const score_gradients *s, int64_t h,
                          int64_t element, int64_t width, real *sums, int has_e) {
    const real *const p = s->p + h * CHUNK, *const d = s->d + h * CHUNK;
    EACH_BLOCK(REGISTERS, width, back_add(a, r, c, p, d, (element + i) * a->size, tail, sums + i, has_e, vectors));
}

/* `width` elements of each head, from element `from` on. */
INLINE void back_of_row(const attention *a, int64_t row, int64_t begin, int64_t stop, int64_t first, int64_t last,
                        int64_t from, int64_t width, int has_e) {
    const back_row this_row = {.q = a->q.at + row * a->q.stride,
                               .g = a->d_out.at + row * a->d_out.stride,
                               .out = a->out.at + row * a->out.stride,
                               .log_sums = (const real *)(const void *)(a->log_sums.at + row * a->log_sums.stride),
                               .first = first,
                               .last = last};
    const back_row *const r = &this_row;
    real outer[HEADS], sums[SUMS];
    score_gradients s;
    chunk c;
    const int64_t stride = sums_stride(width), heads = r->last - r->first;
    for (int64_t h = 0; h < heads; h++) {
        const int64_t head = (r->first + h) * a->width * a->size;
        outer[h] = attention_dot(a, r->g + head, r->out + head, NULL, 0);
    }
    for (int64_t i = 0; i < heads * stride; i++) sums[i] = 0;
    for (int64_t t = begin; t < stop; t += CHUNK) {
        chunk_at(a, t, stop, &c);
        back_scores(a, r, &c, outer, &s, has_e);
        if (from == 0) back_keep(a, r, &c, &s);
        for (int64_t h = 0; h < heads && (a->dq.at || a->de.at); h++)
            back_add_head(a, r, &c, &s, h, (r->first + h) * a->width + from, width, sums + h * stride, has_e);
    }
    for (int64_t h = 0; h < heads && a->dq.at; h++)
        attention_store(a, sums + h * stride, 1,
                        a->dq.at + row * a->dq.stride + ((r->first + h) * a->width + from) * a->size, width);
}

/* ------------------------------------------------------------------------------------------ over the columns */

/* Computes `vectors` vectors of dk and dv of a head; `from`: their byte offset in a row. */
INLINE void back_column(const attention *a, int64_t column, int64_t begin, int64_t stop, int64_t head, int64_t from,
                        int tail, int vectors) {
    vector dk[REGISTERS], dv[REGISTERS];
    const int64_t bytes = vectors * (int64_t)LANES * a->size;
#pragma GCC unroll 4
    for (int k = 0; k < vectors; k++) dk[k] = dv[k] = vector_zero();
    for (int64_t t = begin; t < stop; t++) {
        const int64_t row = order_column(&a->order, t), entry = order_entry(&a->order, t);
        const real *const weights = (const real *)(const void *)a->weights + 2 * a->heads * entry + head;
        const real p = weights[0], d = a->scale * weights[a->heads];
        const char *const q = a->q.at + row * a->q.stride + from, *const g = a->d_out.at + row * a->d_out.stride + from;
        if (a->ahead) { /* prefetches the next entries' parts of the same vectors */
            prefetch_bytes(q, bytes, bytes);
            prefetch_bytes(g, bytes, bytes);
        }
#pragma GCC unroll 4
        for (int k = 0; k < vectors; k++) {
            dk[k] += d * pass_load(q + k * LANES * a->size, tail);
            dv[k] += p * pass_load(g + k * LANES * a->size, tail);
        }
    }
#pragma GCC unroll 4
    for (int k = 0; k < vectors; k++) {
        const int64_t to = from + k * LANES * a->size;
        if (a->dk.at) pass_store(a->dk.at + column * a->dk.stride + to, tail, dk[k]);
        if (a->dv.at) pass_store(a->dv.at + column * a->dv.stride + to, tail, dv[k]);
    }
}

INLINE void back_columns(const attention *a, int64_t column, int64_t end, int64_t first, int64_t last) {
    int64_t begin = order_offset(&a->order, column);
    for (; column < end; column++) {
        const int64_t stop = order_offset(&a->order, column + 1);
        for (int64_t h = first; h < last; h++) {
            const int64_t head = h * a->width * a->size;
            EACH_BLOCK(REGISTERS, a->width, back_column(a, column, begin, stop, h, head + i * a->size, tail, vectors));
        }
        begin = stop;
    }
}

/* Rows row .. end - 1, some heads and elements at a time: forward, or backward. */
INLINE void attention_rows(const attention *a, int64_t row, int64_t end, int64_t first, int64_t last, int has_e,
                           int back) {
    const int64_t block = heads_at_once(a);
    int64_t begin = order_offset(&a->order, row);
    for (; row < end; row++) {
        const int64_t stop = order_offset(&a->order, row + 1);
        for (int64_t h = first; h < last; h += block)
            for (int64_t from = 0; from == 0 || from < a->width; from += SUMS) {
                const int64_t last_head = h + block < last ? h + block : last;
                if (back)
                    back_of_row(a, row, begin, stop, h, last_head, from, sums_width(a, from), has_e);
                else
                    attention_row(a, row, begin, stop, h, last_head, from, sums_width(a, from), has_e);
            }
        begin = stop;
    }
}

static void attention_pass(const void *context, int64_t begin, int64_t end, int64_t first, int64_t last) {
    const tamis_attention_job *const job = context;
    const attention a = attention_of(job);
    if (job->pass == TAMIS_ATTENTION_BACK_COLUMNS)
        back_columns(&a, begin, end, first, last);
    else if (job->pass == TAMIS_ATTENTION_BACK_ROWS && a.e.at)
        attention_rows(&a, begin, end, first, last, 1, 1);
    else if (job->pass == TAMIS_ATTENTION_BACK_ROWS)
        attention_rows(&a, begin, end, first, last, 0, 1);
    else if (a.e.at)
        attention_rows(&a, begin, end, first, last, 1, 0);
    else
        attention_rows(&a, begin, end, first, last, 0, 0);
}

#endif
