/*
 * The explicit-vector mapping of Zubair, Bauinger: Sparse Matrix Kernels on Intel Max Series GPU, s.3 and 4, on a CPU.
 * NT members share a row of S. Each takes ceil(nnz of the row / NT) consecutive nonzeros in chunks of VLC. The row of A
 * stays in vectors, and each nonzero is one vector product and one reduction. The inner loop is unrolled, and the
 * column indices of the next chunk are prefetched.
 *
 * A member of the paper's work-group is a work item of a thread here. SpMM and the fused product use NT = 1, as in the
 * paper, and run through spmm.h and fused.h with chunks of VLC; only the dot product of this file is specific to it.
 */
#ifndef TAMIS_LAB_CPU_ESIMD_ROW_SIMD_KERNELS_H
#define TAMIS_LAB_CPU_ESIMD_ROW_SIMD_KERNELS_H

#include "cpu/kernels/fused.h"
#include "cpu/kernels/sddmm.h"
#include "cpu/kernels/spmm.h"

INLINE vector simd_multiply_add(vector sum, const char *a, const char *b, tamis_type type) {
    return dot_multiply_add(sum, dot_load(a, type, 0, 1), dot_load(b, type, 0, 1));
}

INLINE real simd_dot(const char *a, const char *b, const dot_arguments *arguments, tamis_type type) {
    const int64_t step = DOT_LANES * element_bytes(type);
    vector first = vector_zero(), second = vector_zero();
    int64_t k = 0;
    for (; k + 2 <= arguments->vectors; k += 2) {
        first = simd_multiply_add(first, a + k * step, b + k * step, type);
        second = simd_multiply_add(second, a + (k + 1) * step, b + (k + 1) * step, type);
    }
    if (k < arguments->vectors) first = simd_multiply_add(first, a + k * step, b + k * step, type), k++;
    if (arguments->tail)
        second = dot_multiply_add(second, dot_load_tail(a + k * step, type, arguments->tail),
                                  dot_load_tail(b + k * step, type, arguments->tail));
    return vector_sum(first + second);
}

INLINE void dots_simd(const dot_arguments *arguments, const segment *segments, int count, real *x, tamis_type type,
                      int wide_columns) {
    for (int s = 0; s < count; s++) {
        const segment *const seg = &segments[s];
        const char *const a = arguments->a + seg->row * arguments->a_stride;
        const char *const columns = column_pointer(arguments->columns, seg->begin, wide_columns);
        __builtin_prefetch(column_pointer(columns, seg->count, wide_columns), 0, 3);
#pragma GCC unroll 4
        for (int64_t t = 0; t < seg->count; t++)
            x[t] =
                simd_dot(a, arguments->b + column_at(columns, t, wide_columns) * arguments->b_stride, arguments, type);
        x += seg->count;
    }
}

/* The instances, by the width of column indices. */
static void simd_columns_32(const dot_arguments *arguments, const segment *segments, int count, real *x) {
    dots_simd(arguments, segments, count, x, TAMIS_KERNEL_TYPE, 0);
}
static void simd_columns_64(const dot_arguments *arguments, const segment *segments, int count, real *x) {
    dots_simd(arguments, segments, count, x, TAMIS_KERNEL_TYPE, 1);
}

static dot_function *simd_function_for(bool wide_columns) { return wide_columns ? simd_columns_64 : simd_columns_32; }

/* Items (row, member); the members of a row are consecutive. */
static void row_simd_sddmm(const tamis_cpu_job *job, const tamis_cpu_range *range) {
    real x[TAMIS_CPU_CHUNK + 8];
    const int64_t members = *(const int64_t *)job->state;
    const dot_arguments arguments = dot_arguments_of(job, TAMIS_KERNEL_TYPE);
    const edge_arguments edge = edge_arguments_of(job);
    dot_function *const dots = simd_function_for(job->wide_columns);
    for (int64_t item = range->row_begin * members; item < range->row_end * members; item++) {
        const int64_t row = item / members, row_end = offset_at(job, row + 1);
        const int64_t share = (row_end - offset_at(job, row) + members - 1) / members;
        int64_t begin = offset_at(job, row) + item % members * share;
        const int64_t end = begin + share < row_end ? begin + share : row_end;
        for (; begin < end; begin += job->chunk) {
            const segment piece = {
                .row = row, .begin = begin, .count = end - begin < job->chunk ? end - begin : job->chunk};
            dots(&arguments, &piece, 1, x);
            edge_segments(&edge, TAMIS_KERNEL_TYPE, &piece, 1, x);
            sddmm_store(job, TAMIS_KERNEL_TYPE, &piece, 1, x);
        }
    }
}

static void row_simd_fused(const tamis_cpu_job *job, const tamis_cpu_range *range) {
    fused_range(job, range, simd_function_for(job->wide_columns));
}

static tamis_cpu_kernel *const row_simd_kernels[] = {
    [TAMIS_OP_SDDMM] = row_simd_sddmm, [TAMIS_OP_SPMM] = spmm_any, [TAMIS_OP_FUSED] = row_simd_fused};

#endif
