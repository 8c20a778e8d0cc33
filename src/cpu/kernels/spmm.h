/*
 * SpMM: C_row = alpha * sum over the row's nonzeros of s * B_column + beta * C_row, over a range.
 *
 * The output row (or a block of it) stays in registers for the whole row of S (accumulate.h). Moves: a row of B per
 * nonzero, each row of C once. If threads share a row, each stores its partial sum in head or tail. With tiles, the
 * sums of the rows of a block stay in the thread's scratch, which L2 holds, and are written once at the end of the
 * block.
 */
#ifndef TAMIS_CPU_KERNELS_SPMM_H
#define TAMIS_CPU_KERNELS_SPMM_H

#include "cpu/kernels/accumulate.h"
#include "cpu/kernels/edges.h"
#include "cpu/kernels/walk.h"

/* Reals of a partial row: the sums, padded to whole vectors, then a vector with softmax's maximum and sum. */
INLINE int64_t partial_reals(int64_t width) { return (width + LANES - 1) / LANES * LANES + LANES; }

static int64_t partial_bytes(int64_t width) { return (partial_reals(width) * (int64_t)sizeof(real) + 63) / 64 * 64; }

INLINE softmax_state *partial_state(real *partial, int64_t width) {
    return (softmax_state *)(void *)(partial + partial_reals(width) - LANES);
}

static void partial_clear(real *partial, int64_t width) {
    memset(partial, 0, (size_t)partial_reals(width) * sizeof(real));
    *partial_state(partial, width) = softmax_begin();
}

/* True if rows of the output are whole cache lines. */
static int sum_streams(const tamis_cpu_job *job) {
    const int64_t bytes = job->width * (int64_t)sizeof(real);
    return TAMIS_KERNEL_TYPE == REAL && AVX_BYTES == 64 && job->stream && bytes % 64 == 0 &&
           job->out_stride % 64 == 0 && (uintptr_t)job->out % 64 == 0;
}

static sum_arguments sum_arguments_of(const tamis_cpu_job *job, const char *b, int64_t b_stride, int ones) {
    return (sum_arguments){.b = b,
                           .b_stride = b_stride,
                           .columns = job->columns,
                           .out = job->out,
                           .out_stride = job->out_stride,
                           .real_out = job->real_out,
                           .beta = (real)job->beta,
                           .width = job->width,
                           .prefetch = job->prefetch,
                           .nnz = job->nnz,
                           .prefetch_end = job->nnz - job->prefetch,
                           .ones = ones,
                           .stream = sum_streams(job),
                           .offsets = job->offsets,
                           .wide_offsets = job->wide_offsets,
                           .alpha = (real)job->alpha};
}

/* Sets each segment's accumulator: the cut row's partial sum, with tiles the block's row, or the carry. */
static void place_segments(const tamis_cpu_job *job, const tamis_cpu_range *range, const walk *w, segment *segments,
                           int count) {
    const int64_t stride = partial_bytes(job->width) / (int64_t)sizeof(real);
    if (!job->tiles && !range->head_cut && !range->tail_cut) {
        for (int s = 0; s < count; s++) segments[s].final_scale = (real)job->alpha;
        return;
    }
    for (int s = 0; s < count; s++) {
        segments[s].final_scale = (real)job->alpha;
        real *const partial = cut_row_partial(range, segments[s].row);
        if (partial) {
            segments[s].accumulator = partial;
            segments[s].flags |= SEGMENT_KEEP;
        } else if (job->tiles) {
            segments[s].accumulator = (real *)range->block + (segments[s].row - w->row_begin) * stride;
        }
    }
}

static void clear_block(const tamis_cpu_job *job, const tamis_cpu_range *range, const walk *w) {
    if (!job->tiles) return;
    const int64_t stride = partial_bytes(job->width) / (int64_t)sizeof(real);
    for (int64_t row = w->row_begin; row < w->row_end; row++) {
        real *const cut = cut_row_partial(range, row);
        partial_clear(cut ? cut : (real *)range->block + (row - w->row_begin) * stride, job->width);
    }
}

/* With tiles: writes the rows of the block that lie within the range. */
static void finish_block(const tamis_cpu_job *job, const tamis_cpu_range *range, const walk *w,
                         const sum_arguments *arguments, sum_function *sum) {
    if (!job->tiles) return;
    const int64_t stride = partial_bytes(job->width) / (int64_t)sizeof(real);
    for (int64_t row = w->row_begin; row < w->row_end; row++) {
        if (cut_row_partial(range, row)) continue;
        real *const partial = (real *)range->block + (row - w->row_begin) * stride;
        segment all = {.row = row,
                       .accumulator = partial,
                       .load_scale = 1,
                       .final_scale = (real)job->alpha,
                       .flags = SEGMENT_CONTINUE};
        if (job->edge == TAMIS_EDGE_SOFTMAX)
            all.final_scale = softmax_finish(job, row, *partial_state(partial, job->width));
        sum(arguments, &all, 1, NULL);
    }
}

/* Converts the values of a chunk's segments to reals, run by run. */
INLINE void widen_values(const char *values, const segment *segments, int count, real *to, tamis_type type) {
    const int64_t size = element_bytes(type);
    for (int s = 0; s < count;) {
        int64_t length;
        const int e = run_end(segments, count, s, &length);
        const char *const from = values + segments[s].begin * size;
        EACH_VECTOR(length, part_store((char *)(to + t), REAL, tail, part_load(from + t * size, type, tail)));
        to += length;
        s = e;
    }
}

/* Row by row, with values in place: whole rows need no list of segments; a cut row is one segment. */
static void spmm_rows(const tamis_cpu_job *job, const tamis_cpu_range *range) {
    sum_function *const sum = sum_function_for(job->wide_columns);
    sum_arguments arguments = sum_arguments_of(job, job->b, job->b_stride, job->values == NULL);
    const real *const values = (const real *)(const void *)job->values;
    int64_t row = range->row_begin, begin = range->nonzero_begin;
    while (row < range->row_end) {
        real *const partial = cut_row_partial(range, row);
        const int64_t rows = partial ? 1 : range->row_end - row - range->tail_cut;
        const int64_t after = offset_at(job, row + rows);
        const int64_t next = after < range->nonzero_end ? after : range->nonzero_end;
        const segment cut = {.row = row,
                             .begin = begin,
                             .count = next - begin,
                             .accumulator = partial,
                             .load_scale = 1,
                             .flags = SEGMENT_KEEP};
        arguments.row = row;
        sum(&arguments, partial ? &cut : NULL, rows, values ? values + begin : NULL);
        row += rows;
        begin = next;
    }
    sum_fence(&arguments);
}

/* Finishes a row that several threads share: adds their sums in the order of the threads. */
static void merge_row(const tamis_cpu_job *job, int64_t row, void *const *partials, int count) {
    sum_function *const sum = sum_function_for(job->wide_columns);
    const sum_arguments arguments = sum_arguments_of(job, job->b, job->b_stride, 1);
    const int64_t padded = partial_reals(job->width) - LANES;
    real *const total = partials[0];
    real final_scale = (real)job->alpha;
    if (job->edge == TAMIS_EDGE_SOFTMAX) {
        const softmax_state all = softmax_merge(partials, partial_reals(job->width) - LANES, count);
        for (int i = 0; i < count; i++) {
            real *const part = partials[i], factor = softmax_factor(partial_state(part, job->width)->most, all.most);
            for (int64_t k = 0; k < padded; k++) part[k] *= factor;
        }
        final_scale = softmax_finish(job, row, all);
    }
    for (int i = 1; i < count; i++) {
        const real *const part = partials[i];
        for (int64_t k = 0; k < padded; k++) total[k] += part[k];
    }
    const segment all = {
        .row = row, .accumulator = total, .load_scale = 1, .final_scale = final_scale, .flags = SEGMENT_CONTINUE};
    sum(&arguments, &all, 1, NULL);
}

/* out = scale * sums + beta * out, elements in the order of columns. */
INLINE void finish_row(char *out, tamis_type type, const real *sums, int64_t width, real scale, real beta) {
    for (int64_t k = 0; k < width; k += LANES) {
        const int tail = width - k < LANES ? (int)(width - k) : 0;
        char *const to = out + k * element_bytes(type);
        vector y = scale * *(const vector_anywhere *)(const void *)(sums + k);
        if (beta != 0) y += beta * part_load(to, type, tail);
        part_store(to, type, tail, y);
    }
}

/* Writes a finished row of C or E. `scale` divides by the sum of softmax's exponentials. */
INLINE void finish_output(const tamis_cpu_job *job, int64_t row, const real *sums, real scale) {
    char *const out = job->out + row * job->out_stride;
    if (TAMIS_KERNEL_TYPE != REAL && job->real_out)
        finish_row(out, REAL, sums, job->width, scale, (real)job->beta);
    else
        finish_row(out, TAMIS_KERNEL_TYPE, sums, job->width, scale, (real)job->beta);
}

#endif
