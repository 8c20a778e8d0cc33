/* A leak that a group's teardown finds fails the test: see tests/support/teardown.c. cmocka alone passes it. */
#include "cmocka_first.h"

#include <stdbool.h>
#include <stdio.h>

static void nothing(void **state) { (void)state; }

static int passes(void **state) {
    (void)state;
    return 0;
}

static int fails(void **state) {
    (void)state;
    return -1;
}

static int asserts(void **state) {
    (void)state;
    assert_true(state == NULL);
    return 0;
}

/* Not by cmocka's own tests: groups do not nest. */
int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing)};
    const bool counted = cmocka_run_group_tests(tests, NULL, fails) == 1 &&
                         cmocka_run_group_tests(tests, NULL, asserts) == 1 &&
                         cmocka_run_group_tests(tests, fails, NULL) == 1;
    const bool quiet =
        cmocka_run_group_tests(tests, NULL, passes) == 0 && cmocka_run_group_tests(tests, NULL, NULL) == 0;
    printf("%s\n", counted && quiet ? "the teardown counts" : "FAILED: the teardown does not count");
    return !(counted && quiet);
}
