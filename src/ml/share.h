/* The share of the noise that lambda is: chosen by a small inner split. */
#ifndef TAMIS_ML_SHARE_H
#define TAMIS_ML_SHARE_H

#include "ml/model.h"

/* Sets *share for a fit of the model to `data`, as methods take them. */
tamis_status ml_share_choose(const tamis_model *model, const tamis_sparse *data, double *share);

#endif
