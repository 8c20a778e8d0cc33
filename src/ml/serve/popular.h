/* Recommendations where a model of uses knows nothing: the columns that most rows used. */
#ifndef TAMIS_ML_POPULAR_H
#define TAMIS_ML_POPULAR_H

#include "ml/serve/operands.h"
#include "ml/serve/seen.h"

/* State with the number of rows that used or rated each column; files of older versions lack it. */
enum { ML_POPULARITY = 1 };
#define ML_POPULARITY_STATE                                                                                            \
    { .rows = {ML_COLUMNS, 0}, .cols = {ML_NONE, 1}, .range = ML_NOT_NEGATIVE, .optional = true }

/* Counts the rows that use or rate each column in the data of a fit, over all ranks. */
tamis_status ml_popular_learn(tamis_model *model, const tamis_sparse *data);
/* Returns the columns in order of falling counts; equal counts in order of rising columns. *order belongs to the
   scope. */
tamis_status ml_order_by_count(const double *counts, int64_t cols, int64_t **order);
/* The same by the model's counts; NULL if it has none. */
tamis_status ml_popular_order(const tamis_model *model, int64_t **order);
/* Breaks ties at score 0 by popularity: replaces the columns with score 0 among each line's n best by the most popular
   ones that are not in `seen` (NULL: none) and are allowed (NULL: all). For a line of zeros in A all columns tie. */
tamis_status ml_popular_fill(const tamis_model *model, const ml_operands *operands, const ml_seen *seen,
                             const bool *allowed, int n, int64_t *columns, double *scores);

#endif
