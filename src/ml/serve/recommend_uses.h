/* Recommendations of models of pairs of columns, which keep no rows, from the rows' uses. */
#ifndef TAMIS_ML_RECOMMEND_USES_H
#define TAMIS_ML_RECOMMEND_USES_H

#include "ml/model.h"

/* Finds the n best columns for rows of `uses` (rows = NULL: the first `count`), without their own columns; as
   tamis_model_recommend_among. */
tamis_status ml_recommend_uses(tamis_model *model, const tamis_sparse *uses, const int64_t *rows, int64_t count,
                               const bool *candidates, int n, int64_t *columns, double *scores);

#endif
