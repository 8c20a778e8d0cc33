/*
 * Batches with what the oracle expects of them: one pattern with a hub row, operands of the members arranged as callers
 * have them, on the host and, where it has memory of its own, on the device.
 */
#ifndef TAMIS_TESTS_BATCH_CASE_H
#define TAMIS_TESTS_BATCH_CASE_H

#include <tamis/tamis.h>

#include "base/random.h"

typedef enum arrangement {
    MEMBERS_APART,       /* one after another, with gaps */
    MEMBERS_WITHIN_ROWS, /* heads: beside one another in each row */
    MEMBERS_SHARE        /* B and D are the same for all */
} arrangement;

typedef struct batch_options {
    tamis_operation operation;
    tamis_edge edge; /* scale or softmax: those have bounds here */
    tamis_type type, output_type;
    int64_t rows, cols, nnz, inner, width, batch;
    arrangement arranged;
    bool shares_values, values_later; /* one set for all; handed over with the execution */
    bool wide_values;                 /* S's values are fp32 whatever the type (SpMM) */
    bool coo, column_major, transpose;
    double alpha, beta;
} batch_options;

enum { BATCH_HOST, BATCH_DEVICE, BATCH_SIDES };

typedef struct batch_case {
    batch_options options;
    tamis_device *device;
    tamis_sparse S[BATCH_SIDES];
    tamis_dense A[BATCH_SIDES], B[BATCH_SIDES], D[BATCH_SIDES], out[BATCH_SIDES]; /* SpMM: D is its B */
    int64_t values_stride;
    const void *values[BATCH_SIDES]; /* of the execution; NULL: S's */
    struct {
        void *host, *memory; /* the same where the device has no memory of its own */
        size_t bytes;
    } arrays[9];
    int array_count;
    char *out_before;     /* what the output's array held */
    double *want, *bound; /* of each member, packed */
} batch_case;

batch_case batch_make(tamis_device *device, const batch_options *options, tamis_random *random);
void batch_free(batch_case *c);

/* As a plan with that algorithm and those parameters, or, without a name, by one call. TAMIS_ERROR_UNSUPPORTED where
   the algorithm declines. */
tamis_status batch_run(batch_case *c, const char *algorithm, const char *parameters);

/* Whether what the last run left is right and the gaps are as they were; else says what is wrong. */
bool batch_is_right(batch_case *c, char *text, size_t bytes);

#endif
