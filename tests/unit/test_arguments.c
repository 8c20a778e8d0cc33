/*
 * Every argument of every public function spoilt in turn: the status is the documented one, the message names the
 * argument and its value, outputs stay as they were, nothing leaks, and a valid call afterwards works and clears the
 * message.
 */
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tamis/algorithms.h>
#include <tamis/ceilings.h>
#include <tamis/generate.h>
#include <tamis/matrix.h>
#include <tamis/reference.h>
#include <tamis/structure.h>

#include "base/memory.h"
#include "small.h"

static tamis_device *device;
static int64_t live;

static void refused(tamis_status got, tamis_status want, const char *name, const char *value) {
    if (got != want || !strstr(tamis_last_error(), name) || !strstr(tamis_last_error(), value))
        fail_msg("wanted %s with \"%s\" and \"%s\", got %s: %s", tamis_status_name(want), name, value,
                 tamis_status_name(got), tamis_last_error());
    assert_int_equal(tamis_memory_live(), live);
}

/* ------------------------------------------------------------------------------------------ plan options */

typedef void spoil(tamis_options *o);
static void spoil_output_type(tamis_options *o) { o->output_type = (tamis_type)7; }
static void spoil_operation(tamis_options *o) { o->operation = (tamis_operation)9; }
static void spoil_edge(tamis_options *o) { o->edge = (tamis_edge)77; }
static void spoil_type(tamis_options *o) { o->type = (tamis_type)5; }
static void spoil_inner(tamis_options *o) { o->inner = -4; }
static void spoil_width(tamis_options *o) { o->width = -5; }
static void spoil_scale(tamis_options *o) { o->edge_scale = INFINITY; }
static void spoil_slope(tamis_options *o) { o->edge_slope = NAN; }
static void spoil_epsilon(tamis_options *o) { o->edge_epsilon = 0; }
static void spoil_batch(tamis_options *o) { o->batch = -6; }
static void spoil_calls(tamis_options *o) { o->expected_calls = -7; }
static void spoil_math(tamis_options *o) { o->math = (tamis_math)8; }
static void spoil_threads(tamis_options *o) { o->threads = 5000; }
static void spoil_algorithm(tamis_options *o) { o->algorithm = "quick-one"; }
static void spoil_parameters(tamis_options *o) { o->parameters = "chunk"; }
static void spoil_parameter_name(tamis_options *o) { o->parameters = "chunky=32"; }
static void spoil_parameter_value(tamis_options *o) { o->parameters = "chunk=3"; }
static void spoil_a_layout(tamis_options *o) { o->a_layout = (tamis_layout)3; }
static void spoil_b_layout(tamis_options *o) { o->b_layout = (tamis_layout)4; }
static void spoil_d_layout(tamis_options *o) { o->d_layout = (tamis_layout)5; }
static void spoil_output_layout(tamis_options *o) { o->output_layout = (tamis_layout)6; }

static const struct {
    spoil *spoil;
    const char *name, *value;
} option_rows[] = {
    {spoil_output_type, "options.output_type", "7"},
    {spoil_operation, "options.operation", "9"},
    {spoil_edge, "options.edge", "77"},
    {spoil_type, "options.type", "5"},
    {spoil_inner, "options.inner", "-4"},
    {spoil_width, "options.width", "-5"},
    {spoil_scale, "options.edge_scale", "inf"},
    {spoil_slope, "options.edge_slope", "nan"},
    {spoil_epsilon, "options.edge_epsilon", "0"},
    {spoil_batch, "options.batch", "-6"},
    {spoil_calls, "options.expected_calls", "-7"},
    {spoil_math, "options.math", "8"},
    {spoil_threads, "options.threads", "5000"},
    {spoil_algorithm, "algorithm", "quick-one"},
    {spoil_parameters, "parameters", "chunk"},
    {spoil_parameter_name, "parameter", "chunky"},
    {spoil_parameter_value, "chunk", "3"},
    {spoil_a_layout, "options.a_layout", "3"},
    {spoil_b_layout, "options.b_layout", "4"},
    {spoil_d_layout, "options.d_layout", "5"},
    {spoil_output_layout, "options.output_layout", "6"},
};

static void *no_memory(void *context, size_t bytes, void *stream) {
    (void)context;
    (void)bytes;
    (void)stream;
    return NULL;
}

TEST(test_plan_options) {
    small s;
    small_make(&s);
    for (size_t i = 0; i < sizeof option_rows / sizeof option_rows[0]; i++) {
        tamis_plan *plan = NULL;
        tamis_options o = small_options(TAMIS_OP_FUSED);
        option_rows[i].spoil(&o);
        refused(tamis_plan_create(device, &s.S, &o, &plan), TAMIS_ERROR_ARGUMENT, option_rows[i].name,
                option_rows[i].value);
        assert_null(plan);
    }
    tamis_plan *plan = NULL;
    tamis_options o = small_options(TAMIS_OP_SDDMM);
    refused(tamis_plan_create(NULL, &s.S, &o, &plan), TAMIS_ERROR_ARGUMENT, "device", "NULL");
    refused(tamis_plan_create(device, NULL, &o, &plan), TAMIS_ERROR_ARGUMENT, "S", "NULL");
    refused(tamis_plan_create(device, &s.S, NULL, &plan), TAMIS_ERROR_ARGUMENT, "options", "NULL");
    refused(tamis_plan_create(device, &s.S, &o, NULL), TAMIS_ERROR_ARGUMENT, "plan", "NULL");
    refused(tamis_plan_workspace_size(NULL, &(size_t){0}), TAMIS_ERROR_ARGUMENT, "plan", "NULL");
    const tamis_allocator half = {.allocate = no_memory};
    o.output_type = TAMIS_F16;
    refused(tamis_plan_create(device, &s.S, &o, &plan), TAMIS_ERROR_ARGUMENT, "options.output_type", "fp16");
    o.output_type = TAMIS_SAME_TYPE;
    o.allocator = &half;
    refused(tamis_plan_create(device, &s.S, &o, &plan), TAMIS_ERROR_ARGUMENT, "options.allocator->release", "NULL");
}

/* ------------------------------------------------------------------------------------------ the sparse view */

static void create_refused(const tamis_sparse *S, tamis_status want, const char *name, const char *value) {
    tamis_plan *plan = NULL;
    const tamis_options o = small_options(TAMIS_OP_SDDMM);
    refused(tamis_plan_create(device, S, &o, &plan), want, name, value);
    refused(tamis_validate(S), want, name, value);
}

TEST(test_sparse_view) {
    small s;
    small_make(&s);
    tamis_sparse S = s.S;
    S.format = (tamis_format)4;
    create_refused(&S, TAMIS_ERROR_ARGUMENT, "S.format", "4");
    S = s.S;
    S.rows = -1;
    create_refused(&S, TAMIS_ERROR_ARGUMENT, "S.rows", "-1");
    S = s.S;
    S.cols = -2;
    create_refused(&S, TAMIS_ERROR_ARGUMENT, "S.cols", "-2");
    S = s.S;
    S.nnz = -3;
    create_refused(&S, TAMIS_ERROR_ARGUMENT, "S.nnz", "-3");
    S = s.S;
    S.index_type = (tamis_index_type)5;
    create_refused(&S, TAMIS_ERROR_ARGUMENT, "S.index_type", "5");
    S = s.S;
    S.offset_type = (tamis_index_type)6;
    create_refused(&S, TAMIS_ERROR_ARGUMENT, "S.offset_type", "6");
    S = s.S;
    S.value_type = (tamis_type)7;
    create_refused(&S, TAMIS_ERROR_ARGUMENT, "S.value_type", "7");
    S = s.S;
    S.offsets = NULL;
    create_refused(&S, TAMIS_ERROR_ARGUMENT, "S.offsets", "NULL");
    S = s.S;
    S.columns = NULL;
    create_refused(&S, TAMIS_ERROR_ARGUMENT, "S.columns", "NULL");
    S = s.coo;
    S.row_indices = NULL;
    create_refused(&S, TAMIS_ERROR_ARGUMENT, "S.row_indices", "NULL");
    S = s.S;
    S.value_type = TAMIS_F64;
    tamis_plan *plan = NULL;
    const tamis_options o = small_options(TAMIS_OP_SDDMM);
    refused(tamis_plan_create(device, &S, &o, &plan), TAMIS_ERROR_ARGUMENT, "S.value_type", "fp64");

    s.columns[3] = 90;
    create_refused(&s.S, TAMIS_ERROR_PATTERN, "columns[3]", "90");
    s.columns[3] = -1;
    create_refused(&s.S, TAMIS_ERROR_PATTERN, "columns[3]", "-1");
    small_make(&s);
    s.offsets[1] = 6;
    create_refused(&s.S, TAMIS_ERROR_PATTERN, "offsets[1]", "6");
    small_make(&s);
    s.offsets[0] = 1;
    create_refused(&s.S, TAMIS_ERROR_PATTERN, "offsets[0]", "1");
    small_make(&s);
    s.rows[2] = 3;
    create_refused(&s.coo, TAMIS_ERROR_PATTERN, "row_indices[2]", "3");
}

/* ------------------------------------------------------------------------------------------ operands */

typedef tamis_status call(const tamis_plan *plan, const small *s);
static tamis_status call_sddmm(const tamis_plan *plan, const small *s) {
    return tamis_plan_sddmm(plan, &s->A, &s->B, &s->P, NULL);
}
static tamis_status call_spmm(const tamis_plan *plan, const small *s) {
    return tamis_plan_spmm(plan, &s->D, &s->E, NULL);
}
static tamis_status call_fused(const tamis_plan *plan, const small *s) {
    return tamis_plan_fused(plan, &s->A, &s->B, &s->D, &s->E, NULL);
}

static tamis_dense *operand(small *s, char name) {
    switch (name) {
    case 'A': return &s->A;
    case 'B': return &s->B;
    case 'D': return &s->D;
    case 'P': return &s->P;
    default: return &s->E;
    }
}

/* Every field of one operand spoilt; `name` is what messages call it. */
static void spoil_operand(const tamis_plan *plan, call *run, char which, const char *name) {
    char field[32];
    small s;
    small_make(&s);
    operand(&s, which)->rows = 17;
    snprintf(field, sizeof field, "%s.rows", name);
    refused(run(plan, &s), TAMIS_ERROR_ARGUMENT, field, "17");
    small_make(&s);
    operand(&s, which)->cols = 18;
    snprintf(field, sizeof field, "%s.cols", name);
    refused(run(plan, &s), TAMIS_ERROR_ARGUMENT, field, "18");
    small_make(&s);
    operand(&s, which)->stride = which == 'P' ? 3 : 1;
    snprintf(field, sizeof field, "%s.stride", name);
    refused(run(plan, &s), TAMIS_ERROR_ARGUMENT, field, which == 'P' ? "3" : "1");
    small_make(&s);
    operand(&s, which)->type = TAMIS_F64;
    snprintf(field, sizeof field, "%s.type", name);
    refused(run(plan, &s), TAMIS_ERROR_ARGUMENT, field, "fp64");
    small_make(&s);
    operand(&s, which)->layout = TAMIS_COLUMN_MAJOR;
    operand(&s, which)->stride = 8;
    snprintf(field, sizeof field, "%s.layout", name);
    if (which != 'P') refused(run(plan, &s), TAMIS_ERROR_ARGUMENT, field, "column-major"); /* of one column: either */
    small_make(&s);
    operand(&s, which)->location = TAMIS_DEVICE;
    snprintf(field, sizeof field, "%s.location", name);
    refused(run(plan, &s), TAMIS_ERROR_ARGUMENT, field, "device");
    small_make(&s);
    operand(&s, which)->data = NULL;
    snprintf(field, sizeof field, "%s.data", name);
    refused(run(plan, &s), TAMIS_ERROR_ARGUMENT, field, "NULL");
    small_make(&s);
    operand(&s, which)->batch_stride = -9;
    snprintf(field, sizeof field, "%s.batch_stride", name);
    refused(run(plan, &s), TAMIS_ERROR_ARGUMENT, field, "-9");
    assert_true(s.p[0] == 77 && s.out[0] == 77);
}

static tamis_plan *plan_for(const small *s, tamis_operation operation) {
    tamis_plan *plan = NULL;
    const tamis_options o = small_options(operation);
    assert_int_equal(tamis_plan_create(device, &s->S, &o, &plan), TAMIS_OK);
    live = tamis_memory_live();
    return plan;
}

static void drop(tamis_plan *plan) {
    tamis_plan_destroy(plan);
    live = tamis_memory_live();
}

/* An output that is an operand; beside it in one matrix it may be. */
TEST(test_outputs_apart) {
    enum { BOTH = 2 * SMALL_L };
    static float both[64 * BOTH];
    small s;
    small_make(&s);
    tamis_plan *plan = plan_for(&s, TAMIS_OP_SPMM);
    s.E.data = s.D.data;
    refused(call_spmm(plan, &s), TAMIS_ERROR_ARGUMENT, "C.data = B.data", "must not overlap");
    assert_true(s.S.rows <= 64 && s.S.cols <= 64);
    s.D.data = both;
    s.E.data = both + SMALL_L;
    s.D.stride = s.E.stride = BOTH;
    assert_int_equal(call_spmm(plan, &s), TAMIS_OK);
    drop(plan);
    for (int i = 0; i < 3; i++) {
        small_make(&s);
        plan = plan_for(&s, TAMIS_OP_FUSED);
        s.E.data = operand(&s, "ABD"[i])->data;
        refused(call_fused(plan, &s), TAMIS_ERROR_ARGUMENT,
                ((const char *[]){"E.data = A.data", "E.data = B.data", "E.data = D.data"})[i], "must not overlap");
        drop(plan);
    }
    small_make(&s);
    plan = plan_for(&s, TAMIS_OP_SDDMM);
    s.P.data = s.A.data;
    refused(call_sddmm(plan, &s), TAMIS_ERROR_ARGUMENT, "P.data = A.data", "must not overlap");
    drop(plan);
}

TEST(test_operands) {
    small s;
    small_make(&s);
    tamis_plan *plan = plan_for(&s, TAMIS_OP_SDDMM);
    spoil_operand(plan, call_sddmm, 'A', "A");
    spoil_operand(plan, call_sddmm, 'B', "B");
    spoil_operand(plan, call_sddmm, 'P', "P");
    tamis_execution e = TAMIS_EXECUTION_INIT;
    refused(tamis_plan_sddmm(plan, NULL, &s.B, &s.P, NULL), TAMIS_ERROR_ARGUMENT, "A", "NULL");
    refused(tamis_plan_sddmm(plan, &s.A, NULL, &s.P, NULL), TAMIS_ERROR_ARGUMENT, "B", "NULL");
    refused(tamis_plan_sddmm(plan, &s.A, &s.B, NULL, NULL), TAMIS_ERROR_ARGUMENT, "P", "NULL");
    e.alpha = NAN;
    refused(tamis_plan_sddmm(plan, &s.A, &s.B, &s.P, &e), TAMIS_ERROR_ARGUMENT, "alpha", "not a number");
    e.alpha = 1;
    e.beta = NAN;
    refused(tamis_plan_sddmm(plan, &s.A, &s.B, &s.P, &e), TAMIS_ERROR_ARGUMENT, "beta", "not a number");
    e.beta = 0;
    e.stream = &s;
    refused(tamis_plan_sddmm(plan, &s.A, &s.B, &s.P, &e), TAMIS_ERROR_ARGUMENT, "stream", "NULL");
    e.stream = NULL;
    e.values_stride = -1;
    refused(tamis_plan_sddmm(plan, &s.A, &s.B, &s.P, &e), TAMIS_ERROR_ARGUMENT, "values_stride", "-1");
    refused(tamis_plan_spmm(plan, &s.D, &s.E, NULL), TAMIS_ERROR_ARGUMENT, "plan", "spmm");
    refused(tamis_plan_sddmm(NULL, &s.A, &s.B, &s.P, NULL), TAMIS_ERROR_ARGUMENT, "plan", "NULL");
    assert_true(s.p[0] == 77);
    assert_int_equal(tamis_plan_sddmm(plan, &s.A, &s.B, &s.P, NULL), TAMIS_OK);
    assert_string_equal(tamis_last_error(), "");
    assert_true(s.p[0] != 77);
    drop(plan);

    small_make(&s);
    plan = plan_for(&s, TAMIS_OP_SPMM);
    spoil_operand(plan, call_spmm, 'D', "B");
    spoil_operand(plan, call_spmm, 'E', "C");
    drop(plan);
    plan = plan_for(&s, TAMIS_OP_FUSED);
    spoil_operand(plan, call_fused, 'A', "A");
    spoil_operand(plan, call_fused, 'B', "B");
    spoil_operand(plan, call_fused, 'D', "D");
    spoil_operand(plan, call_fused, 'E', "E");
    drop(plan);
}

/* ------------------------------------------------------------------------------------------ everything else */

TEST(test_calls) {
    small s;
    small_make(&s);
    tamis_options o = TAMIS_OPTIONS_INIT;
    refused(tamis_sddmm(NULL, &s.S, &s.A, &s.B, &s.P, NULL, NULL), TAMIS_ERROR_ARGUMENT, "device", "NULL");
    refused(tamis_sddmm(device, NULL, &s.A, &s.B, &s.P, NULL, NULL), TAMIS_ERROR_ARGUMENT, "S", "NULL");
    refused(tamis_sddmm(device, &s.S, NULL, &s.B, &s.P, NULL, NULL), TAMIS_ERROR_ARGUMENT, "A", "NULL");
    refused(tamis_sddmm(device, &s.S, &s.A, NULL, &s.P, NULL, NULL), TAMIS_ERROR_ARGUMENT, "B", "NULL");
    refused(tamis_sddmm(device, &s.S, &s.A, &s.B, NULL, NULL, NULL), TAMIS_ERROR_ARGUMENT, "P", "NULL");
    const tamis_dense turned = {.data = s.B.data, .rows = s.B.cols, .cols = s.B.rows}; /* K x cols */
    refused(tamis_sddmm(device, &s.S, &s.A, &turned, &s.P, NULL, NULL), TAMIS_ERROR_ARGUMENT, "B is ", "transpose");
    refused(tamis_fused(device, &s.S, &s.A, &turned, &s.D, &s.E, NULL, NULL), TAMIS_ERROR_ARGUMENT, "B is ",
            "transpose");
    o.algorithm = "best";
    refused(tamis_sddmm(device, &s.S, &s.A, &s.B, &s.P, &o, NULL), TAMIS_ERROR_ARGUMENT, "algorithm", "best");
    o.algorithm = NULL;
    o.batch = -1;
    refused(tamis_sddmm(device, &s.S, &s.A, &s.B, &s.P, &o, NULL), TAMIS_ERROR_ARGUMENT, "batch", "-1");
    o.batch = 1;
    refused(tamis_spmm(device, &s.S, NULL, &s.E, NULL, NULL), TAMIS_ERROR_ARGUMENT, "B", "NULL");
    refused(tamis_spmm(device, &s.S, &s.D, NULL, NULL, NULL), TAMIS_ERROR_ARGUMENT, "C", "NULL");
    refused(tamis_fused(device, &s.S, &s.A, &s.B, NULL, &s.E, NULL, NULL), TAMIS_ERROR_ARGUMENT, "D", "NULL");
    refused(tamis_fused(device, &s.S, &s.A, &s.B, &s.D, NULL, NULL, NULL), TAMIS_ERROR_ARGUMENT, "E", "NULL");
    double out[SMALL_ROWS * SMALL_L];
    refused(tamis_reference_sddmm(NULL, &s.A, &s.B, NULL, NULL, out), TAMIS_ERROR_ARGUMENT, "S", "NULL");
    refused(tamis_reference_sddmm(&s.S, NULL, &s.B, NULL, NULL, out), TAMIS_ERROR_ARGUMENT, "A", "NULL");
    refused(tamis_reference_sddmm(&s.S, &s.A, NULL, NULL, NULL, out), TAMIS_ERROR_ARGUMENT, "B", "NULL");
    refused(tamis_reference_sddmm(&s.S, &s.A, &s.B, NULL, NULL, NULL), TAMIS_ERROR_ARGUMENT, "p", "NULL");
    refused(tamis_reference_spmm(&s.S, NULL, NULL, NULL, out), TAMIS_ERROR_ARGUMENT, "B", "NULL");
    refused(tamis_reference_spmm(&s.S, &s.D, NULL, NULL, NULL), TAMIS_ERROR_ARGUMENT, "c", "NULL");
    refused(tamis_reference_fused(&s.S, &s.A, &s.B, NULL, NULL, NULL, out), TAMIS_ERROR_ARGUMENT, "D", "NULL");
    refused(tamis_reference_fused(&s.S, &s.A, &s.B, &s.D, NULL, NULL, NULL), TAMIS_ERROR_ARGUMENT, "e", "NULL");
    o.edge = (tamis_edge)50;
    refused(tamis_reference_sddmm(&s.S, &s.A, &s.B, &o, NULL, out), TAMIS_ERROR_ARGUMENT, "edge", "50");
}

TEST(test_devices_and_names) {
    tamis_device *opened = device;
    tamis_device_description description;
    tamis_algorithm_description algorithm;
    tamis_ceilings ceilings;
    tamis_type type;
    tamis_operation operation;
    tamis_edge edge;
    refused(tamis_device_open("tpu:0", &opened), TAMIS_ERROR_DEVICE, "name", "tpu:0");
    assert_null(opened);
    refused(tamis_device_open("cpu:7", &opened), TAMIS_ERROR_DEVICE, "name", "cpu:7");
    refused(tamis_device_open("cpu", NULL), TAMIS_ERROR_ARGUMENT, "device", "NULL");
    refused(tamis_device_describe(NULL, &description), TAMIS_ERROR_ARGUMENT, "device", "NULL");
    refused(tamis_device_describe(device, NULL), TAMIS_ERROR_ARGUMENT, "description", "NULL");
    refused(tamis_device_set_threads(NULL, 1), TAMIS_ERROR_ARGUMENT, "device", "NULL");
    refused(tamis_device_set_threads(device, -2), TAMIS_ERROR_ARGUMENT, "threads", "-2");
    refused(tamis_device_ceilings(NULL, &ceilings), TAMIS_ERROR_ARGUMENT, "device", "NULL");
    refused(tamis_device_ceilings(device, NULL), TAMIS_ERROR_ARGUMENT, "ceilings", "NULL");
    refused(tamis_device_at(55, NULL, NULL), TAMIS_ERROR_ARGUMENT, "number", "55");
    refused(tamis_device_at(-1, NULL, NULL), TAMIS_ERROR_ARGUMENT, "number", "-1");
    refused(tamis_algorithm_at(500, &algorithm), TAMIS_ERROR_ARGUMENT, "number", "500");
    refused(tamis_algorithm_at(-1, &algorithm), TAMIS_ERROR_ARGUMENT, "number", "-1");
    refused(tamis_algorithm_at(0, NULL), TAMIS_ERROR_ARGUMENT, "description", "NULL");
    refused(tamis_type_from_name("fp7", &type), TAMIS_ERROR_ARGUMENT, "name", "fp7");
    refused(tamis_type_from_name(NULL, &type), TAMIS_ERROR_ARGUMENT, "name", "NULL");
    refused(tamis_type_from_name("fp32", NULL), TAMIS_ERROR_ARGUMENT, "type", "NULL");
    refused(tamis_operation_from_name("mm", &operation), TAMIS_ERROR_ARGUMENT, "name", "mm");
    refused(tamis_operation_from_name("spmm", NULL), TAMIS_ERROR_ARGUMENT, "operation", "NULL");
    refused(tamis_edge_from_name("relu", &edge), TAMIS_ERROR_ARGUMENT, "name", "relu");
    refused(tamis_edge_from_name("mask", NULL), TAMIS_ERROR_ARGUMENT, "edge", "NULL");
    assert_string_equal(tamis_status_name((tamis_status)99), "unknown");
    assert_int_equal(tamis_type_size((tamis_type)99), 0);
    tamis_device_close(NULL);
    tamis_plan_destroy(NULL);
    tamis_owned_sparse_free(NULL);
    tamis_owned_dense_free(NULL);
}

TEST(test_structure) {
    small s;
    small_make(&s);
    int32_t offsets[SMALL_COLS + 1], columns[SMALL_NNZ];
    tamis_profile profile;
    tamis_owned_sparse *matrix = NULL;
    tamis_owned_dense *array = NULL;
    refused(tamis_validate(NULL), TAMIS_ERROR_ARGUMENT, "S", "NULL");
    refused(tamis_row_profile(NULL, &profile), TAMIS_ERROR_ARGUMENT, "S", "NULL");
    refused(tamis_row_profile(&s.S, NULL), TAMIS_ERROR_ARGUMENT, "profile", "NULL");
    refused(tamis_csr_to_coo(NULL, columns), TAMIS_ERROR_ARGUMENT, "S", "NULL");
    refused(tamis_csr_to_coo(&s.coo, columns), TAMIS_ERROR_ARGUMENT, "S.format", "coo");
    refused(tamis_csr_to_coo(&s.S, NULL), TAMIS_ERROR_ARGUMENT, "row_indices", "NULL");
    refused(tamis_coo_to_csr(&s.S, offsets, columns, NULL, NULL), TAMIS_ERROR_ARGUMENT, "S.format", "csr");
    refused(tamis_coo_to_csr(&s.coo, NULL, columns, NULL, NULL), TAMIS_ERROR_ARGUMENT, "offsets", "NULL");
    refused(tamis_coo_to_csr(&s.coo, offsets, NULL, NULL, NULL), TAMIS_ERROR_ARGUMENT, "columns", "NULL");
    refused(tamis_transpose(&s.S, NULL, columns, NULL, NULL), TAMIS_ERROR_ARGUMENT, "offsets", "NULL");
    refused(tamis_transpose(&s.S, offsets, NULL, NULL, NULL), TAMIS_ERROR_ARGUMENT, "columns", "NULL");
    refused(tamis_sort(&s.S, NULL, NULL, NULL), TAMIS_ERROR_ARGUMENT, "columns", "NULL");
    refused(tamis_owned_dense_create(-1, 2, TAMIS_F32, TAMIS_ROW_MAJOR, &array), TAMIS_ERROR_ARGUMENT, "rows", "-1");
    refused(tamis_owned_dense_create(1, 2, TAMIS_F32, TAMIS_ROW_MAJOR, NULL), TAMIS_ERROR_ARGUMENT, "array", "NULL");
    refused(tamis_convert(NULL, NULL, &matrix), TAMIS_ERROR_ARGUMENT, "S", "NULL");
    refused(tamis_convert(&s.S, NULL, NULL), TAMIS_ERROR_ARGUMENT, "matrix", "NULL");
    refused(tamis_generate(NULL, &matrix), TAMIS_ERROR_ARGUMENT, "options", "NULL");
    refused(tamis_read_sparse("/nowhere/at all.mtx", NULL, &matrix), TAMIS_ERROR_FILE, "/nowhere/at all.mtx",
            "No such");
    refused(tamis_read_sparse(NULL, NULL, &matrix), TAMIS_ERROR_ARGUMENT, "path", "NULL");
    refused(tamis_write_sparse("/nowhere/out.mtx", &s.S), TAMIS_ERROR_FILE, "/nowhere/out.mtx", "No such");
    assert_null(matrix);
    assert_null(array);
    assert_int_equal(tamis_validate(&s.S), TAMIS_OK);
    assert_string_equal(tamis_last_error(), "");
}

static int set_up(void **state) {
    (void)state;
    const int status = tamis_device_open("cpu", &device) != TAMIS_OK;
    live = tamis_memory_live();
    return status;
}

static int tear_down(void **state) {
    (void)state;
    tamis_device_close(device);
    return tamis_memory_live() != 0;
}

TEST_FIXTURE(set_up, tear_down)
