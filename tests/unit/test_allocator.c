/*
 * Plans, gradients and calls with an allocator of the caller's, which counts, poisons what it gives and what it gets
 * back, and runs out at any place: results are those of Tamis's own memory, everything comes back with the size that it
 * was given with, nothing is kept. test_allocator [DEVICE]
 */
#include "support/test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <tamis/stream.h>
#include <unistd.h>

#include "core/plan.h"
#include "device_fixture.h"
#include "softmax_kept.h"

static void *stream; /* of the plans: not the default one, where there are others */

/* ------------------------------------------------------------------------------------------ the allocator */

typedef struct block {
    struct block *next;
    void *memory;
    size_t bytes;
} block;

typedef struct pool {
    pthread_mutex_t lock;
    block *blocks;
    int64_t left, given, lent; /* blocks that it still gives; has given; are out */
    const char *failed;
} pool;

/* In the order of the stream. */
static void poison(void *memory, size_t bytes, void *queue) {
    OWN(void) *const nan = malloc(bytes);
    if (!nan) abort();
    memset(nan, 0xff, bytes);
    if (tamis_device_upload(device, queue, memory, 0, nan, bytes) != TAMIS_OK) abort();
}

static void *take(void *context, size_t bytes, void *queue) {
    pool *const p = context;
    pthread_mutex_lock(&p->lock);
    block *const made = p->left > 0 ? calloc(1, sizeof *made) : NULL;
    if (bytes == 0) p->failed = "nothing was asked for";
    if (queue != stream) p->failed = "memory was asked for in another stream than the plan's";
    if (made) {
        if (tamis_device_allocate(device, bytes, &made->memory) != TAMIS_OK) abort();
        poison(made->memory, bytes, queue);
        made->bytes = bytes;
        made->next = p->blocks;
        p->blocks = made;
        p->left--;
        p->given++;
        p->lent++;
    }
    pthread_mutex_unlock(&p->lock);
    return made ? made->memory : NULL;
}

static void give_back(void *context, void *memory, size_t bytes, void *queue) {
    pool *const p = context;
    pthread_mutex_lock(&p->lock);
    block **at = &p->blocks;
    while (*at && (*at)->memory != memory) at = &(*at)->next;
    block *const found = *at;
    if (queue != stream) p->failed = "memory was given back in another stream than the plan's";
    if (!found) p->failed = "memory came back that was not given";
    if (found) {
        if (found->bytes != bytes) p->failed = "memory came back with another size";
        poison(memory, found->bytes, queue);
        tamis_device_free(device, memory);
        *at = found->next;
        free(found);
        p->lent--;
    }
    pthread_mutex_unlock(&p->lock);
}

static pool pool_of(int64_t blocks) { return (pool){.lock = PTHREAD_MUTEX_INITIALIZER, .left = blocks}; }

static tamis_allocator table_of(pool *p) {
    return (tamis_allocator){.context = p, .allocate = take, .release = give_back};
}

static void all_is_back(const pool *p) {
    if (p->failed) fail_msg("%s", p->failed);
    assert_int_equal(p->lent, 0);
}

/* ------------------------------------------------------------------------------------------ cases */

enum { KINDS = 6 };

/* With staged operands, an order of entries of the plan's own, rows that are cut. */
static gradient_case *make(tamis_operation operation, int kind) {
    const gradient_shape s = {.rows = 40,
                              .cols = 30,
                              .nnz = 5000,
                              .hub = kind == 1 ? 0.8 : 0,
                              .slice = kind == 5,
                              .transpose = kind == 3 && operation != TAMIS_OP_SDDMM,
                              .format = kind == 2 || kind == 4 ? TAMIS_COO : TAMIS_CSR,
                              .inner = 7,
                              .width = 9,
                              .batch = kind == 1 ? 3 : 1,
                              .with_values = true,
                              .layouts = kind >= 3 ? 15 : 0};
    const tamis_edge edge = operation == TAMIS_OP_SPMM ? TAMIS_EDGE_SCALE : TAMIS_EDGE_SOFTMAX;
    gradient_case *const c = gradient_case_make(device, operation, edge, TAMIS_F32, &s, 0, &dice);
    c->options.stream = c->there.stream = stream;
    c->options.threads = 3;
    return c;
}

static void *output_of(kept *k) {
    works(tamis_stream_synchronize(device, stream));
    kept_fetch(k);
    return matrix_copy(&k->out);
}

/* What a plan without an allocator computes. */
static void *expected(const gradient_case *c, kept *k) {
    OWN(tamis_plan) *plan = NULL;
    kept_poison(c, k);
    works(tamis_plan_create(device, &c->S_there, &c->options, &plan));
    works(kept_forward(c, plan, k, &c->there));
    void *const want = output_of(k);
    return want;
}

static void same_output(kept *k, const void *want) {
    OWN(void) *const got = output_of(k);
    assert_memory_equal(got, want, k->out.twin.bytes);
}

/* ------------------------------------------------------------------------------------------ plans */

/* What is tried with so many blocks: its status, and whether all that it got was needed. */
typedef tamis_status attempt(gradient_case *c, kept *k, pool *p, const void *want);

/* One block more at each attempt, until there are enough: so many. Each gives everything back. */
static int64_t until_enough(gradient_case *c, kept *k, const void *want, attempt *try) {
    const int64_t before = tamis_memory_live();
    for (int64_t blocks = 0;; blocks++) {
        pool p = pool_of(blocks);
        const tamis_allocator table = table_of(&p);
        c->options.allocator = &table;
        const tamis_status status = try(c, k, &p, want);
        if (status != TAMIS_OK && status != TAMIS_ERROR_MEMORY) works(status);
        works(tamis_stream_synchronize(device, stream));
        all_is_back(&p);
        c->options.allocator = NULL;
        assert_int_equal(tamis_memory_live(), before);
        assert_true(blocks < 100);
        if (status == TAMIS_OK) return blocks;
    }
}

static tamis_status try_plan(gradient_case *c, kept *k, pool *p, const void *want) {
    const int64_t blocks = p->left;
    OWN(tamis_plan) *plan = NULL;
    const tamis_status status = tamis_plan_create(device, &c->S_there, &c->options, &plan);
    if (status != TAMIS_OK) {
        assert_non_null(strstr(tamis_last_error(), "options.allocator"));
        assert_null(plan);
        return status;
    }
    kept_poison(c, k);
    for (int round = 0; round < 2; round++) works(kept_forward(c, plan, k, &c->there));
    same_output(k, want);
    assert_int_equal(p->given, blocks); /* executions need no more */
    return TAMIS_OK;
}

TEST(test_plans) {
    static const char *const names[][4] = {
        {NULL, "gpu-panels", "cusddmm-sm-l2", "gpudynamic-preprocessing"}, {NULL, "gpu-rows"}, {NULL, "gpu-nonzeros"}};
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int a = 0; a < (is_cpu || kind > 1 ? 1 : 4); a++) {
                if (a > 0 && !names[operation][a]) continue;
                OWN(gradient_case) *const c = make((tamis_operation)operation, kind);
                OWN(kept) k = kept_make(c);
                tamis_plan *plan = NULL;
                c->options.algorithm = names[operation][a];
                if (tamis_plan_create(device, &c->S_there, &c->options, &plan) == TAMIS_OK) { /* else it declines */
                    tamis_plan_destroy(plan);
                    OWN(void) *const want = expected(c, &k);
                    const int64_t blocks = until_enough(c, &k, want, try_plan);
                    assert_true(kind < 2 || blocks > 0);
                }
            }
}

static tamis_status try_call(gradient_case *c, kept *k, pool *p, const void *want) {
    const tamis_dense *const A = &c->in[IN_A].there, *const B = &c->in[IN_B].there, *const D = &c->in[IN_D].there;
    kept_poison(c, k);
    const tamis_status status =
        call_at_once(device, c->operation, &c->S_there, A, B, c->operation == TAMIS_OP_SPMM ? B : D, &k->out.there,
                     &c->options, &c->there);
    if (status == TAMIS_OK && want) same_output(k, want);
    return status;
}

TEST(test_calls) {
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
        for (int kind = 0; kind < KINDS; kind++) {
            OWN(gradient_case) *const c = make((tamis_operation)operation, kind);
            OWN(kept) k = kept_make(c);
            works(try_call(c, &k, NULL, NULL));
            OWN(void) *const want = output_of(&k);
            until_enough(c, &k, want, try_call);
        }
}

/* An execution of the CPU that finds the plan's workspace taken has one of the allocator's. */
TEST(test_busy) {
    if (!is_cpu) skip_because("of the CPU alone");
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++) {
        OWN(gradient_case) *const c = make((tamis_operation)operation, 4);
        OWN(kept) k = kept_make(c);
        OWN(void) *const want = expected(c, &k);
        pool p = pool_of(100);
        const tamis_allocator table = table_of(&p);
        tamis_plan *plan = NULL;
        c->options.allocator = &table;
        works(tamis_plan_create(device, &c->S_there, &c->options, &plan));
        assert_non_null(plan->own);
        atomic_store(&plan->own->busy, true);
        const int64_t given = p.given, lent = p.lent;
        kept_poison(c, &k);
        works(kept_forward(c, plan, &k, &c->there));
        same_output(&k, want);
        assert_int_equal(p.given, given + 1);
        assert_int_equal(p.lent, lent);
        p.left = 0;
        assert_int_equal(kept_forward(c, plan, &k, &c->there), TAMIS_ERROR_MEMORY);
        atomic_store(&plan->own->busy, false);
        tamis_plan_destroy(plan);
        all_is_back(&p);
    }
}

/* ------------------------------------------------------------------------------------------ gradients */

static tamis_status try_gradient(gradient_case *c, kept *k, pool *p, const void *want) {
    const int64_t blocks = p->left;
    OWN(tamis_gradient) *gradient = NULL;
    const tamis_status status = tamis_gradient_create(device, &c->S_there, &c->options, &gradient);
    if (status != TAMIS_OK) return status;
    gradient_case_poison(c);
    works(gradient_case_run(c, gradient, gradient_case_outputs(c)));
    works(tamis_stream_synchronize(device, stream));
    gradient_case_check(c, gradient_case_outputs(c), "memory of the caller's");
    assert_int_equal(p->given, blocks);
    return TAMIS_OK;
}

TEST(test_gradients) {
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
        for (int kind = 1; kind < KINDS; kind++) {
            OWN(gradient_case) *const c = make((tamis_operation)operation, kind);
            tamis_gradient *gradient = NULL;
            gradient_case_expect(c);
            works(tamis_gradient_create(device, &c->S_there, &c->options, &gradient));
            tamis_gradient_destroy(gradient);
            until_enough(c, NULL, NULL, try_gradient);
        }
}

/* ------------------------------------------------------------------------------------------ destruction */

/* What takes a while, so that executions are under way when a plan goes. */
static gradient_case *make_long(void) {
    gradient_shape s = {.rows = 3000, .cols = 3000, .nnz = 60000, .hub = 0.1, .inner = 64, .width = 64, .batch = 1};
    s.format = TAMIS_COO;
    s.with_values = true;
    return gradient_case_make(device, TAMIS_OP_FUSED, TAMIS_EDGE_SOFTMAX, TAMIS_F32, &s, 0, &dice);
}

enum { UNDER_WAY = 10 };

typedef enum ending { WAITING, LATER, CLOSING } ending; /* by the call, by a later one, as the device is closed */

/* Executions end as they would have: the memory of their plan, poisoned as soon as it is given back, is given back when
   they have ended. `executing`: another stream than the plan was made in. */
static void destroy(ending how, bool pooled, void *executing) {
    OWN(gradient_case) *const c = make_long();
    OWN(kept) k = kept_make(c);
    OWN(void) *const want = expected(c, &k);
    pool p = pool_of(100);
    const tamis_allocator table = table_of(&p);
    const int64_t before = tamis_memory_live();
    for (int round = 0; round < test_rounds(3, 1); round++) {
        tamis_plan *plan = NULL;
        tamis_device *object = device;
        if (how == CLOSING) works(tamis_device_open(name, &object));
        c->options.allocator = pooled ? &table : NULL;
        c->options.stream = stream; /* where memory goes back */
        c->there.stream = executing;
        works(tamis_plan_create(object, &c->S_there, &c->options, &plan));
        kept_poison(c, &k);
        for (int i = 0; i < test_rounds(UNDER_WAY, 3); i++) works(kept_forward(c, plan, &k, &c->there));
        if (how == WAITING)
            tamis_plan_destroy(plan);
        else
            tamis_plan_destroy_async(plan, executing);
        if (how == CLOSING) tamis_device_close(object);
        if (how != LATER) all_is_back(&p);
        works(tamis_stream_synchronize(device, executing));
        same_output(&k, want);
    }
    c->options.allocator = NULL;
    c->there.stream = NULL;
    free(expected(c, &k)); /* a call on the device, which lets go of what has been passed */
    all_is_back(&p);
    assert_int_equal(tamis_memory_live(), before);
}

/* In the default stream and in one that Tamis has made. */
static void destroy_in_streams(ending how) {
    void *made = NULL;
    works(tamis_stream_create(device, &made));
    if (how != CLOSING) destroy(how, false, NULL);
    if (how != CLOSING) destroy(how, true, NULL);
    if (made) destroy(how, true, made);
    tamis_stream_destroy(device, made);
}

TEST(test_destroyed) { destroy_in_streams(WAITING); }

TEST(test_destroyed_later) {
    destroy_in_streams(LATER);
    tamis_plan_destroy_async(NULL, stream);
    tamis_gradient_destroy_async(NULL, stream);
}

TEST(test_destroyed_by_closing) { destroy_in_streams(CLOSING); }

/* A child of fork() has none of the threads that its parent's device works with: it must not wait for them. */
TEST(test_child) {
    int ended = -1;
    void *made = NULL;
    if (is_cpu) return; /* it has no streams */
    OWN(gradient_case) *const c = make_long();
    OWN(kept) k = kept_make(c);
    OWN(tamis_plan) *plan = NULL;
    works(tamis_stream_create(device, &made));
    works(tamis_plan_create(device, &c->S_there, &c->options, &plan));
    c->there.stream = made;
    works(kept_forward(c, plan, &k, &c->there));
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        tamis_stream_destroy(device, made);
        _exit(0);
    }
    assert_true(child > 0 && waitpid(child, &ended, 0) == child);
    assert_int_equal(ended, 0);
    works(tamis_stream_synchronize(device, made));
    tamis_stream_destroy(device, made);
}

TEST(test_gradient_destroyed_later) {
    OWN(gradient_case) *const c = make(TAMIS_OP_FUSED, 1);
    pool p = pool_of(1000);
    const tamis_allocator table = table_of(&p);
    const int64_t before = tamis_memory_live();
    gradient_case_expect(c);
    for (int round = 0; round < test_rounds(6, 2); round++) {
        tamis_gradient *gradient = NULL;
        c->options.allocator = round % 2 ? &table : NULL;
        works(tamis_gradient_create(device, &c->S_there, &c->options, &gradient));
        gradient_case_poison(c);
        for (int i = 0; i < test_rounds(UNDER_WAY, 3); i++)
            works(gradient_case_run(c, gradient, gradient_case_outputs(c)));
        tamis_gradient_destroy_async(gradient, stream);
        works(tamis_stream_synchronize(device, stream));
        gradient_case_check(c, gradient_case_outputs(c), "destroyed meanwhile");
    }
    tamis_gradient *gradient = NULL;
    c->options.allocator = NULL;
    works(tamis_gradient_create(device, &c->S_there, &c->options, &gradient));
    tamis_gradient_destroy(gradient);
    all_is_back(&p);
    assert_int_equal(tamis_memory_live(), before);
}

/* ------------------------------------------------------------------------------------------ main */

static int open_all(void **state) {
    return set_up(state) != 0 || tamis_stream_create(device, &stream) != TAMIS_OK ? -1 : 0;
}

static int close_all(void **state) {
    tamis_stream_destroy(device, stream);
    return tear_down(state);
}

TEST_ON_DEVICE(open_all, close_all)
