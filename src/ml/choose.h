/* What a fit chooses by a small inner split where the options do not say it. */
#ifndef TAMIS_ML_CHOOSE_H
#define TAMIS_ML_CHOOSE_H

#include "ml/model.h"

/* Sets *choice for a fit of the model to `data`, whose values are as they were given. */
tamis_status ml_choose(const tamis_model *model, const tamis_sparse *data, ml_choice *choice);

/* Sets *choice to what is taken where there is too little to choose by: mini-batches that come one after another. */
void ml_choose_nothing(const tamis_model *model, ml_choice *choice);

/* Makes the choice the model's own. */
void ml_take_choice(tamis_model *model, const ml_choice *choice);

#endif
