/* Data as methods take them, and what a model keeps of its data. */
#ifndef TAMIS_ML_CANONICAL_H
#define TAMIS_ML_CANONICAL_H

#include "ml/model.h"

/* Compute the fingerprint of canonical data, which is never 0. The sums of rows, each with its number in the whole
   (`first` is that of the first one), add up over ranks. ml_former_sum is the fingerprint that files of earlier
   versions have. */
uint64_t ml_rows_sum(const tamis_sparse *data, int64_t first);
uint64_t ml_data_sum(int64_t rows, int64_t cols, int64_t nnz, uint64_t rows_sum);
uint64_t ml_former_sum(const tamis_sparse *data);
/* Notes what the model keeps of data: sizes, mean, range, scale. The scale follows from the sum of squares of nnz
   ratings less the centre, in units of the largest. */
void ml_describe_data(tamis_model *model, const tamis_sparse *data);
double ml_squares(const tamis_model *model, const tamis_sparse *data);
double ml_scale_of(const tamis_model *model, double squares, int64_t nnz);
/* Does the same for one more mini-batch. */
void ml_describe_more(tamis_model *model, const tamis_sparse *data);

/* Says how S becomes CSR of the model's type, sorted, with duplicates summed and values. */
tamis_convert_options ml_conversion(const tamis_model *model, const tamis_sparse *S);

/* Converts S to the form in which methods take their data: a host matrix, CSR, sorted, duplicates summed, values there,
   int64 offsets, the model's type; checks the values for the method's kind. `what` names S in messages. */
tamis_status ml_canonical(const tamis_model *model, const tamis_sparse *S, const char *what, tamis_owned_sparse **data);

#endif
