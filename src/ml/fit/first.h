/* The factors with which a fit begins. */
#ifndef TAMIS_ML_FIRST_H
#define TAMIS_ML_FIRST_H

#include "ml/fit/place.h"

/* Begins or continues a fit to `rows`, whose transpose is `columns`. A new fit starts with rows at 0 and columns
   at random. Without entries both are 0: this is their optimum, and factors that they have from features (features.h)
   take no part in a fit that continues. */
tamis_status ml_first_factors(const tamis_model *model, const ml_sparse *rows, const ml_sparse *columns);

#endif
