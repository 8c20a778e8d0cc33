/*
 * The kernels of one instruction set and one type of elements. This file is compiled once for each pair (see
 * src/cpu/CMakeLists.txt): TAMIS_KERNEL_TYPE is the type, TAMIS_KERNEL_F64 is defined for fp64, and TAMIS_KERNEL_TABLE
 * is the name of the table, by which src/cpu/variants.c finds it. method_kernels.h, which the build writes, includes
 * each method's header of kernels.
 */
#include "cpu/kernels/fused.h"
#include "cpu/kernels/fused_same.h"
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/sddmm.h"
#include "cpu/kernels/spmm.h"
#include "cpu/kernels/spmm_pairs.h"
#include "method_kernels.h"

extern const tamis_cpu_kernels TAMIS_KERNEL_TABLE;

static void spmm(const tamis_cpu_job *job, const tamis_cpu_range *range) {
    if (pairs_take(job))
        spmm_pairs_range(job, range, spmm_any);
    else
        spmm_any(job, range);
}

static void fused(const tamis_cpu_job *job, const tamis_cpu_range *range) {
    if (same_takes(job))
        same_range(job, range);
    else
        fused_range(job, range, dot_function_for(job->wide_columns));
}

#ifdef TAMIS_KERNEL_SUMS
sum_function *TAMIS_KERNEL_SUMS(bool wide_columns) { return sum_function_for(wide_columns); }
#endif

static void softmax_rows(const tamis_cpu_job *job, const tamis_cpu_range *range, int stage) {
    softmax_rows_range(job, range, TAMIS_KERNEL_TYPE, stage);
}

/* Kernels for any range, by rows or by column tiles. */
static tamis_cpu_kernel *const range_kernels[] = {
    [TAMIS_OP_SDDMM] = sddmm_range, [TAMIS_OP_SPMM] = spmm, [TAMIS_OP_FUSED] = fused};

#define ROW(method, kernels) kernels,
static tamis_cpu_kernel *const *const methods[] = {
#include "cpu/methods.def"
};

const tamis_cpu_kernels TAMIS_KERNEL_TABLE = {
    .methods = methods,
    .fused = fused,
    .softmax_rows = softmax_rows,
    .merge_row = merge_row,
    .merge_softmax = merge_softmax,
    .partial_bytes = partial_bytes,
    .segment_bytes = sizeof(segment),
    .real_bytes = sizeof(real),
    .pairs = DOT_PAIRS,
    .cells = &cell_kernels,
};
