/*
 * Random problems for tests: a sparse matrix of some shape in any format and index type, whole or a slice, dense
 * operands in any layout, with gaps, odd alignment and members of batches arranged as callers have them.
 */
#ifndef TAMIS_TESTS_PROBLEM_H
#define TAMIS_TESTS_PROBLEM_H

#include "support/matrix.h"
#include "support/seed.h"

enum shape {
    SHAPE_UNIFORM,     /* entries anywhere */
    SHAPE_HUB,         /* most entries in one row in the middle */
    SHAPE_LAST_ROW,    /* all entries in the last row */
    SHAPE_SPARSE_ENDS, /* the first and the last third of the rows are empty */
    SHAPE_RAGGED,      /* ever shorter rows, the last ones empty */
    SHAPE_BAND,        /* columns near the diagonal */
    SHAPE_FULL_HUB,    /* as HUB, no place twice: what a row has no room for is in the next one; columns rise */
    SHAPE_CROSS,       /* a share of the entries in one row, and in one column; the first and last fifth are empty */
    SHAPE_SHARE        /* that share of all places, columns rising; the first and last fifth of the rows are empty */
};

enum { PROBLEM_SHARES_A = 1, PROBLEM_SHARES_B = 2, PROBLEM_SHARES_D = 4, PROBLEM_SHARES_VALUES = 8 };

typedef struct problem_options {
    int64_t rows, cols, nnz, inner, width, batch;
    enum shape shape;
    double share; /* of CROSS and SHARE */
    tamis_type type;
    tamis_format format;
    tamis_index_type index_type, offset_type;
    tamis_layout layouts[4]; /* of A, B, D and the output */
    bool sorted, pattern;
    bool d_is_b;                   /* one view: inner is width, and what is said of D is not looked at */
    bool distinct;                 /* no place twice: there may be fewer nonzeros */
    bool slice;                    /* a few entries before and behind belong to other rows */
    bool transpose;                /* A and the output go with S's columns, B and D with its rows */
    bool turned;                   /* the shape is that of the transpose, whose rows are S's columns */
    bool wide_values, wide_output; /* fp32, whatever the type */
    unsigned shared;               /* by all members of a batch, with batch_stride 0: of PROBLEM_SHARES_A ... */
    int64_t padding;               /* elements between rows (or columns) */
    int64_t apart, values_apart;   /* elements between members of matrices; of values and samples */
    bool within;                   /* members beside one another in each row */
    int64_t misalignment;          /* elements before the first one */
    double special;                /* put into some elements of A, B and S instead of a number, unless 0 */
} problem_options;

/* Where the nonzeros are: S without values, whose entry t has these places in op(S). */
typedef struct pattern {
    tamis_sparse S;
    int64_t *row_of, *column_of;
    twin arrays[3]; /* columns, rows and offsets */
} pattern;

pattern pattern_make(const problem_options *options, tamis_random *random);
/* Of entries in that order, in CSR by rows. */
pattern pattern_of(const problem_options *options, const int64_t *rows, const int64_t *columns, int64_t nnz);
void pattern_free(pattern *p);
tamis_sparse pattern_send(tamis_device *device, pattern *p);

/* Values of every member of a batch, in [-1, 1); S gets the first ones and their stride. */
twin pattern_values(tamis_sparse *S, bool shared, int64_t apart, int64_t batch, tamis_random *random);

typedef struct problem {
    problem_options options;
    tamis_sparse S;
    tamis_dense A, B, D, out; /* for SpMM the operands are D (as B) and out */
    pattern pattern;
    twin arrays[5]; /* S's values, A, B, D and out */
} problem;

problem problem_make(const problem_options *options, tamis_random *random);
/* Makes the elements and values of a problem without a batch whole numbers from -3 to 3, whose sums need no rounding.
 */
void problem_round(problem *p);
void problem_free(problem *p);
OWN_VALUE(problem, problem_free)

/* Room for what an operation writes: samples, or a matrix that lies as p->out does. Poison. */
matrix problem_result(const problem *p, tamis_operation operation);

/* The options of its calls, and of plans. */
tamis_options problem_call(const problem *p, tamis_operation operation, const tamis_options *more);

#endif
