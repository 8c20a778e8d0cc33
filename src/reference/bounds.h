/* How far right results may be from the oracle's, edge by edge. oracle.c derives the terms. */
#ifndef TAMIS_REFERENCE_BOUNDS_H
#define TAMIS_REFERENCE_BOUNDS_H

#include <tamis/tamis.h>

enum { TAMIS_EVALUATION = 16 }; /* roundings of exp, a division and a product, on every device */

/* The arithmetic in which a type is accumulated. */
typedef struct tamis_arithmetic {
    double unit;  /* u: its unit roundoff */
    double both;  /* v: u and the oracle's own, 2^-53 */
    double least; /* its smallest normal number */
    double most;  /* its largest number */
} tamis_arithmetic;
tamis_arithmetic tamis_arithmetic_of(tamis_type type);

/* g(T): the relative error that is allowed in a sum of `terms` products. */
double tamis_sum_tolerance(tamis_type type, double terms);

/* t(K): what a dot product of `terms` may be off by beside that where its inputs are rounded to TF32, relative. */
double tamis_rounding_tolerance(tamis_math math, double terms);

/* What subnormal operands that count as 0 may take from sums of |x| and |y|, in units of the smallest normal number:
   that of bf16 alone. */
double tamis_flushed(tamis_type type, double x, double y);

/* Softmax of one row of `count` entries: d_ij becomes e_ij, and own[] the part of it that is not the denominator's;
   both are always finite. s is NULL where S has no values. Returns how much all of the row may be off together,
   relative, through its denominator (may be infinite). */
double tamis_softmax_bounds(const tamis_options *options, int64_t count, const double *s, const double *x,
                            const double *p, double *d, double *own);

#endif
