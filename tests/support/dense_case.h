/*
 * Random dense matrices where a device wants them, with a copy on the host: any stride and alignment, gaps that nobody
 * may touch, in a heap block of exactly their size so that AddressSanitizer sees the first byte too far.
 */
#ifndef TAMIS_TESTS_DENSE_CASE_H
#define TAMIS_TESTS_DENSE_CASE_H

#include <tamis/tamis.h>

#include "base/random.h"

typedef struct dense_case {
    tamis_device *device;
    tamis_dense view; /* what the library gets */
    void *memory;     /* the device's, NULL where it computes on the host's */
    char *block;      /* the host's */
    int64_t shift;    /* elements before the first one */
    size_t bytes;
} dense_case;

/* Uniform elements in [low, high), `padding` elements between rows, `shift` before the first (0 on OpenCL: a cl_mem
   has no address). Failures end the test. */
dense_case dense_case_make(tamis_device *device, tamis_type type, int64_t rows, int64_t cols, int64_t padding,
                           int64_t shift, double low, double high, tamis_random *random);
void dense_case_free(dense_case *x);

/* Element of the host's copy, as of the last fetch. */
double dense_case_get(const dense_case *x, int64_t i, int64_t j);

/* All elements, packed; malloc'ed. */
double *dense_case_values(const dense_case *x);

/* Sets an element of the host's copy; _send brings them all to the device. */
void dense_case_set(dense_case *x, int64_t i, int64_t j, double value);
void dense_case_send(dense_case *x);
void dense_case_poison(dense_case *x); /* NaN everywhere, and sent */

/* The device's content; false when a gap was written to. */
bool dense_case_fetch(dense_case *x);

#endif
