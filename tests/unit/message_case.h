/* Graphs and matrices for the tests of message passing. */
#ifndef TAMIS_TESTS_MESSAGE_CASE_H
#define TAMIS_TESTS_MESSAGE_CASE_H

#include "cmocka_first.h"

#include <tamis/reference.h>

/* Calls `run` once for each compiled instruction set that this machine has. */
void on_each_instruction_set(void (*run)(void));

double *numbers(int64_t count); /* zeros, to be freed */

typedef enum graph_kind {
    GRAPH_CSR,   /* int32; rectangular, with empty rows, columns out of order and repeated */
    GRAPH_COO,   /* int64, in no order */
    GRAPH_SLICE, /* rows of a larger CSR, int64 offsets */
    GRAPH_EMPTY, /* no entries */
    GRAPH_HUB,   /* COO with a row and a column of 1300 entries */
    GRAPH_KINDS
} graph_kind;

typedef struct graph_case {
    tamis_sparse S;
    void *offsets, *rows, *columns;
    int64_t most; /* entries of the longest row or column */
} graph_case;

graph_case graph_case_make(graph_kind kind);
void graph_case_free(graph_case *g);

/* A row-major matrix that begins one element after an aligned address and has gaps between its rows. */
typedef struct matrix {
    tamis_dense view;
    void *memory;
    size_t bytes;
} matrix;

/* Multiples of 1/4 from -7/4 to 7/4, of which many are equal, or their absolute values; not 0. */
matrix matrix_make(int64_t rows, int64_t cols, tamis_type type, int seed, int absolute);
matrix matrix_apart(int64_t rows, int64_t cols, int seed); /* doubles of which no two are near each other */
matrix matrix_poisoned(int64_t rows, int64_t cols, tamis_type type);
void matrix_free(matrix *m);
void *matrix_at(const matrix *m, int64_t row, int64_t col);
double matrix_get(const matrix *m, int64_t row, int64_t col);
void matrix_set(matrix *m, int64_t row, int64_t col, double x);

/* Compares a poisoned matrix that a call has written: `expected`, rounded to the type. With roundings > 0 so many, each
   of `size` at most, are allowed for in sums and terms. Nothing else may have been written. */
void matrix_check(const matrix *m, const double *expected, const double *size, double roundings);

#endif
