/*
 * Tests register themselves, and one program runs those of an area (see run.c):
 *
 *   TEST(rows_are_sorted) { ... assert_int_equal(...); ... }
 *   TEST_AS(rows_of_files, .setup_func = make_folder) { ... }   with more of cmocka's fields
 *   TEST_TAG(long_rows, "slow") { ... }                         one that the file's runner can choose
 *   TEST_FIXTURE(set_up, tear_down)                             around all tests of the file
 *   TEST_RUN() { ... return test_run(...); }                    in their place, with what main() is given, from FILE on
 *
 * A file's tests run in the order of their lines. What tests of all areas use comes with it: C's common headers, what
 * a call is given, calls that must work, are refused or run out of memory, blocks that own what they make, tests that
 * are skipped, and brief runs.
 */
#ifndef TAMIS_TESTS_TEST_H
#define TAMIS_TESTS_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tamis/tamis.h>

#include "base/memory.h"
#include "support/call.h"
#include "support/faults.h"
#include "support/own.h"
#include "support/refusals.h"

typedef struct test_row {
    struct CMUnitTest test; /* without a function: a fixture or a runner */
    const char *path, *tag;
    int line;
    int (*run)(int argc, char **argv);
    void (*draw)(uint64_t seed); /* one case of many, for --draw */
    struct test_row *next;
} test_row;

/* Keeps the row, which lives as long as the program. */
void test_register(test_row *row);

/*
 * Runs the tests of the file that the program was asked for, all or those with the tag, as a group of that name (NULL:
 * the file's). The number of failures, a failing teardown among them.
 */
int test_run(const char *name, const char *tag, CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* Since some moment. */
double test_seconds(void);

#ifndef TEST_PATH /* a file whose tests belong to another file's group defines the other's name */
#define TEST_PATH __FILE__
#endif
#define TEST_REGISTER(name, ...)                                                                                       \
    static test_row name##_row = {.path = TEST_PATH, .line = __LINE__, __VA_ARGS__};                                   \
    __attribute__((constructor)) static void name##_registers(void) { test_register(&name##_row); }
#define TEST_ROW(function, label, ...)                                                                                 \
    static void function(void **state);                                                                                \
    TEST_REGISTER(function, .tag = (label), .test = {.name = #function, .test_func = (function), __VA_ARGS__})         \
    static void function(void **state)
#define TEST(function)            TEST_ROW(function, NULL, .initial_state = NULL)
#define TEST_TAG(function, label) TEST_ROW(function, label, .initial_state = NULL)
#define TEST_AS(function, ...)    TEST_ROW(function, NULL, __VA_ARGS__)
#define TEST_FIXTURE(set_up, tear_down)                                                                                \
    TEST_REGISTER(test_fixture, .test = {.setup_func = (set_up), .teardown_func = (tear_down)})
#define TEST_RUN()                                                                                                     \
    static int test_main(int argc, char **argv);                                                                       \
    TEST_REGISTER(test_main, .run = test_main)                                                                         \
    static int test_main(int argc, char **argv)

/* A call that must work; the message says which did not, and why. */
#define works(...)                                                                                                     \
    do {                                                                                                               \
        const tamis_status works_ = (__VA_ARGS__);                                                                     \
        if (works_ != TAMIS_OK) fail_msg("%s: %s: %s", #__VA_ARGS__, tamis_status_name(works_), tamis_last_error());   \
    } while (0)

/* A test that is left out says why, as of printf: scripts/count-tests.py prints it, and holds it against those that may
   be left out. */
#define skip_because(...) (print_message("skipped: " __VA_ARGS__), print_message("\n"), skip())

/*
 * So many rounds, steps or the like: the first number, or the second under TAMIS_TEST_BRIEF, which `make test` sets for
 * sanitizers, where each step takes longer. What is left out has run without it before, and runs there in `make
 * test-long`.
 */
static inline int test_rounds(int whole, int brief) { return getenv("TAMIS_TEST_BRIEF") ? brief : whole; }

/* Whether what takes long is to run, too: in `make test-long`. */
static inline bool test_whole(void) { return getenv("TAMIS_TEST_WHOLE") != NULL; }

#endif
