/* Sums of squares of any fp64 numbers. The wider exponent of long double avoids overflow and underflow. */
#ifndef TAMIS_REFERENCE_SQUARES_H
#define TAMIS_REFERENCE_SQUARES_H

#include <float.h>
#include <math.h>

_Static_assert(LDBL_MAX_EXP > 2 * DBL_MAX_EXP + 64 && LDBL_MIN_EXP < 2 * (DBL_MIN_EXP - DBL_MANT_DIG),
               "the square of any double is a normal long double, and so are sums of them");

typedef struct tamis_squares {
    long double sum;
} tamis_squares;

/* `value` must not be NaN. */
static inline void tamis_squares_add(tamis_squares *squares, double value) {
    squares->sum += (long double)value * (long double)value;
}

/* Returns the square root of the sum. */
static inline double tamis_squares_norm(const tamis_squares *squares) { return (double)sqrtl(squares->sum); }

/* Returns the quotient of two norms, or the first norm if the second is 0. */
static inline double tamis_squares_ratio(const tamis_squares *above, const tamis_squares *below) {
    return (double)sqrtl(below->sum > 0 ? above->sum / below->sum : above->sum);
}

#endif
