/*
 * What the tests that run under emulation need of cmocka, which a cross compiler has no library of. The first failure
 * ends the program. Include it as <cmocka.h>.
 */
#ifndef TAMIS_TESTS_AARCH64_CMOCKA_H
#define TAMIS_TESTS_AARCH64_CMOCKA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define fail_msg(...)                   (printf(__VA_ARGS__), printf(" (%s:%d)\n", __FILE__, __LINE__), exit(1))
#define print_message                   printf
#define assert_true(holds)              ((holds) ? (void)0 : fail_msg("not so: %s", #holds))
#define assert_int_equal(a, b)          assert_true((a) == (b))
#define assert_null(a)                  assert_true(!(a))
#define assert_non_null(a)              assert_true(a)
#define assert_string_equal(a, b)       assert_true(strcmp(a, b) == 0)
#define assert_memory_equal(a, b, size) (memcmp(a, b, size) ? fail_msg("%s and %s differ", #a, #b) : (void)0)

typedef int (*CMFixtureFunction)(void **state);
struct CMUnitTest {
    const char *name;
    void (*test_func)(void **state);
    CMFixtureFunction setup_func, teardown_func;
    void *initial_state;
};

static inline void cmocka_set_test_filter(const char *pattern) { fail_msg("no test is chosen here: %s", pattern); }

static inline int _cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count,
                                          CMFixtureFunction set_up, CMFixtureFunction tear_down) {
    void *state = NULL;
    if (set_up(&state) != 0) fail_msg("%s: the tests cannot begin", group);
    for (size_t i = 0; i < count; i++) tests[i].test_func(&state);
    if (tear_down(&state) != 0) fail_msg("%s: something is left over", group);
    printf("%s: %zu passed\n", group, count);
    return 0;
}

#endif
