/*
 * Tests that run once more where each step takes longer: TAMIS_TEST_BRIEF, which `make test` sets for sanitizers. What
 * is left out has run without it before, and runs there in `make test-long`. And what only the latter runs:
 * TAMIS_TEST_WHOLE.
 */
#ifndef TAMIS_TESTS_BRIEF_H
#define TAMIS_TESTS_BRIEF_H

#include <stdbool.h>
#include <stdlib.h>

/* So many rounds, steps or the like: the first number, or the second where the run is to be brief. */
static inline int test_rounds(int whole, int brief) { return getenv("TAMIS_TEST_BRIEF") ? brief : whole; }

/* Whether what takes long is to run, too. */
static inline bool test_whole(void) { return getenv("TAMIS_TEST_WHOLE") != NULL; }

#endif
