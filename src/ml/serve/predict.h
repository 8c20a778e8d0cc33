/* Checks of arguments for fitted models, factors of new rows, and predictions. None of these functions clears the
   thread's error message. */
#ifndef TAMIS_ML_PREDICT_H
#define TAMIS_ML_PREDICT_H

#include "ml/serve/operands.h"

/* Checks that the model is not NULL and was fitted. */
tamis_status ml_check_fitted(const tamis_model *model);
/* Checks W, a host matrix as from tamis_model_transform, or NULL for the model's own rows. Sets *rows to the number of
   rows. */
tamis_status ml_check_rows(const tamis_model *model, const tamis_dense *W, int64_t *rows);
/* Gathers lines of X, a host matrix or one of the model's, into a packed matrix in the order of `rows`; rows = NULL:
   the first `count`. */
tamis_status ml_gather_rows(const tamis_model *model, const tamis_dense *X, const int64_t *rows, int64_t count,
                            tamis_dense *gathered);
/* Checks that a matrix has as many columns as the model; `what` names it. */
tamis_status ml_check_cols(const tamis_model *model, const char *what, int64_t cols);

/* Begins a use of a model that may run beside other uses. *use is a shallow copy of the model with its own scratch; on
   a GPU the scratch is shared, as it is expensive to make and a GPU's work is serial anyway. It ends with the scope. */
tamis_status ml_use_begin(tamis_model *model, tamis_model *use);

/* As tamis_model_transform, into a packed matrix of the scope. */
tamis_status ml_transform(tamis_model *model, const tamis_sparse *S, const char *what, tamis_dense *W);
/* Predicts at the entries of a valid S on the host; A has a line for each row of S. */
tamis_status ml_predict(tamis_model *model, const ml_operands *operands, const tamis_sparse *S, double *predictions);
/* As tamis_model_predict_rows, for a canonical `observed` and a valid S. */
tamis_status ml_predict_rows(tamis_model *model, const tamis_sparse *observed, const tamis_sparse *S,
                             double *predictions);
/* Returns how many rows, at most `most` and at least one, to give all their scores at once. */
static inline int64_t ml_rows_at_once(const tamis_model *model, int64_t most) {
    enum { SCORES_MOST = 1 << 22 };
    const int64_t fits = SCORES_MOST / model->cols;
    return fits < 1 ? 1 : fits < most ? fits : most;
}

/* Returns clamp(offset + scale dot, least, most); NaN stays NaN. */
static inline double ml_expectation(const ml_operands *operands, double dot) {
    const double value = operands->offset + operands->scale * dot;
    return value < operands->least ? operands->least : value > operands->most ? operands->most : value;
}

#endif
