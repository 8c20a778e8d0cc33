/*
 * Attention of one query per head to a cache of keys and values (online softmax). Positions are processed in chunks,
 * whose keys and values are widened once for all query heads that share them, and stay in L1. Moves: a key and a value
 * per position; the next chunk's are prefetched, since they may be a page apart.
 *
 * For each query head, a part of a cache stores its largest score, its sum of exponentials and its sums of values; the
 * parts are merged in order.
 */
#ifndef TAMIS_CPU_MESSAGES_CACHED_H
#define TAMIS_CPU_MESSAGES_CACHED_H

#include "cpu/messages/attention.h"

/* Query heads at once; the longest vectors, so that all buffers fit on a stack of 128 KiB. */
enum { CACHED_HEADS = 8, CACHED_LONGEST = sizeof(real) == sizeof(double) ? 256 : 512 };

/* Keys or values of a key head: base address, and strides in bytes. */
typedef struct cached_rows {
    const char *at;
    int64_t page, position, width; /* width: elements */
    int64_t padded;                /* a multiple of LANES */
    int whole;                     /* 1: used in place, without widening */
} cached_rows;

typedef struct cached {
    const tamis_cached_job *job;
    cached_rows k, v;
    const char *table; /* page table of the sequence; NULL: none */
    int64_t sequence;
    int wide_table, shift;
} cached;

static cached_rows cached_rows_of(const tamis_cached_vectors *x, int64_t key_head, int64_t width) {
    const int64_t size = element_bytes(TYPE);
    return (cached_rows){.at = pass_address(x->at) + key_head * x->head * size,
                         .page = x->sequence * size,
                         .position = x->position * size,
                         .width = width,
                         .padded = (width + LANES - 1) / LANES * LANES,
                         .whole = TYPE == REAL && width % LANES == 0};
}

static cached cached_of(const tamis_cached_job *job, int64_t sequence, int64_t key_head) {
    const tamis_cached_attention_options *const o = &job->o;
    const char *const table = pass_address(job->table);
    cached c = {.job = job,
                .k = cached_rows_of(&job->k, key_head, o->inner),
                .v = cached_rows_of(&job->v, key_head, o->width),
                .sequence = sequence,
                .wide_table = o->table_type == TAMIS_I64};
    if (table) c.table = column_pointer(table, sequence * o->table_stride, c.wide_table);
    while (table && (int64_t)1 << c.shift < o->page) c.shift++;
    return c;
}

/* Address of a position: its page times `page`, plus its place in the page times `position`. */
INLINE const char *cached_at(const cached *c, const cached_rows *x, int64_t position) {
    if (!c->table) return x->at + c->sequence * x->page + position * x->position;
    const int64_t page = column_at(c->table, position >> c->shift, c->wide_table), last = c->job->o.pages - 1;
    return x->at +
           (page < 0      ? 0
            : page > last ? last
                          : page) *
               x->page +
           (position & (((int64_t)1 << c->shift) - 1)) * x->position;
}

/* Widens a vector to reals, zero-padded to `padded`. */
INLINE void cached_widen(real *to, const char *from, int64_t width) {
    EACH_VECTOR(width, vector_store((char *)(to + t), REAL, pass_load(from + t * element_bytes(TYPE), tail)));
}

/* Loads the vectors of positions at .. at + count - 1, padding with the last one; prefetches the next chunk's. */
INLINE void cached_chunk(const cached *c, const cached_rows *x, int64_t at, int count, int64_t end, real *room,
                         const real **rows) {
    for (int n = 0; n < CHUNK; n++) {
        const char *const row = cached_at(c, x, at + (n < count ? n : count - 1));
        rows[n] = x->whole ? (const real *)(const void *)row : room + n * x->padded;
        if (!x->whole && n < count) cached_widen(room + n * x->padded, row, x->width);
        if (!x->whole && n >= count) rows[n] = rows[count - 1];
        if (at + CHUNK + n < end) prefetch_bytes(cached_at(c, x, at + CHUNK + n), 0, x->width * element_bytes(TYPE));
    }
}

/* Scores of CHUNK keys. */
INLINE void cached_scores(const real *q, const real *const *rows, int64_t padded, real scale, real *scores) {
    for (int n = 0; n < CHUNK; n += 8) {
        vector sums[8];
#pragma GCC unroll 8
        for (int g = 0; g < 8; g++) sums[g] = vector_zero();
        for (int64_t i = 0; i < padded; i += LANES) {
            const vector a = vector_load((const char *)(q + i), REAL);
#pragma GCC unroll 8
            for (int g = 0; g < 8; g++) sums[g] += a * vector_load((const char *)(rows[n + g] + i), REAL);
        }
        vector_sums_of_8(sums, scores + n);
    }
    for (int i = 0; i < CHUNK; i += LANES)
        vector_store((char *)(scores + i), REAL, scale * vector_load((const char *)(scores + i), REAL));
}

/* Adds `count` weighted values to `vectors` vectors of sums, from element `from` on. */
INLINE void cached_add(const real *const *rows, const real *weights, int count, real again, int64_t from, real *sums,
                       int vectors) {
    vector sum[CACHED_HEADS];
#pragma GCC unroll 8
    for (int k = 0; k < vectors; k++) sum[k] = again * vector_load((const char *)(sums + from + k * LANES), REAL);
    for (int n = 0; n < count; n++) {
#pragma GCC unroll 8
        for (int k = 0; k < vectors; k++)
            sum[k] += weights[n] * vector_load((const char *)(rows[n] + from + k * LANES), REAL);
    }
#pragma GCC unroll 8
    for (int k = 0; k < vectors; k++) vector_store((char *)(sums + from + k * LANES), REAL, sum[k]);
}

INLINE void cached_add_row(const real *const *rows, const real *weights, int count, real again, int64_t padded,
                           real *sums) {
    EACH_BLOCK(CACHED_HEADS, padded, (void)tail; cached_add(rows, weights, count, again, i, sums, vectors));
}

/* Processes positions begin .. end - 1 of a sequence and key head, for query heads first .. first + heads - 1; per
   head, to[0] and to[1] are the largest score and the sum of exponentials; heads are width + 2 numbers apart. */
static void cached_heads(const cached *c, int64_t first, int heads, int64_t begin, int64_t end, real *to) {
    real q[CACHED_HEADS * CACHED_LONGEST], sums[CACHED_HEADS * CACHED_LONGEST], room[2][CHUNK * CACHED_LONGEST];
    const tamis_cached_attention_options *const o = &c->job->o;
    const real *keys[CHUNK], *values[CHUNK];
    softmax_state states[CACHED_HEADS];
    for (int h = 0; h < heads; h++) {
        const int64_t place = c->sequence * c->job->q.sequence + (first + h) * c->job->q.head;
        cached_widen(q + h * CACHED_LONGEST, pass_address(c->job->q.at) + place * element_bytes(TYPE), o->inner);
        states[h] = softmax_begin();
        for (int64_t i = 0; i < c->v.padded; i++) sums[h * CACHED_LONGEST + i] = 0;
    }
    for (int64_t at = begin; at < end; at += CHUNK) {
        const int count = end - at < CHUNK ? (int)(end - at) : CHUNK;
        cached_chunk(c, &c->k, at, count, end, room[0], keys);
        cached_chunk(c, &c->v, at, count, end, room[1], values);
        for (int h = 0; h < heads; h++) {
            real scores[CHUNK];
            cached_scores(q + h * CACHED_LONGEST, keys, c->k.padded, (real)o->scale, scores);
            const real again = attention_weights(&states[h], scores, count);
            cached_add_row(values, scores, count, again, c->v.padded, sums + h * CACHED_LONGEST);
        }
    }
    for (int h = 0; h < heads; h++, to += o->width + 2) {
        memcpy(to, &states[h], sizeof states[h]);
        memcpy(to + 2, sums + h * CACHED_LONGEST, (size_t)o->width * sizeof *to);
    }
}

/* The same for all query heads of the key head. */
static void cached_part(const tamis_cached_job *job, int64_t sequence, int64_t key_head, int64_t begin, int64_t end,
                        void *parts) {
    const int64_t shared = job->o.heads / job->o.key_heads;
    const cached c = cached_of(job, sequence, key_head);
    real *to = parts;
    for (int64_t h = 0; h < shared; h += CACHED_HEADS, to += CACHED_HEADS * (job->o.width + 2))
        cached_heads(&c, key_head * shared + h, shared - h < CACHED_HEADS ? (int)(shared - h) : CACHED_HEADS, begin,
                     end, to);
}

/* Merges `count` parts of a query head, which are `apart` numbers apart, and stores its result in `type`. */
INLINE void cached_merge_as(const tamis_cached_job *job, int64_t sequence, int64_t head, const real *parts,
                            int64_t apart, int64_t count, tamis_type type) {
    real merged[CACHED_LONGEST] = {0};
    softmax_state all = softmax_begin();
    const int64_t width = job->o.width;
    char *const out =
        pass_address(job->out.at) + (sequence * job->out.sequence + head * job->out.head) * element_bytes(type);
    for (int64_t p = 0; p < count; p++) all.most = parts[p * apart] > all.most ? parts[p * apart] : all.most;
    for (int64_t p = 0; p < count; p++) {
        const real *const part = parts + p * apart;
        const real factor = softmax_factor(part[0], all.most);
        all.sum += factor * part[1];
        for (int64_t i = 0; i < width; i++) merged[i] += factor * part[2 + i];
    }
    for (int64_t i = 0; i < width; i++)
        element_store(out + i * element_bytes(type), type, merged[i] / softmax_divisor(all.sum));
    real *const log_sums = (real *)(void *)pass_address(job->log_sums);
    if (log_sums) log_sums[sequence * job->o.heads + head] = softmax_log_sum(&all);
}

static void cached_merge(const tamis_cached_job *job, int64_t sequence, int64_t head, const void *parts, int64_t apart,
                         int64_t count) {
    if (job->o.output_type == TYPE)
        cached_merge_as(job, sequence, head, parts, apart, count, TYPE);
    else
        cached_merge_as(job, sequence, head, parts, apart, count, REAL);
}

#endif
