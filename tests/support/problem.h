/*
 * Random problems for tests: a sparse matrix of some shape in any format and index type, dense operands in any layout
 * with padding and odd alignment, each in a heap block of exactly its size so that AddressSanitizer sees the first byte
 * too far.
 */
#ifndef TAMIS_TESTS_PROBLEM_H
#define TAMIS_TESTS_PROBLEM_H

#include <tamis/tamis.h>

#include "base/random.h"
#include "support/seed.h"

typedef enum shape {
    SHAPE_UNIFORM,     /* entries anywhere */
    SHAPE_HUB,         /* most entries in one row in the middle */
    SHAPE_LAST_ROW,    /* all entries in the last row */
    SHAPE_SPARSE_ENDS, /* the first and the last third of the rows are empty */
    SHAPE_RAGGED,      /* ever shorter rows, the last ones empty */
    SHAPE_BAND         /* columns near the diagonal */
} shape;

enum { PROBLEM_SHARES_A = 1, PROBLEM_SHARES_B = 2, PROBLEM_SHARES_D = 4, PROBLEM_SHARES_VALUES = 8 };

typedef struct problem_options {
    int64_t rows, cols, nnz, inner, width, batch;
    shape shape;
    tamis_type type;
    tamis_format format;
    tamis_index_type index_type, offset_type;
    tamis_layout layouts[4]; /* of A, B, D and the output */
    bool sorted, pattern;
    bool d_is_b;          /* one view: inner is width, and what is said of D is not looked at */
    bool distinct;        /* no place twice: there may be fewer nonzeros */
    unsigned shared;      /* by all members of a batch, with batch_stride 0: of PROBLEM_SHARES_A ... */
    int64_t padding;      /* elements between rows (or columns) */
    int64_t misalignment; /* elements before the first one */
    double special;       /* put into some elements of A, B and S instead of a number, unless 0 */
} problem_options;

typedef struct problem {
    problem_options options;
    tamis_sparse S;
    tamis_dense A, B, D, out; /* for SpMM the operands are D (as B) and out */
    void *blocks[8];
} problem;

/* Element i of an array of that type, as a double, and back. */
double test_load(const void *array, tamis_type type, int64_t i);
void test_store(void *array, tamis_type type, int64_t i, double value);

/* Where element (i, j) of a batch's member lies, counted in elements. */
int64_t test_position(const tamis_dense *X, int64_t member, int64_t i, int64_t j);

/* Rows first .. first + rows - 1. */
tamis_dense test_rows_of(const tamis_dense *X, int64_t first, int64_t rows);

problem problem_make(const problem_options *options, tamis_random *random);
/* Makes the elements and values of a problem without a batch whole numbers from -3 to 3, whose sums need no rounding.
 */
void problem_round(problem *p);
void problem_free(problem *p);

#endif
