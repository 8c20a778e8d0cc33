/*
 * Reductions along rows, down columns and over all elements, in double; and the steps of conjugate gradients, which
 * consist of reductions along rows, and of coordinate descent. The lanes of a vector are partial sums in a fixed order,
 * so results do not depend on the threads.
 */
#ifndef TAMIS_CPU_KERNELS_DENSE_SUMS_H
#define TAMIS_CPU_KERNELS_DENSE_SUMS_H

#include <math.h>

#include "cpu/kernels/dense_elements.h"

/* A row's sums: of x y, of x, and of x (y + shift x). step_of_row returns the sum of r r after the step. */
#if VECTOR_SVE
/*
 * gcc (12 and 14, at least) compiles `omp simd reduction` wrongly for SVE of a known length where the sum is wider than
 * the terms: the sums take two registers, and it adds the second one's terms to the first one's sums. So SVE uses
 * intrinsics. Two vectors alternate, to hide the latency of additions.
 */
enum { DOUBLES = VECTOR_BYTES / 8 };
typedef double doubles __attribute__((vector_size(VECTOR_BYTES)));

/* Loads reals into the lanes where doubles will be; zeros in all other lanes. */
INLINE vector reals_apart(svbool_t lanes, const real *p) {
#if defined(TAMIS_KERNEL_F64)
    return svld1_f64(lanes, p);
#else
    const void *const from = p;
    return svreinterpret_f32_u64(svld1uw_u64(lanes, from));
#endif
}

INLINE doubles doubles_of_apart(vector x) {
#if defined(TAMIS_KERNEL_F64)
    return x;
#else
    return svcvt_f64_f32_x(svptrue_b64(), x);
#endif
}

typedef enum sum_terms { TERMS_X, TERMS_X_Y, TERMS_X_SHIFTED } sum_terms; /* x, x y, x (y + shift x) */

INLINE double sum_of_terms(sum_terms terms, const real *x, const real *y, real shift, int64_t n) {
    doubles sum = {0}, other = {0};
    for (int64_t j = 0; j < n; j += DOUBLES) {
        const svbool_t lanes = svwhilelt_b64(j, n);
        const vector a = reals_apart(lanes, x + j);
        doubles next = other;
        if (terms == TERMS_X) {
            next += doubles_of_apart(a);
        } else {
            vector b = reals_apart(lanes, y + j);
            if (terms == TERMS_X_SHIFTED) b += shift * a;
            next += doubles_of_apart(a) * doubles_of_apart(b);
        }
        other = sum;
        sum = next;
    }
    return svaddv_f64(svptrue_b64(), sum + other);
}

INLINE double dot_of_row(const real *x, const real *y, int64_t n) { return sum_of_terms(TERMS_X_Y, x, y, 0, n); }
INLINE double sum_of_row(const real *x, int64_t n) { return sum_of_terms(TERMS_X, x, NULL, 0, n); }
INLINE double shifted_dot_of_row(const real *x, const real *y, real shift, int64_t n) {
    return sum_of_terms(TERMS_X_SHIFTED, x, y, shift, n);
}

INLINE double step_of_row(real a, const real *p, const real *ap, real shift, real *x, real *r, int64_t n) {
#pragma omp simd
    for (int64_t j = 0; j < n; j++) {
        x[j] += a * p[j];
        r[j] -= a * (ap[j] + shift * p[j]);
    }
    return dot_of_row(r, r, n);
}
#else
INLINE double dot_of_row(const real *x, const real *y, int64_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++) sum += (double)x[j] * (double)y[j];
    return sum;
}

INLINE double sum_of_row(const real *x, int64_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++) sum += (double)x[j];
    return sum;
}

INLINE double shifted_dot_of_row(const real *x, const real *y, real shift, int64_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++) sum += (double)x[j] * (double)(y[j] + shift * x[j]);
    return sum;
}

INLINE double step_of_row(real a, const real *p, const real *ap, real shift, real *x, real *r, int64_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++) {
        const real left = r[j] - a * (ap[j] + shift * p[j]);
        x[j] += a * p[j];
        r[j] = left;
        sum += (double)left * (double)left;
    }
    return sum;
}
#endif

/* w is NULL for ones */
INLINE double log_dot_of_row(const real *w, const real *x, int64_t n, double epsilon) {
    double sum = 0;
    for (int64_t j = 0; j < n; j++) {
        const double value = (double)x[j], logarithm = log(value <= epsilon ? epsilon : value);
        sum += w ? (double)w[j] * logarithm : logarithm;
    }
    return sum;
}

static void dot_rows(const tamis_dense_job *job, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        const real *const x = row_of_operand(&job->x, i), *const y = row_of_operand(&job->y, i);
        *row_of_operand(&job->out, i) = (real)(job->kind ? dot_of_row(x, y, job->cols) : sum_of_row(x, job->cols));
    }
}

static double dot_range(const tamis_dense_job *job, int64_t begin, int64_t end) {
    double sum = 0;
    for (int64_t i = begin; i < end; i++) {
        const real *const x = row_of_operand(&job->x, i), *const y = row_of_operand(&job->y, i);
        const int64_t n = columns_of_row(job, i);
        sum += job->kind ? log_dot_of_row(x, y, n, job->c) : dot_of_row(x, y, n);
    }
    return sum;
}

static void column_sums(const tamis_dense_job *job, int64_t begin, int64_t end, int64_t first, int64_t last,
                        double *sums) {
    for (int64_t j = first; j < last; j++) sums[j] = 0;
    for (int64_t i = begin; i < end; i++) {
        const real *const x = row_of_operand(&job->x, i);
#pragma omp simd
        for (int64_t j = first; j < last; j++) sums[j] += (double)x[j];
    }
}

static void column_finish(const tamis_dense_job *job, int64_t first, int64_t last, const double *sums) {
    for (int64_t j = first; j < last; j++) {
        double sum = 0;
        for (int64_t chunk = 0; chunk < job->chunks; chunk++) sum += sums[chunk * job->cols + j];
        *row_of_operand(&job->out, j) = (real)sum;
    }
}

/* See tamis_dense_cg_step. Each row is read three times, the second and third time from L1. */
static void conjugate_rows(const tamis_dense_job *job, int64_t begin, int64_t end) {
    const int64_t n = job->cols;
    for (int64_t i = begin; i < end; i++) {
        const real *const ap = row_of_operand(&job->x, i);
        real *const p = row_of_operand(&job->p, i), *const x = row_of_operand(&job->z, i);
        real *const r = row_of_operand(&job->r, i), *const rr = row_of_operand(&job->out, i);
        const real shift = (job->weights.at.base ? *row_of_operand(&job->weights, i) : 0) + (real)job->c;
        const double before = (double)*rr;
        const double pap = shifted_dot_of_row(p, ap, shift, n);
        const real a = pap > 0 ? (real)(before / pap) : 0;
        const double after = step_of_row(a, p, ap, shift, x, r, n);
        const real b = before > 0 && pap > 0 ? (real)(after / before) : 0;
#pragma omp simd
        for (int64_t j = 0; j < n; j++) p[j] = r[j] + b * p[j];
        *rr = (real)after;
    }
}

/* See tamis_dense_cd_step. Many steps are 0: the coordinate is 0 and stays there. */
static void coordinate_rows(const tamis_dense_job *job, int64_t begin, int64_t end) {
    const int64_t n = job->cols;
    for (int64_t i = begin; i < end; i++) {
        real *const x = row_of_operand(&job->z, i), *const r = row_of_operand(&job->r, i);
        for (int64_t j = 0; j < n; j++) {
            const real *const g = row_of_operand(&job->y, j);
            real d = g[j] > 0 ? r[j] / g[j] : 0;
            if (d < -x[j]) d = -x[j]; /* NaN stays */
            if (d == 0) continue;
            x[j] += d;
#pragma omp simd
            for (int64_t l = 0; l < n; l++) r[l] -= d * g[l];
        }
    }
}

#endif
