/*
 * A stand-in for CUDA's driver, cuSPARSE and cuBLAS in one file, which computes on the host: with it the calls of the
 * peers are tested where there is no GPU. It takes the arguments in the vendor's order and refuses what those refuse.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { OK = 0, INVALID = 3, UNSUPPORTED = 10, FLOAT = 0, DOUBLE = 1, ROW_ORDER = 2, INDEX_32 = 2, TRANSPOSE = 1 };

typedef struct dense {
    int64_t rows, cols, stride;
    void *values;
    int type;
} dense;

typedef struct sparse {
    int64_t rows, cols, nnz;
    const int32_t *offsets, *columns;
    void *values;
    int type;
    const void *ready; /* the buffer that a preprocessing has seen */
} sparse;

/* ------------------------------------------------------------------------------------------ the driver */

static int a_context, a_handle;

int cuInit(unsigned flags) { return flags == 0 ? OK : INVALID; }
int cuDeviceGet(int *device, int number) {
    *device = number;
    return OK;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = &a_context;
    return device == 0 ? OK : INVALID;
}
int cuCtxSetCurrent(void *context) { return context == &a_context ? OK : INVALID; }
int cuMemGetInfo_v2(size_t *left, size_t *total) {
    *left = *total = (size_t)1 << 20;
    return OK;
}

/* ------------------------------------------------------------------------------------------ cuSPARSE */

static double get(const void *data, int type, int64_t at) {
    return type == DOUBLE ? ((const double *)data)[at] : (double)((const float *)data)[at];
}

static void set(void *data, int type, int64_t at, double value) {
    if (type == DOUBLE) {
        ((double *)data)[at] = value;
    } else {
        ((float *)data)[at] = (float)value;
    }
}

/* factor * x + beta * what is there; 0 times it is 0. */
static void update(void *data, int type, int64_t at, double x, double factor, double beta) {
    set(data, type, at, factor * x + (beta != 0 ? beta * get(data, type, at) : 0));
}

int cusparseCreate(void **handle) {
    *handle = &a_handle;
    return OK;
}
int cusparseDestroy(void *handle) { return handle == &a_handle ? OK : INVALID; }
int cusparseGetVersion(void *handle, int *version) {
    *version = 12904;
    return handle == &a_handle ? OK : INVALID;
}
const char *cusparseGetErrorString(int status) { return status == UNSUPPORTED ? "not supported" : "invalid value"; }

int cusparseCreateCsr(void **matrix, int64_t rows, int64_t cols, int64_t nnz, void *offsets, void *columns,
                      void *values, int offset_type, int index_type, int base, int type) {
    if (offset_type != INDEX_32 || index_type != INDEX_32 || base != 0) return UNSUPPORTED;
    sparse *made = malloc(sizeof *made);
    *made = (sparse){rows, cols, nnz, offsets, columns, values, type, NULL};
    *matrix = made;
    return OK;
}

int cusparseDestroySpMat(void *matrix) {
    free(matrix);
    return OK;
}

int cusparseCreateDnMat(void **matrix, int64_t rows, int64_t cols, int64_t stride, void *values, int type, int order) {
    if (order != ROW_ORDER || stride < cols) return INVALID;
    dense *made = malloc(sizeof *made);
    *made = (dense){rows, cols, stride, values, type};
    *matrix = made;
    return OK;
}

int cusparseDestroyDnMat(void *matrix) {
    free(matrix);
    return OK;
}

static int check_sddmm(const void *handle, int op_a, int op_b, const dense *a, const dense *b, const sparse *c,
                       int type, int algorithm) {
    if (handle != &a_handle || op_a != 0 || op_b != TRANSPOSE || algorithm != 0) return INVALID;
    if (a->rows != c->rows || b->rows != c->cols || a->cols != b->cols) return INVALID;
    if (a->type != type || b->type != type || c->type != type) return UNSUPPORTED;
    return OK;
}

int cusparseSDDMM_bufferSize(void *handle, int op_a, int op_b, const void *alpha, dense *a, dense *b, const void *beta,
                             sparse *c, int type, int algorithm, size_t *bytes) {
    *bytes = 64;
    return check_sddmm(handle, op_a, op_b, a, b, c, type, algorithm);
}

int cusparseSDDMM_preprocess(void *handle, int op_a, int op_b, const void *alpha, dense *a, dense *b, const void *beta,
                             sparse *c, int type, int algorithm, void *buffer) {
    c->ready = buffer;
    return check_sddmm(handle, op_a, op_b, a, b, c, type, algorithm);
}

int cusparseSDDMM(void *handle, int op_a, int op_b, const void *alpha, dense *a, dense *b, const void *beta, sparse *c,
                  int type, int algorithm, void *buffer) {
    const int status = check_sddmm(handle, op_a, op_b, a, b, c, type, algorithm);
    if (status != OK || c->ready != buffer) return status != OK ? status : INVALID;
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t t = c->offsets[i]; t < c->offsets[i + 1]; t++) {
            double sum = 0;
            for (int64_t k = 0; k < a->cols; k++)
                sum += get(a->values, type, i * a->stride + k) * get(b->values, type, c->columns[t] * b->stride + k);
            update(c->values, type, t, sum, get(alpha, type, 0), get(beta, type, 0));
        }
    return OK;
}

static int check_spmm(const void *handle, int op_a, int op_b, const sparse *a, const dense *b, const dense *c, int type,
                      int algorithm) {
    if (handle != &a_handle || op_a != 0 || op_b != 0) return INVALID;
    if (a->rows != c->rows || a->cols != b->rows || b->cols != c->cols) return INVALID;
    if (a->type != type || b->type != type || c->type != type) return UNSUPPORTED;
    return algorithm == 6 ? OK : UNSUPPORTED; /* so that the others must be passed over */
}

int cusparseSpMM_bufferSize(void *handle, int op_a, int op_b, const void *alpha, sparse *a, dense *b, const void *beta,
                            dense *c, int type, int algorithm, size_t *bytes) {
    *bytes = 0;
    return check_spmm(handle, op_a, op_b, a, b, c, type, algorithm);
}

int cusparseSpMM_preprocess(void *handle, int op_a, int op_b, const void *alpha, sparse *a, dense *b, const void *beta,
                            dense *c, int type, int algorithm, void *buffer) {
    a->ready = buffer;
    return check_spmm(handle, op_a, op_b, a, b, c, type, algorithm);
}

int cusparseSpMM(void *handle, int op_a, int op_b, const void *alpha, sparse *a, dense *b, const void *beta, dense *c,
                 int type, int algorithm, void *buffer) {
    const int status = check_spmm(handle, op_a, op_b, a, b, c, type, algorithm);
    if (status != OK || a->ready != buffer) return status != OK ? status : INVALID;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t l = 0; l < c->cols; l++) {
            double sum = 0;
            for (int64_t t = a->offsets[i]; t < a->offsets[i + 1]; t++)
                sum += get(a->values, type, t) * get(b->values, type, a->columns[t] * b->stride + l);
            update(c->values, type, i * c->stride + l, sum, get(alpha, type, 0), get(beta, type, 0));
        }
    return OK;
}

/* ------------------------------------------------------------------------------------------ cuBLAS, by columns */

int cublasCreate_v2(void **handle) {
    *handle = &a_handle;
    return OK;
}
int cublasDestroy_v2(void *handle) { return handle == &a_handle ? OK : INVALID; }
const char *cublasGetStatusString(int status) { return status == UNSUPPORTED ? "not supported" : "invalid value"; }

/* Element (i, j) of op(X): X is stored by columns. */
static double element(const void *x, int type, int stride, int op, int64_t i, int64_t j) {
    return op == TRANSPOSE ? get(x, type, i * stride + j) : get(x, type, j * stride + i);
}

int cublasGemmEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int a_type,
                 int a_stride, const void *b, int b_type, int b_stride, const void *beta, void *c, int c_type,
                 int c_stride, int compute, int algorithm) {
    if (handle != &a_handle || algorithm != -1 || c_stride < m || compute != (c_type == DOUBLE ? 70 : 68))
        return INVALID;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += element(a, a_type, a_stride, op_a, i, l) * element(b, b_type, b_stride, op_b, l, j);
            update(c, c_type, j * c_stride + i, sum, get(alpha, c_type, 0), get(beta, c_type, 0));
        }
    return OK;
}
