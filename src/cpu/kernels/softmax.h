/*
 * Softmax of a row of scores, whole or piece by piece (online): the largest score, the exponentials, their sum, and the
 * factors of what was summed before a larger score came. Fused, SDDMM and attention all use it.
 *
 * Scores that are all -infinity (a masked row) are shifted by 0, so that their exponentials are zeros, not NaN; their
 * sum, 0, divides as 1. The largest of scores may skip NaN, since the exponential brings NaN back.
 */
#ifndef TAMIS_CPU_KERNELS_SOFTMAX_H
#define TAMIS_CPU_KERNELS_SOFTMAX_H

#include <math.h>

#include "cpu/kernels/exp.h"
#include "cpu/kernels/segment.h"

#define SOFTMAX_NONE (-(real)__builtin_inff())

/* The largest score so far, and the sum of exp(score - most). */
typedef struct softmax_state {
    real most, sum;
} softmax_state;

INLINE softmax_state softmax_begin(void) { return (softmax_state){SOFTMAX_NONE, 0}; }

/* Subtracted from the scores before the exponential. */
INLINE real softmax_shift(real most) { return most == SOFTMAX_NONE ? 0 : most; }
INLINE vector softmax_shifts(vector most) {
    return vector_select((vector_bits)(most == vector_of(SOFTMAX_NONE)), vector_zero(), most);
}

INLINE real softmax_divisor(real sum) { return sum == 0 ? 1 : sum; }
INLINE vector softmax_divisors(vector sum) {
    return vector_select((vector_bits)(sum == vector_zero()), vector_of(1), sum);
}

/* The logarithm of the sum of the exponentials of unshifted scores. */
INLINE real softmax_log_sum(const softmax_state *s) { return s->most + (real)log((double)s->sum); }

/* The factor of sums for `part`, if the largest score of all parts is `most`. */
INLINE real softmax_factor(real part, real most) { return vector_exp(vector_of(part - softmax_shift(most)))[0]; }

INLINE real softmax_most(const softmax_state *s, real piece) { return piece > s->most ? piece : s->most; }

/* The factor of what was summed before the largest score became `most`. */
INLINE real softmax_again(const softmax_state *before, real most) {
    real factor = 1;
    if (before->sum != 0 && most != before->most) factor = softmax_factor(before->most, most);
    return factor;
}

/* The largest of n scores, or -infinity if n = 0. */
static real run_max(const real *x, int64_t n) {
    vector most = vector_of(SOFTMAX_NONE);
    EACH_VECTOR(n, most = vector_max(part_or(part_load((const char *)(x + t), REAL, tail), tail, SOFTMAX_NONE), most));
    return vector_largest(most);
}

/* to[t] = exp(x[t] - shift); returns their sum. `to` may be x. */
static real run_exp(real *to, const real *x, int64_t n, real shift) {
    vector sum = vector_zero();
    EACH_VECTOR(n, {
        const vector e = vector_exp(part_load((const char *)(x + t), REAL, tail) - shift);
        part_store((char *)(to + t), REAL, tail, e);
        sum += part_or(e, tail, 0);
    });
    return vector_sum(sum);
}

INLINE void run_subtract(real *x, int64_t n, real y) {
    EACH_VECTOR(n, part_store((char *)(x + t), REAL, tail, part_load((const char *)(x + t), REAL, tail) - y));
}

INLINE real run_sum(const real *x, int64_t n) {
    vector sum = vector_zero();
    EACH_VECTOR(n, sum += part_load((const char *)(x + t), REAL, tail));
    return vector_sum(sum);
}

/* Turns a further piece of a row into exponentials; returns the factor of earlier sums. `to` may be x. */
INLINE real softmax_piece(softmax_state *s, real *to, const real *x, int64_t n) {
    const real most = softmax_most(s, run_max(x, n)), sum = run_exp(to, x, n, softmax_shift(most));
    const real again = softmax_again(s, most);
    *s = (softmax_state){most, s->sum * again + sum};
    return again;
}

/* The state of a row from its parts: their states are `at` reals after the addresses in `parts`. */
INLINE softmax_state softmax_merge(void *const *parts, int64_t at, int count) {
    softmax_state all = softmax_begin();
    for (int i = 0; i < count; i++) {
        const real most = ((const real *)parts[i])[at];
        if (most > all.most) all.most = most;
    }
    for (int i = 0; i < count; i++) {
        const real *const part = (const real *)parts[i] + at;
        all.sum += part[1] * softmax_factor(part[0], all.most);
    }
    return all;
}

/* Stores a finished row's state as the caller asked for it; returns the factor of its sums. */
INLINE real softmax_finish(const tamis_cpu_job *job, int64_t row, softmax_state s) {
    if (job->softmax_rows) memcpy((real *)(void *)job->softmax_rows + 2 * row, &s, sizeof s);
    if (job->log_sums) *(real *)(void *)(job->log_sums + row * job->log_sums_stride) = softmax_log_sum(&s);
    return (real)job->alpha / softmax_divisor(s.sum);
}

#endif
