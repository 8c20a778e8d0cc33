/* Models of counts as mixtures: P(word | row) = sum over topics of P(topic | row) P(word | topic). */
#ifndef TAMIS_ML_MIXTURE_H
#define TAMIS_ML_MIXTURE_H

#include "ml/serve/operands.h"

/* Makes the operands of a model whose columns of column factors are topics: B_wk = column factor / its column's sum,
   A_dk = w_dk / sum over k of w_dk, where w is W (NULL: the model's rows), and where topics have masses W times the
   column's sum. Rows of A sum to 1, also a row of zeros: it gets what a row of ones would. So a row of A B^T sums to 1.
 */
tamis_status ml_mixture(tamis_model *model, const tamis_dense *W, ml_operands *operands);

#endif
