/*
 * SDDMM: p[t] = alpha * edge(s[t], <A_row, B_column>) + beta * p[t] over a range of nonzeros.
 *
 * It takes a chunk of at most TAMIS_CPU_CHUNK samples at a time: dot products (dots.h), edge (edges.h), store, all in
 * L1. Moves: a row of B per nonzero, from any cache or memory, a row of A per segment, and columns, values and p once.
 * It suits every matrix; with tiles it reads B from L2 or L1 instead of L3 or memory.
 *
 * With softmax it only stores the scores, in job->samples. softmax_rows then computes whole rows of p from them, since
 * several threads may share a row.
 */
#ifndef TAMIS_CPU_KERNELS_SDDMM_H
#define TAMIS_CPU_KERNELS_SDDMM_H

#include "cpu/kernels/dots.h"
#include "cpu/kernels/edges.h"
#include "cpu/kernels/walk.h"

static dot_arguments dot_arguments_of(const tamis_cpu_job *job, tamis_type type) {
    const int64_t row_bytes = job->inner * element_bytes(type);
    return (dot_arguments){.a = job->a,
                           .b = job->b,
                           .a_stride = job->a_stride,
                           .b_stride = job->b_stride,
                           .columns = job->columns,
                           .vectors = job->inner / DOT_LANES,
                           .tail = (int)(job->inner % DOT_LANES),
                           .prefetch = job->prefetch,
                           .nnz = job->nnz,
                           .lines = (row_bytes + 63) / 64,
                           .far_a = job->rows * row_bytes > DOT_FAR_A,
                           .offsets = job->offsets,
                           .wide_offsets = job->wide_offsets};
}

/* Applies the edge to a chunk in place, run by run. */
static void edge_segments(const edge_arguments *edge, tamis_type type, const segment *segments, int count, real *x) {
    for (int s = 0; s < count;) {
        int64_t length;
        const int e = run_end(segments, count, s, &length);
        edge_run(edge, type, x, segments[s].begin, length);
        x += length;
        s = e;
    }
}

static void sddmm_store(const tamis_cpu_job *job, tamis_type type, const segment *segments, int count, const real *x) {
    const bool softmax = job->edge == TAMIS_EDGE_SOFTMAX;
    for (int s = 0; s < count;) {
        int64_t length;
        const int e = run_end(segments, count, s, &length);
        if (softmax)
            memcpy((real *)job->samples + segments[s].begin, x, (size_t)length * sizeof(real));
        else
            store_samples(job, type, segments[s].begin, x, length);
        x += length;
        s = e;
    }
}

/* Row by row without a list (dots.h): samples stored as reals go to their place at once, and the edge finds them in
   L1. */
static void sddmm_rows(const tamis_cpu_job *job, const tamis_cpu_range *range, tamis_type type, dot_arguments arguments,
                       dot_rows_function *dots) {
    real x[TAMIS_CPU_CHUNK + 8];
    const edge_arguments edge = edge_arguments_of(job);
    const bool softmax = job->edge == TAMIS_EDGE_SOFTMAX;
    const bool in_place = softmax || (job->beta == 0 && (type == REAL || job->real_out));
    real *const place = softmax ? job->samples : (real *)(void *)job->out;
    arguments.row = range->row_begin;
    for (int64_t n, t = range->nonzero_begin; t < range->nonzero_end; t += n) {
        const int64_t left = range->nonzero_end - t;
        n = left < job->chunk ? left : job->chunk;
        real *const to = in_place ? place + t : x;
        arguments.begin = t;
        arguments.row = dots(&arguments, n, to);
        edge_run(&edge, type, to, t, n);
        if (!in_place || (!softmax && job->alpha != 1)) store_samples(job, type, t, to, n);
    }
}

/* ------------------------------------------------------------------------------------------ row softmax of p */

/* Adds a piece of a row to its state. */
INLINE void softmax_add(softmax_state *state, const real *x, int64_t n) {
    real exponentials[TAMIS_CPU_CHUNK + 8];
    for (int64_t t = 0; t < n; t += TAMIS_CPU_CHUNK)
        softmax_piece(state, exponentials, x + t, n - t < TAMIS_CPU_CHUNK ? n - t : TAMIS_CPU_CHUNK);
}

INLINE void softmax_write(const tamis_cpu_job *job, tamis_type type, softmax_state state, int64_t begin, int64_t n) {
    real exponentials[TAMIS_CPU_CHUNK + 8];
    const real *const x = (const real *)job->samples + begin;
    const real sum = softmax_divisor(state.sum);
    for (int64_t t = 0; t < n; t += TAMIS_CPU_CHUNK) {
        const int64_t length = n - t < TAMIS_CPU_CHUNK ? n - t : TAMIS_CPU_CHUNK;
        run_exp(exponentials, x + t, length, softmax_shift(state.most));
        for (int64_t i = 0; i < length; i++) exponentials[i] /= sum;
        store_samples(job, type, begin + t, exponentials, length);
    }
}

INLINE void softmax_rows_range(const tamis_cpu_job *job, const tamis_cpu_range *range, tamis_type type, int stage) {
    for (int64_t row = range->row_begin; row < range->row_end; row++) {
        int64_t begin = offset_at(job, row), end = offset_at(job, row + 1);
        if (begin < range->nonzero_begin) begin = range->nonzero_begin;
        if (end > range->nonzero_end) end = range->nonzero_end;
        softmax_state whole, *const cut = (softmax_state *)(void *)cut_row_partial(range, row),
                                    *const state = cut ? cut : &whole;
        if (stage == 1) {
            if (cut && end > begin) softmax_write(job, type, *state, begin, end - begin);
            continue;
        }
        *state = softmax_begin();
        if (end > begin) softmax_add(state, (const real *)job->samples + begin, end - begin);
        if (cut) continue;
        softmax_finish(job, row, *state);
        if (end > begin) softmax_write(job, type, *state, begin, end - begin);
    }
}

static void merge_softmax(const tamis_cpu_job *job, int64_t row, void *const *partials, int count) {
    const softmax_state all = softmax_merge(partials, 0, count);
    for (int i = 0; i < count; i++) *(softmax_state *)partials[i] = all;
    softmax_finish(job, row, all);
}

#endif
