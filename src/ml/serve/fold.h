/* Factors of few new rows on the CPU, one after the other, without plans. */
#ifndef TAMIS_ML_FOLD_H
#define TAMIS_ML_FOLD_H

#include "ml/model.h"

/* The system of a row with `count` entries: (G + sum of weight_t y_t y_t^T) x = sum of target_t y_t. All is on the
   host, in double. */
typedef struct ml_fold {
    const tamis_model *model;
    const tamis_sparse *data;
    const tamis_dense *factors; /* of columns, on the host */
    int64_t width, count;
    double *Y, *weights, *targets; /* a row, a number and a number for each entry; targets begin as the values */
    const double *inverse;         /* of G; NULL: G is `shift` times the identity */
    double shift;
    double *vectors; /* of the solution */
} ml_fold;

/* Returns true if computing this many rows one by one is faster than by plans (fold.c). */
bool ml_folds_alone(const tamis_model *model, int64_t rows);
/* Makes the system of a row from the factors of its columns, in Y, and its values. */
typedef void ml_fold_system(ml_fold *fold);
/* Allocates scratch for the longest row of fold->data, of the scope. */
tamis_status ml_fold_make(ml_fold *fold);
/* Gathers the factors of the row's columns, and its values as targets. */
void ml_fold_take(ml_fold *fold, int64_t row);
/* Solves the systems of the rows of `data` into W. inverse: see ml_fold. */
tamis_status ml_fold_rows(const tamis_model *model, const tamis_sparse *data, const double *inverse,
                          ml_fold_system *make, const tamis_dense *W);

#endif
