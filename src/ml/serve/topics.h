/* The heaviest columns of factors, and the coherence of topics. */
#ifndef TAMIS_ML_TOPICS_H
#define TAMIS_ML_TOPICS_H

#include "ml/model.h"

/* Implements tamis_model_topics. */
tamis_status ml_topics(tamis_model *model, int n, int64_t *columns, double *weights);
/* Computes the mean over topics of the mean NPMI of pairs of their words, `words` of `top` columns a topic, -1 for
   none, over the rows of a canonical `documents`. NaN where no pair can be judged. */
tamis_status ml_coherence(const tamis_sparse *documents, const int64_t *words, int64_t topics, int top,
                          double *coherence);

#endif
