/* Dense and sparse matrices on the model's device. All that is made here belongs to the scope (base/scope.h), except
   for what ml_dense_make and ml_dense_fetch make. */
#ifndef TAMIS_ML_PLACE_H
#define TAMIS_ML_PLACE_H

#include "ml/model.h"

/* Finds the threads of work on the host: options.threads, or the device's. */
tamis_status ml_host_threads(const tamis_model *model, int *threads);

/* Allocate a packed matrix on the device, not initialised. rows or cols 0 is fine (data NULL). ml_dense_make: of the
   model, or of another owner, who frees it. */
tamis_status ml_scratch(const tamis_model *model, int64_t rows, int64_t cols, tamis_dense *dense);
tamis_status ml_dense_make(const tamis_model *model, int64_t rows, int64_t cols, tamis_dense *dense);
void ml_dense_free(const tamis_model *model, tamis_dense *dense);
/* Copy between a packed host array of the model's type and the device; they wait. */
tamis_status ml_dense_write(const tamis_model *model, const tamis_dense *dense, const void *host);
tamis_status ml_dense_read(const tamis_model *model, const tamis_dense *dense, void *host);
/* Do the same with doubles for any type of the model. */
tamis_status ml_dense_write_doubles(const tamis_model *model, const tamis_dense *dense, const double *numbers);
tamis_status ml_dense_take_doubles(const tamis_model *model, const tamis_dense *dense, double *numbers);
tamis_status ml_dense_read_doubles(const tamis_model *model, const tamis_dense *dense, double **numbers);
/* Copy a matrix to the host; ml_dense_here only if it is not there; ml_dense_fetch as an array that the caller owns. */
tamis_status ml_dense_copy(const tamis_model *model, const tamis_dense *dense, tamis_dense *copy);
tamis_status ml_dense_here(const tamis_model *model, const tamis_dense *dense, tamis_dense *here);
tamis_status ml_dense_fetch(const tamis_model *model, const tamis_dense *dense, tamis_owned_dense **array);
/* Writes seeded uniform values in [low, high) to a matrix on the device. stream: distinguishes matrices with the same
   seed. */
tamis_status ml_dense_random(const tamis_model *model, const tamis_dense *dense, uint64_t stream, double low,
                             double high);
/* Writes only the rows from `first` on. */
tamis_status ml_dense_random_from(const tamis_model *model, const tamis_dense *dense, int64_t first, uint64_t stream,
                                  double low, double high);
/* Allocates elements of the model's type on the device: the values of samples. */
tamis_status ml_values_make(const tamis_model *model, int64_t count, void **values);
/* Views them as a count x 1 matrix, for tamis/dense.h. */
tamis_dense ml_values_view(const tamis_model *model, void *values, int64_t count);

/* Replaces host memory by a copy on the device; zero bytes, and NULL, need none. */
tamis_status ml_on_device(const tamis_model *model, int64_t entries, size_t size, const void **memory);

/* A sparse matrix on the device: CSR, sorted, duplicates summed, the model's type. */
typedef struct ml_sparse {
    tamis_sparse host; /* the matrix on the host */
    tamis_sparse view; /* at the device's location */
    struct tamis_row_exchange
        *others; /* in a fit on a group (group.h): fetches the rows to which the columns refer; else NULL */
} ml_sparse;
/* Puts `S` (host, any form), or its transpose, onto the device. */
tamis_status ml_sparse_place(const tamis_model *model, const tamis_sparse *S, bool transpose, ml_sparse *placed);
/* The two steps of ml_sparse_place: make placed->host and its view; copy the view's arrays to the device. */
tamis_status ml_sparse_convert(const tamis_model *model, const tamis_sparse *S, bool transpose, ml_sparse *placed);
tamis_status ml_sparse_send(const tamis_model *model, ml_sparse *placed);
/* Places rows first to first + count - 1 of a CSR matrix with int64 offsets. */
tamis_status ml_sparse_place_rows(const tamis_model *model, const tamis_sparse *S, int64_t first, int64_t count,
                                  bool transpose, ml_sparse *placed);
/* Returns the weight of lambda for a row with `count` ratings, 1 if lambda is not weighted. It is never 0, so that rows
   without ratings become 0. */
double ml_lambda_weight(const tamis_model *model, int64_t count);
/* Computes the lambda of each row, rows x 1 on the device. */
tamis_status ml_row_lambdas(const tamis_model *model, const ml_sparse *S, tamis_dense *lambdas);
/* Computes the number of nonzeros of each row as the model's type, rows x 1 on the device. */
tamis_status ml_row_counts(const tamis_model *model, const ml_sparse *S, tamis_dense *counts);
/* Computes the weight of lambda for each row, rows x 1 on the device. */
tamis_status ml_row_weights(const tamis_model *model, const ml_sparse *S, tamis_dense *weights);

#endif
