/*
 * How far a right result may be from the oracle's, in pieces, componentwise and to first order or more. u is the unit
 * roundoff of what is summed in (fp32 or fp64), v that of the storage, l and m the smallest normal number of sums and
 * the storage's smallest step at 0.
 *
 *   dot product of K      |x' - x| <= (K + 8) u sum |a||b|, which any order of summation keeps, fused or not
 *   product               |x'y' - xy| <= |x| dy + |y| dx + dx dy + 4 u |xy|
 *   edge f(x), times s    the largest change of f over [x - dx, x + dx], and 8 u |f|: f is monotonic or linear there,
 *                         or has a kink and everything between both sides is right; exponentials have 12 u |f| and
 *                         4 u |y||f| for their argument y = scale x. Then it is a product with s.
 *   score of softmax      |scale| dx + 4 u (|scale x| + |s|)
 *   softmax of n          p' = p (1 + r), |r| <= expm1(2 max dy) + (n + 16) u with dy the error of a score in the row
 *   sum of n products     the errors of its products, and (n + 8) u times their sizes
 */
#ifndef TAMIS_TESTS_BOUNDS_H
#define TAMIS_TESTS_BOUNDS_H

#include "reference/expression.h"
#include "support/own.h"

/* A number and how far it may be off. */
typedef struct about {
    double is, off;
} about;

typedef struct units {
    double u, l, v, m;
} units;
units units_of(tamis_type type);

OWN_POINTER(about, free)
about *test_abouts(int64_t count); /* zeros, to be freed */

about about_product(units e, about x, about y);

/* True if the weights of rows, and the gradients of scores, may be rounded to the type: attention of 16 bits without
   values, on tensor cores. */
bool softmax_may_round(tamis_device *device, tamis_operation operation, tamis_edge edge, tamis_type type,
                       bool has_values);

/* Of vectors of n; *size becomes sum |x||y| unless it is NULL. */
about about_dot(units e, const double *x, const double *y, int64_t n, double *size);

/* f(x), which s is multiplied with, of an edge other than RESIDUAL and SOFTMAX; and its derivative by x unless slope is
   NULL. */
about about_edge(units e, const tamis_options *options, about x, about *slope);
about about_residual(units e, double s, about x);
about about_score(units e, const tamis_options *options, about x, double s); /* s = 0 without one */

/* Of TAMIS_EDGE_TEXT: the value, its derivative by x and by s, by intervals of the oracle's. */
void about_text(const tamis_options *options, const tamis_edge_text *text, about x, double s, tamis_edge_place place,
                about results[3]);

/* Where an entry is, with what the arrays of an execution, on the host, have there. */
tamis_edge_place about_place(const tamis_edge_text *text, const tamis_execution *given, int64_t member, int64_t row,
                             int64_t column, int64_t entry);
int64_t about_place_in(int kind, tamis_edge_place place, int64_t entry); /* the element of an array, TAMIS_STEP_... */

/* A row of softmax. A score of -infinity is masked: its weight is 0, exactly. */
typedef struct softmax_row {
    double most, least, sum, off, count; /* finite scores; of exp(score - most); the largest error of a score */
} softmax_row;

OWN_POINTER(softmax_row, free)
softmax_row *softmax_rows(const about *scores, const int64_t *row_of, int64_t nnz, int64_t rows); /* to be freed */
double softmax_relative(units e, const softmax_row *row);                                         /* |r| */
about softmax_weight(units e, const softmax_row *row, double score);

#endif
