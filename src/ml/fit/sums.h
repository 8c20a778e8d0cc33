/* Sums that stay on the device. */
#ifndef TAMIS_ML_SUMS_H
#define TAMIS_ML_SUMS_H

#include "ml/model.h"

/* Makes a zero-initialised count x 1 vector, padded with zeros for ml_vector_dot. It belongs to the scope. */
tamis_status ml_vector_make(const tamis_model *model, int64_t count, tamis_dense *vector);
/* Returns a view of the first `count` numbers of such a vector, and overwrites the padding behind them with zeros,
   copied from `zeros`, a vector that was never written to. */
tamis_status ml_vector_first(const tamis_model *model, const tamis_dense *vector, int64_t count,
                             const tamis_dense *zeros, tamis_dense *first);

/* Writes the sum of X_ij Y_ij into `sum`, which is 1 x 1. X and Y may be the same; scratch has one column and their
   rows at least. */
tamis_status ml_dot(const tamis_model *model, const tamis_dense *X, const tamis_dense *Y, const tamis_dense *scratch,
                    const tamis_dense *sum);
/* The same for vectors of ml_vector_make. scratch has at least ml_vector_scratch(length) rows, which is at most the
   length. */
int64_t ml_vector_scratch(int64_t count);
tamis_status ml_vector_dot(const tamis_model *model, const tamis_dense *x, const tamis_dense *y,
                           const tamis_dense *scratch, const tamis_dense *sum);

#endif
