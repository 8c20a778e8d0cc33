/* A leak that a group's teardown finds fails the test: see tests/support/run.c. cmocka alone passes it. */
#include "support/test.h"

TEST(nothing) {}

static int passes(void **state) { return 0; }

static int fails(void **state) { return -1; }

static int asserts(void **state) {
    assert_true(state == NULL);
    return 0;
}

/* Not by cmocka's own tests: groups do not nest. */
TEST_RUN() {
    const bool counted = test_run(NULL, NULL, NULL, fails) == 1 && test_run(NULL, NULL, NULL, asserts) == 1 &&
                         test_run(NULL, NULL, fails, NULL) == 1;
    const bool quiet = test_run(NULL, NULL, NULL, passes) == 0 && test_run(NULL, NULL, NULL, NULL) == 0;
    printf("%s\n", counted && quiet ? "the teardown counts" : "FAILED: the teardown does not count");
    return !(counted && quiet);
}
