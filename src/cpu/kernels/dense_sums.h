/*
 * Sums along rows, down columns and over all elements, in double, and the step of conjugate gradients, which consists
 * of sums along rows. The lanes of a vector are partial sums in a fixed order, so results do not depend on the threads.
 */
#ifndef TAMIS_CPU_KERNELS_DENSE_SUMS_H
#define TAMIS_CPU_KERNELS_DENSE_SUMS_H

#include <math.h>

#include "cpu/kernels/dense_elements.h"

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
        double pap = 0, after = 0;
#pragma omp simd reduction(+ : pap)
        for (int64_t j = 0; j < n; j++) pap += (double)p[j] * (double)(ap[j] + shift * p[j]);
        const real a = pap > 0 ? (real)(before / pap) : 0;
#pragma omp simd reduction(+ : after)
        for (int64_t j = 0; j < n; j++) {
            const real left = r[j] - a * (ap[j] + shift * p[j]);
            x[j] += a * p[j];
            r[j] = left;
            after += (double)left * (double)left;
        }
        const real b = before > 0 && pap > 0 ? (real)(after / before) : 0;
#pragma omp simd
        for (int64_t j = 0; j < n; j++) p[j] = r[j] + b * p[j];
        *rr = (real)after;
    }
}

#endif
