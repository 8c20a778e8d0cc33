/*
 * Recommendations by a model of ratings. The largest predictions are of columns that few have rated and that the row
 * would hardly ever meet: recall is a tenth of mere popularity's. So columns are ranked by <x, y> + SEEN ln(n + 1/2)
 * with the n ratings of a column: the chance of being seen goes with n, and with an exponent of 1 / SEEN a prediction
 * of one deviation more. Where numbers of ratings differ by chance alone, columns are ranked by predictions; the term
 * is multiplied by the share of their variance that is more. Predictions stay as they are.
 */
#ifndef TAMIS_ML_CHANCE_H
#define TAMIS_ML_CHANCE_H

#include "ml/serve/operands.h"

/* ml_method.prepare of methods of ratings with the state ML_POPULARITY: counts the ratings of each column at a fit. */
tamis_status ml_chance_prepare(tamis_model *model, tamis_sparse *data, bool fit);

/* Sets operands->terms if the model ranks by the chance of being seen; else it is left NULL. */
tamis_status ml_chance_terms(const tamis_model *model, ml_operands *operands);

#endif
