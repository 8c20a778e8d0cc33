/*
 * Fused where D is B: plans that meet it in some executions and not in others, rows alone, and a promise
 * (options.d_is_b) that is not kept; the row products of tests/operations has all else. test_d_is_b [DEVICE].
 */
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "named_device.h"
#include "support/algorithms.h"
#include "support/expect.h"
#include "support/mirror.h"
#include "support/refusals.h"
#include "support/works.h"

static tamis_device *device;
static bool on_cpu = true;

/* One problem twice, with a D of its own and with B as D, and its output. */
typedef struct both {
    problem apart, same;
    mirror on;
} both;

static both both_make(const problem_options *options, uint64_t seed) {
    tamis_random random = tamis_random_start(seed, 0);
    both x = {.apart = problem_make(options, &random)};
    x.same = x.apart;
    x.same.D = x.same.B;
    x.same.options.d_is_b = true;
    x.on = mirror_make(device, &x.apart, TAMIS_OP_FUSED);
    return x;
}

static void both_free(both *x) {
    mirror_free(&x->on);
    problem_free(&x->apart);
}

static tamis_options options_of(const both *x, const test_call *call) {
    return problem_call(&x->apart, TAMIS_OP_FUSED, &call->options);
}

/* Every output that must be written is NaN before. */
static void poison(both *x) {
    matrix_poison(&x->on.out);
    matrix_send(device, &x->on.out);
}

static void compare(both *x, bool same, const test_call *call, const char *what) {
    const problem *const p = same ? &x->same : &x->apart;
    const char *const wrong = mirror_wrong(&x->on, p, call);
    if (wrong)
        fail_msg("%s, D %s B, %s, K = %lld, %s: %s", what, same ? "is" : "is not", tamis_edge_name(call->options.edge),
                 (long long)p->options.inner, tamis_type_name(p->options.type), wrong);
}

static void execute(both *x, const tamis_plan *plan, const test_call *call, bool same) {
    poison(x);
    works(tamis_plan_fused(plan, &x->on.A, &x->on.B, same ? &x->on.B : &x->on.D, &x->on.out.there, &call->execution));
}

static const struct shape_case {
    int64_t rows, cols, nnz, inner, batch;
    enum shape shape;
    tamis_type type;
    tamis_layout layout;
    int64_t padding, misalignment;
    bool pattern;
} shapes[] = {
    {40, 60, 500, 32, 1, SHAPE_UNIFORM, TAMIS_F32, TAMIS_ROW_MAJOR, 0, 0, false},
    {40, 60, 500, 37, 3, SHAPE_RAGGED, TAMIS_F32, TAMIS_ROW_MAJOR, 3, 1, false},
    {9, 300, 2000, 128, 1, SHAPE_HUB, TAMIS_F32, TAMIS_ROW_MAJOR, 0, 0, false},
    {9, 300, 2000, 20, 2, SHAPE_HUB, TAMIS_F64, TAMIS_ROW_MAJOR, 0, 0, true},
    {31, 40, 300, 5, 2, SHAPE_SPARSE_ENDS, TAMIS_F64, TAMIS_COLUMN_MAJOR, 1, 0, false},
    {31, 40, 300, 64, 1, SHAPE_LAST_ROW, TAMIS_F16, TAMIS_ROW_MAJOR, 0, 0, false},
    {31, 40, 300, 72, 1, SHAPE_UNIFORM, TAMIS_BF16, TAMIS_ROW_MAJOR, 5, 0, true},
    {12, 20, 90, 1, 1, SHAPE_UNIFORM, TAMIS_F32, TAMIS_ROW_MAJOR, 0, 0, false},
    {12, 20, 90, 256, 1, SHAPE_UNIFORM, TAMIS_F32, TAMIS_ROW_MAJOR, 0, 0, false},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static both shape_make(int number) {
    const struct shape_case *const c = &shapes[number];
    const problem_options o = {.rows = c->rows,
                               .cols = c->cols,
                               .nnz = c->nnz,
                               .inner = c->inner,
                               .width = c->inner,
                               .batch = c->batch,
                               .shape = c->shape,
                               .type = c->type,
                               .layouts = {c->layout, c->layout, c->layout, c->layout},
                               .sorted = true,
                               .pattern = c->pattern,
                               .padding = c->padding,
                               .misalignment = c->misalignment};
    return both_make(&o, (uint64_t)number + 1);
}

static const tamis_edge edges[] = {TAMIS_EDGE_SCALE, TAMIS_EDGE_QUOTIENT, TAMIS_EDGE_SIGMOID, TAMIS_EDGE_SOFTMAX};
enum { EDGES = sizeof edges / sizeof edges[0] };

/* Where kernels take seconds to compile: each shape with one edge, and two of the four types. */
static bool brief;

static bool is_left_out(int number) {
    return brief && (shapes[number].type == TAMIS_F64 || shapes[number].type == TAMIS_BF16);
}

static bool is_pair_left_out(int number, int edge) {
    return is_left_out(number) || (brief && (number + edge) % EDGES != 0);
}

static test_call call_number(int e) {
    test_call call = call_of(edges[e], 0.75, 0);
    call.options.edge_scale = 0.4;
    call.options.edge_epsilon = 0.25; /* next to nothing would be a pole */
    return call;
}

/* A plan without the promise is right whatever comes, in any order. */
TEST_TAG(test_alternating, "tests") {
    const char *of_cpu[CPU_ALGORITHMS_MOST + 1];
    static const char *const of_gpu[] = {NULL, "gpu-nonzeros", "gpu-two-steps"};
    const int count = cpu_algorithms(TAMIS_OP_FUSED, false, of_cpu);
    for (int number = 0; number < SHAPES; number++)
        for (int e = 0; e < EDGES; e++) {
            if (is_pair_left_out(number, e)) continue;
            both x = shape_make(number);
            const test_call call = call_number(e);
            tamis_options o = options_of(&x, &call);
            tamis_plan *plan = NULL;
            const int turn = number + e;
            o.algorithm = on_cpu ? of_cpu[turn % (count + 1)] : of_gpu[turn % 3];
            o.threads = on_cpu ? 1 + turn % 3 : 0;
            works(tamis_plan_create(device, &x.on.S, &o, &plan));
            for (int i = 0; i < 4; i++) {
                execute(&x, plan, &call, i % 2 == 1);
                compare(&x, i % 2 == 1, &call, "alternating");
            }
            tamis_plan_destroy(plan);
            both_free(&x);
        }
}

/* A row is rounded by its own length: the same bits in the whole matrix and alone, as on another device of a group. */
TEST_TAG(test_rows_alone, "of_the_cpu") {
    const problem_options options = {.rows = 60,
                                     .cols = 200,
                                     .nnz = 2400,
                                     .inner = 32,
                                     .width = 32,
                                     .shape = SHAPE_RAGGED,
                                     .type = TAMIS_F32,
                                     .index_type = TAMIS_I32,
                                     .offset_type = TAMIS_I32,
                                     .batch = 1};
    both x = both_make(&options, 9);
    const test_call call = call_of(TAMIS_EDGE_SCALE, 1, 0);
    tamis_options o = options_of(&x, &call);
    const int32_t *const offsets = x.on.S.offsets;
    float alone[32];
    int longs = 0, shorts = 0;
    o.algorithm = "cpu-nonzeros";
    o.threads = 1;
    poison(&x);
    works(tamis_fused(device, &x.on.S, &x.on.A, &x.on.B, &x.on.B, &x.on.out.there, &o, &call.execution));
    for (int64_t r = 0; r < options.rows; r++) {
        tamis_sparse S = x.on.S;
        const tamis_dense A = test_rows_of(&x.on.A, r, 1);
        const tamis_dense out = {.data = alone, .rows = 1, .cols = 32, .type = TAMIS_F32};
        S.rows = 1;
        S.offsets = (void *)(uintptr_t)(offsets + r);
        S.offset_base = offsets[r];
        S.nnz = offsets[r + 1] - offsets[r];
        works(tamis_fused(device, &S, &A, &x.on.B, &x.on.B, &out, &o, &call.execution));
        const int64_t at = test_position(&x.on.out.here, 0, r, 0);
        assert_memory_equal(alone, (const float *)x.on.out.here.data + at, sizeof alone);
        longs += S.nnz >= 32;
        shorts += S.nnz > 0 && S.nnz < 32;
    }
    assert_true(longs > 5 && shorts > 5);
    both_free(&x);
}

/* A promise is held to. */
TEST_TAG(test_refusals, "tests") {
    both x = shape_make(0);
    const test_call call = call_number(0);
    const tamis_options good = options_of(&x, &call);
    tamis_options o = good;
    tamis_plan *plan = NULL;
    char text[4096];
    o.d_is_b = true;
    SPOILT(o.width, o.inner + 1, ARGUMENT, "options.d_is_b...options.width = 33",
           tamis_plan_create(device, &x.on.S, &o, &plan));
    SPOILT(o.operation, TAMIS_OP_SDDMM, ARGUMENT, "options.d_is_b...sddmm",
           tamis_plan_create(device, &x.on.S, &o, &plan));
    works(tamis_plan_create(device, &x.on.S, &o, &plan));
    works(tamis_plan_explain(plan, text, sizeof text, NULL));
    assert_non_null(strstr(text, ", D is B"));
    REFUSED(ARGUMENT, "D.data...options.d_is_b",
            tamis_plan_fused(plan, &x.on.A, &x.on.B, &x.on.D, &x.on.out.there, NULL));
    tamis_dense other = x.on.B;
    other.batch_stride = 5;
    REFUSED(ARGUMENT, "D.data...options.d_is_b",
            tamis_plan_fused(plan, &x.on.A, &x.on.B, &other, &x.on.out.there, NULL));
    tamis_plan_destroy(plan);
    plan = NULL;
    o = good;
    works(tamis_plan_create(device, &x.on.S, &o, &plan));
    REFUSED(ARGUMENT, "D = NULL...expected", tamis_plan_fused(plan, &x.on.A, &x.on.B, NULL, &x.on.out.there, NULL));
    works(tamis_plan_explain(plan, text, sizeof text, NULL));
    assert_null(strstr(text, ", D is B"));
    tamis_plan_destroy(plan);
    if (!on_cpu) {
        o.algorithm = "gpu-one-pass";
        REFUSED(UNSUPPORTED, "options.d_is_b", tamis_plan_create(device, &x.on.S, &o, &plan));
    }
    both_free(&x);
}

TEST_RUN() {
    const char *name = "cpu";
    if (!named_device_is_here(argc, argv, &name)) return 77;
    works(tamis_device_open(name, &device));
    on_cpu = strcmp(name, "cpu") == 0;
    brief = argc > 2 && strcmp(argv[2], "brief") == 0;
    int failed = test_run(NULL, "tests", NULL, NULL);
    if (on_cpu) failed += test_run(NULL, "of_the_cpu", NULL, NULL);
    tamis_device_close(device);
    return failed;
}
