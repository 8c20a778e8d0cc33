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
        const softmax_state state =
            seg->flags & SEGMENT_CONTINUE ? *partial_state(seg->accumulator, job->width) : softmax_begin();
        const real most = softmax_most(&state, run_max(scores, seg->count));
        seg->load_scale = softmax_again(&state, most);
        seg->final_scale = most; /* until the sums are known */
        run_subtract(scores, seg->count, softmax_shift(most));
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

/* True if values are already reals and in order: SpMM then reads them in place, for rows of any length. */
INLINE bool values_in_place(const tamis_cpu_job *job) {
    return !job->tiles && (TAMIS_KERNEL_TYPE == REAL || job->real_values || !job->values);
}

/* Any range, chunk by chunk in the order of a walk: samples and their edge, if there are `dots`, else S's values; then
   weighted sums, or with `sums` = 0 the samples themselves. `segments` and `x` hold a chunk. */
static void walk_chunks(const tamis_cpu_job *job, const tamis_cpu_range *range, dot_function *dots, int sums,
                        segment *segments, int64_t most, real *x) {
    const tamis_type type = TAMIS_KERNEL_TYPE;
    const bool softmax = job->edge == TAMIS_EDGE_SOFTMAX, real_values = type == REAL || job->real_values;
    const bool in_place = !dots && values_in_place(job);
    const int64_t limit = in_place && !job->chunks_sums ? INT64_MAX / 2 : job->chunk;
    const bool rows = dots && !job->tiles && !softmax && job->width > NARROW_SUMS_MOST;
    const dot_arguments dot = dot_arguments_of(job, type);
    const edge_arguments edge = edge_arguments_of(job);
    sum_function *const sum = sum_function_for(job->wide_columns);
    sum_arguments arguments = dots ? sum_arguments_of(job, job->d, job->d_stride, 0)
                                   : sum_arguments_of(job, job->b, job->b_stride, job->values == NULL);
    walk w =
        walk_start(job, range, sums && !job->tiles, !dots && real_values ? (int64_t)sizeof(real) : element_bytes(type));
    w.most = most;
    while (walk_next_block(&w)) {
        int64_t nonzeros;
        int count;
        if (sums) clear_block(job, range, &w);
        while ((count = walk_fill(&w, segments, limit, &nonzeros)) > 0) {
            const real *weights = x;
            if (sums) place_segments(job, range, &w, segments, count);
            if (dots) {
                dots(&dot, segments, count, x);
                edge_segments(&edge, type, segments, count, x);
            } else if (in_place) {
                weights = job->values ? (const real *)(const void *)job->values + segments[0].begin : NULL;
            } else if (job->values) {
                widen_values(job->values, segments, count, x, real_values ? REAL : type);
            }
            if (!sums) {
                sddmm_store(job, type, segments, count, x);
                continue;
            }
            if (dots && softmax && !job->tiles) softmax_segments(job, segments, count, x, nonzeros);
            real *scores = x;
            for (int s = 0; dots && softmax && job->tiles && s < count; scores += segments[s++].count)
                softmax_segments(job, &segments[s], 1, scores, segments[s].count); /* a row may have several segments */
            if (rows)
                fused_sums(&arguments, segments, count, x, sum);
            else
                sum(&arguments, segments, count, weights);
        }
        if (sums) finish_block(job, range, &w, &arguments, sum);
    }
    sum_fence(&arguments);
}

static void fused_range(const tamis_cpu_job *job, const tamis_cpu_range *range, dot_function *dots) {
    walk_chunks(job, range, dots, 1, (segment *)(void *)((char *)range->chunk + fused_samples_bytes(job->chunk)),
                job->segments, range->chunk);
}

static void sddmm_range(const tamis_cpu_job *job, const tamis_cpu_range *range) {
    segment segments[WALK_SEGMENTS];
    real x[TAMIS_CPU_CHUNK + 8];
    const dot_arguments arguments = dot_arguments_of(job, TAMIS_KERNEL_TYPE);
    dot_rows_function *const rows = job->tiles || job->wide_columns ? NULL : dot_rows_function_of(&arguments);
    if (rows)
        sddmm_rows(job, range, TAMIS_KERNEL_TYPE, arguments, rows);
    else
        walk_chunks(job, range, dot_function_for(job->wide_columns), 0, segments, WALK_SEGMENTS, x);
}

static void spmm_any(const tamis_cpu_job *job, const tamis_cpu_range *range) {
    segment segments[WALK_SEGMENTS];
    real x[TAMIS_CPU_CHUNK + LANES];
    if (values_in_place(job) && !job->chunks_sums && job->width > NARROW_SUMS_MOST)
        spmm_rows(job, range);
    else
        walk_chunks(job, range, NULL, 1, segments, WALK_SEGMENTS, x);
}

#endif
