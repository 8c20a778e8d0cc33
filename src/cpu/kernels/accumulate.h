/*
 * Weighted sums of rows: for each segment, sum = start + sum over its nonzeros t of weight[t] * B_column(t).
 *
 *   start    0, or load_scale * accumulator        (SEGMENT_CONTINUE)
 *   finish   accumulator = sum                     (SEGMENT_KEEP)
 *            or out_row = final_scale * sum + beta * out_row
 *
 * Accumulators hold lanes in the order of runs (vector.h), not of columns. Only this file uses them.
 *
 * A block of up to SUM_BLOCK vectors of the output row stays in registers for the whole segment; wider rows are
 * computed block by block. Narrow blocks keep several sets of sums, so that consecutive multiply-adds do not wait for
 * each other. Rows of up to NARROW_SUMS_MOST elements have their own loops (narrow_sums.h). Moves: a row of B per
 * nonzero, and at most one output row per segment.
 */
#ifndef TAMIS_CPU_KERNELS_ACCUMULATE_H
#define TAMIS_CPU_KERNELS_ACCUMULATE_H

#include "cpu/kernels/dots.h"
#include "cpu/kernels/narrow_sums.h"

#if VECTOR_BYTES == 64 || defined(__aarch64__)
#define SUM_BLOCK 16
#else
#define SUM_BLOCK 8
#endif

#if !defined(TAMIS_KERNEL_F64)
/* Finishes a row of reals whose inputs have 16 bits, from element `first` on: `whole` vectors of a run, put back in
   order, and one of `tail` lanes if that is not 0. It is not inlined, since it runs once per row and there are many
   instances of blocks. */
static __attribute__((noinline)) void finish_reals(const sum_arguments *arguments, const segment *seg, vector *sum,
                                                   tamis_type type, int64_t first, int whole, int tail) {
    char *const out = arguments->out + seg->row * arguments->out_stride + first * (int64_t)sizeof(real);
    for (int k = 0; k < whole; k += 2) {
        if (!run_has_pair(type, k, whole)) continue;
        const vector even = sum[k], odd = sum[k + 1];
        for (int i = 0; i < LANES; i++) {
            sum[k + 2 * i / LANES][2 * i % LANES] = even[i];
            sum[k + 2 * i / LANES][2 * i % LANES + 1] = odd[i];
        }
    }
    for (int k = 0; k < whole; k++) {
        char *const to = out + k * VECTOR_BYTES;
        sum[k] *= seg->final_scale;
        if (arguments->beta != 0) sum[k] += arguments->beta * vector_load(to, REAL);
        vector_store(to, REAL, sum[k]);
    }
    if (tail) {
        char *const to = out + whole * VECTOR_BYTES;
        vector y = seg->final_scale * sum[whole];
        if (arguments->beta != 0) y += arguments->beta * vector_load_tail(to, REAL, tail);
        vector_store_tail(to, REAL, tail, y);
    }
}
#endif

/* `count` vectors of the row from element `first` on; if `masked` is set, the last one is masked to `tail` lanes. */
INLINE void sum_block(const sum_arguments *arguments, const segment *segments, int segment_count, const real *weights,
                      tamis_type type, int wide_columns, int64_t first, int count, int masked, int tail) {
    const int64_t step = LANES * element_bytes(type), b_stride = arguments->b_stride;
    const char *const b = arguments->b + first * element_bytes(type);
    const int sets = count == 1 ? 4 : count <= 4 ? 2 : 1, whole = count - masked;
    for (int s = 0; s < segment_count; s++) {
        const segment *const seg = &segments[s];
        vector sum[SUM_BLOCK];
        if (seg->flags & SEGMENT_CONTINUE) {
            const char *const from = (const char *)(seg->accumulator + first);
            const vector scale = vector_of(seg->load_scale);
#pragma GCC unroll 16
            for (int k = 0; k < count; k++) /* accumulator rows are padded to whole vectors */
                sum[k] = scale * *(const vector_anywhere *)(const void *)(from + k * VECTOR_BYTES);
        } else {
#pragma GCC unroll 16
            for (int k = 0; k < count; k++) sum[k] = vector_zero();
        }
        const char *const columns = column_pointer(arguments->columns, seg->begin, wide_columns);
        const int64_t ahead = arguments->prefetch && seg->begin + seg->count + arguments->prefetch <= arguments->nnz
                                  ? arguments->prefetch
                                  : 0;
        int64_t t = 0;
        if (sets > 1) {
            vector more[3][4];
            for (int q = 1; q < sets; q++)
#pragma GCC unroll 4
                for (int k = 0; k < count; k++) more[q - 1][k] = vector_zero();
            for (; t + sets <= seg->count; t += sets) {
#pragma GCC unroll 4
                for (int q = 0; q < sets; q++) {
                    const char *const row = b + column_at(columns, t + q, wide_columns) * b_stride;
                    const vector w = vector_of(arguments->ones ? (real)1 : weights[t + q]);
                    if (ahead) prefetch_lines(b + column_at(columns, t + q + ahead, wide_columns) * b_stride, count);
#pragma GCC unroll 4
                    for (int k = 0; k < count; k++) {
                        const vector v = masked && k == count - 1 ? vector_load_tail(row + k * step, type, tail)
                                                                  : run_load(row + k * step, type, k, whole);
                        if (q == 0)
                            sum[k] += w * v;
                        else
                            more[q - 1][k] += w * v;
                    }
                }
            }
#pragma GCC unroll 4
            for (int k = 0; k < count; k++) {
                if (sets == 4)
                    sum[k] = (sum[k] + more[0][k]) + (more[1][k] + more[2][k]);
                else
                    sum[k] += more[0][k];
            }
        }
        for (; t < seg->count; t++) {
            const char *const row = b + column_at(columns, t, wide_columns) * b_stride;
            const vector w = vector_of(arguments->ones ? (real)1 : weights[t]);
            if (ahead) prefetch_lines(b + column_at(columns, t + ahead, wide_columns) * b_stride, count);
#pragma GCC unroll 16
            for (int k = 0; k < count; k++)
                sum[k] += w * (masked && k == count - 1 ? vector_load_tail(row + k * step, type, tail)
                                                        : run_load(row + k * step, type, k, whole));
        }
        if (!arguments->ones) weights += seg->count;

        if (seg->flags & SEGMENT_KEEP) {
            char *const to = (char *)(seg->accumulator + first);
#pragma GCC unroll 16
            for (int k = 0; k < count; k++) *(vector_anywhere *)(void *)(to + k * VECTOR_BYTES) = sum[k];
            continue;
        }
#if !defined(TAMIS_KERNEL_F64)
        if (type != REAL && arguments->real_out) {
            vector kept[SUM_BLOCK]; /* `sum` itself stays in registers */
#pragma GCC unroll 16
            for (int k = 0; k < count; k++) kept[k] = sum[k];
            finish_reals(arguments, seg, kept, type, first, whole, masked ? tail : 0);
            continue;
        }
#endif
        char *const out = arguments->out + seg->row * arguments->out_stride + first * element_bytes(type);
        const vector scale = vector_of(seg->final_scale), beta = vector_of(arguments->beta);
        const int read = arguments->beta != 0;
#pragma GCC unroll 16
        for (int k = 0; k < whole; k++) {
            sum[k] *= scale;
            if (read) sum[k] += beta * run_load(out + k * step, type, k, whole);
        }
#pragma GCC unroll 16
        for (int k = 0; k < whole; k++)
            if (k % 2 == 0 || !run_has_pair(type, k, whole)) run_store(out + k * step, type, k, whole, sum + k);
        if (masked) {
            vector y = scale * sum[whole];
            if (read) y += beta * vector_load_tail(out + whole * step, type, tail);
            vector_store_tail(out + whole * step, type, tail, y);
        }
    }
}

/* Blocks whose width is known at compile time; there are instances for 1 to 8 vectors and for SUM_BLOCK. */
INLINE void sum_of_type(const sum_arguments *arguments, const segment *segments, int count, const real *weights,
                        tamis_type type, int wide_columns) {
    if (arguments->width > 0 && arguments->width <= NARROW_SUMS_MOST) {
        narrow_sums(arguments, segments, count, weights, type, wide_columns);
        return;
    }
    int64_t first = 0, left = arguments->width;
    while (left >= SUM_BLOCK * LANES) {
        sum_block(arguments, segments, count, weights, type, wide_columns, first, SUM_BLOCK, 0, 0);
        first += SUM_BLOCK * LANES, left -= SUM_BLOCK * LANES;
    }
#if SUM_BLOCK == 16
    if (left >= 8 * LANES) {
        sum_block(arguments, segments, count, weights, type, wide_columns, first, 8, 0, 0);
        first += 8 * LANES, left -= 8 * LANES;
    }
#endif
    const int tail = (int)(left % LANES);
    if (tail) switch (left / LANES) {
        case 0: sum_block(arguments, segments, count, weights, type, wide_columns, first, 1, 1, tail); return;
        case 1: sum_block(arguments, segments, count, weights, type, wide_columns, first, 2, 1, tail); return;
        case 2: sum_block(arguments, segments, count, weights, type, wide_columns, first, 3, 1, tail); return;
        case 3: sum_block(arguments, segments, count, weights, type, wide_columns, first, 4, 1, tail); return;
        case 4: sum_block(arguments, segments, count, weights, type, wide_columns, first, 5, 1, tail); return;
        case 5: sum_block(arguments, segments, count, weights, type, wide_columns, first, 6, 1, tail); return;
        case 6: sum_block(arguments, segments, count, weights, type, wide_columns, first, 7, 1, tail); return;
        default: sum_block(arguments, segments, count, weights, type, wide_columns, first, 8, 1, tail); return;
        }
    switch (left / LANES) {
    case 0: return;
    case 1: sum_block(arguments, segments, count, weights, type, wide_columns, first, 1, 0, 0); return;
    case 2: sum_block(arguments, segments, count, weights, type, wide_columns, first, 2, 0, 0); return;
    case 3: sum_block(arguments, segments, count, weights, type, wide_columns, first, 3, 0, 0); return;
    case 4: sum_block(arguments, segments, count, weights, type, wide_columns, first, 4, 0, 0); return;
    case 5: sum_block(arguments, segments, count, weights, type, wide_columns, first, 5, 0, 0); return;
    case 6: sum_block(arguments, segments, count, weights, type, wide_columns, first, 6, 0, 0); return;
    default: sum_block(arguments, segments, count, weights, type, wide_columns, first, 7, 0, 0); return;
    }
}

/* The instances, by the width of column indices. */
static void sum_columns_32(const sum_arguments *arguments, const segment *segments, int count, const real *weights) {
    sum_of_type(arguments, segments, count, weights, TAMIS_KERNEL_TYPE, 0);
}
static void sum_columns_64(const sum_arguments *arguments, const segment *segments, int count, const real *weights) {
    sum_of_type(arguments, segments, count, weights, TAMIS_KERNEL_TYPE, 1);
}

static sum_function *sum_function_for(bool wide_columns) { return wide_columns ? sum_columns_64 : sum_columns_32; }

#endif
