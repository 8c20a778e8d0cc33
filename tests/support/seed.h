#ifndef TAMIS_TESTS_SEED_H
#define TAMIS_TESTS_SEED_H

#include <stdint.h>

/* The seed of this run: TAMIS_TEST_SEED or the time. Printed, so that a failure can be had again. */
uint64_t test_seed(void);

#endif
