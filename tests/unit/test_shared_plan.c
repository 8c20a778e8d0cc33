/*
 * One plan, and one gradient, for four threads at once: each in a stream of its own, with a workspace of its own or, on
 * the CPU, with the plan's. Results and statistics have the bits of one thread's. test_shared_plan [DEVICE]
 */
#include "support/test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <tamis/stream.h>
#include <unistd.h>

#include "core/execute.h"
#include "device_fixture.h"
#include "softmax_kept.h"
#include "support/algorithms.h"

enum { THREADS = 4 };

/* Staged operands, an order of entries of the plan's own, rows that threads share; or, plain, none of these. */
static gradient_case *make(tamis_operation operation, bool plain, bool with_values) {
    const gradient_shape s = {.rows = 40,
                              .cols = 30,
                              .nnz = 3000,
                              .hub = 0.7,
                              .transpose = !plain && operation != TAMIS_OP_SDDMM,
                              .format = plain ? TAMIS_CSR : TAMIS_COO,
                              .inner = 9,
                              .width = 17,
                              .batch = 2,
                              .with_values = with_values,
                              .layouts = plain ? 0 : 15};
    const tamis_edge edge = operation == TAMIS_OP_SPMM ? TAMIS_EDGE_SCALE : TAMIS_EDGE_SOFTMAX;
    gradient_case *const c = gradient_case_make(device, operation, edge, TAMIS_F32, &s, 0, &dice);
    c->options.threads = 3;
    c->options.keep_softmax = operation != TAMIS_OP_SPMM;
    return c;
}

typedef struct worker {
    const gradient_case *c;
    const tamis_plan *plan;
    kept mine;
    const kept *want; /* on the host */
    tamis_execution execution;
    const char *failed; /* cmocka's asserts belong to the main thread */
} worker;

static bool same(const worker *w) {
    const twin *const pairs = &w->mine.pairs, *const out = &w->mine.out.twin;
    return memcmp(out->host, w->want->out.twin.host, out->bytes) == 0 &&
           (!w->c->options.keep_softmax || memcmp(pairs->host, w->want->pairs.host, pairs->bytes) == 0);
}

static bool fetch(worker *w) {
    const twin *const all[] = {&w->mine.pairs, &w->mine.out.twin};
    for (int i = 0; i < 2; i++)
        if (all[i]->memory && tamis_device_download(device, w->execution.stream, all[i]->host, all[i]->memory, 0,
                                                    all[i]->bytes) != TAMIS_OK)
            return false;
    return true;
}

static void *work(void *context) {
    worker *const w = context;
    for (int round = 0; round < test_rounds(6, 2) && !w->failed; round++) {
        if (kept_forward(w->c, w->plan, &w->mine, &w->execution) != TAMIS_OK)
            w->failed = "an execution failed";
        else if (!fetch(w))
            w->failed = "a copy failed";
        else if (!same(w))
            w->failed = "other bits than one thread's";
    }
    return NULL;
}

static void run(worker *workers) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (workers[i].failed) fail_msg("thread %d: %s", i, workers[i].failed);
}

static tamis_execution asking(const gradient_case *c, kept *k) {
    tamis_execution execution = kept_asking(c, k);
    if (!c->options.keep_softmax) execution.softmax_rows = NULL;
    return execution;
}

/* False where the algorithm declines. */
static bool share(tamis_operation operation, bool plain, const char *algorithm) {
    OWN(gradient_case) *const c = make(operation, plain, cpu_takes_values(algorithm));
    OWN(kept) want = kept_make(c);
    worker workers[THREADS];
    OWN(tamis_plan) *plan = NULL;
    size_t bytes;
    c->options.algorithm = algorithm;
    if (tamis_plan_create(device, &c->S_there, &c->options, &plan) == TAMIS_OK) {
        const tamis_execution alone = asking(c, &want);
        kept_poison(c, &want);
        works(kept_forward(c, plan, &want, &alone));
        kept_fetch(&want);
        works(tamis_plan_workspace_size(plan, &bytes));
        for (int i = 0; i < THREADS; i++) {
            worker *const w = &workers[i];
            *w = (worker){.c = c, .plan = plan, .mine = kept_make(c), .want = &want};
            kept_poison(c, &w->mine);
            w->execution = asking(c, &w->mine);
            works(tamis_stream_create(device, &w->execution.stream));
            w->execution.workspace_bytes = bytes;
            if (bytes > 0 && (!is_cpu || i % 2)) works(tamis_device_allocate(device, bytes, &w->execution.workspace));
        }
        run(workers);
        for (int i = 0; i < THREADS; i++) {
            tamis_device_free(device, workers[i].execution.workspace);
            tamis_stream_destroy(device, workers[i].execution.stream);
            kept_free(&workers[i].mine);
        }
    }
    const bool runs = plan != NULL;
    return runs;
}

TEST(test_plans) {
    static const char *const of_gpu[] = {"gpu-nonzeros", "gpu-rows", "gpu-teams", "gpu-two-steps", "auto"};
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++) {
        const char *of_cpu[CPU_ALGORITHMS_MOST + 1];
        const int count = is_cpu ? cpu_algorithms((tamis_operation)operation, false, of_cpu) : 4;
        for (int plain = 0; plain < 2; plain++)
            for (int a = 0; a <= count; a++) {
                const bool runs = share((tamis_operation)operation, plain, (is_cpu ? of_cpu : of_gpu)[a]);
                assert_true(runs || !is_cpu);
                assert_true(runs || a < count);
            }
    }
    for (int plain = 0; is_cpu && plain < 2; plain++) assert_true(share(TAMIS_OP_FUSED, plain, "cpu-cells"));
}

/* ------------------------------------------------------------------------------------------ the plan's workspace */

#if defined(__has_feature)
#define TSAN __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define TSAN 1
#else
#define TSAN 0
#endif

#if !TSAN /* whose atomic operations hold locks, which a handler of signals would wait for */
/* One execution asks for the plan's workspace while another one is between looking and taking: whether it is lent lies
   in a page that refuses the first write to it, and what the refusal calls is the other execution. Only one may get it.
 */
static tamis_own_workspace *lent;
static size_t page;
static tamis_execution other_given;
static tamis_borrowed_workspace other_workspace;
static volatile sig_atomic_t refusals;

static tamis_status borrow(tamis_execution *given, tamis_borrowed_workspace *workspace) {
    *given = (tamis_execution)TAMIS_EXECUTION_INIT;
    return tamis_workspace_take(device, lent, 64, "the test", given, workspace);
}

static void refuse_once(int number) {
    if (refusals++ > 0 || mprotect(lent, page, PROT_READ | PROT_WRITE) != 0 || borrow(&other_given, &other_workspace))
        _exit(3);
}

TEST(test_borrowed_workspace) {
    static _Alignas(64) char memory[64];
    struct sigaction before, refusing = {.sa_handler = refuse_once};
    tamis_execution given;
    tamis_borrowed_workspace workspace;
    if (!is_cpu) return; /* others order executions by their streams */
    page = (size_t)sysconf(_SC_PAGESIZE);
    lent = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(lent != MAP_FAILED);
    lent->memory = memory;
    atomic_init(&lent->busy, false);
    assert_int_equal(mprotect(lent, page, PROT_READ), 0);
    assert_int_equal(sigaction(SIGSEGV, &refusing, &before), 0);
    const tamis_status status = borrow(&given, &workspace);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    works(status);
    assert_int_equal(refusals, 1);
    if ((given.workspace == memory) == (other_given.workspace == memory))
        fail_msg("%s got the plan's workspace", given.workspace == memory ? "two executions" : "no execution");
    tamis_workspace_give_back(device, &workspace);
    tamis_workspace_give_back(device, &other_workspace);
    assert_false(atomic_load(&lent->busy));
    munmap(lent, page);
}
#endif

/* ------------------------------------------------------------------------------------------ gradients */

typedef struct trainer {
    gradient_case *c;
    const tamis_gradient *gradient;
    tamis_status status;
} trainer;

static void *train(void *context) {
    trainer *const t = context;
    for (int round = 0; round < test_rounds(6, 2) && t->status == TAMIS_OK; round++) {
        t->status = gradient_case_run(t->c, t->gradient, gradient_case_outputs(t->c));
        if (t->status == TAMIS_OK) t->status = tamis_stream_synchronize(device, t->c->there.stream);
    }
    return NULL;
}

/* The same numbers in arrays of their own; the first is one thread's alone. */
static void share_gradient(tamis_operation operation, bool plain) {
    pthread_t threads[THREADS];
    trainer all[THREADS + 1];
    tamis_gradient *gradient = NULL;
    size_t bytes;
    const tamis_random start = dice;
    for (int i = 0; i <= THREADS; i++) {
        dice = start;
        gradient_case *const c = make(operation, plain, true);
        if (i == 0) works(tamis_gradient_create(device, &c->S_there, &c->options, &gradient));
        all[i] = (trainer){.c = c, .gradient = gradient};
        works(tamis_gradient_workspace_size(gradient, &bytes));
        works(tamis_stream_create(device, &c->there.stream));
        c->there.workspace_bytes = bytes;
        if (bytes > 0 && (!is_cpu || i % 2)) works(tamis_device_allocate(device, bytes, &c->there.workspace));
        gradient_case_poison(c);
    }
    train(&all[0]);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, train, &all[i + 1]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i <= THREADS; i++) {
        if (all[i].status != TAMIS_OK) fail_msg("thread %d: %s", i, tamis_status_name(all[i].status));
        gradient_case_fetch(all[i].c);
        for (int k = 0; k < OUTS; k++)
            assert_memory_equal(all[i].c->out[k].twin.host, all[0].c->out[k].twin.host, all[0].c->out[k].twin.bytes);
    }
    tamis_gradient_destroy(gradient);
    for (int i = 0; i <= THREADS; i++) {
        tamis_device_free(device, all[i].c->there.workspace);
        tamis_stream_destroy(device, all[i].c->there.stream);
        gradient_case_free(all[i].c);
    }
}

TEST(test_gradients) {
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
        for (int plain = 0; plain < 2; plain++) share_gradient((tamis_operation)operation, plain);
}

/* ------------------------------------------------------------------------------------------ profiles */

/* What a plan finds out about its pattern is the same each time, and right, on a device of several threads too: what
   other kernels have left in shared memory does not show. */
TEST(test_profiles) {
    enum { PLANS = 400 };
    for (int round = 0; round < (is_cpu ? 1 : PLANS); round++) {
        int64_t lengths[40] = {0}, longest = 0, empty = 0;
        const gradient_shape s = {.rows = 40,
                                  .cols = 30,
                                  .nnz = 5000,
                                  .format = TAMIS_COO,
                                  .inner = 7,
                                  .width = 9,
                                  .batch = 1,
                                  .with_values = true};
        OWN(gradient_case) *const c =
            gradient_case_make(device, TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, TAMIS_F32, &s, 0, &dice);
        OWN(tamis_plan) *const plan = gradient_case_plan(c);
        for (int64_t t = 0; t < c->shape.nnz; t++) lengths[c->row_of[t]]++;
        for (int64_t i = 0; i < 40; i++) {
            longest = lengths[i] > longest ? lengths[i] : longest;
            empty += lengths[i] == 0;
        }
        assert_int_equal(plan->evidence.profile.max, longest);
        assert_int_equal(plan->evidence.profile.empty_rows, empty);
    }
}

TEST_ON_DEVICE(set_up, tear_down)
