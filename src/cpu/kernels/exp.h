/* The exponential of a vector, for edges and for the dense companions. */
#ifndef TAMIS_CPU_KERNELS_EXP_H
#define TAMIS_CPU_KERNELS_EXP_H

#include "cpu/kernels/loops.h"

/*
 * exp(x) to about 1 unit in the last place. x = n ln 2 + r, |r| <= ln 2 / 2; exp(r) by its Taylor series (r^8 / 8! is
 * below 2^-27, r^14 / 14! below 2^-57); the result is multiplied by 2^n in two halves, so that subnormal results and
 * infinity need no special case. NaN stays NaN.
 */
INLINE vector vector_exp(vector x) {
#if defined(TAMIS_KERNEL_F64)
    const real top = 710, bottom = -746, log2e = 1.4426950408889634, ln2_high = 0x1.62e42fefap-1,
               ln2_low = 0x1.cf79abc9e3b3ap-40, round_by = 0x1.8p52;
    enum { MANTISSA = 52, BIAS = 1023, TERMS = 13 };
    static const real inverse_factorial[TERMS + 1] = {
        1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
        1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
#else
    const real top = 89, bottom = -105, log2e = 1.44269504f, ln2_high = 0x1.62ep-1f, ln2_low = 0x1.0bfbe80000000p-15f,
               round_by = 0x1.8p23f;
    enum { MANTISSA = 23, BIAS = 127, TERMS = 7 };
    static const real inverse_factorial[TERMS + 1] = {1.0f,      1.0f,       1.0f / 2,   1.0f / 6,
                                                      1.0f / 24, 1.0f / 120, 1.0f / 720, 1.0f / 5040};
#endif
    const vector_bits is_nan = (vector_bits)(x != x);
    vector y = vector_select((vector_bits)(x > top), vector_of(top), x);
    y = vector_select((vector_bits)(y < bottom), vector_of(bottom), y);
    y = vector_select(is_nan, vector_zero(), y);
    const vector shifted = y * log2e + round_by; /* n, the integer nearest to y / ln 2, is in the low bits */
    const vector_bits n = (vector_bits)shifted - (vector_bits)vector_of(round_by);
    const vector n_real = shifted - round_by;
    const vector r = (y - n_real * ln2_high) - n_real * ln2_low;
    vector p = vector_of(inverse_factorial[TERMS]);
#pragma GCC unroll 16
    for (int k = TERMS - 1; k >= 0; k--) p = p * r + inverse_factorial[k];
    const vector_bits half = n >> 1, rest = n - half;
    p = p * (vector)((half + BIAS) << MANTISSA) * (vector)((rest + BIAS) << MANTISSA);
    return vector_select(is_nan, x, p);
}

#endif
