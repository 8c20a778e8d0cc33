/* Checks of what a fitted model is asked, factors of new rows, and predictions. None of these functions clears the
   thread's message. */
#ifndef TAMIS_ML_PREDICT_H
#define TAMIS_ML_PREDICT_H

#include "ml/serve/operands.h"

/* Checks that the model is there and was fitted. */
tamis_status ml_check_fitted(const tamis_model *model);
/* Checks W, as tamis_model_transform gives it, on the host, or NULL for the model's own rows. *rows: how many there
   are. */
tamis_status ml_check_rows(const tamis_model *model, const tamis_dense *W, int64_t *rows);
/* Copies those lines of X, which is on the host or one of the model's own matrices, packed and in that order; rows =
   NULL: the first `count`. */
tamis_status ml_gather_rows(const tamis_model *model, const tamis_dense *X, const int64_t *rows, int64_t count,
                            tamis_owned_dense **gathered);
/* Checks that a matrix has as many columns as the model; `what` names it. */
tamis_status ml_check_cols(const tamis_model *model, const char *what, int64_t cols);

/* Begins a use of a model beside which there may be others, or an iteration: *use is the model but for the scratch,
   which is its own. A GPU's scratch is dear, and its work is one after the other anyway. ml_use_end() follows, after an
   error too. */
tamis_status ml_use_begin(tamis_model *model, tamis_model *use);
void ml_use_end(tamis_model *use);

/* Does what tamis_model_transform does, into a packed array that the caller owns. */
tamis_status ml_transform(tamis_model *model, const tamis_sparse *S, const char *what, tamis_owned_dense **W);
/* Predicts at the places of a valid S on the host; A has a line for each of its rows. */
tamis_status ml_predict(tamis_model *model, const ml_operands *operands, const tamis_sparse *S, double *predictions);
/* Returns clamp(offset + scale dot, least, most); NaN stays NaN. */
static inline double ml_expectation(const ml_operands *operands, double dot) {
    const double value = operands->offset + operands->scale * dot;
    return value < operands->least ? operands->least : value > operands->most ? operands->most : value;
}

#endif
