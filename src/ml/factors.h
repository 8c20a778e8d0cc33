/* A model's matrices. */
#ifndef TAMIS_ML_FACTORS_H
#define TAMIS_ML_FACTORS_H

#include "ml/model.h"

/* Makes row and column factors of these sizes unless they exist (from a checkpoint), and the workspace. *fresh: they
   were made now, and are zeros. */
tamis_status ml_model_factors(tamis_model *model, int64_t rows, int64_t cols, bool *fresh);
/* Do the same for a state, whose size follows from the model's rows and columns; ml_model_state_of: with ML_ANY rows.
 */
tamis_status ml_model_state(tamis_model *model, int number, bool *fresh);
tamis_status ml_model_state_of(tamis_model *model, int number, int64_t rows, bool *fresh);
/* Sets size[] to the rows and columns of state `number` of a model with `rows` rows and `cols` columns. Returns false
   if the method has no such state. size[0] is -1 for ML_ANY rows. */
bool ml_state_size(const ml_method *method, const tamis_model_options *options, int64_t rows, int64_t cols, int number,
                   int64_t size[2]);
/* Reads a state as doubles, which belong to the scope. *numbers is NULL if an optional state is missing. */
tamis_status ml_state_read(const tamis_model *model, int number, double **numbers);
/* Makes model->workspace unless it exists; a loaded model has none. */
tamis_status ml_model_workspace(tamis_model *model);

#endif
