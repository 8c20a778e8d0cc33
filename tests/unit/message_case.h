/* Graphs and matrices for the tests of message passing. */
#ifndef TAMIS_TESTS_MESSAGE_CASE_H
#define TAMIS_TESTS_MESSAGE_CASE_H

#include "support/test.h"

#include <tamis/reference.h>

double *numbers(int64_t count); /* zeros, to be freed */

typedef enum graph_kind {
    GRAPH_CSR,       /* int32; rectangular, with empty rows, columns out of order and repeated */
    GRAPH_COO,       /* int64, in no order */
    GRAPH_SLICE,     /* rows of a larger CSR, int64 offsets */
    GRAPH_EMPTY,     /* no entries */
    GRAPH_BY_COLUMN, /* COO whose columns rise */
    GRAPH_HUB,       /* COO with a row and a column of 1300 entries */
    GRAPH_KINDS
} graph_kind;

typedef struct graph_case {
    graph_kind kind;
    tamis_sparse S;
    void *offsets, *rows, *columns;
    int64_t most; /* entries of the longest row or column */
} graph_case;

graph_case graph_case_make(graph_kind kind);
void graph_case_free(graph_case *g);

/* The graph with its arrays where the device wants them. */
tamis_graph *graph_case_open(tamis_device *device, const graph_case *g, int threads);
tamis_graph *graph_case_open_with(tamis_device *device, const graph_case *g, const tamis_graph_options *options);
void graph_case_close(tamis_device *device, tamis_graph *graph);

/* Bytes where the device wants them: the host's on the CPU, a copy on others, which is freed by `memory_fetch`. */
void *memory_send(tamis_device *device, void *host, size_t bytes);
void memory_fetch(tamis_device *device, void *host, void *there, size_t bytes);

/* A row-major matrix with gaps between its rows. It begins one element after an aligned address, or, with
   matrices_aligned, it and each of its rows at one. */
typedef struct matrix {
    tamis_dense view;
    tamis_dense there; /* the view that a call gets */
    void *memory;
    size_t bytes, front; /* front: before the first element */
} matrix;
extern bool matrices_aligned;

/* The view for a call: what the matrix has now. What the call wrote is there after matrix_fetch. */
const tamis_dense *matrix_send(tamis_device *device, matrix *m);
void matrix_fetch(tamis_device *device, matrix *m);

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
