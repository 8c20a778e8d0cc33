/* Plans and calls in several threads at once; messages stay with their thread; the ceilings' cache is shared. */
#include <tamis/ceilings.h>

#include "cmocka_first.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "small.h"
#include "support/expect.h"

enum { THREADS = 4, ROUNDS = 12 };

typedef struct worker {
    tamis_device *device;
    int number;
    const char *failed; /* what went wrong; cmocka's asserts belong to the main thread */
} worker;

static void *plans(void *context) {
    worker *const w = context;
    tamis_random random = tamis_random_start(77, (uint64_t)w->number);
    const problem_options o = {.rows = 60, .cols = 70, .nnz = 900, .inner = 24, .width = 24, .sorted = true};
    problem p = problem_make(&o, &random);
    const test_call call = call_of(TAMIS_EDGE_SCALE, 1, 0);
    double *want, *bound;
    float *const e = malloc(60 * 24 * sizeof *e);
    expect_member(&p, TAMIS_OP_FUSED, &call, 0, NULL, &want, &bound);
    for (int round = 0; round < ROUNDS && !w->failed && e; round++) {
        static const char *const names[] = {"cpu-rows", "cpu-nonzeros", "cpu-tiled", "esimd-row-simd"};
        tamis_options options = TAMIS_OPTIONS_INIT;
        options.operation = TAMIS_OP_FUSED;
        options.inner = options.width = 24;
        options.threads = 1 + round % 3;
        options.algorithm = names[round % 4];
        tamis_plan *plan = NULL;
        const tamis_dense E = {.data = e, .rows = 60, .cols = 24};
        if (tamis_plan_create(w->device, &p.S, &options, &plan) != TAMIS_OK ||
            tamis_plan_fused(plan, &p.A, &p.B, &p.D, &E, NULL) != TAMIS_OK)
            w->failed = "a plan failed";
        for (int i = 0; i < 60 * 24 && !w->failed; i++)
            if (!expect_fits(TAMIS_F32, (double)e[i], want[i], bound[i])) w->failed = "a result is wrong";
        tamis_plan_destroy(plan);
    }
    free(e);
    free(want);
    free(bound);
    problem_free(&p);
    return NULL;
}

static void *messages(void *context) {
    worker *const w = context;
    small s;
    char wanted[64];
    small_make(&s);
    tamis_options o = small_options(TAMIS_OP_SDDMM);
    o.inner = -2 - w->number;
    snprintf(wanted, sizeof wanted, "inner = %d ", -2 - w->number);
    for (int round = 0; round < 500 && !w->failed; round++) {
        tamis_plan *plan = NULL;
        if (tamis_plan_create(w->device, &s.S, &o, &plan) != TAMIS_ERROR_ARGUMENT) w->failed = "it was accepted";
        if (!strstr(tamis_last_error(), wanted)) w->failed = "another thread's message";
    }
    return NULL;
}

static void *calls(void *context) {
    worker *const w = context;
    small s;
    small_make(&s);
    for (int round = 0; round < 200 && !w->failed; round++) {
        s.p[0] = 77;
        if (tamis_sddmm(w->device, &s.S, &s.A, &s.B, &s.P, NULL, NULL) != TAMIS_OK || s.p[0] == 77)
            w->failed = "a call failed";
        tamis_ceilings c;
        if (tamis_device_ceilings(w->device, &c) != TAMIS_OK || c.threads < 1) w->failed = "no ceilings";
    }
    return NULL;
}

static void run_all(void *(*body)(void *), tamis_device *device) {
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){device, i, NULL};
        assert_int_equal(pthread_create(&threads[i], NULL, body, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (workers[i].failed) fail_msg("thread %d: %s", i, workers[i].failed);
}

static void test_plans(void **state) { run_all(plans, *state); }
static void test_messages(void **state) { run_all(messages, *state); }
static void test_calls(void **state) { run_all(calls, *state); }

static int set_up(void **state) {
    tamis_device *device = NULL;
    const tamis_status status = tamis_device_open("cpu", &device);
    *state = device;
    return status != TAMIS_OK;
}

static int tear_down(void **state) {
    tamis_device_close(*state);
    return tamis_memory_live() != 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_calls),
    };
    setenv("TAMIS_PROBE", "0", 1); /* a probe in each of several threads would only measure their quarrel */
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
