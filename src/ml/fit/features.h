/* Features of rows and columns: factors for those without entries. */
#ifndef TAMIS_ML_FEATURES_H
#define TAMIS_ML_FEATURES_H

#include "ml/model.h"

/* Checks that the features that the next fit will use have the data's numbers of rows and columns. */
tamis_status ml_features_check(const tamis_model *model, int64_t rows, int64_t cols);
/* Gives factors to rows and columns of `data` that have no entries, but features that tell something. Sets
   model->featured. */
tamis_status ml_features_use(tamis_model *model, const tamis_sparse *data);
/* Forgets the features. */
void ml_features_forget(tamis_model *model);

#endif
