/* Graphs and matrices for the tests of message passing. */
#ifndef TAMIS_TESTS_MESSAGE_CASE_H
#define TAMIS_TESTS_MESSAGE_CASE_H

#include "support/test.h"

#include <tamis/reference.h>

#include "support/problem.h"

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
    pattern pattern;
    int64_t most; /* entries of the longest row or column */
} graph_case;

graph_case graph_case_make(graph_kind kind);
void graph_case_free(graph_case *g);

/* The graph with its arrays where the device wants them. */
tamis_graph *graph_case_open(tamis_device *device, const graph_case *g, int threads);
tamis_graph *graph_case_open_with(tamis_device *device, const graph_case *g, const tamis_graph_options *options);
void graph_case_close(tamis_graph *graph);

/* A row-major matrix with gaps between its rows and around it. It begins one element after an aligned address, or, with
   matrices_aligned, it and each of its rows at one. */
extern bool matrices_aligned;
matrix matrix_poisoned(int64_t rows, int64_t cols, tamis_type type);
/* Multiples of 1/4 from -7/4 to 7/4, of which many are equal, or their absolute values; not 0. */
matrix matrix_make(int64_t rows, int64_t cols, tamis_type type, int seed, int absolute);
matrix matrix_apart(int64_t rows, int64_t cols, int seed); /* doubles of which no two are near each other */

/* The rows as columns and the columns as rows, in the same places. */
void matrix_turn(matrix *m);

/* Compares a poisoned matrix that a call has written: `expected`, rounded to the type. With roundings > 0 so many, each
   of `size` at most, are allowed for in sums and terms. Nothing else may have been written. */
void matrix_check(const matrix *m, const double *expected, const double *size, double roundings);
/* The same; each element may be `bound` away before it is rounded. */
void matrix_near(const matrix *m, const double *expected, double bound);

/* Gradients of `loss` by the elements of a matrix against finite differences. */
void matrix_differ(matrix *by, const double *gradient, double (*loss)(const void *), const void *context);

#endif
