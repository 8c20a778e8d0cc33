/* The metric of held-out entries during a fit. */
#ifndef TAMIS_ML_SCORE_H
#define TAMIS_ML_SCORE_H

#include "ml/model.h"

/* Computes the number that a fit's callback gets as metric, and its weight: the held-out entries of ratings, the rows
   of uses. */
tamis_status ml_metric(tamis_model *model, const tamis_held_out *held_out, double *metric, double *weight);

#endif
