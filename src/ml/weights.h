/* What the numbers of uses become before they are fitted: options.weights of implicit-als. */
#ifndef TAMIS_ML_WEIGHTS_H
#define TAMIS_ML_WEIGHTS_H

#include "ml/model.h"

/* Checks options.weights. most: the last of them. */
tamis_status ml_weights_check(const tamis_model_options *options, tamis_use_weights most);
/* The sizes of the state that they are computed from, for new rows too; zeros: there is none. */
void ml_weights_state(const tamis_model_options *options, int64_t cols, int64_t sizes[2]);
/* Overwrites the uses of `data` by their weights. fit: they are the data of a fit, of this rank where there are
   several; else the rows are new. */
tamis_status ml_weights_apply(tamis_model *model, tamis_sparse *data, bool fit);

#endif
