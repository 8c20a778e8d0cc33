/* Models of counts as mixtures: P(word | row) = sum over topics of P(topic | row) P(word | topic). */
#ifndef TAMIS_ML_MIXTURE_H
#define TAMIS_ML_MIXTURE_H

#include "ml/serve/operands.h"

/* Makes the operands of a topic model: B_wk = column factor / sum of topic k, A_dk = w_dk / sum over k of w_dk. Here w
   is W (NULL: the model's rows), or W times the topic's sum if topics have masses. Rows of A sum to 1; a row of zeros
   counts as a row of ones. So a row of A B^T sums to 1. */
tamis_status ml_mixture(tamis_model *model, const tamis_dense *W, ml_operands *operands);

#endif
