/* Canonical data of methods, and statistics of data that a model keeps. */
#ifndef TAMIS_ML_CANONICAL_H
#define TAMIS_ML_CANONICAL_H

#include "ml/model.h"

/* Compute the fingerprint of canonical data, which is never 0. Sums of rows depend on the rows' global numbers
   (`first`: of the first row) and add up over ranks. ml_former_sum is the fingerprint in files of earlier versions. */
uint64_t ml_rows_sum(const tamis_sparse *data, int64_t first);
uint64_t ml_data_sum(int64_t rows, int64_t cols, int64_t nnz, uint64_t rows_sum);
uint64_t ml_former_sum(const tamis_sparse *data);
/* Sets the model's statistics of the data: sizes, mean, range, scale. ml_scale_of computes the scale from the sum of
   squares of nnz centred ratings, in units of the largest. */
void ml_describe_data(tamis_model *model, const tamis_sparse *data);
double ml_squares(const tamis_model *model, const tamis_sparse *data);
double ml_scale_of(const tamis_model *model, double squares, int64_t nnz);
/* Does the same for one more mini-batch. */
void ml_describe_more(tamis_model *model, const tamis_sparse *data);

/* Returns the options that convert S to sorted CSR of the model's type, with duplicates summed and values. */
tamis_convert_options ml_conversion(const tamis_model *model, const tamis_sparse *S);

/* Checks the values of a CSR matrix with int64 offsets, on the host: they must be finite, and counts not negative. */
tamis_status ml_check_values(const tamis_sparse *S, bool counts, const char *what);

/* Converts S to canonical form: a host matrix, CSR, sorted, duplicates summed, values present, int64 offsets, the
   model's type. Checks the values for the method's kind of data. `what` names S in messages. The data belong to the
   scope. */
tamis_status ml_canonical(const tamis_model *model, const tamis_sparse *S, const char *what, tamis_sparse *data);

#endif
