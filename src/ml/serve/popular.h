/* Recommendations where a model of uses knows nothing: the columns that most rows used. */
#ifndef TAMIS_ML_POPULAR_H
#define TAMIS_ML_POPULAR_H

#include "ml/serve/operands.h"
#include "ml/serve/seen.h"

/* The state that has how many rows used each column; files of older versions have none. */
enum { ML_POPULARITY = 1 };
#define ML_POPULARITY_STATE                                                                                            \
    { .rows = {ML_COLUMNS, 0}, .cols = {ML_NONE, 1}, .range = ML_NOT_NEGATIVE, .optional = true }

/* Counts them over the data of a fit, on all ranks. */
tamis_status ml_popular_learn(tamis_model *model, const tamis_sparse *data);
/* Makes an array of the columns, those with the largest counts first, of equal ones the lower number. */
tamis_status ml_order_by_count(const double *counts, int64_t cols, int64_t **order);
/* The same by the model's counts; NULL where it has none. */
tamis_status ml_popular_order(const tamis_model *model, int64_t **order);
/* Among columns whose scores tie at 0 the most popular come first: overwrites those of the n best columns that a line
   of A has of them, without those of `seen` (NULL: none), of those that are allowed (NULL: all). All columns tie for a
   line of zeros. */
tamis_status ml_popular_fill(const tamis_model *model, const ml_operands *operands, const ml_seen *seen,
                             const bool *allowed, int n, int64_t *columns, double *scores);

#endif
