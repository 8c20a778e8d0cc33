/* Recommendations for rows of which a model of uses knows nothing: the columns that most rows used. */
#ifndef TAMIS_ML_POPULAR_H
#define TAMIS_ML_POPULAR_H

#include "ml/operands.h"
#include "ml/seen.h"

/* The state that has how many rows used each column; files of older versions have none. */
enum { ML_POPULARITY = 1 };

/* Counts them over the data of a fit, on all ranks. */
tamis_status ml_popular_learn(tamis_model *model, const tamis_sparse *data);
/* For each line of A that is all zeros, whose scores are all equal, overwrites the n best columns by the most popular
   without those of `seen` (NULL: none), of those that are allowed (NULL: all). */
tamis_status ml_popular_fill(const tamis_model *model, const ml_operands *operands, const ml_seen *seen,
                             const bool *allowed, int n, int64_t *columns, double *scores);

#endif
