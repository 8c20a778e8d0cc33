/* Checks of views that do not read arrays, so that every call can afford them. Messages name the argument, field and
   value. */
#ifndef TAMIS_SPARSE_CHECK_H
#define TAMIS_SPARSE_CHECK_H

#include "base/private.h"
#include "sparse/index.h"

/* Checks that a caller's size is 0 .. TAMIS_SIZE_MOST (base/sizes.h). The message calls it name.field, or field if name
   is empty. */
tamis_status tamis_size_check(const char *name, const char *field, int64_t size);

/* A field, and the numbers that it may hold; enumerations may hold any. */
typedef struct tamis_range {
    const char *field;
    int64_t value, least, most;
} tamis_range;
tamis_status tamis_ranges_check(const char *name, const tamis_range *ranges, size_t count);

/* Checks that the address space can hold `batch` arrays of `elements` elements, at distances of `stride` elements. */
tamis_status tamis_batch_check(const char *name, int64_t batch, int64_t stride, int64_t elements, size_t size);

/* Checks that indices of the type can hold 0 .. size - 1, and offsets of the type `nnz`. The message names the number
   in the same way. */
tamis_status tamis_index_check(const char *name, const char *field, int64_t size, tamis_index_type type);
tamis_status tamis_offset_check(const char *name, const char *field, int64_t nnz, tamis_index_type type);

/* Checks that the argument S has the format. */
tamis_status tamis_format_check(const tamis_sparse *S, tamis_format format);

/*
 * Checks that enumerations are valid, sizes are within their limits, a matrix without rows or columns has no entries,
 * the index and offset types and the address space can hold the sizes, and arrays with entries are present and aligned
 * (a CSR always has at least offsets[0]). The arrays may be on the host or on a device. `name` is the argument's name,
 * "S".
 */
tamis_status tamis_sparse_check(const tamis_sparse *S, const char *name);

/* Checks the same, but for the columns of a CSR that has a mask in their place. */
tamis_status tamis_sparse_check_unlisted(const tamis_sparse *S, const char *name);

/* Checks the same, and that the arrays are on the host. */
TAMIS_PRIVATE_API tamis_status tamis_sparse_check_host(const tamis_sparse *S, const char *name);

/*
 * Checks a host matrix of rows x cols of that type: its dimensions, type and stride, that the address space can hold
 * it, and that the data are present and aligned if there are elements.
 */
TAMIS_PRIVATE_API tamis_status tamis_dense_check(const tamis_dense *dense, const char *name, int64_t rows, int64_t cols,
                                                 tamis_type type);

/* Checks the same for data at `location`, for `batch` matrices at distances of batch_stride. */
tamis_status tamis_dense_check_at(const tamis_dense *dense, const char *name, int64_t rows, int64_t cols,
                                  tamis_type type, tamis_location location, int64_t batch);

/* Checks a host matrix of any dimensions and type. */
tamis_status tamis_dense_check_any(const tamis_dense *dense, const char *name);

/* Returns the distance between rows (column-major: columns). A stride of 0 means packed. */
TAMIS_INLINE int64_t tamis_dense_stride(const tamis_dense *dense) {
    if (dense->stride) return dense->stride;
    return dense->layout == TAMIS_ROW_MAJOR ? dense->cols : dense->rows;
}

/* Returns true if two views of the same type have the same elements in memory. */
TAMIS_INLINE bool tamis_dense_same(const tamis_dense *x, const tamis_dense *y) {
    return x->data == y->data && x->rows == y->rows && x->cols == y->cols && x->layout == y->layout &&
           x->batch_stride == y->batch_stride && tamis_dense_stride(x) == tamis_dense_stride(y);
}

#endif
