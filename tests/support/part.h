/* Some rows of a problem, as a rank of a group or a plan out of core has them, with a result that is whole. */
#ifndef TAMIS_TESTS_PART_H
#define TAMIS_TESTS_PART_H

#include "support/expect.h"

enum {
    PART_COLUMN_MAJOR = 1,
    PART_PADDED = 2,
    PART_BATCH = 4,
    PART_SHARED_B = 8, /* by all members of a batch */
    PART_WIDE = 16,    /* 64-bit indices */
    PART_PATTERN = 32,
    PART_BETA = 64,
    PART_SAME = 128,     /* D is B */
    PART_INTEGERS = 256, /* operands whose sums have no rounding: results are exact */
    PART_VALUES = 512,   /* the execution brings S's values */
    PART_OTHERS = 1024   /* the first flag that is free */
};

typedef struct part_case {
    const char *name;
    int64_t rows, cols, nnz, inner, width; /* of op(S), whose shape it is */
    enum shape shape;
    unsigned flags;
} part_case;

typedef struct part {
    const part_case *c;
    tamis_operation operation;
    tamis_edge edge;
    tamis_type type;
    bool transpose;
    test_call call;
    /* what part_draw() makes */
    problem p;
    matrix result;
    void *old;
    expectation right;
    void *zeros; /* values that are not to be read */
    /* and part_take() */
    tamis_sparse S;
    tamis_dense A, B, D, out;
    int64_t first; /* row of the result */
} part;

/* With `members` where it is a batch. */
void part_draw(part *x, int64_t members, tamis_random random);
/* Rows of S, of A and the output, and of B and D. */
typedef struct part_rows {
    int64_t first, rows, left, left_rows, right, right_rows;
    int64_t own; /* how many go with S's columns */
} part_rows;
/* A rank's; uneven: the last rank has all rows of S, the first one all of the others. */
part_rows part_rows_of(const tamis_sparse *S, bool transpose, bool uneven, int rank, int ranks);
bool part_take(part *x, const part_rows *rows); /* false: no memory */
void part_free(part *x);
OWN_VALUE(part, part_free)

tamis_options part_options(const part *x);

/* What is wrong with its rows of the result, NULL for nothing; or with others, which are as they were. */
const char *part_wrong(const part *x);

#endif
