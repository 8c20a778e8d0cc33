/* What the numbers of uses become before they are fitted: options.weights of implicit-als. */
#ifndef TAMIS_ML_WEIGHTS_H
#define TAMIS_ML_WEIGHTS_H

#include "ml/model.h"

/* Checks options.weights. most: the last of them. */
tamis_status ml_weights_check(const tamis_model_options *options, tamis_use_weights most);
/* Whether a model has the state that they are computed from, for new rows too: a method's ML_WEIGHTS_STATE. */
bool ml_weights_kept(const tamis_model_options *options);
#define ML_WEIGHTS_STATE                                                                                               \
    { .rows = {ML_COLUMNS, 1}, .cols = {ML_NONE, 1}, .range = ML_NOT_NEGATIVE, .kept = ml_weights_kept }
/* Overwrites the uses of `data` by their weights. fit: they are the data of a fit, of this rank where there are
   several; else the rows are new. */
tamis_status ml_weights_apply(tamis_model *model, tamis_sparse *data, bool fit);

#endif
