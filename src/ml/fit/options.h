/* Checking options, and making models from them. */
#ifndef TAMIS_ML_OPTIONS_H
#define TAMIS_ML_OPTIONS_H

#include "ml/model.h"

/* Makes an empty model from checked options; for create and load. */
tamis_status ml_model_make(tamis_device *device, const tamis_model_options *options, tamis_model **model);
/* Frees an unfinished model and restores the error message, which freeing clears. */
tamis_status ml_model_give_up(tamis_status status, tamis_model *model);
/* Parses options.algorithms. */
tamis_status ml_algorithms(const char *text, char algorithms[3][48]);
tamis_status ml_options_check(const tamis_model_options *options);

#endif
