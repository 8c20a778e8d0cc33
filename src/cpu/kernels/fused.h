/*
 * Fused: E_row = alpha * sum over the row's nonzeros of edge(s, <A_row, B_column>) * D_column + beta * E_row.
 *
 * Each chunk computes samples (dots.h), then the edge in place (edges.h), then the weighted rows of D (accumulate.h).
 * The chunk size decides what the caches hold. If D is not B, chunks are long: about ten thousand nonzeros read only B,
 * then only D, and each finds in L1 and L2 what neighbouring rows of S have just read. If D is B, chunks are short, so
 * that its rows are still in L1 the second time. The sampled matrix never reaches memory. Moves: a row of B and a row
 * of D per nonzero, each row of A and E once.
 *
 * softmax is online: each piece of a row has its maximum m and its sum l of exp(score - m). If a later piece has a
 * larger maximum, the accumulator is scaled by exp(m_old - m_new) when it is loaded. The division by l comes last.
 */
#ifndef TAMIS_CPU_KERNELS_FUSED_H
#define TAMIS_CPU_KERNELS_FUSED_H

#include "cpu/kernels/sddmm.h"
#include "cpu/kernels/spmm.h"

/* Online softmax: turns the scores of segments, `total` of them, into weights, and updates each row's running (max,
   sum). Exponentials are computed for all rows together, since a row of few scores would wait for its own. States are
   stored at the end, in order: the last row of a chunk may be the one in which the chunk began. */
static void softmax_segments(const tamis_cpu_job *job, segment *segments, int count, real *x, int64_t total) {
    real *scores = x;
    for (int s = 0; s < count; scores += segments[s++].count) {
        segment *const seg = &segments[s];
        softmax_state state =
            seg->flags & SEGMENT_CONTINUE ? *partial_state(seg->accumulator, job->width) : softmax_begin();
        seg->load_scale = softmax_raise(&state, run_max(scores, seg->count));
        seg->final_scale = state.most; /* until the sums are known */
        run_subtract(scores, seg->count, softmax_shift(state.most));
    }
    run_exp(x, x, total, 0);
    scores = x;
    for (int s = 0; s < count; scores += segments[s++].count) {
        segment *const seg = &segments[s];
        softmax_state fresh, *const state = seg->flags ? partial_state(seg->accumulator, job->width) : &fresh;
        const real before = seg->flags & SEGMENT_CONTINUE ? state->sum * seg->load_scale : 0;
        *state = (softmax_state){seg->final_scale, before + run_sum(scores, seg->count)};
        if (!(seg->flags & SEGMENT_KEEP)) seg->final_scale = softmax_finish(job, seg->row, *state);
    }
}

/* Adds the weighted rows of D of a chunk, row by row; consecutive whole rows need no list. */
static void fused_sums(sum_arguments *arguments, const segment *segments, int count, const real *x, sum_function *sum) {
    for (int s = 0; s < count;) {
        int e = s;
        int64_t nonzeros = 0;
        while (e < count && !segments[e].flags) nonzeros += segments[e++].count;
        if (e > s) {
            arguments->row = segments[s].row;
            sum(arguments, NULL, e - s, x);
            x += nonzeros;
            s = e;
        }
        if (e == count) return;
        sum(arguments, &segments[e], 1, x);
        x += segments[e].count;
        s = e + 1;
    }
}

INLINE int64_t fused_samples_bytes(int64_t chunk) { return ((chunk + 8) * (int64_t)sizeof(real) + 63) / 64 * 64; }

INLINE void fused_range(const tamis_cpu_job *job, const tamis_cpu_range *range, tamis_type type, dot_function *dots) {
    real *const x = range->chunk;
    segment *const segments = (segment *)(void *)((char *)range->chunk + fused_samples_bytes(job->chunk));
    sum_function *const sum = sum_function_for(job->wide_columns);
    const dot_arguments dot = dot_arguments_of(job, type);
    sum_arguments arguments = sum_arguments_of(job, job->d, job->d_stride, 0);
    const edge_arguments edge = edge_arguments_of(job);
    const bool rows = !job->tiles && job->edge != TAMIS_EDGE_SOFTMAX && job->width > NARROW_SUMS_MOST;
    walk w = walk_start(job, range, !job->tiles, element_bytes(type));
    w.most = job->segments;
    while (walk_next_block(&w)) {
        int64_t nonzeros;
        int count;
        clear_block(job, range, &w);
        while ((count = walk_fill(&w, segments, job->chunk, &nonzeros)) > 0) {
            place_segments(job, range, &w, segments, count);
            dots(&dot, segments, count, x);
            edge_segments(&edge, job, type, segments, count, x);
            if (job->edge == TAMIS_EDGE_SOFTMAX) {
                real *scores = x;
                if (!job->tiles) softmax_segments(job, segments, count, x, nonzeros);
                for (int s = 0; job->tiles && s < count;
                     scores += segments[s++].count) /* a row may have several segments */
                    softmax_segments(job, &segments[s], 1, scores, segments[s].count);
            }
            if (rows)
                fused_sums(&arguments, segments, count, x, sum);
            else
                sum(&arguments, segments, count, x);
        }
        finish_block(job, range, &w, &arguments, sum);
    }
    sum_fence(&arguments);
}

#endif
