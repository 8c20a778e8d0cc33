/* Transforms numbers of uses into weights before a fit: options.weights of implicit-als, item-knn, ease and nmf. */
#ifndef TAMIS_ML_WEIGHTS_H
#define TAMIS_ML_WEIGHTS_H

#include "ml/model.h"

/* Checks options.weights. most: the last of them. */
tamis_status ml_weights_check(const tamis_model_options *options, tamis_use_weights most);
/* Returns true if the weights need a state, also for new rows: a method's ML_WEIGHTS_STATE. */
bool ml_weights_kept(const tamis_model_options *options);
#define ML_WEIGHTS_STATE                                                                                               \
    { .rows = {ML_COLUMNS, 1}, .cols = {ML_NONE, 1}, .range = ML_POSITIVE, .kept = ml_weights_kept }
/* Replaces the uses in `data` by their weights. fit: they are this rank's data of a fit, else new rows. */
tamis_status ml_weights_apply(tamis_model *model, tamis_sparse *data, bool fit);

#endif
