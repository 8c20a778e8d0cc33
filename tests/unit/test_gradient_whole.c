/*
 * Gradients of attention in one piece, on the devices that have it: dense and sparse cells, panels that several groups
 * share, slices, COO, the transpose, batches, rows of very different sizes; on the CPU also repeated and unordered
 * columns, fp64, wide rows, one to five threads. test_gradient_whole DEVICE [ROUNDS]
 * With 0 rounds a few cases that share their kernels.
 */
#include "support/test.h"

#include "device_fixture.h"
#include "gradient_case.h"
#include "softmax_kept.h"

enum { ALL = 1 << OUT_A | 1 << OUT_B | 1 << OUT_D };

static const char *algorithm = "gpu-tensor";
static bool by_mma; /* the form of products whose rows are half as long: gpu/tensor/form.h */
static int rounds = 1;
static bool brief; /* a few cases, which share their kernels */

/* K and L, on a GPU up to 128, of 16 bits up to 256; half of these by mma.sync. */
static int64_t draw_width(tamis_type type) {
    static const int64_t narrow[] = {1, 3, 16, 33, 40, 63, 64, 64, 65, 80, 96, 120, 127, 128, 128, 130, 192, 200, 256};
    static const int64_t any[] = {1, 3, 16, 33, 64, 65, 100, 136};
    const int64_t count = tamis_type_size(type) == 2 ? (by_mma ? 15 : 19) : by_mma ? 8 : 15;
    return is_cpu ? any[tamis_random_below(&dice, 8)] : narrow[tamis_random_below(&dice, count)];
}

static gradient_shape draw_shape(tamis_type type, int64_t rows, int64_t cols, double share) {
    const int form = (int)tamis_random_below(&dice, 4);
    return (gradient_shape){.rows = rows,
                            .cols = cols,
                            .kept = share,
                            .slice = form == 1,
                            .format = form == 2 ? TAMIS_COO : TAMIS_CSR,
                            .transpose = form == 3,
                            .index_type = !brief && tamis_random_below(&dice, 2) ? TAMIS_I64 : TAMIS_I32,
                            .offset_type = !brief && tamis_random_below(&dice, 2) ? TAMIS_I64 : TAMIS_I32,
                            .inner = draw_width(type),
                            .width = draw_width(type),
                            .batch = brief ? 2 : 1 + tamis_random_below(&dice, 3),
                            .shared = tamis_random_below(&dice, 2),
                            .padding = tamis_random_below(&dice, 2) ? tamis_random_below(&dice, 9) : 0};
}

/* With what the forward call has kept: the same within the bounds, which grow where its result is read. */
static void compare_kept(gradient_case *c) {
    const tamis_execution before = c->there;
    OWN(kept) k = kept_make(c);
    const tamis_execution asking = kept_asking(c, &k);
    c->options.keep_softmax = true;
    OWN(tamis_gradient) *const gradient = gradient_case_gradient(c);
    c->options.algorithm = NULL;
    OWN(tamis_plan) *const plan = gradient_case_plan(c);
    kept_poison(c, &k);
    works(kept_forward(c, plan, &k, &asking));
    c->there.softmax_rows = twin_there(&k.pairs);
    c->there.result = &k.out.there;
    c->rounds_result = !is_cpu && c->type != TAMIS_F16;
    if (c->rounds_result) gradient_case_expect(c);
    gradient_case_poison(c);
    works(gradient_case_run(c, gradient, ALL));
    gradient_case_check(c, ALL, "with the result");
    c->there = before;
}

/* All outputs, and some of them. The case goes. */
static void compare(gradient_case *c) {
    const int some = 1 + (int)tamis_random_below(&dice, ALL);
    c->options.algorithm = algorithm;
    if (is_cpu) c->options.threads = 1 + (int)tamis_random_below(&dice, 5);
    tamis_gradient *const gradient = gradient_case_gradient(c);
    assert_string_equal(tamis_gradient_algorithm(gradient), algorithm);
    gradient_case_expect(c);
    for (int i = 0; i < 2; i++) {
        const int wanted = i == 0 ? ALL : some;
        gradient_case_poison(c);
        works(gradient_case_run(c, gradient, wanted));
        gradient_case_check(c, wanted, i == 0 ? "all outputs" : "some outputs");
    }
    tamis_gradient_destroy(gradient);
    compare_kept(c);
    gradient_case_free(c);
}

static gradient_case *make(tamis_type type, gradient_shape shape) {
    static const double betas[] = {0, 0, 1, -0.5};
    return gradient_case_make(device, TAMIS_OP_FUSED, TAMIS_EDGE_SOFTMAX, type, &shape,
                              betas[tamis_random_below(&dice, 4)], &dice);
}

/* One cell, several panels, panels of several groups; full cells and thin ones. */
TEST(test_shapes) {
    static const struct {
        int64_t rows, cols;
        double kept;
    } sizes[] = {{64, 64, 2}, {40, 50, 0.5}, {200, 130, 0.3}, {130, 400, 2}, {500, 90, 0.15}};
    static const tamis_type types[] = {TAMIS_F32, TAMIS_F16, TAMIS_BF16, TAMIS_F64};
    for (int round = 0; round < rounds; round++)
        for (int type = 0; type < (is_cpu ? 4 : 3); type++)
            for (int k = 0; k < 5; k++) {
                if (brief && !(type == 0 && k == 2) && !(type == 2 && k == 4)) continue;
                compare(make(types[type], draw_shape(types[type], sizes[k].rows, sizes[k].cols, sizes[k].kept)));
            }
}

/* Columns in any order, some of them several times in a row. */
TEST(test_repeats) {
    for (int round = 0; is_cpu && round < rounds; round++) {
        gradient_shape shape =
            draw_shape(TAMIS_F32, 70 + tamis_random_below(&dice, 60), 1 + tamis_random_below(&dice, 40), 0);
        shape.nnz = 1500;
        shape.hub = 0.2;
        compare(make(TAMIS_F32, shape));
    }
}

/* Rows of sizes so different that fp16 keeps too few bits without scales of their own. */
TEST(test_spread) {
    for (int round = 0; round < rounds; round++)
        for (int which = brief ? IN_OUT : 0; which < INS; which++) {
            gradient_case *const c = make(TAMIS_F32, draw_shape(TAMIS_F32, 150, 170, 0.4));
            gradient_case_spread(c, which, which < IN_D ? 2 : 30, &dice);
            compare(c);
        }
    for (int type = TAMIS_F16; type <= TAMIS_BF16 && !brief; type++) { /* of 16 bits all have one scale */
        gradient_case *const c = make((tamis_type)type, draw_shape((tamis_type)type, 150, 170, 0.4));
        gradient_case_spread(c, IN_OUT, 6, &dice);
        compare(c);
    }
}

/* An infinite row of A or B: what has no nonzero with it comes out right, though cells multiply it by zeros. */
TEST(test_infinite) {
    static const tamis_type types[] = {TAMIS_BF16, TAMIS_F32, TAMIS_F16};
    for (int type = 0; type < (brief ? 1 : 3); type++)
        for (int which = IN_A; which <= IN_B; which++) {
            gradient_case *const c = make(types[type], draw_shape(types[type], 200, 130, 0.1));
            gradient_case_lose(c, which, tamis_random_below(&dice, c->in[which].here.rows));
            compare(c);
        }
}

/* Factors of scores that the kernel treats apart: negative, none, huge. */
TEST(test_scales) {
    static const double scales[] = {-0.5, 0, 40};
    static const tamis_type types[] = {TAMIS_F32, TAMIS_F32, TAMIS_F32, TAMIS_F16, TAMIS_BF16, TAMIS_F16};
    for (int k = 0; k < (brief ? 1 : 6); k++) {
        gradient_case *const c = make(types[k], draw_shape(types[k], 100, 100, 0.4));
        c->options.edge_scale = scales[k % 3];
        compare(c);
    }
}

/* What is declined goes in steps. */
TEST(test_steps) {
    for (int k = 0; k < 5; k++) {
        gradient_shape shape = draw_shape(TAMIS_F32, 60, 70, 0.5);
        if (brief) shape.inner = shape.width = 64; /* the same kernels, which are compiled and not run */
        if (k == 0) shape.with_values = true;
        if (k == 1) shape.inner = 129;
        if (k == 2) shape.layouts = 2;
        if (is_cpu && (k == 1 || k == 3)) continue;
        OWN(gradient_case) *const c = make(k == 3 ? TAMIS_F64 : TAMIS_F32, shape);
        c->options.algorithm = k == 4 ? "steps" : algorithm;
        OWN(tamis_gradient) *const gradient = gradient_case_gradient(c);
        assert_string_equal(tamis_gradient_algorithm(gradient), "steps");
    }
}

/* Left to itself the library takes what is predicted faster: one piece where cells are full, steps where each has a
   few. The former has kernels of its own to compile. */
TEST(test_choice) {
    const struct {
        int64_t size;
        double kept;
        const char *taken;
    } cases[] = {{256, 1, algorithm}, {4096, 0.004, "steps"}};
    for (int k = brief; k < 2; k++) {
        const gradient_shape shape = {
            .rows = cases[k].size, .cols = cases[k].size, .kept = cases[k].kept, .inner = 64, .width = 64, .batch = 16};
        OWN(gradient_case) *const c = make(TAMIS_F32, shape);
        OWN(tamis_gradient) *const gradient = gradient_case_gradient(c);
        assert_string_equal(tamis_gradient_algorithm(gradient), cases[k].taken);
    }
}

TEST_RUN() {
    tamis_device_description about;
    if (argc > 2) rounds = test_rounds(atoi(argv[2]), atoi(argv[2]) > 0);
    if (rounds == 0) brief = true, rounds = 1;
    if (!device_is_named(argc, argv)) return 77;
    if (set_up(NULL) != 0 || tamis_device_describe(device, &about) != TAMIS_OK) return 1;
    const char *const wish = getenv("TAMIS_TENSOR_CORES");
    by_mma = strcmp(about.instruction_set, "sm_90") != 0 || (wish && strcmp(wish, "mma") == 0);
    if (is_cpu) {
        algorithm = "cpu-cells";
    } else if (strncmp(about.instruction_set, "sm_", 3) != 0 || atoi(about.instruction_set + 3) < 80) {
        printf("skipped: %s is %s; compute capability 8.0 is needed\n", name, about.instruction_set);
        return 77;
    }
    tamis_device_close(device);
    return test_run(NULL, NULL, set_up, tear_down);
}
