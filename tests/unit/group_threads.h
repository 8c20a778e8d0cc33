/* Ranks as threads of a test: each runs the same body on its end of a group. */
#ifndef TAMIS_TESTS_GROUP_THREADS_H
#define TAMIS_TESTS_GROUP_THREADS_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <tamis/group.h>

#include "support/own.h"
#include "support/refusals.h"

OWN_POINTER(tamis_group_gradient, tamis_group_gradient_destroy)
OWN_POINTER(tamis_group_plan, tamis_group_plan_destroy)

enum { GROUP_RANKS = 8 };

typedef struct group_rank {
    int rank, ranks;
    tamis_group *group;
    void *context;
    void (*body)(struct group_rank *self);
    char failed[300]; /* what went wrong; cmocka's asserts belong to the main thread */
} group_rank;

static inline void *group_rank_main(void *rank) {
    group_rank *const self = rank;
    self->body(self);
    return NULL;
}

/* Runs the body on each rank of the groups, which may be NULL, and fails the test with what the first rank says. */
static inline void group_run(int ranks, tamis_group **groups, void (*body)(group_rank *self), void *context) {
    group_rank all[GROUP_RANKS];
    pthread_t threads[GROUP_RANKS];
    for (int r = 0; r < ranks; r++) {
        all[r] = (group_rank){
            .rank = r, .ranks = ranks, .group = groups ? groups[r] : NULL, .context = context, .body = body};
        assert_int_equal(pthread_create(&threads[r], NULL, group_rank_main, &all[r]), 0);
    }
    for (int r = 0; r < ranks; r++) pthread_join(threads[r], NULL);
    for (int pass = 0; pass < 2; pass++) /* first what went wrong, then who waited for it */
        for (int r = 0; r < ranks; r++)
            if (all[r].failed[0] && (pass == 1 || !strstr(all[r].failed, "had not come")))
                fail_msg("%d ranks, rank %d: %s", ranks, r, all[r].failed);
}

/* The ends of a group whose ranks take turns with the devices; time_limit 0: the usual one. */
static inline void groups_open(tamis_device *const *devices, int count, int ranks, double time_limit,
                               tamis_group **groups) {
    tamis_transport_options options = TAMIS_TRANSPORT_OPTIONS_INIT;
    tamis_device *all[GROUP_RANKS] = {NULL};
    if (time_limit > 0) options.time_limit = time_limit;
    for (int r = 0; r < ranks; r++) all[r] = devices[r % count];
    assert_int_equal(tamis_group_open_local(all, ranks, &options, groups), TAMIS_OK);
}

static inline void groups_close(tamis_group **groups, int ranks) {
    for (int r = 0; r < ranks; r++) tamis_group_close(groups[r]);
}

/* One body on a group of its own, all ranks of which are on this device. */
static inline void group_run_on(tamis_device *on, int ranks, double time_limit, void (*body)(group_rank *self),
                                void *context) {
    tamis_group *groups[GROUP_RANKS];
    groups_open(&on, 1, ranks, time_limit, groups);
    group_run(ranks, groups, body, context);
    groups_close(groups, ranks);
}

#define group_says(self, ...) snprintf((self)->failed, sizeof(self)->failed, __VA_ARGS__)

static inline bool group_expects(group_rank *self, tamis_status status, tamis_status expected, const char *text) {
    if (status == expected && message_says(tamis_last_error(), text)) return true;
    group_says(self, "%s (%.100s) instead of %s (%.100s)", tamis_status_name(status), tamis_last_error(),
               tamis_status_name(expected), text);
    return false;
}

static inline bool group_works(group_rank *self, tamis_status status) {
    return group_expects(self, status, TAMIS_OK, "");
}

/* As REFUSED of support/refusals.h, on one rank. */
#define RANK_REFUSED(want, words, call) group_expects(self, call, TAMIS_ERROR_##want, words)

#endif
