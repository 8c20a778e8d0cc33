/*
 * The statistics of softmax's rows: what forward calls keep, against sums in double within bounds that are derived
 * in softmax_kept.c, and what backward calls make of it. test_softmax_rows [DEVICE [ROUNDS]] DEVICE is "cpu" by
 * default: with every instruction set that this machine runs. ROUNDS: cases of each operation, type and algorithm (4;
 * 0: few small ones). Inputs are new at each run: TAMIS_TEST_SEED repeats one.
 */
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_fixture.h"
#include "softmax_kept.h"
#include "sparse/element.h"
#include "support/algorithms.h"
#include "support/brief.h"
#include "support/refusals.h"
#include "support/variants.h"
#include "support/works.h"

static int rounds = 4;
static bool quick, is_cpu;
enum { ALL_TYPES = 15 };
static unsigned types = ALL_TYPES; /* bits */

/* ------------------------------------------------------------------------------------------ forward calls */

/* The plan's statistics and outputs; whether or not it is asked, outputs have the same bits. */
static void run_forward(const gradient_case *c, const tamis_plan *plan, kept *k, const char *what) {
    tamis_execution execution = kept_asking(c, k);
    kept_poison(c, k);
    works(kept_forward(c, plan, k, &execution));
    kept_fetch(k);
    kept_check(c, k, what);
    void *const first = matrix_copy(&k->out);
    kept_poison(c, k);
    execution.softmax_rows = NULL;
    works(kept_forward(c, plan, k, &execution));
    kept_fetch(k);
    assert_memory_equal(first, k->out.twin.host, k->out.twin.bytes);
    for (size_t at = 0; at < k->pairs.bytes; at++) assert_int_equal((unsigned char)k->pairs.host[at], 0xff);
    free(first);
}

/* An algorithm that must keep statistics where it takes the problem. */
typedef struct choice {
    const char *algorithm, *parameters;
    bool cpu;
    tamis_operation operation;
} choice;

static const choice choices[] = {
    {NULL, NULL, true, TAMIS_OP_SDDMM},
    {"cpu-nonzeros", "chunk=8", true, TAMIS_OP_SDDMM},
    {"cpu-nonzeros", NULL, true, TAMIS_OP_SDDMM},
    {"cpu-tiled", "tile_columns=8,block_rows=4", true, TAMIS_OP_SDDMM},
    {"cpu-panels", "least=1", true, TAMIS_OP_SDDMM},
#if TAMIS_LAB
    {"esimd-row-simd", NULL, true, TAMIS_OP_SDDMM},
#endif
    {NULL, NULL, true, TAMIS_OP_FUSED},
    {"cpu-nonzeros", "chunk=8", true, TAMIS_OP_FUSED},
    {"cpu-nonzeros", NULL, true, TAMIS_OP_FUSED},
    {"cpu-tiled", "tile_columns=8,block_rows=4", true, TAMIS_OP_FUSED},
    {"cpu-tiled", NULL, true, TAMIS_OP_FUSED},
    {"cpu-panels", "rows=6,least=1", true, TAMIS_OP_FUSED},
    {"cpu-cells", NULL, true, TAMIS_OP_FUSED},
#if TAMIS_LAB
    {"esimd-row-simd", "vlc=4", true, TAMIS_OP_FUSED},
#endif
    {"gpu-nonzeros", NULL, false, TAMIS_OP_SDDMM},
    {"gpu-nonzeros", NULL, false, TAMIS_OP_FUSED},
    {"gpu-nonzeros", "items=64", false, TAMIS_OP_FUSED},
    {"gpu-two-steps", NULL, false, TAMIS_OP_FUSED},
#if TAMIS_LAB
    {"esimd-row-simd", NULL, false, TAMIS_OP_FUSED},
#endif
};
enum { CHOICES = sizeof choices / sizeof choices[0] };

static bool without_values(const choice *by) { return by->algorithm && !cpu_takes_values(by->algorithm); }

/* False where the algorithm does not take the problem, for reasons of its own. */
static bool forward_by(gradient_case *c, const choice *by) {
    tamis_plan *plan = NULL;
    char what[128];
    snprintf(what, sizeof what, "%s of %s", by->algorithm ? by->algorithm : "auto", tamis_operation_name(c->operation));
    c->options.keep_softmax = true;
    c->options.algorithm = by->algorithm;
    c->options.parameters = by->parameters;
    const tamis_status status = tamis_plan_create(device, &c->S_there, &c->options, &plan);
    if (status == TAMIS_ERROR_UNSUPPORTED && by->algorithm) {
        if (strstr(tamis_last_error(), "keep_softmax")) fail_msg("%s: %s", what, tamis_last_error());
        return false;
    }
    works(status);
    kept k = kept_make(c);
    run_forward(c, plan, &k, what);
    kept_free(&k);
    tamis_plan_destroy(plan);
    return true;
}

static gradient_shape draw_shape(tamis_operation operation, int round) {
    gradient_shape s = gradient_draw(operation, round, quick, &dice);
    s.transpose = operation != TAMIS_OP_SDDMM && round / 2 % 2;
    s.batch = 1 + 2 * (round % 2);
    s.padding = round % 2 ? 1 + tamis_random_below(&dice, 5) : 0;
    if (!is_cpu) s.index_type = s.offset_type = TAMIS_I32;
    return s;
}

static gradient_case *make(tamis_operation operation, tamis_type type, const gradient_shape *s) {
    gradient_case *const c = gradient_case_make(device, operation, TAMIS_EDGE_SOFTMAX, type, s, 0, &dice);
    c->options.threads = heads() ? 3 : 1;
    return c;
}

static bool is_left_out(int type) { return !(types >> type & 1) || (quick && type != TAMIS_F32); }

TEST_TAG(test_forward, "of_types") {
    for (int k = 0; k < CHOICES; k++)
        for (int type = 0; type <= TAMIS_BF16 && choices[k].cpu == is_cpu; type += test_rounds(1, 3))
            for (int round = 0; round < rounds && !is_left_out(type); round++) {
                const tamis_operation operation = choices[k].operation;
                gradient_shape s = draw_shape(operation, is_cpu ? round : round + k);
                if (heads()) s.index_type = s.offset_type = TAMIS_I64; /* elsewhere each costs a compilation */
                gradient_case *const c = make(operation, (tamis_type)type, &s);
                forward_by(c, &choices[k]);
                gradient_case_free(c);
            }
}

/* Rows that threads, chunks and stretches share, some of them all of a share. */
TEST_TAG(test_hubs, "of_types") {
    for (int k = 0; k < CHOICES; k++)
        for (int type = 0; type <= (is_cpu ? (int)TAMIS_BF16 : (int)TAMIS_F64 - quick); type += test_rounds(1, 4))
            for (int round = 0; round < 2 - quick && choices[k].cpu == is_cpu && !is_left_out(type); round++) {
                gradient_shape s = draw_shape(choices[k].operation, 3 * round);
                s.rows = round ? 5 : 30, s.cols = 40, s.nnz = quick ? 4500 : 9000, s.hub = round ? 0 : 0.8;
                s.inner = quick ? 1 : 5, s.width = quick ? 1 : 6;
                if (without_values(&choices[k])) s.with_values = s.given_values = false;
                gradient_case *const c = make(choices[k].operation, (tamis_type)type, &s);
                assert_true(forward_by(c, &choices[k]));
                gradient_case_free(c);
            }
}

TEST(test_empty) {
    static const int64_t sizes[][5] = {{0, 9, 0, 4, 3},  {9, 0, 0, 4, 3},  {0, 0, 0, 4, 3},  {700, 8, 0, 4, 3},
                                       {9, 8, 20, 0, 3}, {9, 8, 20, 4, 0}, {9, 8, 20, 0, 0}, {1, 1, 1, 1, 1}};
    for (int k = 0; k < CHOICES; k++)
        for (int i = 0; i < 8 && choices[k].cpu == is_cpu; i++) {
            gradient_shape s = draw_shape(choices[k].operation, i);
            s.rows = sizes[i][0], s.cols = sizes[i][1], s.nnz = sizes[i][2];
            s.inner = sizes[i][3], s.width = sizes[i][4];
            gradient_case *const c = make(choices[k].operation, TAMIS_F32, &s);
            const choice any = {NULL, NULL, is_cpu, choices[k].operation};
            if (!forward_by(c, &choices[k])) forward_by(c, &any);
            gradient_case_free(c);
        }
}

/* Masks: values of -infinity, in some rows all of them. */
static void mask(gradient_case *c) {
    const int64_t set = c->shape.nnz, sets = c->shape.shared ? 1 : c->shape.batch;
    for (int64_t at = 0; at < set * sets; at++)
        if (c->row_of[at % set] % 3 == 0 || tamis_random_below(&dice, 3) == 0)
            tamis_element_store(c->values.host, c->type, at, -INFINITY);
    twin_send(&c->values, device);
}

static gradient_shape masked_shape(tamis_operation operation, int round) {
    gradient_shape s = draw_shape(operation, 0);
    s.with_values = true, s.given_values = false, s.batch = 3;
    s.rows = 31, s.nnz = quick ? 2500 : 7000, s.hub = 0.8; /* of 31 the hub is row 15, all masked */
    s.inner = s.width = quick ? 1 : 6;
    if (round) s.rows = 33; /* 16, which is not */
    return s;
}

TEST_TAG(test_masked, "of_types") {
    for (int k = 0; k < CHOICES; k++)
        for (int round = 0; round < 2 && choices[k].cpu == is_cpu && !without_values(&choices[k]); round++)
            for (int type = 0; type <= (is_cpu ? (int)TAMIS_BF16 : (int)TAMIS_F32); type += test_rounds(1, 4)) {
                if (is_left_out(type)) continue;
                const gradient_shape s = masked_shape(choices[k].operation, round);
                gradient_case *const c = make(choices[k].operation, (tamis_type)type, &s);
                mask(c);
                assert_true(forward_by(c, &choices[k]));
                gradient_case_free(c);
            }
}

/* The same by calls without a plan. */
TEST(test_one_call) {
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation += TAMIS_OP_FUSED) {
        gradient_shape s = draw_shape((tamis_operation)operation, 1);
        s.slice = false;
        gradient_case *const c = make((tamis_operation)operation, TAMIS_F32, &s);
        kept k = kept_make(c);
        const tamis_dense *const A = &c->in[IN_A].there, *const B = &c->in[IN_B].there, *const D = &c->in[IN_D].there;
        tamis_execution execution = kept_asking(c, &k);
        c->options.keep_softmax = true;
        kept_poison(c, &k);
        works(operation == TAMIS_OP_SDDMM
                  ? tamis_sddmm(device, &c->S_there, A, B, &k.out.there, &c->options, &execution)
                  : tamis_fused(device, &c->S_there, A, B, D, &k.out.there, &c->options, &execution));
        kept_fetch(&k);
        kept_check(c, &k, "one call");
        kept_free(&k);
        gradient_case_free(c);
    }
}

/* ------------------------------------------------------------------------------------------ backward calls */

static void copy_outputs(const gradient_case *c, void **copies) {
    for (int k = 0; k < OUTS; k++) {
        copies[k] = matrix_copy(&c->out[k]);
    }
}

/* Forward and back, with the statistics and without; a gradient that was made without them gives the same bits as one
   that is not given them. */
static void there_and_back(gradient_case *c) {
    const int all = gradient_case_outputs(c), some = all & (int)tamis_random_below(&dice, 16);
    tamis_gradient *plain = NULL, *gradient = NULL;
    tamis_plan *plan = NULL;
    void *copies[OUTS];
    kept k = kept_make(c);
    works(tamis_gradient_create(device, &c->S_there, &c->options, &plain));
    c->options.keep_softmax = true;
    works(tamis_plan_create(device, &c->S_there, &c->options, &plan));
    works(tamis_gradient_create(device, &c->S_there, &c->options, &gradient));
    kept_poison(c, &k);
    const tamis_execution execution = kept_asking(c, &k);
    works(kept_forward(c, plan, &k, &execution));
    gradient_case_expect(c);
    gradient_case_poison(c);
    works(gradient_case_run(c, plain, all));
    gradient_case_check(c, all, "without statistics");
    gradient_case_fetch(c);
    copy_outputs(c, copies);
    gradient_case_poison(c);
    works(gradient_case_run(c, gradient, all));
    gradient_case_fetch(c);
    for (int i = 0; i < OUTS; i++) assert_memory_equal(copies[i], c->out[i].twin.host, c->out[i].twin.bytes);
    c->there.softmax_rows = twin_there(&k.pairs);
    gradient_case_poison(c);
    works(gradient_case_run(c, gradient, all));
    gradient_case_check(c, all, "with statistics");
    gradient_case_poison(c);
    works(gradient_case_run(c, gradient, some));
    gradient_case_check(c, some, "some outputs with statistics");
    c->there.softmax_rows = NULL;
    for (int i = 0; i < OUTS; i++) free(copies[i]);
    tamis_gradient_destroy(gradient);
    tamis_gradient_destroy(plain);
    tamis_plan_destroy(plan);
    kept_free(&k);
    gradient_case_free(c);
}

TEST_TAG(test_backward, "of_types") {
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation += TAMIS_OP_FUSED)
        for (int type = 0; type <= TAMIS_BF16; type += test_rounds(1, 3))
            for (int round = 0; round < rounds && !is_left_out(type); round++) {
                const gradient_shape s = draw_shape((tamis_operation)operation, round);
                there_and_back(make((tamis_operation)operation, (tamis_type)type, &s));
            }
}

TEST_TAG(test_backward_hubs, "of_types") {
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation += TAMIS_OP_FUSED)
        for (int type = 0; type <= (is_cpu ? (int)TAMIS_BF16 : (int)TAMIS_F32); type += test_rounds(1, 4))
            for (int round = 0; round < 2 && !is_left_out(type); round++) {
                gradient_shape s = draw_shape((tamis_operation)operation, 3 * round);
                s.rows = round ? 5 : 30, s.cols = 40, s.nnz = quick ? 4500 : 9000, s.hub = round ? 0 : 0.8;
                s.inner = quick ? 1 : 5, s.width = quick ? 1 : 6;
                there_and_back(make((tamis_operation)operation, (tamis_type)type, &s));
            }
}

TEST(test_backward_masked) {
    for (int round = 0; round < 2; round++) {
        const gradient_shape s = masked_shape(TAMIS_OP_FUSED, round);
        gradient_case *const c = make(TAMIS_OP_FUSED, TAMIS_F32, &s);
        mask(c);
        there_and_back(c);
    }
}

/* ------------------------------------------------------------------------------------------ arguments */

static const gradient_shape small = {
    .rows = 5, .cols = 6, .nnz = 9, .inner = 3, .width = 3, .batch = 1, .with_values = true};

TEST(test_options_refused) {
    gradient_case *const c = make(TAMIS_OP_FUSED, TAMIS_F32, &small);
    tamis_plan *plan = NULL;
    tamis_gradient *gradient = NULL;
    tamis_options o = c->options;
    o.keep_softmax = true;
    for (int edge = 0; edge < TAMIS_EDGE_SOFTMAX; edge++) {
        char words[96];
        snprintf(words, sizeof words, "options.keep_softmax = true needs options.edge = softmax, not %s",
                 tamis_edge_name((tamis_edge)edge));
        o.edge = (tamis_edge)edge;
        REFUSED(ARGUMENT, words, tamis_plan_create(device, &c->S_there, &o, &plan));
        REFUSED(ARGUMENT, words, tamis_gradient_create(device, &c->S_there, &o, &gradient));
    }
    o.edge = TAMIS_EDGE_SOFTMAX;
    o.operation = TAMIS_OP_SPMM;
    REFUSED(ARGUMENT, "options.keep_softmax", tamis_plan_create(device, &c->S_there, &o, &plan));
    o.operation = TAMIS_OP_FUSED;
    o.algorithm = is_cpu ? "naive" : "study-fused-back-to-back";
    REFUSED(UNSUPPORTED, is_cpu ? "do not support softmax" : "keep_softmax",
            tamis_plan_create(device, &c->S_there, &o, &plan));
    gradient_case_free(c);
}

TEST(test_executions_refused) {
    gradient_case *const c = make(TAMIS_OP_FUSED, TAMIS_F32, &small);
    kept k = kept_make(c);
    tamis_plan *plan = NULL;
    tamis_gradient *gradient = NULL;
    tamis_execution execution = kept_asking(c, &k);
    works(tamis_plan_create(device, &c->S_there, &c->options, &plan));
    REFUSED(ARGUMENT, "execution.softmax_rows", kept_forward(c, plan, &k, &execution));
    tamis_plan_destroy(plan);
    works(tamis_gradient_create(device, &c->S_there, &c->options, &gradient));
    c->there.softmax_rows = twin_there(&k.pairs);
    REFUSED(ARGUMENT, "it needs options.keep_softmax", gradient_case_run(c, gradient, 1 << OUT_A));
    tamis_gradient_destroy(gradient);
    c->options.keep_softmax = true;
    works(tamis_gradient_create(device, &c->S_there, &c->options, &gradient));
    works(tamis_plan_create(device, &c->S_there, &c->options, &plan));
    if (!c->copies) { /* on OpenCL it is a handle */
        execution.softmax_rows = c->there.softmax_rows = (char *)twin_there(&k.pairs) + 2;
        REFUSED(ARGUMENT, "a multiple of 4", kept_forward(c, plan, &k, &execution));
        REFUSED(ARGUMENT, "a multiple of 4", gradient_case_run(c, gradient, 1 << OUT_A));
    }
    tamis_plan_destroy(plan);
    tamis_gradient_destroy(gradient);
    kept_free(&k);
    gradient_case_free(c);
}

TEST(test_edge_refused) {
    gradient_case *const c = make(TAMIS_OP_SDDMM, TAMIS_F32, &small);
    kept k = kept_make(c);
    const tamis_execution execution = kept_asking(c, &k);
    tamis_plan *plan = NULL;
    c->options.keep_softmax = true;
    works(tamis_plan_create(device, &c->S_there, &c->options, &plan));
    REFUSED(ARGUMENT, "execution.softmax_rows",
            tamis_plan_edge(plan, &c->in[IN_OUT].there, &c->out[OUT_S].there, &execution));
    tamis_plan_destroy(plan);
    kept_free(&k);
    gradient_case_free(c);
}

TEST_RUN() {
    int failed = 0;
    rounds = test_rounds(4, 1);
    if (argc > 1 && strcmp(argv[1], "cpu") != 0) rounds = 1;
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
