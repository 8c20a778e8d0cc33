/* Small symmetric matrices on the host, in double: the whitening of sfa.c, the degrees of freedom of noise.c. */
#ifndef TAMIS_ML_CHOLESKY_H
#define TAMIS_ML_CHOLESKY_H

#include <math.h>
#include <stdint.h>

/* Replaces the lower triangle of a symmetric n x n matrix, with eigenvalues of at least `least`, by the inverse of its
   Cholesky factor. Pivots that rounding makes smaller are set to `least`. */
static inline void ml_invert_cholesky(double *A, int64_t n, double least) {
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            double sum = A[i * n + j];
            for (int64_t k = 0; k < j; k++) sum -= A[i * n + k] * A[j * n + k];
            A[i * n + j] = i > j ? sum / A[j * n + j] : sqrt(sum > least ? sum : least);
        }
    for (int64_t j = 0; j < n; j++) { /* column by column, each from the diagonal down */
        A[j * n + j] = 1 / A[j * n + j];
        for (int64_t i = j + 1; i < n; i++) {
            double sum = 0;
            for (int64_t k = j; k < i; k++) sum -= A[i * n + k] * A[k * n + j];
            A[i * n + j] = sum / A[i * n + i];
        }
    }
}

#endif
