/* What the oracle says of a problem, and how far a right result may be from it. */
#ifndef TAMIS_TESTS_EXPECT_H
#define TAMIS_TESTS_EXPECT_H

#include "support/call.h"
#include "support/problem.h"

/*
 * want[i] and bound[i] of every output element of one member of the batch (SDDMM: nnz; else rows x width, packed).
 * `old` holds the outputs before the call (read only when call->execution.beta != 0). Both are malloc'ed, the caller
 * frees them.
 *
 * The bound, componentwise, with u the unit roundoff of what sums are kept in (fp32 or fp64):
 *   dot product         |x' - x| <= dx, the smaller of two: that of bounds.h, and 8 g(K) max(|x|, |A_i||B_j| /
 * sqrt(K)), g(K) = 1e-6 * 2^24 u * sqrt(K / 128 + 1), the rule for K products of random signs, and 8 for the worst of
 * many edge e, softmax     |e' - e| <= de, that of bounds.h sum of n products   |c' - c| <= sum de |d| + (n + 8) u sum
 * |e||d| math = TF32         dx and the sum of n products: t(n) * sum of the magnitudes more, t(n) = 2^-10 + (n + 64)
 * 2^-26 result              |alpha| * that + 4 u |alpha e| + (n + 4) u |beta old| + twice the smallest normal number of
 * the sums; n = 0 for a sample, else old may be the first term of its row's sum That is before the result is stored in
 * its type, which rounds once, to nearest: see expect_fits().
 */
void expect_member(const problem *p, tamis_operation operation, const test_call *call, int64_t member,
                   const double *old, double **want, double **bound);

/* x as it is stored: rounded to the nearest number of the type, ties to even, past the largest to infinity. */
double expect_stored(tamis_type type, double x);

/* Whether `got` may stand for `want`: it is what some number within the bound is stored as; infinities and NaN where
   the oracle has them. No bound of a finite number is infinite or NaN. */
bool expect_fits(tamis_type type, double got, double want, double bound);

/* The first element of a member that does not fit, of what a call has left in X on the host; packed numbers expected,
   exactly those without a bound. NULL, or words that are valid until the thread's next call. */
const char *expect_wrong(const tamis_dense *X, int64_t member, const double *want, const double *bound);

/* What is expected of each member of a batch, for those who compare more than one result. */
enum { EXPECT_MOST = 8 };
typedef struct expectation {
    double *want[EXPECT_MOST], *bound[EXPECT_MOST];
} expectation;
/* `old` is the result before the call, on the host. */
expectation expect_members(const problem *p, tamis_operation operation, const test_call *call, const matrix *old);
/* As expect_wrong(), of all members; nothing else of the block may have been written to. */
const char *expect_compare(const expectation *x, const matrix *result);
void expect_free(expectation *x);

#endif
