/*
 * Gradients against the oracle's, within bounds that gradient_bounds.c derives: every edge, type and operation over
 * CSR, COO out of row order, slices of rows and transposes, in batches, with any of the outputs left out. test_gradient
 * [DEVICE [ROUNDS]] DEVICE is "cpu" by default: with every instruction set that this machine runs. ROUNDS: cases of
 * each edge, type and operation (6). Inputs are new at each run: TAMIS_TEST_SEED repeats one.
 */
#include "support/test.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/edges.h"
#include "device_fixture.h"
#include "gradient_case.h"
#include "support/brief.h"
#include "support/faults.h"
#include "support/refusals.h"
#include "support/variants.h"
#include "support/works.h"

static int rounds = 6;
static bool quick; /* a few cases in fp32 */
enum { ALL_TYPES = 15 };
static unsigned types = ALL_TYPES; /* bits */

/* ------------------------------------------------------------------------------------------ cases */

static bool is_left_out(int type) { return !(types >> type & 1) || (quick && type != TAMIS_F32); }

static gradient_shape draw_shape(tamis_operation operation, int round) {
    return gradient_draw(operation, round, quick, &dice);
}

static double draw_beta(void) {
    static const double betas[] = {0, 1, -0.5};
    return betas[tamis_random_below(&dice, 3)];
}

/* Which outputs the operation has. */
static tamis_gradient *gradient_of(const gradient_case *c) {
    tamis_gradient *gradient = NULL;
    works(tamis_gradient_create(device, &c->S_there, &c->options, &gradient));
    return gradient;
}

/* All outputs, then each choice that is drawn. */
static void compare(gradient_case *c) {
    const int all = gradient_case_outputs(c), some = all & (int)tamis_random_below(&dice, 16);
    c->options.threads = (int)tamis_random_below(&dice, 4);
    tamis_gradient *const gradient = gradient_of(c);
    gradient_case_expect(c);
    gradient_case_poison(c);
    works(gradient_case_run(c, gradient, all));
    gradient_case_check(c, all, "all outputs");
    gradient_case_poison(c);
    works(gradient_case_run(c, gradient, some));
    gradient_case_check(c, some, "some outputs");
    tamis_gradient_destroy(gradient);
    gradient_case_free(c);
}

TEST_TAG(test_cases, "of_types") {
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
        for (int edge = 0; edge < TAMIS_EDGE_COUNT; edge++)
            for (int type = 0; type <= TAMIS_BF16; type += test_rounds(1, 3)) {
                if (is_left_out(type)) continue;
                const int from = (int)tamis_random_below(&dice, 6);
                for (int round = from; round < from + rounds; round++) {
                    if (operation == TAMIS_OP_SPMM && edge != TAMIS_EDGE_SCALE) continue;
                    const gradient_shape s = draw_shape((tamis_operation)operation, round);
                    compare(gradient_case_make(device, (tamis_operation)operation, (tamis_edge)edge, (tamis_type)type,
                                               &s, draw_beta(), &dice));
                }
            }
}

/* Rows of a softmax that several stretches share, in all that ends up in the order of rows, and of columns. */
TEST_TAG(test_hubs, "of_types") {
    for (int type = 0; type <= TAMIS_BF16; type += test_rounds(1, 3))
        for (int operation = quick ? TAMIS_OP_FUSED : 0; operation <= TAMIS_OP_FUSED; operation += 2)
            for (int k = 0; k < (quick ? 1 : 3) && !is_left_out(type); k++) {
                gradient_shape s = draw_shape((tamis_operation)operation, k == 2 ? 3 : k * 2);
                s.rows = 30, s.cols = 40, s.nnz = 9000, s.hub = k == 1 ? 0 : 0.8, s.batch = 2;
                s.inner = 5, s.width = 6;
                if (quick) s.nnz = 4500, s.batch = 1, s.inner = s.width = 1;
                if (k == 1) s.rows = 5; /* three of them long, side by side */
                compare(gradient_case_make(device, (tamis_operation)operation, TAMIS_EDGE_SOFTMAX, (tamis_type)type, &s,
                                           draw_beta(), &dice));
            }
}

/* Nothing of one kind or another. */
TEST(test_empty) {
    static const int64_t sizes[][5] = {{0, 9, 0, 4, 3},  {9, 0, 0, 4, 3},  {0, 0, 0, 4, 3},  {9, 8, 0, 4, 3},
                                       {9, 8, 20, 0, 3}, {9, 8, 20, 4, 0}, {9, 8, 20, 0, 0}, {1, 1, 1, 1, 1}};
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
        for (int k = 0; k < 8; k++)
            for (int edge = 0; edge < TAMIS_EDGE_COUNT; edge += TAMIS_EDGE_SOFTMAX) {
                gradient_shape s = draw_shape((tamis_operation)operation, k);
                s.rows = sizes[k][0], s.cols = sizes[k][1], s.nnz = sizes[k][2];
                s.inner = sizes[k][3], s.width = sizes[k][4];
                compare(gradient_case_make(device, (tamis_operation)operation, (tamis_edge)edge, TAMIS_F32, &s, k % 2,
                                           &dice));
            }
}

/* ------------------------------------------------------------------------------------------ an edge by itself */

static void edge_case(tamis_edge edge, tamis_type type, int round) {
    gradient_shape s = draw_shape(TAMIS_OP_SDDMM, round);
    if (edge == TAMIS_EDGE_SOFTMAX && round == 0) s.rows = 5, s.nnz = quick ? 2500 : 7000;
    gradient_case *const c = gradient_case_make(device, TAMIS_OP_SDDMM, edge, type, &s, draw_beta(), &dice);
    tamis_plan *plan = NULL;
    works(tamis_plan_create(device, &c->S_there, &c->options, &plan));
    gradient_case_expect_edge(c);
    gradient_case_poison(c);
    works(tamis_plan_edge(plan, &c->in[IN_OUT].there, &c->out[OUT_S].there, &c->there));
    gradient_case_check(c, 1 << OUT_S, "an edge");
    /* where the samples are, which are then what beta scales */
    for (int64_t m = 0; m < s.batch; m++)
        for (int64_t t = 0; t < s.nnz; t++) c->old[OUT_S][m * s.nnz + t] = matrix_at(&c->in[IN_OUT], m, t, 0);
    c->here.beta = c->there.beta = 0.5;
    gradient_case_expect_edge(c);
    gradient_case_poison(c);
    works(tamis_plan_edge(plan, &c->out[OUT_S].there, &c->out[OUT_S].there, &c->there));
    gradient_case_check(c, 1 << OUT_S, "an edge in place");
    tamis_plan_destroy(plan);
    gradient_case_free(c);
}

TEST_TAG(test_edges, "of_types") {
    for (int edge = 0; edge < TAMIS_EDGE_COUNT; edge++)
        for (int type = 0; type <= TAMIS_BF16; type += test_rounds(1, 3))
            for (int round = 0; round < (quick ? 1 : 3) && !is_left_out(type); round++)
                edge_case((tamis_edge)edge, (tamis_type)type, round);
}

/* ------------------------------------------------------------------------------------------ executions */

static gradient_case *attention(void) {
    const gradient_shape s = {.rows = 50,
                              .cols = 60,
                              .nnz = quick ? 300 : 5000,
                              .hub = 0.5,
                              .format = TAMIS_COO,
                              .inner = quick ? 4 : 24,
                              .width = quick ? 4 : 40,
                              .batch = 2,
                              .with_values = true};
    return gradient_case_make(device, TAMIS_OP_FUSED, TAMIS_EDGE_SOFTMAX, TAMIS_F32, &s, 0, &dice);
}

/* The same bits again, and nothing is allocated. */
TEST(test_again) {
    gradient_case *const c = attention();
    const int all = gradient_case_outputs(c);
    c->options.threads = 3;
    tamis_gradient *const gradient = gradient_of(c);
    void *kept[OUTS];
    gradient_case_expect(c);
    for (int round = 0; round < 3; round++) {
        gradient_case_poison(c);
        const int64_t before = tamis_memory_count();
        works(gradient_case_run(c, gradient, all));
        if (round > 0) assert_int_equal(tamis_memory_count(), before);
        gradient_case_check(c, all, "again");
        for (int k = 0; k < OUTS; k++) {
            if (round == 0) kept[k] = matrix_copy(&c->out[k]);
            assert_memory_equal(kept[k], c->out[k].twin.host, c->out[k].twin.bytes);
        }
    }
    for (int k = 0; k < OUTS; k++) free(kept[k]);
    tamis_gradient_destroy_async(gradient, NULL);
    gradient_case_free(c);
}

enum { THREADS = 4 };

typedef struct worker {
    gradient_case *c;
    const tamis_gradient *gradient;
    void *workspace;
    tamis_status status;
} worker;

static void *work(void *context) {
    worker *const w = context;
    w->c->there.workspace = w->workspace;
    for (int round = 0; round < 5 && w->status == TAMIS_OK; round++)
        w->status = gradient_case_run(w->c, w->gradient, gradient_case_outputs(w->c));
    return NULL;
}

/* One gradient for several threads: on a GPU each brings a workspace, on the CPU those that find it busy get one. */
TEST(test_threads) {
    pthread_t threads[THREADS];
    worker workers[THREADS];
    gradient_case *shared = NULL;
    size_t bytes;
    const tamis_random start = dice;
    tamis_gradient *gradient = NULL;
    for (int i = 0; i < THREADS; i++) { /* the same numbers, in arrays of their own */
        dice = start;
        gradient_case *const c = attention();
        if (i == 0) shared = c, gradient = gradient_of(c);
        works(tamis_gradient_workspace_size(gradient, &bytes));
        gradient_case_expect(c);
        gradient_case_poison(c);
        workers[i] = (worker){.c = c, .gradient = gradient};
        c->there.workspace_bytes = bytes;
        if (c->copies || i % 2) works(tamis_device_allocate(device, bytes, &workers[i].workspace));
    }
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        if (workers[i].status != TAMIS_OK) fail_msg("thread %d: %s", i, tamis_status_name(workers[i].status));
        gradient_case_check(workers[i].c, gradient_case_outputs(shared), "in a thread");
        tamis_device_free(device, workers[i].workspace);
    }
    tamis_gradient_destroy(gradient);
    for (int i = 0; i < THREADS; i++) gradient_case_free(workers[i].c);
}

/* ------------------------------------------------------------------------------------------ arguments */

TEST(test_matrices_refused) {
    gradient_case *const c = attention();
    tamis_gradient *const gradient = gradient_of(c);
    const struct {
        tamis_dense *view;
        const char *words;
    } all[] = {
        {&c->in[IN_A].there, "A.rows = 49"},    {&c->in[IN_B].there, "B.rows = 59"},
        {&c->in[IN_D].there, "D.rows = 59"},    {&c->in[IN_OUT].there, "dE.rows = 49"},
        {&c->out[OUT_A].there, "dA.rows = 49"}, {&c->out[OUT_B].there, "dB.rows = 59"},
        {&c->out[OUT_D].there, "dD.rows = 59"}, {&c->out[OUT_S].there, quick ? "dS.rows = 299" : "dS.rows = 4999"}};
    for (int i = 0; i < 8; i++) {
        SPOILT_BY(*all[i].view, all[i].view->rows--, ARGUMENT, all[i].words,
                  gradient_case_run(c, gradient, gradient_case_outputs(c)));
    }
    c->out[OUT_B].there.batch_stride = 0;
    REFUSED(ARGUMENT, "dB.batch_stride = 0", gradient_case_run(c, gradient, gradient_case_outputs(c)));
    works(gradient_case_run(c, gradient, 1 << OUT_A));
    c->out[OUT_A].there.type = TAMIS_F64;
    REFUSED(ARGUMENT, "dA.type = fp64", gradient_case_run(c, gradient, 1 << OUT_A));
    REFUSED(ARGUMENT, "dE = NULL",
            tamis_fused_backward(gradient, NULL, &c->in[IN_A].there, &c->in[IN_B].there, &c->in[IN_D].there, NULL, NULL,
                                 NULL, NULL, NULL));
    REFUSED(ARGUMENT, "made for fused", tamis_sddmm_backward(gradient, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    REFUSED(ARGUMENT, "gradient = NULL", tamis_spmm_backward(NULL, NULL, NULL, NULL, NULL, NULL));
    tamis_gradient_destroy(gradient);
    gradient_case_free(c);
}

TEST(test_values_refused) {
    gradient_shape s = {.rows = 5, .cols = 6, .nnz = 9, .inner = 3, .width = 3, .batch = 1, .with_values = true};
    gradient_case *c = gradient_case_make(device, TAMIS_OP_SDDMM, TAMIS_EDGE_MASK, TAMIS_F32, &s, 0, &dice);
    tamis_gradient *gradient = gradient_of(c);
    REFUSED(ARGUMENT, "the mask edge", gradient_case_run(c, gradient, 1 << OUT_S));
    tamis_gradient_destroy(gradient);
    gradient_case_free(c);
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++) {
        s.with_values = false;
        c = gradient_case_make(device, (tamis_operation)operation, TAMIS_EDGE_SCALE, TAMIS_F32, &s, 0, &dice);
        gradient = gradient_of(c);
        REFUSED(ARGUMENT, "S has no values", gradient_case_run(c, gradient, 1 << OUT_S));
        c->there.values = c->in[IN_A].there.data;
        REFUSED(ARGUMENT, "execution.values", gradient_case_run(c, gradient, 1 << OUT_B));
        tamis_gradient_destroy(gradient);
        gradient_case_free(c);
    }
}

TEST(test_workspaces_refused) {
    gradient_case *const c = attention();
    tamis_gradient *gradient = NULL;
    size_t bytes = 0;
    c->options.no_workspace = true;
    works(tamis_gradient_create(device, &c->S_there, &c->options, &gradient));
    REFUSED(ARGUMENT, "execution.workspace = NULL", gradient_case_run(c, gradient, 1 << OUT_A));
    works(tamis_gradient_workspace_size(gradient, &bytes));
    assert_true(bytes >= 3 * 2 * (size_t)c->shape.nnz * sizeof(float));
    works(tamis_device_allocate(device, bytes, &c->there.workspace));
    c->there.workspace_bytes = bytes - 1;
    REFUSED(ARGUMENT, "tamis_gradient_workspace_size", gradient_case_run(c, gradient, 1 << OUT_A));
    c->there.workspace_bytes = bytes;
    gradient_case_expect(c);
    gradient_case_poison(c);
    works(gradient_case_run(c, gradient, gradient_case_outputs(c)));
    gradient_case_check(c, gradient_case_outputs(c), "a workspace of the caller's");
    REFUSED(ARGUMENT, "bytes = NULL", tamis_gradient_workspace_size(gradient, NULL));
    REFUSED(ARGUMENT, "gradient = NULL", tamis_gradient_workspace_size(NULL, &bytes));
    tamis_device_free(device, c->there.workspace);
    tamis_gradient_destroy(gradient);
    gradient_case_free(c);
}

TEST(test_options_refused) {
    gradient_case *const c = attention();
    tamis_gradient *gradient = NULL;
    tamis_plan *plan = NULL;
    tamis_options o = c->options;
    o.inner = -1;
    REFUSED(ARGUMENT, "options.inner = -1", tamis_gradient_create(device, &c->S_there, &o, &gradient));
    assert_null(gradient);
    o = c->options;
    o.type = TAMIS_F64;
    REFUSED(ARGUMENT, "S.value_type", tamis_gradient_create(device, &c->S_there, &o, &gradient));
    REFUSED(ARGUMENT, "S = NULL", tamis_gradient_create(device, NULL, &c->options, &gradient));
    REFUSED(ARGUMENT, "device = NULL", tamis_gradient_create(NULL, &c->S_there, &c->options, &gradient));
    REFUSED(ARGUMENT, "gradient = NULL", tamis_gradient_create(device, &c->S_there, &c->options, NULL));
    tamis_sparse bare = c->S_there;
    bare.values = NULL;
    bare.batch_stride = 0;
    o.type = TAMIS_F16;
    o.output_type = TAMIS_F32;
    REFUSED(UNSUPPORTED, "options.output_type", tamis_gradient_create(device, &bare, &o, &gradient));
    tamis_sparse wrong = c->S_there; /* its columns as rows are too many */
    wrong.rows = 10;
    REFUSED(PATTERN, "", tamis_gradient_create(device, &wrong, &c->options, &gradient));
    works(tamis_plan_create(device, &c->S_there, &c->options, &plan));
    REFUSED(ARGUMENT, "made for fused", tamis_plan_edge(plan, NULL, NULL, NULL));
    tamis_plan_destroy(plan);
    o = c->options;
    o.operation = TAMIS_OP_SDDMM;
    works(tamis_plan_create(device, &c->S_there, &o, &plan));
    REFUSED(ARGUMENT, "X = NULL", tamis_plan_edge(plan, NULL, &c->out[OUT_S].there, NULL));
    REFUSED(ARGUMENT, "P = NULL", tamis_plan_edge(plan, &c->out[OUT_S].there, NULL, NULL));
    tamis_plan_destroy(plan);
    tamis_gradient_destroy(NULL);
    gradient_case_free(c);
}

/* A failed allocation, whichever, leaves nothing behind. */
TEST(test_faults) {
    gradient_case *const c = attention();
    EACH_FAULT(w) {
        tamis_gradient *gradient;
        if (FAULTY(w, tamis_gradient_create(device, &c->S_there, &c->options, &gradient)) != TAMIS_OK)
            assert_null(gradient);
        tamis_gradient_destroy(gradient);
    }
    gradient_case_free(c);
}

/* An allocator of the caller's that has so many blocks, and gets back what it gave. */
typedef struct pool {
    int64_t left, lent;
} pool;

static void *pool_allocate(void *context, size_t bytes, void *stream) {
    pool *const p = context;
    (void)stream;
    if (p->left == 0) return NULL;
    p->left--;
    p->lent++;
    return aligned_alloc(256, (bytes + 255) / 256 * 256);
}

static void pool_release(void *context, void *memory, size_t bytes, void *stream) {
    pool *const p = context;
    (void)bytes;
    (void)stream;
    p->lent--;
    free(memory);
}

TEST(test_allocator) {
    gradient_case *const c = attention();
    tamis_gradient *gradient = NULL;
    int64_t needed = 0;
    for (int64_t blocks = 0; !c->copies && !gradient; blocks++) { /* host memory: of the CPU's device alone */
        pool p = {.left = blocks};
        const tamis_allocator table = {.context = &p, .allocate = pool_allocate, .release = pool_release};
        c->options.allocator = &table;
        const tamis_status status = tamis_gradient_create(device, &c->S_there, &c->options, &gradient);
        if (status == TAMIS_OK) {
            needed = p.lent;
            gradient_case_expect(c);
            gradient_case_poison(c);
            works(gradient_case_run(c, gradient, gradient_case_outputs(c)));
            gradient_case_check(c, gradient_case_outputs(c), "memory of the caller's");
            tamis_gradient_destroy(gradient);
        } else {
            assert_int_equal(status, TAMIS_ERROR_MEMORY);
        }
        assert_int_equal(p.lent, 0);
    }
    assert_true(c->copies || needed >= 2); /* a placeholder and the workspace, at the least */
    gradient_case_free(c);
}

TEST_RUN() {
    int failed = 0;
    rounds = test_rounds(6, 1);
    if (argc > 1 && strcmp(argv[1], "cpu") != 0) rounds = 2;
    if (argc > 2) rounds = atoi(argv[2]);
    if (rounds == 0) quick = true, rounds = 1;
    if (!device_is_named(argc, argv)) return 77;
    if (strcmp(name, "cpu") != 0) return test_run(name, NULL, set_up, tear_down);
    int next = 0;
    for (const char *v; (v = test_variant_next(&next, TEST_KERNELS, &types));)
        failed +=
            types == ALL_TYPES ? test_run(v, NULL, set_up, tear_down) : test_run(v, "of_types", set_up, tear_down);
    return failed;
}
