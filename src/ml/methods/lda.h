/* Models of topics with Dirichlet priors: using them, however they were fitted. */
#ifndef TAMIS_ML_LDA_H
#define TAMIS_ML_LDA_H

#include "ml/model.h"

/* The state with a learned alpha of each topic: topics x 1. */
enum { ML_ALPHA = 0 };

/* Returns true if the options say that alpha is learned: the model then has that state. */
bool ml_lda_learns(const tamis_model_options *options);
/* Returns a prior: as given, or 1 / K for 0. */
double ml_lda_prior(const tamis_model *model, double given);

/* `transform` of method.h: infers the topics of documents for the model's topics. */
tamis_status ml_lda_transform(tamis_model *model, const tamis_sparse *data, const tamis_dense *W);

#endif
