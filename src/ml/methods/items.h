/* Models of pairs of columns: what a row is recommended is the sum over what it has of weights of pairs. They have no
   factors: scores of rows, rows x columns, stand in their place. */
#ifndef TAMIS_ML_ITEMS_H
#define TAMIS_ML_ITEMS_H

#include "ml/fit/place.h"
#include "ml/serve/operands.h"

/* Products of the data's columns with each other, X^T X, some columns of it at a time by SpMM. */
typedef struct ml_items {
    ml_sparse turned; /* X^T */
    tamis_plan *plan;
    tamis_dense B, C; /* rows x block: columns of X; columns x block: their products */
    int64_t block;
    void *host_B, *host_C; /* of the model's type */
} ml_items;

tamis_status ml_items_make(tamis_model *model, const tamis_sparse *data, ml_items *items);
void ml_items_free(const tamis_model *model, ml_items *items);
/* Computes items->host_C: the products of columns first to first + block - 1 with all columns, zeros behind the last.
 */
tamis_status ml_items_products(tamis_model *model, ml_items *items, int64_t first);

/* Tells the callback how many of the columns are done, between two blocks. If it says stop the model is empty, and the
   call fails. */
tamis_status ml_items_go_on(tamis_model *model, int64_t done, int64_t all);
/* Makes what the model keeps of its columns, cols x width, and the width of scores, where it is not there yet. */
tamis_status ml_items_factors(tamis_model *model, int64_t cols, int64_t width);
/* Sets the operands of rows whose scores are W. */
tamis_status ml_items_operands(tamis_model *model, const tamis_dense *W, ml_operands *made);

#endif
