/*
 * The kernels of one instruction set and one type of elements. This file is compiled once for each pair (see
 * src/cpu/CMakeLists.txt): TAMIS_KERNEL_TYPE is the type, TAMIS_KERNEL_F64 is defined for fp64, and TAMIS_KERNEL_TABLE
 * is the name of the table, by which src/cpu/variants.c finds it.
 */
#include "cpu/kernels/fused.h"
#include "cpu/kernels/fused_same.h"
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/naive.h"
#include "cpu/kernels/panels.h"
#include "cpu/kernels/row_simd.h"
#include "cpu/kernels/sddmm.h"
#include "cpu/kernels/spmm.h"
#include "cpu/kernels/spmm_pairs.h"

extern const tamis_cpu_kernels TAMIS_KERNEL_TABLE;

static dot_function *function_for(const tamis_cpu_job *job) {
    return job->explicit_simd ? simd_function_for(job->wide_columns) : dot_function_for(job->wide_columns);
}

static void sddmm(const tamis_cpu_job *job, const tamis_cpu_range *range) {
    if (job->panels)
        panels_range(job, range, 1, 0);
    else
        sddmm_range(job, range, TAMIS_KERNEL_TYPE, function_for(job));
}

static void softmax(const tamis_cpu_job *job, const tamis_cpu_range *range, int stage) {
    softmax_rows_range(job, range, TAMIS_KERNEL_TYPE, stage);
}

static void spmm_any(const tamis_cpu_job *job, const tamis_cpu_range *range) {
    spmm_range(job, range, TAMIS_KERNEL_TYPE);
}

static void spmm(const tamis_cpu_job *job, const tamis_cpu_range *range) {
    if (job->panels)
        panels_range(job, range, 0, 1);
    else if (pairs_take(job))
        spmm_pairs_range(job, range, spmm_any);
    else
        spmm_any(job, range);
}

static void fused(const tamis_cpu_job *job, const tamis_cpu_range *range) {
    if (job->panels)
        panels_range(job, range, 1, 1);
    else if (same_takes(job))
        same_range(job, range);
    else
        fused_range(job, range, TAMIS_KERNEL_TYPE, function_for(job));
}

static void members(const tamis_cpu_job *job, int64_t begin, int64_t end, int members) {
    sddmm_members_range(job, begin, end, members, TAMIS_KERNEL_TYPE);
}

/* The naive loops, which do not support 16-bit types. 32- and 64-bit columns have a loop each. */

static void sddmm_naive(const tamis_cpu_job *job, int64_t row_begin, int64_t row_end) {
    if (job->wide_columns)
        sddmm_naive_rows(job, row_begin, row_end, 1);
    else
        sddmm_naive_rows(job, row_begin, row_end, 0);
}

static void spmm_naive(const tamis_cpu_job *job, int64_t row_begin, int64_t row_end) {
    if (job->wide_columns)
        spmm_naive_rows(job, row_begin, row_end, 1);
    else
        spmm_naive_rows(job, row_begin, row_end, 0);
}

static void fused_naive(const tamis_cpu_job *job, int64_t row_begin, int64_t row_end) {
    if (job->wide_columns)
        fused_naive_rows(job, row_begin, row_end, 1);
    else
        fused_naive_rows(job, row_begin, row_end, 0);
}

const tamis_cpu_kernels TAMIS_KERNEL_TABLE = {
    .sddmm = sddmm,
    .softmax_rows = softmax,
    .spmm = spmm,
    .fused = fused,
    .merge_row = merge_row,
    .merge_softmax = merge_softmax,
    .sddmm_members = members,
    .sddmm_naive = TAMIS_KERNEL_TYPE == REAL ? sddmm_naive : NULL,
    .spmm_naive = TAMIS_KERNEL_TYPE == REAL ? spmm_naive : NULL,
    .fused_naive = TAMIS_KERNEL_TYPE == REAL ? fused_naive : NULL,
    .partial_bytes = partial_bytes,
    .segment_bytes = sizeof(segment),
    .real_bytes = sizeof(real),
    .pairs = DOT_PAIRS,
};
