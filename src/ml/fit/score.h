/* The metric of held-out entries during a fit. */
#ifndef TAMIS_ML_SCORE_H
#define TAMIS_ML_SCORE_H

#include "ml/model.h"

/* Computes the metric of a fit's callback, and its weight: the number of held-out entries for ratings, of rows for
   uses. */
tamis_status ml_metric(tamis_model *model, const tamis_held_out *held_out, double *metric, double *weight);

/* Sets squares to the squared errors of the model of ratings at the held-out entries, in their order. */
tamis_status ml_square_errors(tamis_model *model, const tamis_held_out *held_out, double *squares);

#endif
