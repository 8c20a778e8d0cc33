/* The two sides of predictions, which are products of factors. */
#ifndef TAMIS_ML_OPERANDS_H
#define TAMIS_ML_OPERANDS_H

#include "ml/model.h"

/* One side of predictions: packed, of the model's type. `host` is on the host. `there`, if not NULL, is the same on the
   model's device; then host.data is NULL on a GPU until ml_operand_fetch(). */
typedef struct ml_operand {
    tamis_dense host;
    const tamis_dense *there; /* the model's factors */
} ml_operand;

/* Predictions are clamp(offset + scale <A_i, B_j>, least, most), scale > 0. A has a line per row, B a line per column,
   of the same width. They are valid as long as W and the scope, and while the model's factors do not change. */
typedef struct ml_operands {
    ml_operand A, B;
    double offset, scale, least, most;
    const void
        *scales; /* on the host, of B's type: multiplies each column's products; NaN excludes the column; NULL: none */
    const void *terms; /* the same: added to each column's products, for the order of recommendations alone */
    bool plain;        /* a row of zeros gets no popular columns */
    bool direct;       /* A has the products themselves, one per column, and B is empty */
} ml_operands;

/* Sets A (W, or the model's own rows) and B to the unchanged factors, and leaves the rest of *operands. */
void ml_plain_operands(const tamis_model *model, const tamis_dense *W, ml_operands *operands);
/* Does the same with factors whose last column is the bias, if the model has biases. */
tamis_status ml_biased_operands(const tamis_model *model, const tamis_dense *W, ml_operands *operands);
/* Copies `from` with an additional column at `place`: `numbers`, a rows x 1 matrix, or ones if it is NULL. */
tamis_status ml_insert_column(const tamis_dense *from, int64_t place, const tamis_dense *numbers, ml_operand *wide);
/* Makes an operand from the model's factors of rows or columns, without a copy. */
void ml_operand_use(const tamis_dense *factors, ml_operand *operand);
/* Copies an operand to the host unless it is there. */
tamis_status ml_operand_fetch(const tamis_model *model, ml_operand *operand);

#endif
