/*
 * The dense companions' arguments spoilt in turn: the status is the documented one, the message names the argument and
 * its value, outputs stay as they were, nothing leaks, and a valid call afterwards clears the message.
 */
#include "support/test.h"

#include <math.h>
#include <string.h>
#include <tamis/dense.h>

#include "base/memory.h"

enum { M = 5, K = 3, ARRAYS = 10 };

/* Every operand that a call may have, each with an array of its own, full of 77. */
typedef struct operands {
    _Alignas(64) double arrays[ARRAYS][M * M];
    tamis_dense X, Y, Z, R, AP, G, rows, rows2, columns; /* M x K, ..., K x K, M x 1, M x 1, K x 1 */
    double result;
} operands;

static tamis_device *device;
static tamis_dense_workspace *workspace;
static operands o;

static tamis_dense view(int at, int64_t rows, int64_t cols) {
    return (tamis_dense){.data = o.arrays[at], .rows = rows, .cols = cols, .type = TAMIS_F64};
}

static void fresh(void) {
    for (int a = 0; a < ARRAYS; a++)
        for (int t = 0; t < M * M; t++) o.arrays[a][t] = 77;
    o.X = view(0, M, K);
    o.Y = view(1, M, K);
    o.Z = view(2, M, K);
    o.R = view(3, M, K);
    o.AP = view(4, M, K);
    o.G = view(5, K, K);
    o.rows = view(6, M, 1);
    o.rows2 = view(7, M, 1);
    o.columns = view(8, K, 1);
    o.result = 77;
}

/* ------------------------------------------------------------------------------------------ the calls */

static tamis_status call_fill(void) { return tamis_dense_fill(device, NULL, &o.X, 1); }
static tamis_status call_combine(void) { return tamis_dense_axpby(device, NULL, 1, &o.X, 2, &o.Y); }
static tamis_status call_map(void) {
    return tamis_dense_map(device, NULL, TAMIS_MAP_MULTIPLY_ADD, 1, 2, &o.X, &o.Y, &o.Z);
}
static tamis_status call_adagrad(void) {
    return tamis_dense_map(device, NULL, TAMIS_MAP_ADAGRAD, 1, 2, &o.X, &o.Y, &o.Z);
}
static tamis_status call_scale_rows(void) {
    return tamis_dense_scale(device, NULL, TAMIS_SCALE_ROWS, &o.rows, 1, &o.X, 2, &o.Y);
}
static tamis_status call_scale_columns(void) {
    return tamis_dense_scale(device, NULL, TAMIS_DIVIDE_COLUMNS, &o.columns, 1, &o.X, 2, &o.Y);
}
static tamis_status call_gram(void) { return tamis_dense_gram(device, NULL, workspace, 1, &o.X, 2, &o.G); }
static tamis_status call_multiply(void) { return tamis_dense_multiply(device, NULL, 1, &o.X, &o.G, 2, &o.Y); }
static tamis_status call_column_sums(void) {
    return tamis_dense_column_sums(device, NULL, workspace, &o.X, &o.columns);
}
static tamis_status call_row_sums(void) { return tamis_dense_row_sums(device, NULL, &o.X, &o.rows); }
static tamis_status call_row_dots(void) { return tamis_dense_row_dots(device, NULL, &o.X, &o.Y, &o.rows); }
static tamis_status call_dot(void) { return tamis_dense_dot(device, NULL, workspace, &o.X, &o.Y, &o.result); }
static tamis_status call_log_dot(void) {
    return tamis_dense_log_dot(device, NULL, workspace, &o.Y, &o.X, 1e-3, &o.result);
}
static tamis_status call_step(void) {
    return tamis_dense_cg_step(device, NULL, &o.rows, 1, &o.AP, &o.Y, &o.X, &o.R, &o.rows2);
}

static const struct {
    tamis_status (*call)(void);
    struct {
        tamis_dense *view;
        const char *name;
        bool apart; /* it is an output that may not be the first operand */
    } operands[6];
} calls[] = {
    {call_fill, {{&o.X, "X", false}}},
    {call_combine, {{&o.X, "X", false}, {&o.Y, "Y", false}}},
    {call_map, {{&o.X, "X", false}, {&o.Y, "Y", false}, {&o.Z, "Z", false}}},
    {call_adagrad, {{&o.X, "X", false}, {&o.Y, "Y", true}, {&o.Z, "Z", true}}},
    {call_scale_rows, {{&o.X, "X", false}, {&o.rows, "weights", false}, {&o.Y, "Y", false}}},
    {call_scale_columns, {{&o.X, "X", false}, {&o.columns, "weights", false}, {&o.Y, "Y", false}}},
    {call_gram, {{&o.X, "X", false}, {&o.G, "G", true}}},
    {call_multiply, {{&o.X, "X", false}, {&o.G, "G", false}, {&o.Y, "Y", true}}},
    {call_column_sums, {{&o.X, "X", false}, {&o.columns, "sums", true}}},
    {call_row_sums, {{&o.X, "X", false}, {&o.rows, "sums", true}}},
    {call_row_dots, {{&o.X, "X", false}, {&o.Y, "Y", false}, {&o.rows, "dots", true}}},
    {call_dot, {{&o.X, "X", false}, {&o.Y, "Y", false}}},
    {call_log_dot, {{&o.X, "X", false}, {&o.Y, "W", false}}},
    {call_step,
     {{&o.AP, "AP", false},
      {&o.Y, "P", true},
      {&o.X, "X", true},
      {&o.R, "R", true},
      {&o.rows2, "rr", true},
      {&o.rows, "lambda", false}}},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

static void refused(tamis_status got, tamis_status want, const char *name, const char *value) {
    if (got != want || !strstr(tamis_last_error(), name) || !strstr(tamis_last_error(), value))
        fail_msg("wanted %s with \"%s\" and \"%s\", got %s: %s", tamis_status_name(want), name, value,
                 tamis_status_name(got), tamis_last_error());
    if (o.result != 77) fail_msg("the result was written to");
    for (int a = 0; a < ARRAYS; a++)
        for (int t = 0; t < M * M; t++)
            if (o.arrays[a][t] != 77) fail_msg("an operand was written to");
}

TEST(test_views) {
    for (int c = 0; c < CALLS; c++) {
        const int64_t live = tamis_memory_live();
        for (int i = 0; i < 6 && calls[c].operands[i].view; i++) {
            tamis_dense *const X = calls[c].operands[i].view;
            const char *const name = calls[c].operands[i].name;
            const struct {
                tamis_dense spoilt;
                tamis_status want;
                const char *value;
            } rows[] = {
                {{.data = NULL, X->rows, X->cols, 0, TAMIS_F64, 0, 0, 0, {0}}, TAMIS_ERROR_ARGUMENT, ".data = NULL"},
                {{X->data, -4, X->cols, 0, TAMIS_F64, 0, 0, 0, {0}}, TAMIS_ERROR_ARGUMENT, ".rows = -4"},
                {{X->data, X->rows, -5, 0, TAMIS_F64, 0, 0, 0, {0}}, TAMIS_ERROR_ARGUMENT, ".cols = -5"},
                {{X->data, X->rows, X->cols, -6, TAMIS_F64, 0, 0, 0, {0}}, TAMIS_ERROR_ARGUMENT, ".stride = -6"},
                {{X->data, X->rows, X->cols, INT64_MAX / 3, TAMIS_F64, 0, 0, 0, {0}}, TAMIS_ERROR_OVERFLOW, "stride"},
                {{X->data, X->rows, X->cols, 0, (tamis_type)9, 0, 0, 0, {0}}, TAMIS_ERROR_ARGUMENT, ".type = 9"},
                {{X->data, X->rows, X->cols, 0, TAMIS_F16, 0, 0, 0, {0}}, TAMIS_ERROR_UNSUPPORTED, ".type = fp16"},
                {{X->data, X->rows, X->cols, 0, TAMIS_BF16, 0, 0, 0, {0}}, TAMIS_ERROR_UNSUPPORTED, ".type = bf16"},
                {{X->data, X->rows, X->cols, 0, TAMIS_F64, TAMIS_COLUMN_MAJOR, 0, 0, {0}},
                 TAMIS_ERROR_UNSUPPORTED,
                 ".layout = "},
                {{X->data, X->rows, X->cols, 0, TAMIS_F64, (tamis_layout)3, 0, 0, {0}},
                 TAMIS_ERROR_ARGUMENT,
                 ".layout = 3"},
                {{X->data, X->rows, X->cols, 0, TAMIS_F64, 0, TAMIS_DEVICE, 0, {0}}, TAMIS_ERROR_ARGUMENT, ".location"},
                {{X->data, X->rows, X->cols, 0, TAMIS_F64, 0, (tamis_location)8, 0, {0}},
                 TAMIS_ERROR_ARGUMENT,
                 "n = 8"},
                {{(char *)X->data + 1, X->rows, X->cols, 0, TAMIS_F64, 0, 0, 0, {0}},
                 TAMIS_ERROR_ARGUMENT,
                 ".data = 0x"},
            };
            const tamis_dense kept = *X;
            for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
                if (r == 4 && X->rows == 1) continue;
                *X = rows[r].spoilt;
                refused(calls[c].call(), rows[r].want, name, rows[r].value);
            }
            *X = kept;
            if (calls[c].operands[i].apart) {
                X->data = calls[c].operands[0].view->data;
                refused(calls[c].call(), TAMIS_ERROR_ARGUMENT, name, "overlap");
            }
            *X = kept;
            if (i == 0) continue;
            X->rows++; /* disagrees with the first */
            refused(calls[c].call(), TAMIS_ERROR_ARGUMENT, "", ".rows = ");
            *X = kept;
            X->type = TAMIS_F32;
            refused(calls[c].call(), TAMIS_ERROR_ARGUMENT, name, ".type = fp32");
            *X = kept;
        }
        assert_int_equal(calls[c].call(), TAMIS_OK);
        assert_string_equal(tamis_last_error(), "");
        assert_int_equal(tamis_memory_live(), live);
        fresh();
    }
}

/* ------------------------------------------------------------------------------------------ the rest */

TEST(test_pointers) {
    const tamis_status bad = TAMIS_ERROR_ARGUMENT;
    tamis_dense_workspace *other = NULL;
    double *const result = &o.result;
    refused(tamis_dense_fill(NULL, NULL, &o.X, 1), bad, "device", "NULL");
    refused(tamis_dense_fill(device, &other, &o.X, 1), bad, "stream", "0x");
    refused(tamis_dense_fill(device, NULL, NULL, 1), bad, "X", "NULL");
    refused(tamis_dense_axpby(device, NULL, 1, &o.X, 0, NULL), bad, "Y", "NULL");
    refused(tamis_dense_map(device, NULL, TAMIS_MAP_DIVIDE, 1, 0, &o.X, NULL, &o.Z), bad, "Y", "NULL");
    refused(tamis_dense_map(device, NULL, TAMIS_MAP_CLAMP, 0, 1, &o.X, NULL, NULL), bad, "Z", "NULL");
    refused(tamis_dense_scale(device, NULL, TAMIS_SCALE_ROWS, NULL, 1, &o.X, 0, NULL), bad, "Y", "NULL");
    refused(tamis_dense_gram(device, NULL, NULL, 1, &o.X, 0, &o.G), bad, "workspace", "NULL");
    refused(tamis_dense_gram(device, NULL, workspace, 1, &o.X, 0, NULL), bad, "G", "NULL");
    refused(tamis_dense_multiply(device, NULL, 1, &o.X, NULL, 0, &o.Y), bad, "G", "NULL");
    refused(tamis_dense_multiply(device, NULL, 1, &o.X, &o.G, 0, NULL), bad, "Y", "NULL");
    refused(tamis_dense_column_sums(device, NULL, NULL, &o.X, &o.columns), bad, "workspace", "NULL");
    refused(tamis_dense_column_sums(device, NULL, workspace, &o.X, NULL), bad, "sums", "NULL");
    refused(tamis_dense_row_sums(device, NULL, &o.X, NULL), bad, "sums", "NULL");
    refused(tamis_dense_row_dots(device, NULL, &o.X, &o.Y, NULL), bad, "dots", "NULL");
    refused(tamis_dense_row_dots(device, NULL, &o.X, NULL, &o.rows), bad, "Y", "NULL");
    refused(tamis_dense_dot(device, NULL, NULL, &o.X, &o.Y, result), bad, "workspace", "NULL");
    refused(tamis_dense_dot(device, NULL, workspace, &o.X, &o.Y, NULL), bad, "result", "NULL");
    refused(tamis_dense_dot(device, NULL, workspace, &o.X, NULL, result), bad, "Y", "NULL");
    refused(tamis_dense_log_dot(device, NULL, workspace, NULL, NULL, 1, result), bad, "X", "NULL");
    refused(tamis_dense_cg_step(device, NULL, NULL, 1, NULL, &o.Y, &o.X, &o.R, &o.rows), bad, "AP", "NULL");
    refused(tamis_dense_cg_step(device, NULL, NULL, 1, &o.AP, NULL, &o.X, &o.R, &o.rows), bad, "P", "NULL");
    refused(tamis_dense_cg_step(device, NULL, NULL, 1, &o.AP, &o.Y, NULL, &o.R, &o.rows), bad, "X", "NULL");
    refused(tamis_dense_cg_step(device, NULL, NULL, 1, &o.AP, &o.Y, &o.X, NULL, &o.rows), bad, "R", "NULL");
    refused(tamis_dense_cg_step(device, NULL, NULL, 1, &o.AP, &o.Y, &o.X, &o.R, NULL), bad, "rr", "NULL");
}

TEST(test_numbers) {
    const tamis_status bad = TAMIS_ERROR_ARGUMENT;
    double *const result = &o.result;
    refused(tamis_dense_axpby(device, NULL, NAN, &o.X, 0, &o.Y), bad, "alpha", "not a number");
    refused(tamis_dense_axpby(device, NULL, 1, &o.X, NAN, &o.Y), bad, "beta", "not a number");
    refused(tamis_dense_map(device, NULL, (tamis_map)7, 1, 1, &o.X, &o.Y, &o.Z), bad, "kind", "7");
    refused(tamis_dense_map(device, NULL, (tamis_map)-1, 1, 1, &o.X, &o.Y, &o.Z), bad, "kind", "-1");
    refused(tamis_dense_map(device, NULL, TAMIS_MAP_DIVIDE, NAN, 1, &o.X, &o.Y, &o.Z), bad, "c ", "not a number");
    refused(tamis_dense_map(device, NULL, TAMIS_MAP_DIVIDE, 1, NAN, &o.X, &o.Y, &o.Z), bad, "d ", "not a number");
    refused(tamis_dense_map(device, NULL, TAMIS_MAP_CLAMP, 2, 1, &o.X, NULL, &o.Z), bad, "c = 2", "d = 1");
    refused(tamis_dense_map(device, NULL, TAMIS_MAP_CLAMP, 1, 2, &o.X, &o.Y, &o.Z), bad, "Y", "NULL");
    refused(tamis_dense_scale(device, NULL, (tamis_scaling)4, NULL, 1, &o.X, 0, &o.Y), bad, "scaling", "4");
    refused(tamis_dense_scale(device, NULL, TAMIS_SCALE_ROWS, NULL, NAN, &o.X, 0, &o.Y), bad, "shift", "number");
    refused(tamis_dense_scale(device, NULL, TAMIS_SCALE_ROWS, NULL, 1, &o.X, NAN, &o.Y), bad, "beta", "number");
    refused(tamis_dense_scale(device, NULL, TAMIS_SCALE_ROWS, &o.columns, 1, &o.X, 0, &o.Y), bad, "weights.rows", "3");
    refused(tamis_dense_gram(device, NULL, workspace, NAN, &o.X, 0, &o.G), bad, "alpha", "number");
    refused(tamis_dense_gram(device, NULL, workspace, 1, &o.X, NAN, &o.G), bad, "diagonal", "number");
    refused(tamis_dense_multiply(device, NULL, NAN, &o.X, &o.G, 0, &o.Y), bad, "alpha", "number");
    refused(tamis_dense_multiply(device, NULL, 1, &o.X, &o.G, NAN, &o.Y), bad, "beta", "number");
    refused(tamis_dense_log_dot(device, NULL, workspace, NULL, &o.X, 0, result), bad, "epsilon", "0");
    refused(tamis_dense_log_dot(device, NULL, workspace, NULL, &o.X, NAN, result), bad, "epsilon", "nan");
    refused(tamis_dense_cg_step(device, NULL, NULL, NAN, &o.AP, &o.Y, &o.X, &o.R, &o.rows), bad, "shift", "number");
    const tamis_dense wide = {.data = o.arrays, .rows = 1, .cols = 1025, .type = TAMIS_F64};
    refused(tamis_dense_gram(device, NULL, workspace, 1, &wide, 0, &o.G), TAMIS_ERROR_UNSUPPORTED, "X.cols", "1025");
}

TEST(test_workspace) {
    const tamis_status bad = TAMIS_ERROR_ARGUMENT;
    tamis_dense_workspace *made = NULL;
    tamis_device *second = NULL;
    const int64_t live = tamis_memory_live();
    refused(tamis_dense_workspace_create(NULL, 1, TAMIS_F64, &made), bad, "device", "NULL");
    refused(tamis_dense_workspace_create(device, -3, TAMIS_F64, &made), bad, "columns", "-3");
    refused(tamis_dense_workspace_create(device, INT64_MAX, TAMIS_F64, &made), TAMIS_ERROR_OVERFLOW, "columns", "9223");
    refused(tamis_dense_workspace_create(device, 1, TAMIS_F16, &made), TAMIS_ERROR_UNSUPPORTED, "type", "fp16");
    refused(tamis_dense_workspace_create(device, 1, (tamis_type)6, &made), bad, "type", "6");
    refused(tamis_dense_workspace_create(device, 1, TAMIS_F64, NULL), bad, "workspace", "NULL");
    assert_null(made);
    for (int64_t n = 1; n <= 2; n++) {
        tamis_memory_fail_at(n);
        refused(tamis_dense_workspace_create(device, 8, TAMIS_F64, &made), TAMIS_ERROR_MEMORY, "workspace", "");
        tamis_memory_fail_at(0);
        assert_null(made);
    }
    assert_int_equal(tamis_memory_live(), live);
    assert_int_equal(tamis_dense_workspace_create(device, 2, TAMIS_F64, &made), TAMIS_OK);
    refused(tamis_dense_gram(device, NULL, made, 1, &o.X, 0, &o.G), bad, "workspace", "2 columns, not for 3");
    refused(tamis_dense_column_sums(device, NULL, made, &o.X, &o.columns), bad, "workspace", "2 columns");
    assert_int_equal(tamis_device_open("cpu", &second), TAMIS_OK);
    refused(tamis_dense_dot(second, NULL, made, &o.X, &o.Y, &o.result), bad, "workspace", "device");
    tamis_device_close(second);
    tamis_dense_workspace_destroy(made);
    assert_int_equal(tamis_dense_workspace_create(device, 0, TAMIS_F32, &made), TAMIS_OK);
    refused(tamis_dense_dot(device, NULL, made, &o.X, &o.Y, &o.result), bad, "workspace", "fp32, not for fp64");
    tamis_dense_workspace_destroy(made);
    tamis_dense_workspace_destroy(NULL);
    assert_int_equal(tamis_memory_live(), live);
}

static int set_up(void **state) {
    (void)state;
    fresh();
    return tamis_device_open("cpu", &device) != TAMIS_OK ||
           tamis_dense_workspace_create(device, 8, TAMIS_F64, &workspace) != TAMIS_OK;
}

static int tear_down(void **state) {
    (void)state;
    tamis_dense_workspace_destroy(workspace);
    tamis_device_close(device);
    return tamis_memory_live() != 0;
}

TEST_FIXTURE(set_up, tear_down)
