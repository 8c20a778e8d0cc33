/* What is refused of the dense companions' pointers, numbers and workspaces; the row dense of tests/operations spoils
 * their matrices. */
#include "support/test.h"

#include <tamis/dense.h>

#include "cpu_device.h"

enum { M = 5, K = 3, ARRAYS = 10 };

/* Every operand that a call may have, each with an array of its own, full of 77. */
typedef struct operands {
    _Alignas(64) double arrays[ARRAYS][M * M];
    tamis_dense X, Y, Z, R, AP, G, rows, columns; /* M x K, ..., K x K, M x 1, K x 1 */
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
    o.columns = view(8, K, 1);
    o.result = 77;
}

TEST(test_pointers) {
    tamis_dense_workspace *other = NULL;
    double *const result = &o.result;
    REFUSED(ARGUMENT, "device = NULL", tamis_dense_fill(NULL, NULL, &o.X, 1));
    REFUSED(ARGUMENT, "stream...0x", tamis_dense_fill(device, &other, &o.X, 1));
    REFUSED(ARGUMENT, "workspace = NULL", tamis_dense_gram(device, NULL, NULL, 1, &o.X, 0, &o.G));
    REFUSED(ARGUMENT, "workspace = NULL", tamis_dense_column_sums(device, NULL, NULL, &o.X, &o.columns));
    REFUSED(ARGUMENT, "workspace = NULL", tamis_dense_dot(device, NULL, NULL, &o.X, &o.Y, result));
    REFUSED(ARGUMENT, "result = NULL", tamis_dense_dot(device, NULL, workspace, &o.X, &o.Y, NULL));
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
    REFUSED(ARGUMENT, "G.rows = 5", tamis_dense_multiply(device, NULL, 1, &o.X, &o.Y, 0, &o.Z));
    const tamis_dense wide = {.data = o.arrays, .rows = 1, .cols = 1025, .type = TAMIS_F64};
    REFUSED(UNSUPPORTED, "X.cols = 1025", tamis_dense_gram(device, NULL, workspace, 1, &wide, 0, &o.G));
    REFUSED(UNSUPPORTED, "X.cols = 1025", tamis_dense_cd_step(device, NULL, &o.G, &o.R, &wide));
    REFUSED(ARGUMENT, "G.rows = 5", tamis_dense_cd_step(device, NULL, &o.Y, &o.R, &o.X));
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
    works(tamis_dense_workspace_create(device, 2, TAMIS_F64, &made));
    REFUSED(ARGUMENT, "workspace...2 columns, not for 3", tamis_dense_gram(device, NULL, made, 1, &o.X, 0, &o.G));
    REFUSED(ARGUMENT, "workspace...2 columns", tamis_dense_column_sums(device, NULL, made, &o.X, &o.columns));
    works(tamis_device_open("cpu", &second));
    REFUSED(ARGUMENT, "workspace...device", tamis_dense_dot(second, NULL, made, &o.X, &o.Y, &o.result));
    tamis_device_close(second);
    tamis_dense_workspace_destroy(made);
    works(tamis_dense_workspace_create(device, 0, TAMIS_F32, &made));
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
