/* Sums over pairs of columns that rows have together: each column with all others, some columns by each thread. The
   sums of a column are added in the order of rows, so that they are the same for any number of threads. */
#ifndef TAMIS_ML_PAIRS_H
#define TAMIS_ML_PAIRS_H

#include "ml/model.h"

/* The entries of rows, in an order of the method's, and where columns have theirs. */
typedef struct ml_pairs {
    int64_t rows, cols;
    const int64_t *offsets;     /* of rows */
    int32_t *columns, *rows_of; /* by entry */
    double *values;             /* by entry */
    int64_t *begin, *where;     /* the entries of column j are where[begin[j]] .. where[begin[j + 1] - 1] */
} ml_pairs;

/* The sums of one column. */
typedef struct ml_pair_sums {
    double *sums;
    int32_t *met, *seen; /* the columns that have a sum; by column, the last column (from 1) that it was met for */
    int64_t count;
    int32_t column;
} ml_pair_sums;

static inline void ml_pair_add(ml_pair_sums *s, int32_t other, double part) {
    if (s->seen[other] != s->column + 1) {
        s->seen[other] = s->column + 1;
        s->met[s->count++] = other;
        s->sums[other] = 0;
    }
    s->sums[other] += part;
}

/* Allocates the arrays, in the scope of the fit, with the columns and values of the data, in its order. */
tamis_status ml_pairs_make(const tamis_sparse *data, ml_pairs *pairs);
/* Finds where columns have their entries, after the method has ordered these. */
tamis_status ml_pairs_turn(ml_pairs *pairs);

/* Adds what a column has with others. */
typedef void ml_pairs_visit(const ml_pairs *pairs, ml_pair_sums *sums);
/* Adds up the column's products with all columns: a column of X^T X. */
void ml_pairs_products(const ml_pairs *pairs, ml_pair_sums *sums);
/* Returns the weight of a pair, given the sums of its first column; 0 and less: it has none. */
typedef double ml_pairs_weigh(const void *context, const ml_pair_sums *sums, int32_t other, double total);
/* Keeps the options.neighbours largest weights of each column as the model's column data (serve/lists.h). total: of a
   column's sums. Reports progress; if the callback stops the fit, the model is emptied and the call fails. */
tamis_status ml_pairs_keep(tamis_model *model, const ml_pairs *pairs, ml_pairs_visit *visit, ml_pairs_weigh *weigh,
                           const void *context);

#endif
