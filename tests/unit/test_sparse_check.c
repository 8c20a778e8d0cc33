/* Views are checked without reading their arrays, and messages name the field and its value. */
#include "test_sparse_support.h"

#include "sparse/check.h"
#include "sparse/matrix.h"

static int32_t some[64];
static float values[64];

static tamis_sparse good_csr(void) {
    return (tamis_sparse){.format = TAMIS_CSR,
                          .rows = 3,
                          .cols = 4,
                          .nnz = 5,
                          .value_type = TAMIS_F32,
                          .offsets = some,
                          .columns = some,
                          .values = values};
}

static tamis_sparse good_coo(void) {
    tamis_sparse S = good_csr();
    S.format = TAMIS_COO;
    S.offsets = NULL;
    S.row_indices = some;
    return S;
}

TEST(accepts_what_is_valid) {
    tamis_sparse S = good_csr();
    expect_ok(tamis_sparse_check(&S, "S"));
    S.values = NULL;
    expect_ok(tamis_sparse_check(&S, "S"));
    S.location = TAMIS_DEVICE;
    expect_ok(tamis_sparse_check(&S, "S"));
    S = good_coo();
    expect_ok(tamis_sparse_check_host(&S, "S"));
    S = good_csr();
    S.nnz = 0;
    S.columns = S.values = NULL;
    expect_ok(tamis_sparse_check(&S, "S"));
    S.cols = S.rows = 0;
    expect_ok(tamis_sparse_check(&S, "S"));
    S = good_coo();
    S.nnz = S.rows = 0;
    S.row_indices = S.columns = S.values = NULL;
    expect_ok(tamis_sparse_check(&S, "S"));
    S = good_csr();
    S.nnz = 1000; /* more than rows * cols: repeats */
    expect_ok(tamis_sparse_check(&S, "S"));
    S.cols = (int64_t)INT32_MAX + 1; /* columns 0 .. INT32_MAX */
    expect_ok(tamis_sparse_check(&S, "S"));
    S.rows = (int64_t)1 << 40; /* no index */
    expect_ok(tamis_sparse_check(&S, "S"));
}

TEST(rejects_bad_fields) {
    expect_error(TAMIS_ERROR_ARGUMENT, "S = NULL", tamis_sparse_check(NULL, "S"));
    tamis_sparse S;
#define REJECT(make, status, text, ...)                                                                                \
    S = make();                                                                                                        \
    __VA_ARGS__;                                                                                                       \
    expect_error(status, text, tamis_sparse_check(&S, "S"))
    REJECT(good_csr, TAMIS_ERROR_ARGUMENT, "S.format = 2", S.format = (tamis_format)2);
    REJECT(good_csr, TAMIS_ERROR_ARGUMENT, "S.location = 7", S.location = (tamis_location)7);
    REJECT(good_csr, TAMIS_ERROR_ARGUMENT, "S.index_type = 2", S.index_type = (tamis_index_type)2);
    REJECT(good_csr, TAMIS_ERROR_ARGUMENT, "S.offset_type = 9", S.offset_type = (tamis_index_type)9);
    REJECT(good_csr, TAMIS_ERROR_ARGUMENT, "S.value_type = 4", S.value_type = (tamis_type)4);
    REJECT(good_csr, TAMIS_ERROR_ARGUMENT, "S.rows = -1", S.rows = -1);
    REJECT(good_csr, TAMIS_ERROR_ARGUMENT, "S.cols = -2", S.cols = -2);
    REJECT(good_csr, TAMIS_ERROR_ARGUMENT, "S.nnz = -3", S.nnz = -3);
    REJECT(good_csr, TAMIS_ERROR_ARGUMENT, "S.batch_stride = -4", S.batch_stride = -4);
    REJECT(good_csr, TAMIS_ERROR_ARGUMENT, "S.nnz = 5: a matrix of 0 x 4", S.rows = 0);
    REJECT(good_coo, TAMIS_ERROR_ARGUMENT, "S.nnz = 5: a matrix of 3 x 0", S.cols = 0);
    REJECT(good_csr, TAMIS_ERROR_ARGUMENT, "S.offsets = NULL", S.offsets = NULL);
    REJECT(good_csr, TAMIS_ERROR_ARGUMENT, "S.offsets = NULL", S.offsets = NULL; S.nnz = S.rows = 0);
    REJECT(good_csr, TAMIS_ERROR_ARGUMENT, "S.columns = NULL", S.columns = NULL);
    REJECT(good_coo, TAMIS_ERROR_ARGUMENT, "S.row_indices = NULL", S.row_indices = NULL);
    REJECT(good_csr, TAMIS_ERROR_ARGUMENT, "S.columns", S.columns = (const char *)some + 2);
    REJECT(good_csr, TAMIS_ERROR_ARGUMENT, "S.offsets", S.offsets = (const char *)some + 1);
    REJECT(good_csr, TAMIS_ERROR_ARGUMENT, "S.values", S.values = (const char *)some + 2);
    REJECT(good_csr, TAMIS_ERROR_OVERFLOW, "S.cols = 2147483649", S.cols = (int64_t)INT32_MAX + 2);
    REJECT(good_coo, TAMIS_ERROR_OVERFLOW, "S.rows = 2147483649", S.rows = (int64_t)INT32_MAX + 2);
    REJECT(good_csr, TAMIS_ERROR_OVERFLOW, "S.nnz = 2147483648", S.nnz = (int64_t)INT32_MAX + 1);
    REJECT(good_coo, TAMIS_ERROR_OVERFLOW, "S.nnz = 9223372036854775807: expected at most 36028797018963967",
           S.nnz = INT64_MAX);
    REJECT(good_csr, TAMIS_ERROR_OVERFLOW, "S.nnz = 36028797018963968", S.nnz = (int64_t)1 << 55;
           S.offset_type = TAMIS_I64);
    REJECT(good_csr, TAMIS_ERROR_OVERFLOW, "S.offset_base = 36028797018963968", S.offset_base = (int64_t)1 << 55);
    REJECT(good_csr, TAMIS_ERROR_OVERFLOW, "S.batch_stride = 36028797018963968", S.batch_stride = (int64_t)1 << 55);
    REJECT(good_csr, TAMIS_ERROR_OVERFLOW, "S.cols = 36028797018963968", S.cols = (int64_t)1 << 55;
           S.index_type = TAMIS_I64);
    REJECT(good_csr, TAMIS_ERROR_OVERFLOW, "S.rows = 9223372036854775807", S.rows = INT64_MAX);
    REJECT(good_csr, TAMIS_ERROR_OVERFLOW, "S.rows = 36028797018963968", S.rows = (int64_t)1 << 55);
#undef REJECT
    S = good_csr();
    S.location = TAMIS_DEVICE;
    expect_error(TAMIS_ERROR_ARGUMENT, "S.location = device", tamis_sparse_check_host(&S, "S"));
}

static tamis_dense good_dense(void) {
    return (tamis_dense){.data = values, .rows = 4, .cols = 3, .stride = 5, .type = TAMIS_F32};
}

TEST(checks_dense_views) {
    tamis_dense A = good_dense();
    expect_ok(tamis_dense_check(&A, "A", 4, 3, TAMIS_F32));
    assert_int_equal(tamis_dense_stride(&A), 5);
    A.stride = 0;
    expect_ok(tamis_dense_check(&A, "A", 4, 3, TAMIS_F32));
    assert_int_equal(tamis_dense_stride(&A), 3);
    A.layout = TAMIS_COLUMN_MAJOR;
    assert_int_equal(tamis_dense_stride(&A), 4);
    A.stride = 4;
    expect_ok(tamis_dense_check(&A, "A", 4, 3, TAMIS_F32));
    A = good_dense();
    A.rows = 0;
    A.data = NULL;
    expect_ok(tamis_dense_check(&A, "A", 0, 3, TAMIS_F32));
    expect_error(TAMIS_ERROR_ARGUMENT, "A = NULL", tamis_dense_check(NULL, "A", 4, 3, TAMIS_F32));
#define REJECT(status, text, ...)                                                                                      \
    A = good_dense();                                                                                                  \
    __VA_ARGS__;                                                                                                       \
    expect_error(status, text, tamis_dense_check(&A, "A", 4, 3, TAMIS_F32))
    REJECT(TAMIS_ERROR_ARGUMENT, "A.rows = 5: expected 4", A.rows = 5);
    REJECT(TAMIS_ERROR_ARGUMENT, "A.cols = 2: expected 3", A.cols = 2);
    REJECT(TAMIS_ERROR_ARGUMENT, "A.rows = -4", A.rows = -4);
    REJECT(TAMIS_ERROR_ARGUMENT, "A.cols = -3", A.cols = -3);
    REJECT(TAMIS_ERROR_ARGUMENT, "A.type = fp64: expected fp32", A.type = TAMIS_F64;
           A.data = (void *)((uintptr_t)values / 8 * 8));
    REJECT(TAMIS_ERROR_ARGUMENT, "A.type = 4", A.type = (tamis_type)4);
    REJECT(TAMIS_ERROR_ARGUMENT, "A.layout = 2", A.layout = (tamis_layout)2);
    REJECT(TAMIS_ERROR_ARGUMENT, "A.location = 2", A.location = (tamis_location)2);
    REJECT(TAMIS_ERROR_ARGUMENT, "A.location = device", A.location = TAMIS_DEVICE);
    REJECT(TAMIS_ERROR_ARGUMENT, "A.stride = 2", A.stride = 2);
    REJECT(TAMIS_ERROR_ARGUMENT, "A.stride = -3", A.stride = -3);
    REJECT(TAMIS_ERROR_ARGUMENT, "A.stride = 3", A.stride = 3; A.layout = TAMIS_COLUMN_MAJOR);
    REJECT(TAMIS_ERROR_ARGUMENT, "A.batch_stride = -1", A.batch_stride = -1);
    REJECT(TAMIS_ERROR_ARGUMENT, "A.data = NULL", A.data = NULL);
    REJECT(TAMIS_ERROR_ARGUMENT, "A.data", A.data = (char *)values + 1);
    REJECT(TAMIS_ERROR_OVERFLOW, "stride = 4611686018427387904", A.stride = (int64_t)1 << 62);
    REJECT(TAMIS_ERROR_OVERFLOW, "A.stride = 36028797018963968: expected at most", A.stride = (int64_t)1 << 55);
    REJECT(TAMIS_ERROR_OVERFLOW, "A.rows = 36028797018963968: expected at most", A.rows = (int64_t)1 << 55);
    REJECT(TAMIS_ERROR_OVERFLOW, "A.batch_stride = 36028797018963968", A.batch_stride = (int64_t)1 << 55);
    REJECT(TAMIS_ERROR_OVERFLOW, "A: 1099511627776 lines with stride = 1073741824 exceed the address space of 2305",
           A.rows = (int64_t)1 << 40;
           A.stride = 1 << 30);
#undef REJECT
}

TEST(owns_matrices) {
    const int64_t live = tamis_memory_live();
    assert_null(tamis_owned_sparse_view(NULL));
    assert_null(tamis_owned_dense_view(NULL));
    tamis_owned_sparse_free(NULL);
    tamis_owned_dense_free(NULL);
    tamis_owned_dense *array;
    expect_ok(tamis_owned_dense_create(3, 5, TAMIS_F64, TAMIS_COLUMN_MAJOR, &array));
    const tamis_dense *const view = tamis_owned_dense_view(array);
    expect_ok(tamis_dense_check(view, "view", 3, 5, TAMIS_F64));
    assert_int_equal(view->stride, 3);
    for (int i = 0; i < 15; i++) assert_true(((const double *)view->data)[i] == 0);
    tamis_owned_dense_free(array);
    expect_ok(tamis_owned_dense_create(0, 5, TAMIS_BF16, TAMIS_ROW_MAJOR, &array));
    tamis_owned_dense_free(array);
    expect_error(TAMIS_ERROR_ARGUMENT, "rows = -1",
                 tamis_owned_dense_create(-1, 5, TAMIS_F32, TAMIS_ROW_MAJOR, &array));
    assert_null(array);
    expect_error(TAMIS_ERROR_ARGUMENT, "cols = -5",
                 tamis_owned_dense_create(1, -5, TAMIS_F32, TAMIS_ROW_MAJOR, &array));
    expect_error(TAMIS_ERROR_ARGUMENT, "type = 4",
                 tamis_owned_dense_create(1, 5, (tamis_type)4, TAMIS_ROW_MAJOR, &array));
    expect_error(TAMIS_ERROR_ARGUMENT, "layout = 2",
                 tamis_owned_dense_create(1, 5, TAMIS_F32, (tamis_layout)2, &array));
    expect_error(TAMIS_ERROR_ARGUMENT, "array = NULL",
                 tamis_owned_dense_create(1, 5, TAMIS_F32, TAMIS_ROW_MAJOR, NULL));
    expect_status(TAMIS_ERROR_OVERFLOW,
                  tamis_owned_dense_create((int64_t)1 << 40, (int64_t)1 << 40, TAMIS_F32, TAMIS_ROW_MAJOR, &array));
    expect_status(TAMIS_ERROR_OVERFLOW,
                  tamis_owned_dense_create((int64_t)1 << 31, (int64_t)1 << 31, TAMIS_F64, TAMIS_ROW_MAJOR, &array));
    tamis_owned_sparse *matrix;
    const tamis_sparse shape = {.format = TAMIS_COO, .rows = 4, .cols = 4, .nnz = 6, .value_type = TAMIS_F16};
    expect_ok(tamis_owned_sparse_create(&shape, true, &matrix));
    assert_ptr_equal(tamis_owned_sparse_view(matrix)->row_indices, matrix->row_indices);
    assert_non_null(matrix->values);
    assert_null(matrix->offsets);
    tamis_owned_sparse_free(matrix);
    assert_int_equal(tamis_memory_live(), live);
}
