/* Models of pairs of columns: a row's score for a column is the sum of pair weights over the row's columns. They have
   no factors; the scores, rows x columns, take the place of row factors. */
#ifndef TAMIS_ML_ITEMS_H
#define TAMIS_ML_ITEMS_H

#include "ml/fit/place.h"
#include "ml/methods/method.h"
#include "ml/serve/operands.h"

/* The Gram matrix X^T X of the data's columns, computed by SpMM some columns at a time. */
typedef struct ml_items {
    ml_sparse turned; /* X^T */
    tamis_plan *plan;
    tamis_dense B, C; /* rows x block: columns of X; columns x block: their products */
    int64_t block;
    void *host_B, *host_C; /* of the model's type */
} ml_items;

tamis_status ml_items_make(tamis_model *model, const tamis_sparse *data, ml_items *items);
/* Computes items->host_C: the products of columns first to first + block - 1 with all columns, zeros behind the last.
 */
tamis_status ml_items_products(tamis_model *model, ml_items *items, int64_t first);

/* Reports progress to the callback between two blocks. If the callback stops the fit, the model is emptied and the call
   fails. */
tamis_status ml_items_go_on(tamis_model *model, int64_t done, int64_t all);
/* Allocates the model's column data, cols x width, unless it exists, and sets the width of scores. */
tamis_status ml_items_factors(tamis_model *model, int64_t cols, int64_t width);
/* Sets the operands of rows whose scores are W. */
tamis_status ml_items_operands(tamis_model *model, const tamis_dense *W, ml_operands *made);

/* Functions of a method whose columns give `neighbours` weights each (serve/lists.h): fields of ml_method. */
ml_lists_kind ml_items_give_lists(const tamis_model_options *options);
tamis_status ml_items_check_lists(const char *path, const tamis_model *model, const tamis_dense *kept);
int64_t ml_items_lists_width(const tamis_model_options *options, int64_t cols);
tamis_status ml_items_admit_lists(const tamis_model *model, int64_t cols);
/* Checks the number of columns and allocates their lists, at the beginning of a fit. */
tamis_status ml_items_begin_lists(tamis_model *model, int64_t cols);
/* Writes the columns that a column gives weights, and these, as line `at` of lines of the model's column data. */
void ml_items_put_list(const tamis_model *model, void *lines, int64_t at, int64_t kept, const int64_t *columns,
                       const double *weights);

#endif
