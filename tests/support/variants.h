/*
 * The instruction sets that a test of the CPU goes through. Several of those that run on one machine have the same
 * tables of kernels, but for bf16: a test runs each table once.
 */
#ifndef TAMIS_TESTS_VARIANTS_H
#define TAMIS_TESTS_VARIANTS_H

typedef enum test_tables { TEST_KERNELS, TEST_MESSAGES, TEST_DENSE } test_tables;

/* Of the set that TAMIS_CPU_ISA names, the types, as bits, of which no better one that runs here has the same table. */
unsigned test_variant_types(test_tables of);

/* The name of the next set, from number *next on, that has a table of its own, and its types; TAMIS_CPU_ISA then names
   it. NULL: no more. */
const char *test_variant_next(int *next, test_tables of, unsigned *types);

#endif
