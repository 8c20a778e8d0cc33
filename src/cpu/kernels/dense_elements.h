/*
 * Operations element by element: plain loops along a row, which the compiler vectorises, and exp(psi(x)) in vectors.
 * They may be used in place, so no pointer is restrict. `omp simd` says that elements do not depend on each other.
 */
#ifndef TAMIS_CPU_KERNELS_DENSE_ELEMENTS_H
#define TAMIS_CPU_KERNELS_DENSE_ELEMENTS_H

#include "cpu/kernels/dense.h"
#include "cpu/kernels/exp.h"

#if defined(TAMIS_KERNEL_F64)
#define ROOT __builtin_sqrt
#else
#define ROOT __builtin_sqrtf
#endif

INLINE real *row_of_operand(const tamis_matrix *x, int64_t row) {
    if (!x->at.base) return NULL;
    return (real *)(void *)((char *)x->at.base + x->at.bytes) + row * x->stride;
}

INLINE int64_t columns_of_row(const tamis_dense_job *job, int64_t row) {
    return row == job->rows - 1 ? job->last : job->cols;
}

/*
 * exp(psi(x)) without a logarithm. For large y, psi(y) = ln y - s(y) with s(y) = 1 / 2y + 1 / 12 y^2 - 1 / 120 y^4 +
 * ... A small x is moved there, n steps at once, by psi(x) = psi(x + n) - (1/x + 1/(x+1) + ... + 1/(x+n-1)):
 *
 *     exp(psi(x)) = y exp(-s(y) - t),  y = x + n, t = the sum of reciprocals (as one fraction) where x < n; else y = x
 *
 * The first term of s left out is below 5e-17 at y = 10 (fp64), 3e-9 at y = 6 (fp32).
 */
INLINE vector exp_digamma(vector x) {
#if defined(TAMIS_KERNEL_F64)
    enum { STEPS = 10, TERMS = 7 };
#else
    enum { STEPS = 6, TERMS = 3 };
#endif
    static const real series[7] = {(real)(1.0 / 12),  (real)(-1.0 / 120),     (real)(1.0 / 252), (real)(-1.0 / 240),
                                   (real)(1.0 / 132), (real)(-691.0 / 32760), (real)(1.0 / 12)};
    const vector_bits small = (vector_bits)(x < (real)STEPS);
    vector above = vector_of(1), below = x; /* the sum of reciprocals so far is above / below */
#pragma GCC unroll 10
    for (int i = 1; i < STEPS; i++) {
        const vector next = x + (real)i;
        above = above * next + below;
        below = below * next;
    }
    const vector t = vector_select(small, above / below, vector_zero());
    const vector y = vector_select(small, x + (real)STEPS, x);
    const vector inverse = (real)1 / y, square = inverse * inverse;
    vector s = vector_of(series[TERMS - 1]);
#pragma GCC unroll 7
    for (int k = TERMS - 2; k >= 0; k--) s = s * square + series[k];
    s = s * square + (real)0.5 * inverse;
    const vector z = y * vector_exp(-(s + t));
    return vector_select((vector_bits)(x < (real)0), vector_of((real)__builtin_nan("")), z);
}

INLINE void exp_digamma_row(real *z, const real *x, const real *y, int64_t n, real c, real d) {
    EACH_VECTOR(n, {
        const vector product =
            c * part_load((const char *)(x + t), REAL, tail) * part_load((const char *)(y + t), REAL, tail);
        part_store((char *)(z + t), REAL, tail, exp_digamma(product + d));
    });
}

static void map_row(int kind, real *z, const real *x, real *y, int64_t n, real c, real d) {
    switch (kind) {
    case TAMIS_MAP_MULTIPLY_ADD:
#pragma omp simd
        for (int64_t j = 0; j < n; j++) z[j] = c * x[j] * y[j] + d;
        return;
    case TAMIS_MAP_EXP_DIGAMMA: exp_digamma_row(z, x, y, n, c, d); return;
    case TAMIS_MAP_DIVIDE:
#pragma omp simd
        for (int64_t j = 0; j < n; j++) z[j] = c * x[j] / (y[j] <= d ? d : y[j]);
        return;
    case TAMIS_MAP_CLAMP:
#pragma omp simd
        for (int64_t j = 0; j < n; j++) {
            const real low = x[j] < c ? c : x[j];
            z[j] = low > d ? d : low;
        }
        return;
    case TAMIS_MAP_ADAGRAD:
#pragma omp simd
        for (int64_t j = 0; j < n; j++) {
            const real history = y[j] + x[j] * x[j];
            y[j] = history;
            z[j] += c * x[j] / (ROOT(history) + d);
        }
        return;
    case TAMIS_MAP_COMBINE:
        if (d == 0) {
#pragma omp simd
            for (int64_t j = 0; j < n; j++) z[j] = c * x[j];
            return;
        }
#pragma omp simd
        for (int64_t j = 0; j < n; j++) z[j] = c * x[j] + d * z[j];
        return;
    default: /* fill */
        for (int64_t j = 0; j < n; j++) z[j] = c;
    }
}

static void map_rows(const tamis_dense_job *job, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
        map_row(job->kind, row_of_operand(&job->z, i), row_of_operand(&job->x, i), row_of_operand(&job->y, i),
                columns_of_row(job, i), (real)job->c, (real)job->d);
}

/* `beta` = 0: y is not read. */
INLINE void scale_row_by(real *y, const real *x, int64_t n, real factor, int divide, real beta) {
    if (beta == 0) {
#pragma omp simd
        for (int64_t j = 0; j < n; j++) y[j] = divide ? x[j] / factor : factor * x[j];
    } else {
#pragma omp simd
        for (int64_t j = 0; j < n; j++) y[j] = (divide ? x[j] / factor : factor * x[j]) + beta * y[j];
    }
}

INLINE void scale_row_along(real *y, const real *x, int64_t n, const real *weights, int64_t stride, real shift,
                            int divide, real beta) {
    for (int64_t j = 0; j < n; j++) {
        const real factor = weights[j * stride] + shift, scaled = divide ? x[j] / factor : factor * x[j];
        y[j] = beta == 0 ? scaled : scaled + beta * y[j];
    }
}

static void scale_rows(const tamis_dense_job *job, int64_t begin, int64_t end) {
    const int along = job->kind == TAMIS_SCALE_COLUMNS || job->kind == TAMIS_DIVIDE_COLUMNS;
    const int divide = job->kind == TAMIS_DIVIDE_ROWS || job->kind == TAMIS_DIVIDE_COLUMNS;
    const real *const weights = row_of_operand(&job->weights, 0);
    const int64_t stride = job->weights.stride;
    const real shift = (real)job->c, beta = (real)job->d;
    for (int64_t i = begin; i < end; i++) {
        real *const y = row_of_operand(&job->y, i);
        const real *const x = row_of_operand(&job->x, i);
        if (!along || !weights)
            scale_row_by(y, x, job->cols, (weights ? weights[i * stride] : 0) + shift, divide, beta);
        else if (stride == 1 && divide)
            scale_row_along(y, x, job->cols, weights, 1, shift, 1, beta);
        else if (stride == 1)
            scale_row_along(y, x, job->cols, weights, 1, shift, 0, beta);
        else
            scale_row_along(y, x, job->cols, weights, stride, shift, divide, beta);
    }
}

#endif
