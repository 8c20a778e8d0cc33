/*
 * Batches: every algorithm of a device with members apart, within rows and with shared operands, against the oracle;
 * and fp32 results of 16-bit operands, which no rounding to 16 bits on the way may spoil. test_batches [DEVICE
 * [PREFIX [TEST]]] DEVICE is "cpu" by default. PREFIX limits the algorithms to those whose names begin so, TEST is one
 * of the tests, for devices whose kernels take long to compile.
 */
#include "support/test.h"

#include <tamis/algorithms.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_fixture.h"
#include "support/brief.h"
#include "support/mirror.h"
#include "support/variants.h"

static const char *prefix = "";

/* Parameters with which even small members are cut, in rows and in slices of K, so that scratch is used. */
static const char *cutting(const char *algorithm, tamis_operation operation) {
    if (strcmp(algorithm, "gpu-nonzeros") == 0) return operation == TAMIS_OP_SDDMM ? "slice=8,chunk=64" : "items=24";
    if (strcmp(algorithm, "gpu-rows") == 0) return "limit=16";
    if (strcmp(algorithm, "gpu-teams") == 0) return "share=2";
    if (strcmp(algorithm, "gpu-panels") == 0) return "slice=8,panel=4,columns=8";
    return NULL;
}

typedef enum arrangement {
    MEMBERS_APART,       /* one after another, with gaps */
    MEMBERS_WITHIN_ROWS, /* heads: beside one another in each row */
    MEMBERS_SHARE        /* B and D are the same for all */
} arrangement;

typedef struct batch_options {
    problem_options p;
    tamis_operation operation;
    tamis_edge edge;
    bool values_later; /* handed over with the execution */
    double beta;
} batch_options;

static void arrange(problem_options *p, arrangement arranged) {
    p->within = arranged == MEMBERS_WITHIN_ROWS;
    p->padding = p->within ? 0 : 4;
    p->shared = arranged == MEMBERS_SHARE ? PROBLEM_SHARES_B | PROBLEM_SHARES_D : 0;
}

static batch_options usual(tamis_operation operation, tamis_edge edge, int64_t batch) {
    batch_options o = {.operation = operation, .edge = edge};
    o.p = (problem_options){.rows = 23,
                            .cols = 90,
                            .nnz = 100,
                            .inner = 24,
                            .width = 16,
                            .batch = batch,
                            .shape = SHAPE_FULL_HUB,
                            .apart = 12,
                            .values_apart = 3};
    arrange(&o.p, MEMBERS_APART);
    return o;
}

typedef struct batch_case {
    batch_options options;
    problem p;
    mirror on; /* its output is as the last run left it */
    test_call call;
    twin others;  /* values that are not to be read */
    void *before; /* the output */
    expectation right;
} batch_case;

static batch_case batch_make(const batch_options *o) {
    batch_case c = {.options = *o, .p = problem_make(&o->p, &dice), .call = call_of(o->edge, 0.75, o->beta)};
    c.on = mirror_make(device, &c.p, o->operation);
    c.call.options.edge_scale = 0.5;
    c.call.options.threads = 3;
    if (o->values_later) { /* the plan sees others */
        c.call.execution.values = c.on.S.values;
        c.call.execution.values_stride = c.on.S.batch_stride;
        c.others = twin_make((size_t)c.p.S.nnz * tamis_type_size(c.p.S.value_type), 0);
        twin_send(&c.others, device);
        c.on.S.values = twin_there(&c.others);
        c.on.S.batch_stride = 0;
    }
    if (o->beta != 0) matrix_draw(&c.on.out, -1, 1, &dice); /* else nothing of it may be read */
    c.before = matrix_copy(&c.on.out);
    c.right = expect_members(&c.p, o->operation, &c.call, &c.on.out);
    return c;
}

static void batch_free(batch_case *c) {
    mirror_free(&c->on);
    problem_free(&c->p);
    twin_free(&c->others);
    free(c->before);
    expect_free(&c->right);
}

/* As a plan with that algorithm and those parameters, or, without a name, by one call. TAMIS_ERROR_UNSUPPORTED where
   the algorithm declines. */
static tamis_status batch_run(batch_case *c, const char *algorithm, const char *parameters) {
    mirror *const on = &c->on;
    const tamis_execution *const execution = &c->call.execution;
    tamis_options options = problem_call(&c->p, on->operation, &c->call.options);
    tamis_plan *plan = NULL;
    options.algorithm = algorithm;
    options.parameters = parameters;
    options.any_order = algorithm != NULL;
    options.expected_calls = 100;
    matrix_restore(&on->out, c->before);
    matrix_send(on->device, &on->out);
    tamis_status status = algorithm ? tamis_plan_create(on->device, &on->S, &options, &plan) : TAMIS_OK;
    if (status == TAMIS_OK)
        status = algorithm ? mirror_plan(on, plan, execution) : mirror_once(on, &options, execution);
    tamis_plan_destroy(plan);
    if (status == TAMIS_OK) matrix_fetch(&on->out);
    return status;
}

static void try(batch_case *c, const char *algorithm, const char *parameters, int *run) {
    const batch_options *const o = &c->options;
    const problem_options *const p = &o->p;
    const tamis_status status = batch_run(c, algorithm, parameters);
    const char *const wrong = status == TAMIS_OK ? expect_compare(&c->right, &c->on.out) : tamis_last_error();
    if (status == TAMIS_ERROR_UNSUPPORTED) return;
    ++*run;
    if (!wrong) return;
    fail_msg("%s(%s), %s %s of %s%s to %s on %s, batch of %lld%s%s, K = %lld, L = %lld, beta %g%s%s%s%s: %s",
             algorithm ? algorithm : "one call", parameters ? parameters : "", tamis_operation_name(o->operation),
             tamis_edge_name(o->edge), tamis_type_name(p->type), p->wide_values ? " and fp32" : "",
             tamis_type_name(c->on.out.here.type), name, (long long)p->batch, p->within ? " within rows" : "",
             p->shared & PROBLEM_SHARES_B ? ", B shared" : "", (long long)p->inner, (long long)p->width, o->beta,
             p->shared & PROBLEM_SHARES_VALUES ? ", values shared" : "", p->format == TAMIS_COO ? ", COO" : "",
             p->layouts[1] ? ", column-major" : "", p->transpose ? ", transposed" : "", wrong);
}

/* All algorithms that accept, and the one-shot call. */
static int try_all(const batch_options *options) {
    const char *const family = strcmp(name, "cpu") == 0 ? "cpu" : "gpu";
    batch_case c = batch_make(options);
    int run = 0;
    for (int a = 0; a < tamis_algorithm_count(); a++) {
        tamis_algorithm_description d;
        assert_int_equal(tamis_algorithm_at(a, &d), TAMIS_OK);
        if (strncmp(d.name, prefix, strlen(prefix)) != 0) continue;
        if (strcmp(d.device, family) != 0 || !(d.operations & 1u << options->operation)) continue;
        try(&c, d.name, NULL, &run);
        if (cutting(d.name, options->operation)) try(&c, d.name, cutting(d.name, options->operation), &run);
    }
    try(&c, NULL, NULL, &run);
    batch_free(&c);
    return run;
}

static void all_operations(void (*with)(tamis_operation operation, tamis_edge edge)) {
    with(TAMIS_OP_SDDMM, TAMIS_EDGE_SCALE);
    with(TAMIS_OP_SDDMM, TAMIS_EDGE_SOFTMAX);
    with(TAMIS_OP_SPMM, TAMIS_EDGE_SCALE);
    with(TAMIS_OP_FUSED, TAMIS_EDGE_SCALE);
    with(TAMIS_OP_FUSED, TAMIS_EDGE_SOFTMAX);
}

static void arrangements_of(tamis_operation operation, tamis_edge edge) {
    for (int64_t batch = 1; batch <= 5; batch += 2)
        for (int arranged = MEMBERS_APART; arranged <= MEMBERS_SHARE; arranged++)
            for (int values = 0; values < 3; values++) {
                batch_options o = usual(operation, edge, batch);
                arrange(&o.p, (arrangement)arranged);
                if (values == 1) o.p.shared |= PROBLEM_SHARES_VALUES;
                o.values_later = values == 2;
                o.beta = values == arranged ? -0.5 : 0;
                if (arranged == values) o.p.inner = 17, o.p.width = 13; /* rows that begin anywhere */
                assert_true(try_all(&o) >= (prefix[0] ? 1 : 2));
            }
}

TEST(arrangements) { all_operations(arrangements_of); }

/* Rows of several stretches of softmax, and partial rows, whose scratch each member has for itself. */
static void long_rows_of(tamis_operation operation, tamis_edge edge) {
    batch_options o = usual(operation, edge, 3);
    o.p.cols = 9000;
    o.p.nnz = 6000;
    o.p.inner = 5;
    o.p.width = 6;
    try_all(&o);
}

TEST(long_rows) { all_operations(long_rows_of); }

/* So much work that each thread of a CPU has several ranges and takes those of others, with long rows that many of
   them share. Whoever comes last, the bits are the same. */
static void many_ranges_of(tamis_operation operation, tamis_edge edge) {
    for (int64_t batch = 1; batch <= test_rounds(2, 1); batch++) {
        batch_options o = usual(operation, edge, batch);
        o.p.rows = 300;
        o.p.cols = 200;
        o.p.nnz = 24000;
        o.p.inner = 72;
        o.p.width = 60;
        o.beta = batch == 2 ? 0.5 : 0;
        try_all(&o);
        if (strcmp(name, "cpu") != 0) continue;
        batch_case c = batch_make(&o);
        void *first = NULL;
        for (int round = 0; round < test_rounds(10, 5); round++) {
            assert_int_equal(batch_run(&c, "cpu-nonzeros", NULL), TAMIS_OK);
            if (round == 0) first = matrix_copy(&c.on.out);
            assert_memory_equal(first, c.on.out.twin.host, c.on.out.twin.bytes);
        }
        free(first);
        batch_free(&c);
    }
}

TEST(many_ranges) { all_operations(many_ranges_of); }

/* What is staged, which has one place for all members. */
static void staged_of(tamis_operation operation, tamis_edge edge) {
    for (int kind = 0; kind < 4; kind++) {
        batch_options o = usual(operation, edge, 3);
        if (kind == 0) o.p.format = TAMIS_COO;
        if (kind == 1) o.p.layouts[1] = o.p.layouts[2] = TAMIS_COLUMN_MAJOR;
        o.p.transpose = kind >= 2 && operation != TAMIS_OP_SDDMM;
        arrange(&o.p, kind == 3 ? MEMBERS_SHARE : MEMBERS_APART);
        if (kind == 3) o.p.shared |= PROBLEM_SHARES_VALUES;
        try_all(&o);
    }
}

TEST(staged) { all_operations(staged_of); }

static void types_of(tamis_operation operation, tamis_edge edge) {
    for (int type = TAMIS_F64; type <= TAMIS_BF16; type++) {
        batch_options o = usual(operation, edge, 3);
        o.p.type = (tamis_type)type;
        arrange(&o.p, MEMBERS_WITHIN_ROWS);
        try_all(&o);
    }
}

TEST(types) { all_operations(types_of); }

/* ------------------------------------------------------------------------------------------ wider outputs */

static unsigned types_of_set = 15; /* bits: which the instruction set has kernels of its own for */

/* Rows narrower than a vector, of some vectors and a tail, of several blocks of them. */
static void wider_of(tamis_operation operation, tamis_edge edge) {
    static const int64_t widths[] = {3, 16, 45, 1, 101, 300};
    const int count = strcmp(name, "cpu") == 0 ? 6 : 3; /* the others are no others to a GPU */
    for (int type = TAMIS_F16; type <= TAMIS_BF16; type++)
        for (int w = 0; w < count && types_of_set >> type & 1; w++) {
            batch_options o = usual(operation, edge, 1 + w % 2);
            o.p.type = (tamis_type)type;
            o.p.wide_output = true;
            o.p.inner = 24;
            o.p.width = widths[w];
            o.beta = w % 3 == 0 ? -0.5 : 0;
            if (w == 1) o.p.format = TAMIS_COO;
            if (w == 2) o.p.layouts[1] = o.p.layouts[2] = TAMIS_COLUMN_MAJOR;
            arrange(&o.p, w == 4 ? MEMBERS_WITHIN_ROWS : MEMBERS_APART);
            if (w == 5) o.p.rows = 3; /* rows that are cut */
            assert_true(try_all(&o) >= (prefix[0] ? 1 : 2));
            if (operation != TAMIS_OP_SPMM) continue;
            o.p.wide_values = true; /* S in fp32, of either output */
            o.values_later = w == 0;
            o.p.transpose = w == 4;
            assert_true(try_all(&o) >= (prefix[0] ? 1 : 2));
            o.p.wide_output = false;
            assert_true(try_all(&o) >= (prefix[0] ? 1 : 2));
        }
}

TEST(wider_outputs) {
    if (strcmp(name, "cpu") != 0) {
        all_operations(wider_of);
        return;
    }
    tamis_device *const usual_device = device;
    for (int next = 0; test_variant_next(&next, TEST_KERNELS, &types_of_set);) {
        assert_int_equal(tamis_device_open("cpu", &device), TAMIS_OK);
        all_operations(wider_of);
        tamis_device_close(device);
    }
    unsetenv("TAMIS_CPU_ISA");
    device = usual_device;
}

/* Nothing else may differ from the inputs' type, and 16-bit outputs stay what they are. */
TEST(other_outputs_are_refused) {
    static const tamis_type pairs[][2] = {
        {TAMIS_F32, TAMIS_F16}, {TAMIS_F64, TAMIS_F32}, {TAMIS_F16, TAMIS_BF16}, {TAMIS_BF16, TAMIS_F64}};
    for (int i = 0; i < 4; i++) {
        batch_options o = usual(TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, 1);
        o.p.type = pairs[i][0];
        batch_case c = batch_make(&o);
        c.on.out.here.type = pairs[i][1];
        assert_int_equal(batch_run(&c, NULL, NULL), TAMIS_ERROR_ARGUMENT);
        assert_non_null(strstr(tamis_last_error(), "output_type"));
        batch_free(&c);
    }
    batch_options o = usual(TAMIS_OP_FUSED, TAMIS_EDGE_SCALE, 1);
    o.p.type = TAMIS_F16;
    o.p.wide_values = true;
    batch_case c = batch_make(&o);
    assert_int_equal(batch_run(&c, NULL, NULL), TAMIS_ERROR_ARGUMENT);
    assert_non_null(strstr(tamis_last_error(), "S.value_type = fp32"));
    batch_free(&c);
}

TEST_RUN() {
    if (!device_is_named(argc, argv)) return 77;
    dice = tamis_random_start(20, 0);
    if (argc > 2) prefix = argv[2];
    if (argc > 3) cmocka_set_test_filter(argv[3]);
    return test_run(name, NULL, set_up, tear_down);
}
