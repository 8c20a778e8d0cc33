/* Groups of threads against the oracle, and against one device: the table of cases at several numbers of ranks. */
#include "cmocka_first.h"

#include <stdlib.h>

#include "cpu_device.h"
#include "group_case.h"
#include "group_threads.h"
#include "support/brief.h"

static void run_cases(group_rank *self) {
    const int *const step = self->context;
    const char *const failed = group_case_run_all(self->group, self->ranks, *step);
    if (failed) group_says(self, "%.250s", failed);
}

static void all_cases(void **state) {
    static const int ranks[] = {1, 2, 3, 5, 7, 8};
    int step = test_rounds(3, 23);
    tamis_transport_options o = TAMIS_TRANSPORT_OPTIONS_INIT;
    o.time_limit = 60; /* a rank that finds something wrong leaves the others waiting */
    (void)state;
    for (int i = 0; i < 6; i++) {
        tamis_group *groups[GROUP_RANKS];
        tamis_device *devices[GROUP_RANKS];
        for (int r = 0; r < ranks[i]; r++) devices[r] = device;
        assert_int_equal(tamis_group_open_local(devices, ranks[i], &o, groups), TAMIS_OK);
        group_run(ranks[i], groups, run_cases, &step);
        for (int r = 0; r < ranks[i]; r++) tamis_group_close(groups[r]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_cases)};
    setenv("TAMIS_PROBE", "0", 1);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
