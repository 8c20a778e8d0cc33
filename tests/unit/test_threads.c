/* Plans and calls in several threads at once; messages stay with their thread; the ceilings' cache is shared. */
#include <tamis/cached_attention.h>
#include <tamis/ceilings.h>
#include <tamis/matrix.h>

#include "support/test.h"

#include <pthread.h>
#include <unistd.h>

#include "cpu_device.h"
#include "small.h"
#include "support/algorithms.h"
#include "support/expect.h"

enum { THREADS = 4, ROUNDS = 15 }; /* of three numbers of threads and five algorithms */

typedef struct worker {
    int number;
    const char *failed; /* what went wrong; cmocka's asserts belong to the main thread */
    tamis_ceilings ceilings;
} worker;

static void *plans(void *context) {
    worker *const w = context;
    tamis_random random = tamis_random_start(77, (uint64_t)w->number);
    const problem_options o = {.rows = 60, .cols = 70, .nnz = 900, .inner = 24, .width = 24, .sorted = true};
    OWN(problem) p = problem_make(&o, &random);
    const test_call call = call_of(TAMIS_EDGE_SCALE, 1, 0);
    OWN(double) *want, *bound;
    OWN(float) *const e = malloc(60 * 24 * sizeof *e);
    expect_member(&p, TAMIS_OP_FUSED, &call, 0, NULL, &want, &bound);
    const char *names[CPU_ALGORITHMS_MOST + 1];
    const int count = cpu_algorithms(TAMIS_OP_FUSED, true, names);
    for (int round = 0; round < ROUNDS && !w->failed && e; round++) {
        tamis_options options = options_for(TAMIS_OP_FUSED, 24, 24);
        options.threads = 1 + round % 3;
        options.algorithm = names[round % count];
        OWN(tamis_plan) *plan = NULL;
        const tamis_dense E = {.data = e, .rows = 60, .cols = 24};
        if (tamis_plan_create(device, &p.S, &options, &plan) != TAMIS_OK ||
            tamis_plan_fused(plan, &p.A, &p.B, &p.D, &E, NULL) != TAMIS_OK)
            w->failed = "a plan failed";
        for (int i = 0; i < 60 * 24 && !w->failed; i++)
            if (!expect_fits(TAMIS_F32, (double)e[i], want[i], bound[i])) w->failed = "a result is wrong";
    }
    return NULL;
}

static void *messages(void *context) {
    worker *const w = context;
    small s;
    char wanted[64];
    small_make(&s);
    tamis_options o = small_options(TAMIS_OP_SDDMM);
    o.inner = -2 - w->number;
    snprintf(wanted, sizeof wanted, "inner = %d:", -2 - w->number);
    for (int round = 0; round < 500 && !w->failed; round++) {
        tamis_plan *plan = NULL;
        if (tamis_plan_create(device, &s.S, &o, &plan) != TAMIS_ERROR_ARGUMENT) w->failed = "it was accepted";
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
        if (tamis_sddmm(device, &s.S, &s.A, &s.B, &s.P, NULL, NULL) != TAMIS_OK || s.p[0] == 77)
            w->failed = "a call failed";
        tamis_ceilings c;
        if (tamis_device_ceilings(device, &c) != TAMIS_OK || c.threads < 1) w->failed = "no ceilings";
    }
    return NULL;
}

/* What the first of several threads measures, all get. Each by itself would measure other numbers. */
static void *ceilings(void *context) {
    worker *const w = context;
    if (tamis_device_ceilings(device, &w->ceilings) != TAMIS_OK) w->failed = "no ceilings";
    if (!w->failed && !w->ceilings.measured) w->failed = "nothing was measured";
    return NULL;
}

static void run_all(void *(*body)(void *), worker *workers) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, body, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (workers[i].failed) fail_msg("thread %d: %s", i, workers[i].failed);
}

/* Sanitizers need larger stacks. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SMALL_STACKS
#endif
#ifdef SMALL_STACKS
/* What a program calls from threads with little room: each algorithm and files in 64 KiB, attention to caches at its
   widest in 128. */
enum { LINES = 300, WIDE = 64, STACK = 64 << 10 };

static const char *run_plan(const tamis_sparse *S, tamis_operation operation, const char *name, float *numbers) {
    const tamis_dense X = {.data = numbers, .rows = LINES, .cols = WIDE},
                      P = {.data = numbers + 2 * LINES * WIDE, .rows = S->nnz, .cols = 1},
                      Y = {.data = numbers + LINES * WIDE, .rows = LINES, .cols = WIDE};
    tamis_options o = options_for(operation, WIDE, WIDE);
    OWN(tamis_plan) *plan;
    o.algorithm = name;
    tamis_status status = tamis_plan_create(device, S, &o, &plan);
    if (status == TAMIS_ERROR_UNSUPPORTED) return NULL;
    if (status != TAMIS_OK) return "a plan was refused";
    status = call_plan(plan, operation, &X, &X, &X, operation == TAMIS_OP_SDDMM ? &P : &Y, NULL);
    return status == TAMIS_OK ? NULL : "an execution failed";
}

static const char *run_cached(tamis_type type, double *numbers) {
    const int64_t inner = type == TAMIS_F64 ? 256 : 512;
    const int32_t length = 8;
    const tamis_cached_attention_options o = {.type = type,
                                              .output_type = type,
                                              .sequences = 1,
                                              .heads = 8,
                                              .key_heads = 1,
                                              .inner = inner,
                                              .width = inner,
                                              .capacity = length,
                                              .lengths = &length};
    const tamis_vectors q = {.data = numbers, .sequence_stride = 8 * inner, .head_stride = inner},
                        k = {.data = numbers, .position_stride = inner},
                        out = {.data = numbers + 4096, .sequence_stride = 8 * inner, .head_stride = inner};
    const tamis_status status = tamis_cached_attention(device, &o, &q, &k, &k, &out, NULL, NULL);
    return status == TAMIS_OK ? NULL : "attention to a cache failed";
}

static void *with_little_room(void *context) {
    worker *const w = context;
    static int32_t offsets[LINES + 1], columns[LINES * 8];
    static const char text[] = "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 0.1234567890123456789\n";
    OWN(double) *const numbers = calloc(2 * LINES * WIDE + LINES * 8, sizeof *numbers);
    for (int i = 0; i < LINES; i++) {
        offsets[i + 1] = 8 * (i + 1);
        for (int k = 0; k < 8; k++) columns[8 * i + k] = (i % 37) * 8 + k;
    }
    const tamis_sparse S = {.rows = LINES, .cols = LINES, .nnz = 8 * LINES, .offsets = offsets, .columns = columns};
    for (int op = 0; op < 3 && !w->failed; op++) {
        const char *names[CPU_ALGORITHMS_MOST + 1];
        const int count = cpu_algorithms((tamis_operation)op, true, names);
        for (int i = 0; i < count && !w->failed; i++)
            w->failed = run_plan(&S, (tamis_operation)op, names[i], (float *)numbers);
    }
    OWN(tamis_owned_sparse) *read = NULL;
    if (!w->failed && tamis_read_sparse_memory("small.mtx", text, sizeof text - 1, NULL, &read) != TAMIS_OK)
        w->failed = tamis_last_error();
    return NULL;
}

static void *cached_with_little_room(void *context) {
    worker *const w = context;
    OWN(double) *const numbers = calloc(8192, sizeof *numbers);
    for (int type = 0; type < 2 && !w->failed; type++) w->failed = run_cached((tamis_type)type, numbers);
    return NULL;
}

TEST(test_small_stacks) {
    static void *(*const bodies[])(void *) = {with_little_room, cached_with_little_room};
    for (size_t i = 0; i < 2; i++) {
        pthread_attr_t little;
        pthread_t thread;
        worker w = {.number = 0};
        assert_int_equal(pthread_attr_init(&little), 0);
        assert_int_equal(pthread_attr_setstacksize(&little, (i + 1) * STACK), 0);
        assert_int_equal(pthread_create(&thread, &little, bodies[i], &w), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(pthread_attr_destroy(&little), 0);
        if (w.failed) fail_msg("%s", w.failed);
    }
}

#endif

TEST(test_plans) { run_all(plans, (worker[THREADS]){{0}}); }
TEST(test_messages) { run_all(messages, (worker[THREADS]){{0}}); }
TEST(test_calls) { run_all(calls, (worker[THREADS]){{0}}); }

static bool same_numbers(const tamis_ceilings *a, const tamis_ceilings *b) {
    return memcmp(a->l1_gbs, b->l1_gbs, sizeof a->l1_gbs) == 0 &&
           memcmp(a->memory_gbs, b->memory_gbs, sizeof a->memory_gbs) == 0 &&
           memcmp(a->gather_gbs, b->gather_gbs, sizeof a->gather_gbs) == 0;
}

/* Twice: measured by one of the threads for all, and then known. Nothing is kept on disk. */
TEST(test_ceilings) {
    worker first[THREADS], then[THREADS];
    works(tamis_device_set_threads(device, 1));
    unsetenv("TAMIS_PROBE");
    run_all(ceilings, first);
    run_all(ceilings, then);
    setenv("TAMIS_PROBE", "0", 1);
    works(tamis_device_set_threads(device, 0));
    for (int i = 0; i < THREADS; i++) {
        assert_true(same_numbers(&first[i].ceilings, &first[0].ceilings));
        assert_true(same_numbers(&then[i].ceilings, &first[0].ceilings));
    }
}

TEST_RUN() {
    setenv("XDG_CACHE_HOME", "", 1);
    unsetenv("HOME");
    return test_run(NULL, NULL, set_up, tear_down);
}
