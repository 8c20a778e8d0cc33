/*
 * The kernel table of one variant. This file is compiled for every instruction set (see src/cpu/CMakeLists.txt), twice:
 * for fp32, fp16 and bf16 storage, and with TAMIS_KERNEL_F64 for fp64. TAMIS_KERNEL_TABLE and TAMIS_PROBE_TABLE are the
 * names under which src/cpu/variants.c finds the result.
 */
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/fused.h"
#include "cpu/kernels/naive.h"
#include "cpu/kernels/probe.h"
#include "cpu/kernels/row_simd.h"
#include "cpu/kernels/sddmm.h"
#include "cpu/kernels/spmm.h"

/* ------------------------------------------------------------------------------------------ generic over the type */

INLINE void sddmm_of(const tamis_cpu_job *job, const tamis_cpu_range *range, tamis_type type) {
    sddmm_range(job, range, type,
                job->explicit_simd ? simd_function_for(type, job->wide_columns)
                                   : dot_function_for(type, job->wide_columns));
}

INLINE void fused_of(const tamis_cpu_job *job, const tamis_cpu_range *range, tamis_type type) {
    fused_range(job, range, type,
                job->explicit_simd ? simd_function_for(type, job->wide_columns)
                                   : dot_function_for(type, job->wide_columns));
}

/* ------------------------------------------------------------------------------------------ instances and table */

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

#if defined(TAMIS_KERNEL_F64)

static void sddmm_f64(const tamis_cpu_job *job, const tamis_cpu_range *range) { sddmm_of(job, range, TAMIS_F64); }
static void spmm_f64(const tamis_cpu_job *job, const tamis_cpu_range *range) { spmm_range(job, range, TAMIS_F64); }
static void fused_f64(const tamis_cpu_job *job, const tamis_cpu_range *range) { fused_of(job, range, TAMIS_F64); }
static void softmax_f64(const tamis_cpu_job *job, const tamis_cpu_range *range, int stage) {
    softmax_rows_range(job, range, TAMIS_F64, stage);
}
static void merge_f64(const tamis_cpu_job *job, int64_t row, void *const *partials, int count) {
    merge_row_of(job, row, partials, count, TAMIS_F64);
}
static void members_f64(const tamis_cpu_job *job, int64_t begin, int64_t end, int members) {
    sddmm_members_range(job, begin, end, members, TAMIS_F64);
}

const tamis_cpu_kernels TAMIS_KERNEL_TABLE[1] = {
    {sddmm_f64, softmax_f64, spmm_f64, fused_f64, merge_f64, merge_softmax, members_f64, sddmm_naive, spmm_naive,
     fused_naive, partial_bytes, sizeof(segment), sizeof(real)},
};

#else

static void sddmm_f32(const tamis_cpu_job *job, const tamis_cpu_range *range) { sddmm_of(job, range, TAMIS_F32); }
static void sddmm_f16(const tamis_cpu_job *job, const tamis_cpu_range *range) { sddmm_of(job, range, TAMIS_F16); }
static void sddmm_bf16(const tamis_cpu_job *job, const tamis_cpu_range *range) { sddmm_of(job, range, TAMIS_BF16); }
static void spmm_f32(const tamis_cpu_job *job, const tamis_cpu_range *range) { spmm_range(job, range, TAMIS_F32); }
static void spmm_f16(const tamis_cpu_job *job, const tamis_cpu_range *range) { spmm_range(job, range, TAMIS_F16); }
static void spmm_bf16(const tamis_cpu_job *job, const tamis_cpu_range *range) { spmm_range(job, range, TAMIS_BF16); }
static void fused_f32(const tamis_cpu_job *job, const tamis_cpu_range *range) { fused_of(job, range, TAMIS_F32); }
static void fused_f16(const tamis_cpu_job *job, const tamis_cpu_range *range) { fused_of(job, range, TAMIS_F16); }
static void fused_bf16(const tamis_cpu_job *job, const tamis_cpu_range *range) { fused_of(job, range, TAMIS_BF16); }
static void softmax_f32(const tamis_cpu_job *job, const tamis_cpu_range *range, int stage) {
    softmax_rows_range(job, range, TAMIS_F32, stage);
}
static void softmax_f16(const tamis_cpu_job *job, const tamis_cpu_range *range, int stage) {
    softmax_rows_range(job, range, TAMIS_F16, stage);
}
static void softmax_bf16(const tamis_cpu_job *job, const tamis_cpu_range *range, int stage) {
    softmax_rows_range(job, range, TAMIS_BF16, stage);
}
static void merge_f32(const tamis_cpu_job *job, int64_t row, void *const *partials, int count) {
    merge_row_of(job, row, partials, count, TAMIS_F32);
}
static void merge_f16(const tamis_cpu_job *job, int64_t row, void *const *partials, int count) {
    merge_row_of(job, row, partials, count, TAMIS_F16);
}
static void merge_bf16(const tamis_cpu_job *job, int64_t row, void *const *partials, int count) {
    merge_row_of(job, row, partials, count, TAMIS_BF16);
}
static void members_f32(const tamis_cpu_job *job, int64_t begin, int64_t end, int members) {
    sddmm_members_range(job, begin, end, members, TAMIS_F32);
}
static void members_f16(const tamis_cpu_job *job, int64_t begin, int64_t end, int members) {
    sddmm_members_range(job, begin, end, members, TAMIS_F16);
}
static void members_bf16(const tamis_cpu_job *job, int64_t begin, int64_t end, int members) {
    sddmm_members_range(job, begin, end, members, TAMIS_BF16);
}

/* fp32, fp16, bf16; the naive loops know no half types */
const tamis_cpu_kernels TAMIS_KERNEL_TABLE[3] = {
    {sddmm_f32, softmax_f32, spmm_f32, fused_f32, merge_f32, merge_softmax, members_f32, sddmm_naive, spmm_naive,
     fused_naive, partial_bytes, sizeof(segment), sizeof(real)},
    {sddmm_f16, softmax_f16, spmm_f16, fused_f16, merge_f16, merge_softmax, members_f16, NULL, NULL, NULL,
     partial_bytes, sizeof(segment), sizeof(real)},
    {sddmm_bf16, softmax_bf16, spmm_bf16, fused_bf16, merge_bf16, merge_softmax, members_bf16, NULL, NULL, NULL,
     partial_bytes, sizeof(segment), sizeof(real)},
};

#endif

const tamis_cpu_probe TAMIS_PROBE_TABLE = {probe_multiply_add, probe_read, probe_gather};
