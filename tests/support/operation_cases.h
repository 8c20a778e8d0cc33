/* A row's cases, for the properties of operation_properties.c. */
#ifndef TAMIS_TESTS_OPERATION_CASES_H
#define TAMIS_TESTS_OPERATION_CASES_H

#include "support/operation.h"

typedef struct operation_setting {
    const char *on;
    tamis_device *device;
    uint64_t seed;
    int64_t number;
    bool drawn, small; /* small: in fp64, for many evaluations */
    operation_values values;
} operation_setting;

void operation_make(operation_case *c, const operation_row *row, const operation_setting *setting);
void operation_free(operation_case *c);
void operation_fill(operation_case *c, int k);
void operation_send(operation_case *c); /* with results as they were before any call */
void operation_fetch(operation_case *c);
tamis_status operation_call(operation_case *c); /* open, forward and backward */
void operation_close(operation_case *c);
bool operand_is_result(const operand *x);
/* Each element of each gradient against differences of the loss; how many, and of these at kinks, which are not
   compared. */
void operation_differ(operation_case *c, int64_t *compared, int64_t *kinks);
/* Captures the calls into a CUDA graph and compares what its launches leave; false where there are none. */
bool operation_capture(operation_case *c, void (*compare)(operation_case *c));

#endif
