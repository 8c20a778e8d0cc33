/* The heaviest columns of factors. */
#ifndef TAMIS_ML_TOPICS_H
#define TAMIS_ML_TOPICS_H

#include "ml/model.h"

/* Implements tamis_model_topics. */
tamis_status ml_topics(tamis_model *model, int n, int64_t *columns, double *weights);

#endif
