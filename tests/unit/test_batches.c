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

#include "batch_case.h"
#include "device_fixture.h"
#include "support/brief.h"
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

static void try(batch_case *c, const char *algorithm, const char *parameters, int *run) {
    const batch_options *const o = &c->options;
    const tamis_status status = batch_run(c, algorithm, parameters);
    const char *const wrong = status == TAMIS_OK ? expect_compare(&c->right, &c->on.out) : tamis_last_error();
    if (status == TAMIS_ERROR_UNSUPPORTED) return;
    ++*run;
    if (!wrong) return;
    fail_msg("%s(%s), %s %s of %s%s to %s on %s, batch of %lld, arranged %d, K = %lld, L = %lld, beta %g%s%s%s%s: %s",
             algorithm ? algorithm : "one call", parameters ? parameters : "", tamis_operation_name(o->operation),
             tamis_edge_name(o->edge), tamis_type_name(o->type), o->wide_values ? " and fp32" : "",
             tamis_type_name(c->on.out.here.type), name, (long long)o->batch, (int)o->arranged, (long long)o->inner,
             (long long)o->width, o->beta, o->shares_values ? ", values shared" : "", o->coo ? ", COO" : "",
             o->column_major ? ", column-major" : "", o->transpose ? ", transposed" : "", wrong);
}

/* All algorithms that accept, and the one-shot call. */
static int try_all(const batch_options *options) {
    const char *const family = strcmp(name, "cpu") == 0 ? "cpu" : "gpu";
    batch_case c = batch_make(device, options, &dice);
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

static batch_options usual(tamis_operation operation, tamis_edge edge, int64_t batch) {
    return (batch_options){.operation = operation,
                           .edge = edge,
                           .rows = 23,
                           .cols = 90,
                           .nnz = 100,
                           .inner = 24,
                           .width = 16,
                           .batch = batch,
                           .alpha = 0.75};
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
                o.arranged = (arrangement)arranged;
                o.shares_values = values == 1;
                o.values_later = values == 2;
                o.beta = values == arranged ? -0.5 : 0;
                if (arranged == values) o.inner = 17, o.width = 13; /* rows that begin anywhere */
                assert_true(try_all(&o) >= (prefix[0] ? 1 : 2));
            }
}

TEST(arrangements) { all_operations(arrangements_of); }

/* Rows of several stretches of softmax, and partial rows, whose scratch each member has for itself. */
static void long_rows_of(tamis_operation operation, tamis_edge edge) {
    batch_options o = usual(operation, edge, 3);
    o.cols = 9000;
    o.nnz = 6000;
    o.inner = 5;
    o.width = 6;
    try_all(&o);
}

TEST(long_rows) { all_operations(long_rows_of); }

/* So much work that each thread of a CPU has several ranges and takes those of others, with long rows that many of
   them share. Whoever comes last, the bits are the same. */
static void many_ranges_of(tamis_operation operation, tamis_edge edge) {
    for (int64_t batch = 1; batch <= test_rounds(2, 1); batch++) {
        batch_options o = usual(operation, edge, batch);
        o.rows = 300;
        o.cols = 200;
        o.nnz = 24000;
        o.inner = 72;
        o.width = 60;
        o.beta = batch == 2 ? 0.5 : 0;
        try_all(&o);
        if (strcmp(name, "cpu") != 0) continue;
        batch_case c = batch_make(device, &o, &dice);
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
        o.coo = kind == 0;
        o.column_major = kind == 1;
        o.transpose = kind >= 2 && operation != TAMIS_OP_SDDMM;
        o.shares_values = kind == 3;
        o.arranged = kind == 3 ? MEMBERS_SHARE : MEMBERS_APART;
        try_all(&o);
    }
}

TEST(staged) { all_operations(staged_of); }

static void types_of(tamis_operation operation, tamis_edge edge) {
    for (int type = TAMIS_F64; type <= TAMIS_BF16; type++) {
        batch_options o = usual(operation, edge, 3);
        o.type = (tamis_type)type;
        o.arranged = MEMBERS_WITHIN_ROWS;
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
            o.type = (tamis_type)type;
            o.wide_output = true;
            o.inner = 24;
            o.width = widths[w];
            o.beta = w % 3 == 0 ? -0.5 : 0;
            o.coo = w == 1;
            o.column_major = w == 2;
            o.arranged = w == 4 ? MEMBERS_WITHIN_ROWS : MEMBERS_APART;
            if (w == 5) o.rows = 3; /* rows that are cut */
            assert_true(try_all(&o) >= (prefix[0] ? 1 : 2));
            if (operation != TAMIS_OP_SPMM) continue;
            o.wide_values = true; /* S in fp32, of either output */
            o.values_later = w == 0;
            o.transpose = w == 4;
            assert_true(try_all(&o) >= (prefix[0] ? 1 : 2));
            o.wide_output = false;
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
    (void)state;
    for (int i = 0; i < 4; i++) {
        batch_options o = usual(TAMIS_OP_SPMM, TAMIS_EDGE_SCALE, 1);
        o.type = pairs[i][0];
        batch_case c = batch_make(device, &o, &dice);
        c.on.out.here.type = pairs[i][1];
        assert_int_equal(batch_run(&c, NULL, NULL), TAMIS_ERROR_ARGUMENT);
        assert_non_null(strstr(tamis_last_error(), "output_type"));
        batch_free(&c);
    }
    batch_options o = usual(TAMIS_OP_FUSED, TAMIS_EDGE_SCALE, 1);
    o.type = TAMIS_F16;
    o.wide_values = true;
    batch_case c = batch_make(device, &o, &dice);
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
