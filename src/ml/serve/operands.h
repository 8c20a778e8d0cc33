/* The two sides of predictions, which are products of factors. */
#ifndef TAMIS_ML_OPERANDS_H
#define TAMIS_ML_OPERANDS_H

#include "ml/model.h"

/* One side of predictions: packed, of the model's type. On the host, and `there`, where it is not NULL, the same on the
   model's device; then host.data is NULL on a GPU until ml_operand_fetch(). */
typedef struct ml_operand {
    tamis_dense host;
    const tamis_dense *there; /* the model's factors */
    tamis_owned_dense *own;   /* host's memory where it is the operand's own, else it is the model's or W's */
} ml_operand;

/* Predictions are clamp(offset + scale <A_i, B_j>, least, most), scale > 0. A has a line a row, B a line a column, both
   of the same width. They live as long as the model's factors stay as they are, and W. For ml_operands_free(). */
typedef struct ml_operands {
    ml_operand A, B;
    double offset, scale, least, most;
    const void *scales; /* on the host, of B's type: products are multiplied by their column's, and a column whose
                           number is NaN is no candidate; NULL: by none */
    bool plain;         /* a row of zeros means nothing: it gets no popular columns */
    bool direct;        /* A has the predictions themselves, a number for each column, and B has nothing */
} ml_operands;

/* Sets A (W, or the model's own rows) and B to the factors as they are; the rest of *operands stays. */
void ml_plain_operands(const tamis_model *model, const tamis_dense *W, ml_operands *operands);
/* Does the same with factors whose last column is the bias, if the model has biases. */
tamis_status ml_biased_operands(const tamis_model *model, const tamis_dense *W, ml_operands *operands);
/* Copies `from` with one column more at `place`: `numbers`, a rows x 1 matrix, or ones if that is NULL. */
tamis_status ml_insert_column(const tamis_dense *from, int64_t place, const tamis_dense *numbers,
                              tamis_owned_dense **wide);
/* Makes an operand of the model's factors of rows or columns, as they are. */
void ml_operand_use(const tamis_dense *factors, ml_operand *operand);
/* Makes an operand of an array, which it then owns. */
void ml_operand_take(ml_operand *operand, tamis_owned_dense *array);
/* Brings an operand onto the host if it is not there yet. */
tamis_status ml_operand_fetch(const tamis_model *model, ml_operand *operand);
void ml_operands_free(ml_operands *operands);

#endif
