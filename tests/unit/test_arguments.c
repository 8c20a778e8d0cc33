/*
 * Every argument of every public function spoilt in turn: the status is the documented one, the message names the
 * argument and its value, outputs stay as they were, nothing leaks, and a valid call afterwards works and clears the
 * message.
 */
#include "support/test.h"

#include <tamis/algorithms.h>
#include <tamis/ceilings.h>
#include <tamis/matrix.h>
#include <tamis/structure.h>

#include "cpu_device.h"
#include "small.h"

static small s;

/* ------------------------------------------------------------------------------------------ plan options */

static void *no_memory(void *context, size_t bytes, void *stream) { return NULL; }

TEST(test_plan_options) {
    tamis_options o = small_options(TAMIS_OP_FUSED);
    tamis_plan *plan;
#define SPOILT_OPTION(field, value, words)                                                                             \
    SPOILT_MADE(plan, o.field, value, ARGUMENT, words, tamis_plan_create(device, &s.S, &o, &plan))
    SPOILT_OPTION(output_type, (tamis_type)7, "options.output_type = 7");
    SPOILT_OPTION(operation, (tamis_operation)9, "options.operation = 9");
    SPOILT_OPTION(edge, (tamis_edge)77, "options.edge = 77");
    SPOILT_OPTION(type, (tamis_type)5, "options.type = 5");
    SPOILT_OPTION(inner, -4, "options.inner = -4");
    SPOILT_OPTION(width, -5, "options.width = -5");
    SPOILT_OPTION(edge_scale, INFINITY, "options.edge_scale...inf");
    SPOILT_OPTION(edge_slope, NAN, "options.edge_slope...nan");
    SPOILT_OPTION(edge_epsilon, 0, "options.edge_epsilon = 0");
    SPOILT_OPTION(batch, -6, "options.batch = -6");
    SPOILT_OPTION(expected_calls, -7, "options.expected_calls = -7");
    SPOILT_OPTION(math, (tamis_math)8, "options.math = 8");
    SPOILT_OPTION(threads, 5000, "options.threads = 5000");
    SPOILT_OPTION(algorithm, "quick-one", "algorithm...quick-one");
    SPOILT_OPTION(parameters, "chunk", "parameters...chunk");
    SPOILT_OPTION(parameters, "chunky=32", "parameter...chunky");
    SPOILT_OPTION(parameters, "chunk=3", "chunk...3");
    SPOILT_OPTION(a_layout, (tamis_layout)3, "options.a_layout = 3");
    SPOILT_OPTION(b_layout, (tamis_layout)4, "options.b_layout = 4");
    SPOILT_OPTION(d_layout, (tamis_layout)5, "options.d_layout = 5");
    SPOILT_OPTION(output_layout, (tamis_layout)6, "options.output_layout = 6");
    o = small_options(TAMIS_OP_SDDMM);
    const tamis_allocator half = {.allocate = no_memory};
    SPOILT_OPTION(output_type, TAMIS_F16, "options.output_type...fp16");
    SPOILT_OPTION(allocator, &half, "options.allocator->release = NULL");
    REFUSED_MADE(plan, ARGUMENT, "device = NULL", tamis_plan_create(NULL, &s.S, &o, &plan));
    REFUSED_MADE(plan, ARGUMENT, "S = NULL", tamis_plan_create(device, NULL, &o, &plan));
    REFUSED_MADE(plan, ARGUMENT, "options = NULL", tamis_plan_create(device, &s.S, NULL, &plan));
    REFUSED(ARGUMENT, "plan = NULL", tamis_plan_create(device, &s.S, &o, NULL));
    REFUSED(ARGUMENT, "plan = NULL", tamis_plan_workspace_size(NULL, &(size_t){0}));
}

/* ------------------------------------------------------------------------------------------ the sparse view */

/* By a plan, and by tamis_validate(). */
#define SPOILT_VIEW(S, object, change, want, words)                                                                    \
    do {                                                                                                               \
        SPOILT_MADE_BY(plan, object, change, want, words, tamis_plan_create(device, &(S), &o, &plan));                 \
        SPOILT_BY(object, change, want, words, tamis_validate(&(S)));                                                  \
    } while (0)

/* tamis_sparse_check() looks at each field: test_sparse_check.c. */
TEST(test_sparse_view) {
    const tamis_options o = small_options(TAMIS_OP_SDDMM);
    tamis_plan *plan;
#define SPOILT_FIELD(field, value, words) SPOILT_VIEW(s.S, s.S, s.S.field = (value), ARGUMENT, words)
    SPOILT_FIELD(rows, -1, "S.rows = -1");
    SPOILT_FIELD(columns, NULL, "S.columns = NULL");
    SPOILT_VIEW(s.coo, s.coo, s.coo.row_indices = NULL, ARGUMENT, "S.row_indices = NULL");
    SPOILT_MADE(plan, s.S.value_type, TAMIS_F64, ARGUMENT, "S.value_type...fp64",
                tamis_plan_create(device, &s.S, &o, &plan));
#define SPOILT_NUMBER(S, number, value, words) SPOILT_VIEW(S, number, number = (value), PATTERN, words)
    SPOILT_NUMBER(s.S, s.columns[3], 90, "columns[3] = 90");
    SPOILT_NUMBER(s.S, s.columns[3], -1, "columns[3] = -1");
    SPOILT_NUMBER(s.S, s.offsets[1], 6, "offsets[1] = 6");
    SPOILT_NUMBER(s.S, s.offsets[0], 1, "offsets[0] = 1");
    SPOILT_NUMBER(s.coo, s.rows[2], 3, "row_indices[2] = 3");
}

/* ------------------------------------------------------------------------------------------ operands */

static tamis_plan *plan_for(tamis_operation operation) {
    tamis_plan *plan = NULL;
    const tamis_options o = small_options(operation);
    works(tamis_plan_create(device, &s.S, &o, &plan));
    return plan;
}

/* An output beside an operand in one matrix. */
TEST(test_outputs_beside) {
    enum { BOTH = 2 * SMALL_L };
    static float both[64 * BOTH];
    tamis_plan *plan = plan_for(TAMIS_OP_SPMM);
    assert_true(s.S.rows <= 64 && s.S.cols <= 64);
    s.D.data = both;
    s.E.data = both + SMALL_L;
    s.D.stride = s.E.stride = BOTH;
    works(tamis_plan_spmm(plan, &s.D, &s.E, NULL));
    tamis_plan_destroy(plan);
    small_make(&s);
}

/* The rows of tests/operations spoil operands. */
TEST(test_executions) {
    tamis_plan *plan = plan_for(TAMIS_OP_SDDMM);
    tamis_execution e = TAMIS_EXECUTION_INIT;
    SPOILT(s.P.stride, 3, ARGUMENT, "P.stride = 3", tamis_plan_sddmm(plan, &s.A, &s.B, &s.P, NULL));
    SPOILT(e.stream, &s, ARGUMENT, "stream...NULL", tamis_plan_sddmm(plan, &s.A, &s.B, &s.P, &e));
    SPOILT(e.values_stride, -1, ARGUMENT, "values_stride = -1", tamis_plan_sddmm(plan, &s.A, &s.B, &s.P, &e));
    REFUSED(ARGUMENT, "plan...spmm", tamis_plan_spmm(plan, &s.D, &s.E, NULL));
    REFUSED(ARGUMENT, "plan = NULL", tamis_plan_sddmm(NULL, &s.A, &s.B, &s.P, NULL));
    works(tamis_plan_sddmm(plan, &s.A, &s.B, &s.P, NULL));
    assert_string_equal(tamis_last_error(), "");
    assert_true(s.p[0] != 77);
    tamis_plan_destroy(plan);
    small_make(&s);
}

/* Only fp32 of 16-bit operands may differ from the inputs' type. */
TEST(test_other_outputs) {
    static const tamis_type pairs[][2] = {
        {TAMIS_F32, TAMIS_F16}, {TAMIS_F64, TAMIS_F32}, {TAMIS_F16, TAMIS_BF16}, {TAMIS_BF16, TAMIS_F64}};
    for (int i = 0; i < 4; i++)
        SPOILT_BY(s, (s.S.value_type = s.D.type = pairs[i][0], s.E.type = pairs[i][1]), ARGUMENT, "output_type",
                  tamis_spmm(device, &s.S, &s.D, &s.E, NULL, NULL));
    SPOILT_BY(s, s.A.type = s.B.type = s.D.type = s.E.type = TAMIS_F16, ARGUMENT, "S.value_type = fp32",
              tamis_fused(device, &s.S, &s.A, &s.B, &s.D, &s.E, NULL, NULL));
}

/* ------------------------------------------------------------------------------------------ everything else */

TEST(test_calls) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    REFUSED(ARGUMENT, "device = NULL", tamis_sddmm(NULL, &s.S, &s.A, &s.B, &s.P, NULL, NULL));
    REFUSED(ARGUMENT, "S = NULL", tamis_sddmm(device, NULL, &s.A, &s.B, &s.P, NULL, NULL));
    REFUSED(ARGUMENT, "A = NULL", tamis_sddmm(device, &s.S, NULL, &s.B, &s.P, NULL, NULL));
    REFUSED(ARGUMENT, "B = NULL", tamis_sddmm(device, &s.S, &s.A, NULL, &s.P, NULL, NULL));
    REFUSED(ARGUMENT, "P = NULL", tamis_sddmm(device, &s.S, &s.A, &s.B, NULL, NULL, NULL));
    const tamis_dense turned = {.data = s.B.data, .rows = s.B.cols, .cols = s.B.rows}; /* K x cols */
    REFUSED(ARGUMENT, "B is ...transpose", tamis_sddmm(device, &s.S, &s.A, &turned, &s.P, NULL, NULL));
    REFUSED(ARGUMENT, "B is ...transpose", tamis_fused(device, &s.S, &s.A, &turned, &s.D, &s.E, NULL, NULL));
    SPOILT(o.algorithm, "best", ARGUMENT, "algorithm...best", tamis_sddmm(device, &s.S, &s.A, &s.B, &s.P, &o, NULL));
    SPOILT(o.batch, -1, ARGUMENT, "batch = -1", tamis_sddmm(device, &s.S, &s.A, &s.B, &s.P, &o, NULL));
    REFUSED(ARGUMENT, "B = NULL", tamis_spmm(device, &s.S, NULL, &s.E, NULL, NULL));
    REFUSED(ARGUMENT, "C = NULL", tamis_spmm(device, &s.S, &s.D, NULL, NULL, NULL));
    REFUSED(ARGUMENT, "D = NULL", tamis_fused(device, &s.S, &s.A, &s.B, NULL, &s.E, NULL, NULL));
    REFUSED(ARGUMENT, "E = NULL", tamis_fused(device, &s.S, &s.A, &s.B, &s.D, NULL, NULL, NULL));
    double out[SMALL_ROWS * SMALL_L];
    REFUSED(ARGUMENT, "S = NULL", tamis_reference_sddmm(NULL, &s.A, &s.B, NULL, NULL, out));
    REFUSED(ARGUMENT, "A = NULL", tamis_reference_sddmm(&s.S, NULL, &s.B, NULL, NULL, out));
    REFUSED(ARGUMENT, "B = NULL", tamis_reference_sddmm(&s.S, &s.A, NULL, NULL, NULL, out));
    REFUSED(ARGUMENT, "p = NULL", tamis_reference_sddmm(&s.S, &s.A, &s.B, NULL, NULL, NULL));
    REFUSED(ARGUMENT, "B = NULL", tamis_reference_spmm(&s.S, NULL, NULL, NULL, out));
    REFUSED(ARGUMENT, "c = NULL", tamis_reference_spmm(&s.S, &s.D, NULL, NULL, NULL));
    REFUSED(ARGUMENT, "D = NULL", tamis_reference_fused(&s.S, &s.A, &s.B, NULL, NULL, NULL, out));
    REFUSED(ARGUMENT, "e = NULL", tamis_reference_fused(&s.S, &s.A, &s.B, &s.D, NULL, NULL, NULL));
    o.edge = (tamis_edge)50;
    REFUSED(ARGUMENT, "edge = 50", tamis_reference_sddmm(&s.S, &s.A, &s.B, &o, NULL, out));
}

TEST(test_devices_and_names) {
    tamis_device *opened = device;
    tamis_device_description description;
    tamis_algorithm_description algorithm;
    tamis_ceilings ceilings;
    tamis_type type;
    tamis_operation operation;
    tamis_edge edge;
    REFUSED(DEVICE, "name...tpu:0", tamis_device_open("tpu:0", &opened));
    assert_null(opened);
    REFUSED(DEVICE, "name...cpu:7", tamis_device_open("cpu:7", &opened));
    REFUSED(ARGUMENT, "device = NULL", tamis_device_open("cpu", NULL));
    REFUSED(ARGUMENT, "device = NULL", tamis_device_describe(NULL, &description));
    REFUSED(ARGUMENT, "description = NULL", tamis_device_describe(device, NULL));
    REFUSED(ARGUMENT, "device = NULL", tamis_device_set_threads(NULL, 1));
    REFUSED(ARGUMENT, "threads = -2", tamis_device_set_threads(device, -2));
    REFUSED(ARGUMENT, "device = NULL", tamis_device_ceilings(NULL, &ceilings));
    REFUSED(ARGUMENT, "ceilings = NULL", tamis_device_ceilings(device, NULL));
    REFUSED(ARGUMENT, "number = 55", tamis_device_at(55, NULL, NULL));
    REFUSED(ARGUMENT, "number = -1", tamis_device_at(-1, NULL, NULL));
    REFUSED(ARGUMENT, "number = 500", tamis_algorithm_at(500, &algorithm));
    REFUSED(ARGUMENT, "number = -1", tamis_algorithm_at(-1, &algorithm));
    REFUSED(ARGUMENT, "description = NULL", tamis_algorithm_at(0, NULL));
    REFUSED(ARGUMENT, "name...fp7", tamis_type_from_name("fp7", &type));
    REFUSED(ARGUMENT, "name...NULL", tamis_type_from_name(NULL, &type));
    REFUSED(ARGUMENT, "type = NULL", tamis_type_from_name("fp32", NULL));
    REFUSED(ARGUMENT, "name...mm", tamis_operation_from_name("mm", &operation));
    REFUSED(ARGUMENT, "operation = NULL", tamis_operation_from_name("spmm", NULL));
    REFUSED(ARGUMENT, "name...relu", tamis_edge_from_name("relu", &edge));
    REFUSED(ARGUMENT, "edge = NULL", tamis_edge_from_name("mask", NULL));
    assert_string_equal(tamis_status_name((tamis_status)99), "unknown");
    assert_int_equal(tamis_type_size((tamis_type)99), 0);
    tamis_device_close(NULL);
    tamis_plan_destroy(NULL);
    tamis_owned_sparse_free(NULL);
    tamis_owned_dense_free(NULL);
}

TEST(test_files) {
    tamis_owned_sparse *matrix = NULL;
    REFUSED(FILE, "/nowhere/at all.mtx...No such", tamis_read_sparse("/nowhere/at all.mtx", NULL, &matrix));
    REFUSED(ARGUMENT, "path = NULL", tamis_read_sparse(NULL, NULL, &matrix));
    REFUSED(FILE, "/nowhere/out.mtx...No such", tamis_write_sparse("/nowhere/out.mtx", &s.S));
    assert_null(matrix);
    works(tamis_validate(&s.S));
    assert_string_equal(tamis_last_error(), "");
}

static int set_up_all(void **state) {
    small_make(&s);
    refusals_watch(&s, sizeof s);
    return set_up(state);
}

TEST_FIXTURE(set_up_all, tear_down)
