/* A problem where a device wants it, as it is on the CPU, copies in its memory on a GPU; and room for a result. */
#ifndef TAMIS_TESTS_MIRROR_H
#define TAMIS_TESTS_MIRROR_H

#include "support/expect.h"

typedef struct mirror {
    tamis_device *device;
    tamis_operation operation;
    tamis_sparse S;
    tamis_dense A, B, D;
    matrix out; /* what the operation writes: poison */
    pattern pattern;
    twin arrays[4]; /* S's values, A, B and D */
} mirror;

/* Every failure ends the test: what is tested is what comes after. */
mirror mirror_make(tamis_device *device, const problem *p, tamis_operation operation);
void mirror_free(mirror *m);
OWN_VALUE(mirror, mirror_free)
bool mirror_copies(const mirror *m); /* the device has memory of its own */

/* The operation by a plan or by one call, into the device's output. */
tamis_status mirror_plan(const mirror *m, const tamis_plan *plan, const tamis_execution *execution);
tamis_status mirror_once(const mirror *m, const tamis_options *options, const tamis_execution *execution);

/* Fetches the output of such a call with beta = 0: what is wrong with it, NULL for nothing; see expect_wrong(). */
const char *mirror_wrong(mirror *m, const problem *p, const test_call *call);

#endif
