/*
 * cmocka 1.1.5 prints that a group's teardown failed and then returns 0, so that a leak found there would pass. The
 * linker puts this in the place of cmocka's function (-Wl,--wrap, for every test), so that no test has to remember it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int __real__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction set_up, CMFixtureFunction tear_down);
int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction set_up, CMFixtureFunction tear_down);

static CMFixtureFunction wrapped;
static bool failed;

static int noted_tear_down(void **state) {
    failed = true; /* an assertion that fails in it does not come back */
    failed = wrapped(state) != 0;
    return failed;
}

int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction set_up, CMFixtureFunction tear_down) {
    wrapped = tear_down;
    failed = false;
    return __real__cmocka_run_group_tests(name, tests, count, set_up, tear_down ? noted_tear_down : NULL) + failed;
}
