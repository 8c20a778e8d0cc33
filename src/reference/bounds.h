/* How far correct results may be from the oracle's. The terms are derived in the heading of oracle.c. */
#ifndef TAMIS_REFERENCE_BOUNDS_H
#define TAMIS_REFERENCE_BOUNDS_H

#include <tamis/tamis.h>

enum { TAMIS_EVALUATION = 16 }; /* roundings of exp, a division and a product, on every device */

/* The arithmetic in which a type is accumulated. */
typedef struct tamis_arithmetic {
    double unit;  /* u, its unit roundoff */
    double both;  /* v, the sum of u and the oracle's own roundoff, 2^-53 */
    double least; /* its smallest normal number */
    double most;  /* its largest number */
    double tanh; /* relative error of tanh in scores whose exponentials are rounded to 16 bits; 0: as of any function */
} tamis_arithmetic;
tamis_arithmetic tamis_arithmetic_of(tamis_type type);

/* g(T): tolerance of the relative error of a sum of `terms` products. */
double tamis_sum_tolerance(tamis_type type, double terms);

/* t(K): additional relative error of a dot product of `terms` terms whose inputs are rounded to TF32. */
double tamis_rounding_tolerance(tamis_math math, double terms);

/* Loss of sums of |x| and |y| when subnormal operands are flushed to 0, in units of the smallest normal number. Only
   bf16 has such operands. */
double tamis_flushed(tamis_type type, double x, double y);

/* Computes the bounds of softmax in a row of `count` entries. d_ij becomes e_ij, and own[] gets its part that does not
   come from the denominator; both are always finite. s is NULL if S has no values. Returns the relative error that all
   entries of the row share through the denominator, which may be infinite. */
double tamis_softmax_bounds(const tamis_options *options, int64_t count, const double *s, const double *x,
                            const double *p, double *d, double *own);

#endif
