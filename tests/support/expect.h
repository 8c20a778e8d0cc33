/* What the oracle says of a problem, and how far a right result may be from it. */
#ifndef TAMIS_TESTS_EXPECT_H
#define TAMIS_TESTS_EXPECT_H

#include "support/problem.h"

/*
 * want[i] and bound[i] of every output element of one member of the batch (SDDMM: nnz; else rows x width, packed).
 * `old` holds the outputs before the call (read only when args->beta != 0). Both are malloc'ed, the caller frees them.
 *
 * The bound, componentwise, with u the unit roundoff of what sums are kept in (fp32 or fp64), v that of the storage:
 *   dot product         |x' - x| <= dx = (K + 8) u * sum |a||b|               (any order of summation, fused or not)
 *   edge                |e' - e| <= de = max |e(x +- dx) - e(x)| + 16 u |e|    (e is monotonic or smooth near x)
 *   softmax of n        |p' - p| <= p * (expm1(2 max ds) + (n + 20) u), ds = scale dx + 4 u (|scale x| + |s|)
 *   sum of n products   |c' - c| <= sum de |d| + (n + 8) u sum |e||d|
 *   result              |alpha| * that + 4 u |alpha e| + (n + 4) u |beta old| + 2 v |result| + the smallest positive of
 *                       the storage; n = 0 for a sample, else old may be the first term of its row's sum
 */
void expect_member(const problem *p, tamis_operation operation, const tamis_args *args, int64_t member,
                   const double *old, double **want, double **bound);

/* Whether `got` may stand for `want`: within the bound; infinities and NaN where the oracle has them; beyond the
   storage's largest number, infinity or that number. */
bool expect_fits(tamis_type type, double got, double want, double bound);

#endif
