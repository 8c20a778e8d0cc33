/* Access to single numbers of host arrays whose type is known at run time: fp32 or fp64, indices of either size. */
#ifndef TAMIS_ML_NUMBERS_H
#define TAMIS_ML_NUMBERS_H

#include <tamis/tamis.h>

#include "base/random.h"
#include "sparse/index.h"

static inline double ml_number(const void *numbers, tamis_type type, int64_t at) {
    return type == TAMIS_F64 ? ((const double *)numbers)[at] : (double)((const float *)numbers)[at];
}

static inline void ml_put_number(void *numbers, tamis_type type, int64_t at, double value) {
    if (type == TAMIS_F64)
        ((double *)numbers)[at] = value;
    else
        ((float *)numbers)[at] = (float)value;
}

/* Elements of a row-major matrix; stride 0 means packed. */
static inline int64_t ml_place_of(const tamis_dense *X, int64_t row, int64_t col) {
    return row * (X->stride > 0 ? X->stride : X->cols) + col;
}
static inline double ml_element(const tamis_dense *X, int64_t row, int64_t col) {
    return ml_number(X->data, X->type, ml_place_of(X, row, col));
}
static inline void ml_put_element(const tamis_dense *X, int64_t row, int64_t col, double value) {
    ml_put_number(X->data, X->type, ml_place_of(X, row, col), value);
}

/* The value and column of entry t of a sparse matrix that has values. */
static inline double ml_value(const tamis_sparse *S, int64_t t) { return ml_number(S->values, S->value_type, t); }
/* The same, 1 if it has none. */
static inline double ml_value_or_one(const tamis_sparse *S, int64_t t) { return S->values ? ml_value(S, t) : 1; }
static inline int64_t ml_column(const tamis_sparse *S, int64_t t) {
    return tamis_index_load(S->columns, S->index_type, t);
}
/* Returns the offset of row i of a CSR matrix. */
static inline int64_t ml_offset(const tamis_sparse *S, int64_t row) {
    return tamis_index_load(S->offsets, S->offset_type, row);
}

/* Returns the most entries that a row has. */
static inline int64_t ml_longest_row(const tamis_sparse *S) {
    int64_t longest = 0;
    for (int64_t i = 0; i < S->rows; i++) {
        const int64_t length = ml_offset(S, i + 1) - ml_offset(S, i);
        if (length > longest) longest = length;
    }
    return longest;
}

/* Returns the index of a row's entry in a column of a sorted CSR matrix, or -1. */
static inline int64_t ml_entry_at(const tamis_sparse *S, int64_t row, int64_t column) {
    const int64_t end = ml_offset(S, row + 1);
    const int64_t at = tamis_index_first(S->columns, S->index_type, ml_offset(S, row), end, column);
    return at < end && ml_column(S, at) == column ? at : -1;
}

/* Writes 0 .. count - 1 in a random order (Fisher and Yates). */
static inline void ml_shuffle(uint64_t seed, uint64_t stream, tamis_index_type type, int64_t count, void *numbers) {
    tamis_random random = tamis_random_start(seed, stream);
    for (int64_t i = 0; i < count; i++) tamis_index_store(numbers, type, i, i);
    for (int64_t i = count - 1; i > 0; i--) {
        const int64_t other = tamis_random_below(&random, i + 1), number = tamis_index_load(numbers, type, i);
        tamis_index_store(numbers, type, i, tamis_index_load(numbers, type, other));
        tamis_index_store(numbers, type, other, number);
    }
}

/* Adds up the columns of a matrix on the host. */
static inline void ml_column_sums(const tamis_dense *X, double *sums) {
    for (int64_t j = 0; j < X->cols; j++) sums[j] = 0;
    for (int64_t i = 0; i < X->rows; i++)
        for (int64_t j = 0; j < X->cols; j++) sums[j] += ml_element(X, i, j);
}

/* Returns a view of the first rows of a packed matrix, for mini-batches smaller than the scratch. */
static inline tamis_dense ml_first_rows(const tamis_dense *X, int64_t rows) {
    tamis_dense view = *X;
    view.rows = rows;
    return view;
}

#endif
