/* Views are checked without reading their arrays, and messages name the field and its value. */
#include "test_sparse_support.h"

#include "sparse/check.h"
#include "sparse/matrix.h"
#include "sparse/overlap.h"
#include "support/matrix.h"

static int32_t some[64];
static float values[64];

static tamis_sparse good_csr(void) { return csr_of(TAMIS_F32, 3, 4, 5, some, some, values); }

static tamis_sparse good_coo(void) {
    tamis_sparse S = good_csr();
    S.format = TAMIS_COO;
    S.offsets = NULL;
    S.row_indices = some;
    return S;
}

TEST(accepts_what_is_valid) {
    tamis_sparse S = good_csr();
    works(tamis_sparse_check(&S, "S"));
    S.values = NULL;
    works(tamis_sparse_check(&S, "S"));
    S.location = TAMIS_DEVICE;
    works(tamis_sparse_check(&S, "S"));
    S = good_coo();
    works(tamis_sparse_check_host(&S, "S"));
    S = good_csr();
    S.nnz = 0;
    S.columns = S.values = NULL;
    works(tamis_sparse_check(&S, "S"));
    S.cols = S.rows = 0;
    works(tamis_sparse_check(&S, "S"));
    S = good_coo();
    S.nnz = S.rows = 0;
    S.row_indices = S.columns = S.values = NULL;
    works(tamis_sparse_check(&S, "S"));
    S = good_csr();
    S.nnz = 1000; /* more than rows * cols: repeats */
    works(tamis_sparse_check(&S, "S"));
    S.cols = (int64_t)INT32_MAX + 1; /* columns 0 .. INT32_MAX */
    works(tamis_sparse_check(&S, "S"));
    S.rows = (int64_t)1 << 40; /* no index */
    works(tamis_sparse_check(&S, "S"));
}

TEST(rejects_bad_fields) {
    REFUSED(ARGUMENT, "S = NULL", tamis_sparse_check(NULL, "S"));
    tamis_sparse S = good_csr(), coo = good_coo();
#define SPOILT_CSR(change, want, words) SPOILT_BY(S, change, want, words, tamis_sparse_check(&S, "S"))
#define SPOILT_COO(change, want, words) SPOILT_BY(coo, change, want, words, tamis_sparse_check(&coo, "S"))
    SPOILT_CSR(S.format = (tamis_format)2, ARGUMENT, "S.format = 2");
    SPOILT_CSR(S.location = (tamis_location)7, ARGUMENT, "S.location = 7");
    SPOILT_CSR(S.index_type = (tamis_index_type)2, ARGUMENT, "S.index_type = 2");
    SPOILT_CSR(S.offset_type = (tamis_index_type)9, ARGUMENT, "S.offset_type = 9");
    SPOILT_CSR(S.value_type = (tamis_type)4, ARGUMENT, "S.value_type = 4");
    SPOILT_CSR(S.rows = -1, ARGUMENT, "S.rows = -1");
    SPOILT_CSR(S.cols = -2, ARGUMENT, "S.cols = -2");
    SPOILT_CSR(S.nnz = -3, ARGUMENT, "S.nnz = -3");
    SPOILT_CSR(S.batch_stride = -4, ARGUMENT, "S.batch_stride = -4");
    SPOILT_CSR(S.rows = 0, ARGUMENT, "S.nnz = 5: a matrix of 0 x 4");
    SPOILT_COO(coo.cols = 0, ARGUMENT, "S.nnz = 5: a matrix of 3 x 0");
    SPOILT_CSR(S.offsets = NULL, ARGUMENT, "S.offsets = NULL");
    SPOILT_CSR((S.offsets = NULL, S.nnz = S.rows = 0), ARGUMENT, "S.offsets = NULL");
    SPOILT_CSR(S.columns = NULL, ARGUMENT, "S.columns = NULL");
    SPOILT_COO(coo.row_indices = NULL, ARGUMENT, "S.row_indices = NULL");
    SPOILT_CSR(S.columns = (const char *)some + 2, ARGUMENT, "S.columns");
    SPOILT_CSR(S.offsets = (const char *)some + 1, ARGUMENT, "S.offsets");
    SPOILT_CSR(S.values = (const char *)some + 2, ARGUMENT, "S.values");
    SPOILT_CSR(S.cols = (int64_t)INT32_MAX + 2, OVERFLOW, "S.cols = 2147483649");
    SPOILT_COO(coo.rows = (int64_t)INT32_MAX + 2, OVERFLOW, "S.rows = 2147483649");
    SPOILT_CSR(S.nnz = (int64_t)INT32_MAX + 1, OVERFLOW, "S.nnz = 2147483648");
    SPOILT_COO(coo.nnz = INT64_MAX, OVERFLOW, "S.nnz = 9223372036854775807: expected at most 36028797018963967");
    SPOILT_CSR((S.nnz = (int64_t)1 << 55, S.offset_type = TAMIS_I64), OVERFLOW, "S.nnz = 36028797018963968");
    SPOILT_CSR(S.offset_base = (int64_t)1 << 55, OVERFLOW, "S.offset_base = 36028797018963968");
    SPOILT_CSR(S.batch_stride = (int64_t)1 << 55, OVERFLOW, "S.batch_stride = 36028797018963968");
    SPOILT_CSR((S.cols = (int64_t)1 << 55, S.index_type = TAMIS_I64), OVERFLOW, "S.cols = 36028797018963968");
    SPOILT_CSR(S.rows = INT64_MAX, OVERFLOW, "S.rows = 9223372036854775807");
    SPOILT_CSR(S.rows = (int64_t)1 << 55, OVERFLOW, "S.rows = 36028797018963968");
    SPOILT(S.location, TAMIS_DEVICE, ARGUMENT, "S.location = device", tamis_sparse_check_host(&S, "S"));
}

static tamis_dense good_dense(void) {
    return (tamis_dense){.data = values, .rows = 4, .cols = 3, .stride = 5, .type = TAMIS_F32};
}

TEST(checks_dense_views) {
    tamis_dense A = good_dense();
    works(tamis_dense_check(&A, "A", 4, 3, TAMIS_F32));
    assert_int_equal(tamis_dense_stride(&A), 5);
    A.stride = 0;
    works(tamis_dense_check(&A, "A", 4, 3, TAMIS_F32));
    assert_int_equal(tamis_dense_stride(&A), 3);
    A.layout = TAMIS_COLUMN_MAJOR;
    assert_int_equal(tamis_dense_stride(&A), 4);
    A.stride = 4;
    works(tamis_dense_check(&A, "A", 4, 3, TAMIS_F32));
    A = good_dense();
    A.rows = 0;
    A.data = NULL;
    works(tamis_dense_check(&A, "A", 0, 3, TAMIS_F32));
    REFUSED(ARGUMENT, "A = NULL", tamis_dense_check(NULL, "A", 4, 3, TAMIS_F32));
    A = good_dense();
#define SPOILT_DENSE(change, want, words) SPOILT_BY(A, change, want, words, tamis_dense_check(&A, "A", 4, 3, TAMIS_F32))
    SPOILT_DENSE(A.rows = 5, ARGUMENT, "A.rows = 5: expected 4");
    SPOILT_DENSE(A.cols = 2, ARGUMENT, "A.cols = 2: expected 3");
    SPOILT_DENSE(A.rows = -4, ARGUMENT, "A.rows = -4");
    SPOILT_DENSE(A.cols = -3, ARGUMENT, "A.cols = -3");
    SPOILT_DENSE((A.type = TAMIS_F64, A.data = (void *)((uintptr_t)values / 8 * 8)), ARGUMENT,
                 "A.type = fp64: expected fp32");
    SPOILT_DENSE(A.type = (tamis_type)4, ARGUMENT, "A.type = 4");
    SPOILT_DENSE(A.layout = (tamis_layout)2, ARGUMENT, "A.layout = 2");
    SPOILT_DENSE(A.location = (tamis_location)2, ARGUMENT, "A.location = 2");
    SPOILT_DENSE(A.location = TAMIS_DEVICE, ARGUMENT, "A.location = device");
    SPOILT_DENSE(A.stride = 2, ARGUMENT, "A.stride = 2");
    SPOILT_DENSE(A.stride = -3, ARGUMENT, "A.stride = -3");
    SPOILT_DENSE((A.stride = 3, A.layout = TAMIS_COLUMN_MAJOR), ARGUMENT, "A.stride = 3");
    SPOILT_DENSE(A.batch_stride = -1, ARGUMENT, "A.batch_stride = -1");
    SPOILT_DENSE(A.data = NULL, ARGUMENT, "A.data = NULL");
    SPOILT_DENSE(A.data = (char *)values + 1, ARGUMENT, "A.data");
    SPOILT_DENSE(A.stride = (int64_t)1 << 62, OVERFLOW, "stride = 4611686018427387904");
    SPOILT_DENSE(A.stride = (int64_t)1 << 55, OVERFLOW, "A.stride = 36028797018963968: expected at most");
    SPOILT_DENSE(A.rows = (int64_t)1 << 55, OVERFLOW, "A.rows = 36028797018963968: expected at most");
    SPOILT_DENSE(A.batch_stride = (int64_t)1 << 55, OVERFLOW, "A.batch_stride = 36028797018963968");
    SPOILT_DENSE((A.rows = (int64_t)1 << 40, A.stride = 1 << 30), OVERFLOW,
                 "A: 1099511627776 lines with stride = 1073741824 exceed the address space of 2305");
}

TEST(owns_matrices) {
    const int64_t live = tamis_memory_live();
    assert_null(tamis_owned_sparse_view(NULL));
    assert_null(tamis_owned_dense_view(NULL));
    tamis_owned_sparse_free(NULL);
    tamis_owned_dense_free(NULL);
    tamis_owned_dense *array;
    works(tamis_owned_dense_create(3, 5, TAMIS_F64, TAMIS_COLUMN_MAJOR, &array));
    const tamis_dense *const view = tamis_owned_dense_view(array);
    works(tamis_dense_check(view, "view", 3, 5, TAMIS_F64));
    assert_int_equal(view->stride, 3);
    for (int i = 0; i < 15; i++) assert_true(((const double *)view->data)[i] == 0);
    tamis_owned_dense_free(array);
    works(tamis_owned_dense_create(0, 5, TAMIS_BF16, TAMIS_ROW_MAJOR, &array));
    tamis_owned_dense_free(array);
    REFUSED(ARGUMENT, "rows = -1", tamis_owned_dense_create(-1, 5, TAMIS_F32, TAMIS_ROW_MAJOR, &array));
    assert_null(array);
    REFUSED(ARGUMENT, "cols = -5", tamis_owned_dense_create(1, -5, TAMIS_F32, TAMIS_ROW_MAJOR, &array));
    REFUSED(ARGUMENT, "type = 4", tamis_owned_dense_create(1, 5, (tamis_type)4, TAMIS_ROW_MAJOR, &array));
    REFUSED(ARGUMENT, "layout = 2", tamis_owned_dense_create(1, 5, TAMIS_F32, (tamis_layout)2, &array));
    REFUSED(ARGUMENT, "array = NULL", tamis_owned_dense_create(1, 5, TAMIS_F32, TAMIS_ROW_MAJOR, NULL));
    expect_status(TAMIS_ERROR_OVERFLOW,
                  tamis_owned_dense_create((int64_t)1 << 40, (int64_t)1 << 40, TAMIS_F32, TAMIS_ROW_MAJOR, &array));
    expect_status(TAMIS_ERROR_OVERFLOW,
                  tamis_owned_dense_create((int64_t)1 << 31, (int64_t)1 << 31, TAMIS_F64, TAMIS_ROW_MAJOR, &array));
    tamis_owned_sparse *owned;
    const tamis_sparse shape = {.format = TAMIS_COO, .rows = 4, .cols = 4, .nnz = 6, .value_type = TAMIS_F16};
    works(tamis_owned_sparse_create(&shape, true, &owned));
    assert_ptr_equal(tamis_owned_sparse_view(owned)->row_indices, owned->row_indices);
    assert_non_null(owned->values);
    assert_null(owned->offsets);
    tamis_owned_sparse_free(owned);
    assert_int_equal(tamis_memory_live(), live);
}

/* ------------------------------------------------------------------------------------------ overlaps */

enum { ARENA = 4096 };
static char arena[ARENA];

static tamis_operand draw_view(tamis_random *random, tamis_dense *view) {
    static const tamis_type types[] = {TAMIS_F32, TAMIS_F64, TAMIS_BF16};
    const int64_t at = 2 * tamis_random_below(random, 200), batch = 1 + tamis_random_below(random, 3);
    *view = (tamis_dense){.type = types[tamis_random_below(random, 3)],
                          .layout = (tamis_layout)tamis_random_below(random, 2),
                          .rows = tamis_random_below(random, 5),
                          .cols = tamis_random_below(random, 5),
                          .data = arena + at};
    const int64_t length = view->layout == TAMIS_ROW_MAJOR ? view->cols : view->rows;
    view->stride = length + tamis_random_below(random, 8);
    view->batch_stride = tamis_random_below(random, 2)     ? tamis_random_below(random, 40)
                         : view->layout == TAMIS_ROW_MAJOR ? view->rows * view->stride
                                                           : view->cols * view->stride;
    return (tamis_operand){.name = "X", .view = view, .batch = batch, .skip = tamis_random_below(random, 4)};
}

static void mark(const tamis_operand *x, char *bytes) {
    const int64_t size = (int64_t)tamis_type_size(x->view->type), from = (char *)x->view->data - arena + x->skip * size;
    memset(bytes, 0, ARENA);
    for (int64_t m = 0; m < x->batch; m++)
        for (int64_t i = 0; i < x->view->rows; i++)
            for (int64_t j = 0; j < x->view->cols; j++)
                memset(bytes + from + size * test_position(x->view, m, i, j), 1, (size_t)size);
}

static int64_t step_of(const tamis_dense *view) {
    return tamis_dense_stride(view) * (int64_t)tamis_type_size(view->type);
}

/* Nothing is refused that is apart; nothing of one matrix that overlaps is taken, unless both have lines at distances
   of their own. */
TEST(overlapping_views_are_refused) {
    tamis_random random = tamis_random_start(5, 0);
    int refused = 0, apart_within = 0;
    for (int k = 0; k < 100000; k++) {
        tamis_dense X, Y;
        const tamis_operand x = draw_view(&random, &X), y = draw_view(&random, &Y);
        char of_x[ARENA], of_y[ARENA];
        bool share = false;
        mark(&x, of_x);
        mark(&y, of_y);
        for (int i = 0; i < ARENA; i++) share = share || (of_x[i] && of_y[i]);
        const bool no = tamis_check_apart(false, &x, &y) != TAMIS_OK;
        assert_true(no == (tamis_check_apart(false, &y, &x) != TAMIS_OK));
        assert_true(share || !no);
        const bool alike =
            X.batch_stride * (int64_t)tamis_type_size(X.type) == Y.batch_stride * (int64_t)tamis_type_size(Y.type);
        const bool known = step_of(&X) == step_of(&Y) && (alike || x.batch == 1 || y.batch == 1);
        if (known) assert_true(share == no);
        refused += no;
        apart_within += known && !share && X.rows && Y.rows && X.cols && Y.cols;
        assert_true(tamis_check_apart(true, &x, &y) == TAMIS_OK || X.data == Y.data);
    }
    assert_true(refused > 1000 && apart_within > 100);
}

TEST(columns_of_a_wider_matrix_are_apart) {
    tamis_dense left = {.type = TAMIS_F32, .rows = 5, .cols = 3, .stride = 7, .data = arena}, right = left;
    const tamis_operand output = {.name = "C", .view = &left}, other = {.name = "B", .view = &right};
    right.data = arena + 12;
    right.cols = 4;
    works(tamis_check_apart(false, &output, &other));
    left.cols = 4;
    REFUSED(ARGUMENT, "^C.data = ...shares memory with B.data = ...an output must not overlap an operand",
            tamis_check_apart(false, &output, &other));
}
