/* The matrices that a model keeps. */
#ifndef TAMIS_ML_FACTORS_H
#define TAMIS_ML_FACTORS_H

#include "ml/model.h"

/* Makes row and column factors of the sizes given that are not there yet (from a checkpoint they are), and the
   workspace. *fresh: they were made now, and hold nothing yet. */
tamis_status ml_model_factors(tamis_model *model, int64_t rows, int64_t cols, bool *fresh);
/* Does the same for a state. */
tamis_status ml_model_state(tamis_model *model, int number, int64_t rows, int64_t cols, bool *fresh);
/* Makes model->workspace where it is not there yet: a model that was loaded has none. */
tamis_status ml_model_workspace(tamis_model *model);

#endif
