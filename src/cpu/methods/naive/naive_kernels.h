/*
 * The baseline: plain loops over rows, as the compiler vectorises them (`omp simd`). They exist for comparison and are
 * never chosen.
 */
#ifndef TAMIS_CPU_METHODS_NAIVE_NAIVE_KERNELS_H
#define TAMIS_CPU_METHODS_NAIVE_NAIVE_KERNELS_H

#include <math.h>

#include "base/edge_rows.h"
#include "cpu/kernels/segment.h"

#if defined(TAMIS_KERNEL_F64)
#define REAL_EXP exp
#else
#define REAL_EXP expf
#endif

INLINE real naive_dot(const real *restrict a, const real *restrict b, int64_t inner) {
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < inner; k++) sum += a[k] * b[k];
    return sum;
}

#define NUMBER(x)                          ((real)(x))
#define SELECT(condition, this, otherwise) ((condition) ? (this) : (otherwise))
#define EXPONENTIAL(z)                     REAL_EXP(z)
#define NONE                               0
INLINE real naive_edge(const tamis_cpu_job *job, real x, const real *value) {
    const real scale = (real)job->edge_constants.scale, slope = (real)job->edge_constants.slope,
               epsilon = (real)job->edge_constants.epsilon, y = scale * x, s = value ? *value : 1;
    switch (job->edge) {
#define ROW(NAME, number, name, entry, shape, e_is, f_is, ...)                                                         \
    case TAMIS_EDGE_##NAME: {                                                                                          \
        const real e = e_is, f = f_is;                                                                                 \
        (void)e;                                                                                                       \
        return TAMIS_EDGE_VALUE(entry, s, f);                                                                          \
    }
        TAMIS_EDGES(ROW)
#undef ROW
    case TAMIS_EDGE_TEXT: break; /* declined */
    }
    return x;
}
#undef NUMBER
#undef SELECT
#undef EXPONENTIAL
#undef NONE

INLINE void naive_axpy(real *restrict y, real w, const real *restrict b, int64_t width) {
#pragma omp simd
    for (int64_t k = 0; k < width; k++) y[k] += w * b[k];
}

INLINE void naive_begin_row(const tamis_cpu_job *job, real *y) {
    if (job->beta == 0)
        for (int64_t k = 0; k < job->width; k++) y[k] = 0;
    else
        for (int64_t k = 0; k < job->width; k++) y[k] *= (real)job->beta;
}

INLINE const real *real_row(const char *base, int64_t stride, int64_t row) {
    return (const real *)(const void *)(base + row * stride);
}

INLINE void sddmm_naive_rows(const tamis_cpu_job *job, const tamis_cpu_range *range, int wide) {
    const real *const values = (const real *)(const void *)job->values;
    const real alpha = (real)job->alpha, beta = (real)job->beta;
    real *const p = (real *)(void *)job->out;
    for (int64_t row = range->row_begin; row < range->row_end; row++) {
        const real *const a = real_row(job->a, job->a_stride, row);
        const int64_t end = offset_at(job, row + 1);
        for (int64_t t = offset_at(job, row); t < end; t++) {
            const real x = naive_dot(a, real_row(job->b, job->b_stride, column_at(job->columns, t, wide)), job->inner);
            const real y = alpha * naive_edge(job, x, values ? values + t : NULL);
            p[t] = beta == 0 ? y : y + beta * p[t];
        }
    }
}

INLINE void spmm_naive_rows(const tamis_cpu_job *job, const tamis_cpu_range *range, int wide) {
    const real *const values = (const real *)(const void *)job->values;
    for (int64_t row = range->row_begin; row < range->row_end; row++) {
        real *const y = (real *)(void *)(job->out + row * job->out_stride);
        const int64_t end = offset_at(job, row + 1);
        naive_begin_row(job, y);
        for (int64_t t = offset_at(job, row); t < end; t++)
            naive_axpy(y, (real)job->alpha * (values ? values[t] : 1),
                       real_row(job->b, job->b_stride, column_at(job->columns, t, wide)), job->width);
    }
}

INLINE void fused_naive_rows(const tamis_cpu_job *job, const tamis_cpu_range *range, int wide) {
    const real *const values = (const real *)(const void *)job->values;
    for (int64_t row = range->row_begin; row < range->row_end; row++) {
        const real *const a = real_row(job->a, job->a_stride, row);
        real *const y = (real *)(void *)(job->out + row * job->out_stride);
        const int64_t end = offset_at(job, row + 1);
        naive_begin_row(job, y);
        for (int64_t t = offset_at(job, row); t < end; t++) {
            const int64_t column = column_at(job->columns, t, wide);
            const real x = naive_dot(a, real_row(job->b, job->b_stride, column), job->inner);
            naive_axpy(y, (real)job->alpha * naive_edge(job, x, values ? values + t : NULL),
                       real_row(job->d, job->d_stride, column), job->width);
        }
    }
}

/* Separate loops for 32- and 64-bit columns. */
#define NAIVE(name)                                                                                                    \
    static void name(const tamis_cpu_job *job, const tamis_cpu_range *range) {                                         \
        if (job->wide_columns)                                                                                         \
            name##_rows(job, range, 1);                                                                                \
        else                                                                                                           \
            name##_rows(job, range, 0);                                                                                \
    }
NAIVE(sddmm_naive)
NAIVE(spmm_naive)
NAIVE(fused_naive)
#undef NAIVE

/* The loops do not support 16-bit types. */
static tamis_cpu_kernel *const naive_kernels[] = {[TAMIS_OP_SDDMM] = TAMIS_KERNEL_TYPE == REAL ? sddmm_naive : NULL,
                                                  [TAMIS_OP_SPMM] = TAMIS_KERNEL_TYPE == REAL ? spmm_naive : NULL,
                                                  [TAMIS_OP_FUSED] = TAMIS_KERNEL_TYPE == REAL ? fused_naive : NULL};

#endif
