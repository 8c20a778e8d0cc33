/* Factors of few new rows on the CPU, one after the other, without plans. */
#ifndef TAMIS_ML_FOLD_H
#define TAMIS_ML_FOLD_H

#include "ml/model.h"

/* The system of a row with `count` entries: (G + sum of weight_t y_t y_t^T) x = sum of target_t y_t. All is on the
   host, in double. */
typedef struct ml_fold {
    const tamis_model *model;
    const tamis_sparse *data;
    int64_t width, count;
    double *Y, *weights, *targets; /* a row, a number and a number for each entry */
    const double *inverse;         /* of G; NULL: G is `shift` times the identity */
    double shift;
    double *vectors; /* of the solution */
} ml_fold;

/* Returns true if computing this many rows one by one is faster than by plans (fold.c). */
bool ml_folds_alone(const tamis_model *model, int64_t rows);
/* Allocates scratch for the longest row of `data`. The caller frees it with ml_fold_free(), also after an error. */
tamis_status ml_fold_make(const tamis_model *model, const tamis_sparse *data, ml_fold *fold);
void ml_fold_free(ml_fold *fold);
/* Gathers the factors of the columns of row `row` into Y; sets count and targets to the row's length and values. */
void ml_fold_take(ml_fold *fold, int64_t row);
/* Solves the row's system and writes the solution to row `row` of W. */
tamis_status ml_fold_solve(ml_fold *fold, const tamis_dense *W, int64_t row);

#endif
