/* Fused where D is B: rows alone, and a promise (options.d_is_b) that is not kept; the row products of tests/operations
 * has all else. test_d_is_b [DEVICE]. */
#include "support/test.h"

#include "device_fixture.h"
#include "support/algorithms.h"
#include "support/mirror.h"

/* A problem whose B serves as D, and its output. */
typedef struct one {
    problem p;
    mirror on;
} one;

static one one_make(const problem_options *options) {
    tamis_random random = tamis_random_start(9, 0);
    one x = {.p = problem_make(options, &random)};
    x.on = mirror_make(device, &x.p, TAMIS_OP_FUSED);
    return x;
}

static void one_free(one *x) {
    mirror_free(&x->on);
    problem_free(&x->p);
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
    one x = one_make(&options);
    const test_call call = call_of(TAMIS_EDGE_SCALE, 1, 0);
    tamis_options o = problem_call(&x.p, TAMIS_OP_FUSED, &call.options);
    const int32_t *const offsets = x.on.S.offsets;
    float alone[32];
    int longs = 0, shorts = 0;
    o.algorithm = "cpu-nonzeros";
    o.threads = 1;
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
    one_free(&x);
}

TEST_TAG(test_refusals, "tests") {
    const problem_options options = {
        .rows = 40, .cols = 60, .nnz = 500, .inner = 32, .width = 32, .batch = 1, .type = TAMIS_F32, .sorted = true};
    one x = one_make(&options);
    const test_call call = call_of(TAMIS_EDGE_SCALE, 0.75, 0);
    const tamis_options good = problem_call(&x.p, TAMIS_OP_FUSED, &call.options);
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
    if (!is_cpu) {
        o.algorithm = "gpu-one-pass";
        REFUSED(UNSUPPORTED, "options.d_is_b", tamis_plan_create(device, &x.on.S, &o, &plan));
    }
    one_free(&x);
}

TEST_RUN() {
    if (!device_is_named(argc, argv)) return 77;
    const int failed = test_run(NULL, "tests", set_up, tear_down);
    return strcmp(name, "cpu") == 0 ? failed + test_run(NULL, "of_the_cpu", set_up, tear_down) : failed;
}
