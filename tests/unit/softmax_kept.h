/* The statistics of softmax's rows that a forward call keeps, with its output, in memory that shows who wrote where. */
#ifndef TAMIS_TESTS_SOFTMAX_KEPT_H
#define TAMIS_TESTS_SOFTMAX_KEPT_H

#include "gradient_case.h"

typedef struct kept {
    twin pairs;
    matrix out;
} kept;

/* Of any operation, with the operands of the case. */
kept kept_make(const gradient_case *c);
void kept_free(kept *k);
OWN_VALUE(kept, kept_free)

/* Sets all bits; fetches what the device has. */
void kept_poison(const gradient_case *c, kept *k);
void kept_fetch(kept *k);

/* Executes the plan. */
tamis_status kept_forward(const gradient_case *c, const tamis_plan *plan, const kept *k,
                          const tamis_execution *execution);

/* The case's execution with beta = 0, asking for the statistics. */
tamis_execution kept_asking(const gradient_case *c, const kept *k);

/* Largest score and sum of exponentials of each row of each member, and how far they may be off. */
void kept_expect(const gradient_case *c, double *want, double *bound);

#endif
