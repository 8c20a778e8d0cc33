/* Batches with what the oracle expects of them: one pattern with a hub row, members arranged as callers have them. */
#ifndef TAMIS_TESTS_BATCH_CASE_H
#define TAMIS_TESTS_BATCH_CASE_H

#include "support/mirror.h"

typedef enum arrangement {
    MEMBERS_APART,       /* one after another, with gaps */
    MEMBERS_WITHIN_ROWS, /* heads: beside one another in each row */
    MEMBERS_SHARE        /* B and D are the same for all */
} arrangement;

typedef struct batch_options {
    tamis_operation operation;
    tamis_edge edge;
    tamis_type type;
    int64_t rows, cols, nnz, inner, width, batch;
    arrangement arranged;
    bool shares_values, values_later; /* one set for all; handed over with the execution */
    bool wide_values, wide_output;    /* fp32 whatever the type */
    bool coo, column_major, transpose;
    double alpha, beta;
} batch_options;

typedef struct batch_case {
    batch_options options;
    problem p;
    mirror on;
    test_call call;
    twin others;  /* values that are not to be read */
    void *before; /* the output */
    expectation right;
} batch_case;

batch_case batch_make(tamis_device *device, const batch_options *options, tamis_random *random);
void batch_free(batch_case *c);

/* As a plan with that algorithm and those parameters, or, without a name, by one call. TAMIS_ERROR_UNSUPPORTED where
   the algorithm declines. */
tamis_status batch_run(batch_case *c, const char *algorithm, const char *parameters);

#endif
