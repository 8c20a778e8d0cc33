/*
 * The dense companions' arguments spoilt in turn: the status is the documented one, the message names the argument and
 * its value, outputs stay as they were, nothing leaks, and a valid call afterwards clears the message.
 */
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tamis/dense.h>

#include "cpu_device.h"
#include "support/faults.h"
#include "support/refusals.h"

enum { M = 5, K = 3, ARRAYS = 10 };

/* Every operand that a call may have, each with an array of its own, full of 77. */
typedef struct operands {
    _Alignas(64) double arrays[ARRAYS][M * M];
    tamis_dense X, Y, Z, R, AP, G, rows, rows2, columns; /* M x K, ..., K x K, M x 1, M x 1, K x 1 */
    double result;
} operands;

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

TEST(test_views) {
    for (int c = 0; c < CALLS; c++) {
        const int64_t live = tamis_memory_live();
        for (int i = 0; i < 6 && calls[c].operands[i].view; i++) {
            tamis_dense *const X = calls[c].operands[i].view;
            const char *const name = calls[c].operands[i].name;
            char words[64];
#define SPOILT_VIEW(change, want, text)                                                                                \
    snprintf(words, sizeof words, "%s%s", name, text);                                                                 \
    SPOILT_BY(*X, change, want, words, calls[c].call())
            SPOILT_VIEW(X->data = NULL, ARGUMENT, ".data = NULL");
            SPOILT_VIEW(X->rows = -4, ARGUMENT, ".rows = -4");
            SPOILT_VIEW(X->cols = -5, ARGUMENT, ".cols = -5");
            SPOILT_VIEW(X->stride = -6, ARGUMENT, ".stride = -6");
            if (X->rows != 1) {
                SPOILT_VIEW(X->stride = INT64_MAX / 3, OVERFLOW, "...stride");
            }
            SPOILT_VIEW(X->type = (tamis_type)9, ARGUMENT, ".type = 9");
            SPOILT_VIEW(X->type = TAMIS_F16, UNSUPPORTED, ".type = fp16");
            SPOILT_VIEW(X->type = TAMIS_BF16, UNSUPPORTED, ".type = bf16");
            SPOILT_VIEW(X->layout = TAMIS_COLUMN_MAJOR, UNSUPPORTED, ".layout = ");
            SPOILT_VIEW(X->layout = (tamis_layout)3, ARGUMENT, ".layout = 3");
            SPOILT_VIEW(X->location = TAMIS_DEVICE, ARGUMENT, ".location");
            SPOILT_VIEW(X->location = (tamis_location)8, ARGUMENT, ".location = 8");
            SPOILT_VIEW(X->data = (char *)X->data + 1, ARGUMENT, ".data = 0x");
            if (calls[c].operands[i].apart) {
                SPOILT_VIEW(X->data = calls[c].operands[0].view->data, ARGUMENT, "...overlap");
            }
            if (i == 0) continue;
            SPOILT_BY(*X, X->rows++, ARGUMENT, ".rows = ", calls[c].call()); /* disagrees with the first */
            SPOILT_VIEW(X->type = TAMIS_F32, ARGUMENT, ".type = fp32");
        }
        assert_int_equal(calls[c].call(), TAMIS_OK);
        assert_string_equal(tamis_last_error(), "");
        assert_int_equal(tamis_memory_live(), live);
        fresh();
    }
}

/* ------------------------------------------------------------------------------------------ the rest */

TEST(test_pointers) {
    tamis_dense_workspace *other = NULL;
    double *const result = &o.result;
    REFUSED(ARGUMENT, "device = NULL", tamis_dense_fill(NULL, NULL, &o.X, 1));
    REFUSED(ARGUMENT, "stream...0x", tamis_dense_fill(device, &other, &o.X, 1));
    REFUSED(ARGUMENT, "X = NULL", tamis_dense_fill(device, NULL, NULL, 1));
    REFUSED(ARGUMENT, "Y = NULL", tamis_dense_axpby(device, NULL, 1, &o.X, 0, NULL));
    REFUSED(ARGUMENT, "Y = NULL", tamis_dense_map(device, NULL, TAMIS_MAP_DIVIDE, 1, 0, &o.X, NULL, &o.Z));
    REFUSED(ARGUMENT, "Z = NULL", tamis_dense_map(device, NULL, TAMIS_MAP_CLAMP, 0, 1, &o.X, NULL, NULL));
    REFUSED(ARGUMENT, "Y = NULL", tamis_dense_scale(device, NULL, TAMIS_SCALE_ROWS, NULL, 1, &o.X, 0, NULL));
    REFUSED(ARGUMENT, "workspace = NULL", tamis_dense_gram(device, NULL, NULL, 1, &o.X, 0, &o.G));
    REFUSED(ARGUMENT, "G = NULL", tamis_dense_gram(device, NULL, workspace, 1, &o.X, 0, NULL));
    REFUSED(ARGUMENT, "G = NULL", tamis_dense_multiply(device, NULL, 1, &o.X, NULL, 0, &o.Y));
    REFUSED(ARGUMENT, "Y = NULL", tamis_dense_multiply(device, NULL, 1, &o.X, &o.G, 0, NULL));
    REFUSED(ARGUMENT, "workspace = NULL", tamis_dense_column_sums(device, NULL, NULL, &o.X, &o.columns));
    REFUSED(ARGUMENT, "sums = NULL", tamis_dense_column_sums(device, NULL, workspace, &o.X, NULL));
    REFUSED(ARGUMENT, "sums = NULL", tamis_dense_row_sums(device, NULL, &o.X, NULL));
    REFUSED(ARGUMENT, "dots = NULL", tamis_dense_row_dots(device, NULL, &o.X, &o.Y, NULL));
    REFUSED(ARGUMENT, "Y = NULL", tamis_dense_row_dots(device, NULL, &o.X, NULL, &o.rows));
    REFUSED(ARGUMENT, "workspace = NULL", tamis_dense_dot(device, NULL, NULL, &o.X, &o.Y, result));
    REFUSED(ARGUMENT, "result = NULL", tamis_dense_dot(device, NULL, workspace, &o.X, &o.Y, NULL));
    REFUSED(ARGUMENT, "Y = NULL", tamis_dense_dot(device, NULL, workspace, &o.X, NULL, result));
    REFUSED(ARGUMENT, "X = NULL", tamis_dense_log_dot(device, NULL, workspace, NULL, NULL, 1, result));
    REFUSED(ARGUMENT, "AP = NULL", tamis_dense_cg_step(device, NULL, NULL, 1, NULL, &o.Y, &o.X, &o.R, &o.rows));
    REFUSED(ARGUMENT, "P = NULL", tamis_dense_cg_step(device, NULL, NULL, 1, &o.AP, NULL, &o.X, &o.R, &o.rows));
    REFUSED(ARGUMENT, "X = NULL", tamis_dense_cg_step(device, NULL, NULL, 1, &o.AP, &o.Y, NULL, &o.R, &o.rows));
    REFUSED(ARGUMENT, "R = NULL", tamis_dense_cg_step(device, NULL, NULL, 1, &o.AP, &o.Y, &o.X, NULL, &o.rows));
    REFUSED(ARGUMENT, "rr = NULL", tamis_dense_cg_step(device, NULL, NULL, 1, &o.AP, &o.Y, &o.X, &o.R, NULL));
}

TEST(test_numbers) {
    double *const result = &o.result;
    REFUSED(ARGUMENT, "alpha...not a number", tamis_dense_axpby(device, NULL, NAN, &o.X, 0, &o.Y));
    REFUSED(ARGUMENT, "beta...not a number", tamis_dense_axpby(device, NULL, 1, &o.X, NAN, &o.Y));
    REFUSED(ARGUMENT, "kind = 7", tamis_dense_map(device, NULL, (tamis_map)7, 1, 1, &o.X, &o.Y, &o.Z));
    REFUSED(ARGUMENT, "kind = -1", tamis_dense_map(device, NULL, (tamis_map)-1, 1, 1, &o.X, &o.Y, &o.Z));
    REFUSED(ARGUMENT, "c ...not a number", tamis_dense_map(device, NULL, TAMIS_MAP_DIVIDE, NAN, 1, &o.X, &o.Y, &o.Z));
    REFUSED(ARGUMENT, "d ...not a number", tamis_dense_map(device, NULL, TAMIS_MAP_DIVIDE, 1, NAN, &o.X, &o.Y, &o.Z));
    REFUSED(ARGUMENT, "c = 2...d = 1", tamis_dense_map(device, NULL, TAMIS_MAP_CLAMP, 2, 1, &o.X, NULL, &o.Z));
    REFUSED(ARGUMENT, "Y...NULL", tamis_dense_map(device, NULL, TAMIS_MAP_CLAMP, 1, 2, &o.X, &o.Y, &o.Z));
    REFUSED(ARGUMENT, "scaling = 4", tamis_dense_scale(device, NULL, (tamis_scaling)4, NULL, 1, &o.X, 0, &o.Y));
    REFUSED(ARGUMENT, "shift...number", tamis_dense_scale(device, NULL, TAMIS_SCALE_ROWS, NULL, NAN, &o.X, 0, &o.Y));
    REFUSED(ARGUMENT, "beta...number", tamis_dense_scale(device, NULL, TAMIS_SCALE_ROWS, NULL, 1, &o.X, NAN, &o.Y));
    REFUSED(ARGUMENT, "weights.rows = 3",
            tamis_dense_scale(device, NULL, TAMIS_SCALE_ROWS, &o.columns, 1, &o.X, 0, &o.Y));
    REFUSED(ARGUMENT, "alpha...number", tamis_dense_gram(device, NULL, workspace, NAN, &o.X, 0, &o.G));
    REFUSED(ARGUMENT, "diagonal...number", tamis_dense_gram(device, NULL, workspace, 1, &o.X, NAN, &o.G));
    REFUSED(ARGUMENT, "alpha...number", tamis_dense_multiply(device, NULL, NAN, &o.X, &o.G, 0, &o.Y));
    REFUSED(ARGUMENT, "beta...number", tamis_dense_multiply(device, NULL, 1, &o.X, &o.G, NAN, &o.Y));
    REFUSED(ARGUMENT, "epsilon = 0", tamis_dense_log_dot(device, NULL, workspace, NULL, &o.X, 0, result));
    REFUSED(ARGUMENT, "epsilon...nan", tamis_dense_log_dot(device, NULL, workspace, NULL, &o.X, NAN, result));
    REFUSED(ARGUMENT, "shift...number", tamis_dense_cg_step(device, NULL, NULL, NAN, &o.AP, &o.Y, &o.X, &o.R, &o.rows));
    const tamis_dense wide = {.data = o.arrays, .rows = 1, .cols = 1025, .type = TAMIS_F64};
    REFUSED(UNSUPPORTED, "X.cols = 1025", tamis_dense_gram(device, NULL, workspace, 1, &wide, 0, &o.G));
}

TEST(test_workspace) {
    tamis_dense_workspace *made = NULL;
    tamis_device *second = NULL;
    const int64_t live = tamis_memory_live();
    REFUSED(ARGUMENT, "device = NULL", tamis_dense_workspace_create(NULL, 1, TAMIS_F64, &made));
    REFUSED(ARGUMENT, "columns = -3", tamis_dense_workspace_create(device, -3, TAMIS_F64, &made));
    REFUSED(OVERFLOW, "columns = 9223", tamis_dense_workspace_create(device, INT64_MAX, TAMIS_F64, &made));
    REFUSED(UNSUPPORTED, "type...fp16", tamis_dense_workspace_create(device, 1, TAMIS_F16, &made));
    REFUSED(ARGUMENT, "type = 6", tamis_dense_workspace_create(device, 1, (tamis_type)6, &made));
    REFUSED(ARGUMENT, "workspace = NULL", tamis_dense_workspace_create(device, 1, TAMIS_F64, NULL));
    assert_null(made);
    EACH_FAULT_OF(w, .least = 2) {
        if (FAULTY(w, tamis_dense_workspace_create(device, 8, TAMIS_F64, &made)) != TAMIS_OK) assert_null(made);
        tamis_dense_workspace_destroy(made);
    }
    assert_int_equal(tamis_memory_live(), live);
    assert_int_equal(tamis_dense_workspace_create(device, 2, TAMIS_F64, &made), TAMIS_OK);
    REFUSED(ARGUMENT, "workspace...2 columns, not for 3", tamis_dense_gram(device, NULL, made, 1, &o.X, 0, &o.G));
    REFUSED(ARGUMENT, "workspace...2 columns", tamis_dense_column_sums(device, NULL, made, &o.X, &o.columns));
    assert_int_equal(tamis_device_open("cpu", &second), TAMIS_OK);
    REFUSED(ARGUMENT, "workspace...device", tamis_dense_dot(second, NULL, made, &o.X, &o.Y, &o.result));
    tamis_device_close(second);
    tamis_dense_workspace_destroy(made);
    assert_int_equal(tamis_dense_workspace_create(device, 0, TAMIS_F32, &made), TAMIS_OK);
    REFUSED(ARGUMENT, "workspace...fp32, not for fp64", tamis_dense_dot(device, NULL, made, &o.X, &o.Y, &o.result));
    tamis_dense_workspace_destroy(made);
    tamis_dense_workspace_destroy(NULL);
    assert_int_equal(tamis_memory_live(), live);
}

static int set_up_all(void **state) {
    fresh();
    refusals_watch(&o, sizeof o);
    return set_up(state) || tamis_dense_workspace_create(device, 8, TAMIS_F64, &workspace) != TAMIS_OK;
}

static int tear_down_all(void **state) {
    tamis_dense_workspace_destroy(workspace);
    return tear_down(state);
}

TEST_FIXTURE(set_up_all, tear_down_all)
