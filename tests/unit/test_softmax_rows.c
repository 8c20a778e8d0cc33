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
#include <time.h>

#include "base/memory.h"
#include "named_device.h"
#include "softmax_kept.h"
#include "sparse/element.h"
#include "support/algorithms.h"
#include "support/brief.h"
#include "support/refusals.h"
#include "support/variants.h"

static const char *name = "cpu";
static int rounds = 4;
static bool quick, is_cpu;
enum { ALL_TYPES = 15 };
static unsigned types = ALL_TYPES; /* bits */
static tamis_device *device;
static tamis_random dice;
static int64_t live;

/* ------------------------------------------------------------------------------------------ forward calls */

/* The plan's statistics and outputs; whether or not it is asked, outputs have the same bits. */
static void run_forward(const gradient_case *c, const tamis_plan *plan, const kept *k, const char *what) {
    tamis_execution execution = kept_asking(c, k);
    void *const first = malloc(k->out_bytes);
    kept_poison(c, k);
    gradient_works(kept_forward(c, plan, k, &execution));
    kept_fetch(c, k);
    kept_check(c, k, what);
    memcpy(first, k->out_here, k->out_bytes);
    kept_poison(c, k);
    execution.softmax_rows = NULL;
    gradient_works(kept_forward(c, plan, k, &execution));
    kept_fetch(c, k);
    assert_memory_equal(first, k->out_here, k->out_bytes);
    for (size_t at = 0; at < k->pair_bytes; at++) assert_int_equal(((const unsigned char *)k->pairs)[at], 0xff);
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
    {"cpu-rows", NULL, true, TAMIS_OP_SDDMM},
    {"cpu-tiled", "tile_columns=8,block_rows=4", true, TAMIS_OP_SDDMM},
    {"cpu-panels", "least=1", true, TAMIS_OP_SDDMM},
#if TAMIS_LAB
    {"esimd-row-simd", NULL, true, TAMIS_OP_SDDMM},
#endif
    {NULL, NULL, true, TAMIS_OP_FUSED},
    {"cpu-nonzeros", "chunk=8", true, TAMIS_OP_FUSED},
    {"cpu-nonzeros", NULL, true, TAMIS_OP_FUSED},
    {"cpu-rows", "chunk=16", true, TAMIS_OP_FUSED},
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
    gradient_works(status);
    const kept k = kept_make(c);
    run_forward(c, plan, &k, what);
    kept_free(c, &k);
    tamis_plan_destroy(plan);
    return true;
}

static bool heads(void) { return tamis_random_below(&dice, 2); }

static gradient_shape draw_shape(tamis_operation operation, int round) {
    static const int64_t widths[] = {1, 2, 7, 16, 33, 64, 100};
    gradient_shape s = {.rows = 1 + tamis_random_below(&dice, 60),
                        .cols = 1 + tamis_random_below(&dice, 60),
                        .nnz = tamis_random_below(&dice, 900),
                        .hub = heads() ? 0.6 : 0,
                        .slice = round % 3 == 1,
                        .transpose = operation != TAMIS_OP_SDDMM && round / 2 % 2,
                        .format = round % 3 == 2 ? TAMIS_COO : TAMIS_CSR,
                        .index_type = is_cpu && heads() ? TAMIS_I64 : TAMIS_I32,
                        .offset_type = is_cpu && heads() ? TAMIS_I64 : TAMIS_I32,
                        .inner = widths[tamis_random_below(&dice, 7)],
                        .width = widths[tamis_random_below(&dice, 7)],
                        .batch = 1 + 2 * (round % 2),
                        .with_values = tamis_random_below(&dice, 4) > 0,
                        .given_values = heads(),
                        .shared = heads(),
                        .layouts = tamis_random_below(&dice, 4) == 0 ? (int)tamis_random_below(&dice, 16) : 0,
                        .padding = round % 2 ? 1 + tamis_random_below(&dice, 5) : 0};
    if (quick) {
        s.rows = 1 + s.rows % 12, s.cols = 1 + s.cols % 12, s.nnz %= 60;
        s.inner = s.width = 1 + s.inner % 5;
    }
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
    (void)state;
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
    if (c->copies)
        gradient_works(tamis_device_upload(device, NULL, c->values.memory, 0, c->values.host, c->values.bytes));
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
        const kept k = kept_make(c);
        const tamis_dense *const A = &c->in[IN_A].there, *const B = &c->in[IN_B].there, *const D = &c->in[IN_D].there;
        tamis_execution execution = kept_asking(c, &k);
        c->options.keep_softmax = true;
        kept_poison(c, &k);
        gradient_works(operation == TAMIS_OP_SDDMM
                           ? tamis_sddmm(device, &c->S_there, A, B, &k.out, &c->options, &execution)
                           : tamis_fused(device, &c->S_there, A, B, D, &k.out, &c->options, &execution));
        kept_fetch(c, &k);
        kept_check(c, &k, "one call");
        kept_free(c, &k);
        gradient_case_free(c);
    }
}

/* ------------------------------------------------------------------------------------------ backward calls */

static int outputs_of(const gradient_case *c) {
    const int fused = c->operation == TAMIS_OP_FUSED ? 1 << OUT_D : 0;
    return 1 << OUT_A | 1 << OUT_B | fused | (gradient_case_has_values(c) ? 1 << OUT_S : 0);
}

static void copy_outputs(const gradient_case *c, void **copies) {
    for (int k = 0; k < OUTS; k++) {
        copies[k] = malloc(c->out[k].array.bytes + 1);
        memcpy(copies[k], c->out[k].array.host, c->out[k].array.bytes);
    }
}

static void fetch_outputs(const gradient_case *c) {
    for (int k = 0; k < OUTS && c->copies; k++)
        if (c->out[k].array.bytes)
            gradient_works(tamis_device_download(device, NULL, c->out[k].array.host, c->out[k].array.memory, 0,
                                                 c->out[k].array.bytes));
}

/* Forward and back, with the statistics and without; a gradient that was made without them gives the same bits as one
   that is not given them. */
static void there_and_back(gradient_case *c) {
    const int all = outputs_of(c), some = all & (int)tamis_random_below(&dice, 16);
    tamis_gradient *plain = NULL, *gradient = NULL;
    tamis_plan *plan = NULL;
    void *copies[OUTS];
    const kept k = kept_make(c);
    gradient_works(tamis_gradient_create(device, &c->S_there, &c->options, &plain));
    c->options.keep_softmax = true;
    gradient_works(tamis_plan_create(device, &c->S_there, &c->options, &plan));
    gradient_works(tamis_gradient_create(device, &c->S_there, &c->options, &gradient));
    kept_poison(c, &k);
    const tamis_execution execution = kept_asking(c, &k);
    gradient_works(kept_forward(c, plan, &k, &execution));
    gradient_case_expect(c);
    gradient_case_poison(c);
    gradient_works(gradient_case_run(c, plain, all));
    gradient_case_check(c, all, "without statistics");
    fetch_outputs(c);
    copy_outputs(c, copies);
    gradient_case_poison(c);
    gradient_works(gradient_case_run(c, gradient, all));
    fetch_outputs(c);
    for (int i = 0; i < OUTS; i++) assert_memory_equal(copies[i], c->out[i].array.host, c->out[i].array.bytes);
    c->there.softmax_rows = k.pairs_there;
    gradient_case_poison(c);
    gradient_works(gradient_case_run(c, gradient, all));
    gradient_case_check(c, all, "with statistics");
    gradient_case_poison(c);
    gradient_works(gradient_case_run(c, gradient, some));
    gradient_case_check(c, some, "some outputs with statistics");
    c->there.softmax_rows = NULL;
    for (int i = 0; i < OUTS; i++) free(copies[i]);
    tamis_gradient_destroy(gradient);
    tamis_gradient_destroy(plain);
    tamis_plan_destroy(plan);
    kept_free(c, &k);
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
    const kept k = kept_make(c);
    tamis_plan *plan = NULL;
    tamis_gradient *gradient = NULL;
    tamis_execution execution = kept_asking(c, &k);
    gradient_works(tamis_plan_create(device, &c->S_there, &c->options, &plan));
    REFUSED(ARGUMENT, "execution.softmax_rows", kept_forward(c, plan, &k, &execution));
    tamis_plan_destroy(plan);
    gradient_works(tamis_gradient_create(device, &c->S_there, &c->options, &gradient));
    c->there.softmax_rows = k.pairs_there;
    REFUSED(ARGUMENT, "it needs options.keep_softmax", gradient_case_run(c, gradient, 1 << OUT_A));
    tamis_gradient_destroy(gradient);
    c->options.keep_softmax = true;
    gradient_works(tamis_gradient_create(device, &c->S_there, &c->options, &gradient));
    gradient_works(tamis_plan_create(device, &c->S_there, &c->options, &plan));
    if (!c->copies) { /* on OpenCL it is a handle */
        execution.softmax_rows = c->there.softmax_rows = (char *)k.pairs_there + 2;
        REFUSED(ARGUMENT, "a multiple of 4", kept_forward(c, plan, &k, &execution));
        REFUSED(ARGUMENT, "a multiple of 4", gradient_case_run(c, gradient, 1 << OUT_A));
    }
    tamis_plan_destroy(plan);
    tamis_gradient_destroy(gradient);
    kept_free(c, &k);
    gradient_case_free(c);
}

TEST(test_edge_refused) {
    gradient_case *const c = make(TAMIS_OP_SDDMM, TAMIS_F32, &small);
    const kept k = kept_make(c);
    const tamis_execution execution = kept_asking(c, &k);
    tamis_plan *plan = NULL;
    c->options.keep_softmax = true;
    gradient_works(tamis_plan_create(device, &c->S_there, &c->options, &plan));
    REFUSED(ARGUMENT, "execution.softmax_rows",
            tamis_plan_edge(plan, &c->in[IN_OUT].there, &c->out[OUT_S].there, &execution));
    tamis_plan_destroy(plan);
    kept_free(c, &k);
    gradient_case_free(c);
}

/* ------------------------------------------------------------------------------------------ main */

static int set_up(void **state) {
    tamis_device_description about;
    (void)state;
    live = tamis_memory_live();
    if (tamis_device_open(name, &device) != TAMIS_OK) return -1;
    if (tamis_device_describe(device, &about) != TAMIS_OK) return -1;
    is_cpu = about.location == TAMIS_HOST;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tamis_device_close(device);
    return tamis_memory_live() == live ? 0 : -1;
}

TEST_RUN() {
    const char *const text = getenv("TAMIS_TEST_SEED");
    const uint64_t seed = text ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);
    int failed = 0;
    rounds = test_rounds(4, 1);
    if (argc > 1 && strcmp(argv[1], "cpu") != 0) rounds = 1;
    if (argc > 2) rounds = atoi(argv[2]);
    if (rounds == 0) quick = true, rounds = 1;
    dice = tamis_random_start(seed, 0);
    printf("seed %llu\n", (unsigned long long)seed);
    if (!named_device_is_here(argc, argv, &name)) return 77;
    if (strcmp(name, "cpu") != 0) return test_run(name, NULL, set_up, tear_down);
    int next = 0;
    for (const char *v; (v = test_variant_next(&next, TEST_KERNELS, &types));)
        failed +=
            types == ALL_TYPES ? test_run(v, NULL, set_up, tear_down) : test_run(v, "of_types", set_up, tear_down);
    return failed;
}
