/* Checks of views that read no array: cheap enough for every call. Messages name the argument, field and value. */
#ifndef TAMIS_SPARSE_CHECK_H
#define TAMIS_SPARSE_CHECK_H

#include "base/private.h"
#include "sparse/index.h"

/*
 * Enumerations valid, sizes not negative, no entries where there are no rows or columns, sizes that the index and
 * offset types and the address space can hold, arrays present and aligned where they have entries (a CSR always has
 * at least offsets[0]). The location may be either. `name` is the argument's, "S".
 */
tamis_status tamis_sparse_check(const tamis_sparse *S, const char *name);

/* The same, and the arrays must be on the host. */
TAMIS_PRIVATE_API tamis_status tamis_sparse_check_host(const tamis_sparse *S, const char *name);

/*
 * A host matrix of rows x cols of that type: dimensions, type, stride, bytes that the address space holds, data present
 * and aligned where there are elements.
 */
TAMIS_PRIVATE_API tamis_status tamis_dense_check(const tamis_dense *dense, const char *name, int64_t rows, int64_t cols,
                                                 tamis_type type);

/* The same for data on the host or on a device. */
tamis_status tamis_dense_check_at(const tamis_dense *dense, const char *name, int64_t rows, int64_t cols,
                                  tamis_type type, tamis_location location);

/* A host matrix without a wish for dimensions and type. */
tamis_status tamis_dense_check_any(const tamis_dense *dense, const char *name);

/* The distance between rows (column-major: columns): a stride of 0 means packed. */
TAMIS_INLINE int64_t tamis_dense_stride(const tamis_dense *dense) {
    if (dense->stride) return dense->stride;
    return dense->layout == TAMIS_ROW_MAJOR ? dense->cols : dense->rows;
}

/* Whether two views of the same type are of the same elements: here too a stride of 0 means packed. */
TAMIS_INLINE bool tamis_dense_same(const tamis_dense *x, const tamis_dense *y) {
    return x->data == y->data && x->rows == y->rows && x->cols == y->cols && x->layout == y->layout &&
           x->batch_stride == y->batch_stride && tamis_dense_stride(x) == tamis_dense_stride(y);
}

#endif
