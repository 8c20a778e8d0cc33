/* The fields of owned matrices: a view and its arrays. */
#ifndef TAMIS_SPARSE_MATRIX_H
#define TAMIS_SPARSE_MATRIX_H

#include <tamis/matrix.h>

/* The view has the same arrays. Arrays that the format lacks, and the values of a pattern, are NULL. */
struct tamis_owned_sparse {
    tamis_sparse view;
    void *offsets, *row_indices, *columns, *values;
    /* frees an array in a device's memory; NULL: the arrays are from base/memory.h */
    void (*release)(const tamis_owned_sparse *matrix, void *memory);
    const void *owner; /* for `release` */
    void *device;
};

struct tamis_owned_dense {
    tamis_dense view;
    void *data;
};

/* Allocates a matrix of the format, sizes and types of `shape`, with values if with_values. The arrays are not
   initialised. */
tamis_status tamis_owned_sparse_create(const tamis_sparse *shape, bool with_values, tamis_owned_sparse **matrix);

/*
 * Takes over arrays from tamis_allocate, which must have the lengths that `shape` needs; NULL stands for an array that
 * the format lacks. A failure releases them too: the caller must not.
 */
tamis_status tamis_owned_sparse_adopt(const tamis_sparse *shape, void *offsets, void *row_indices, void *columns,
                                      void *values, tamis_owned_sparse **matrix);

/* Takes over packed `data` from tamis_allocate. A failure releases them too. */
tamis_status tamis_owned_dense_adopt(void *data, int64_t rows, int64_t cols, tamis_type type, tamis_layout layout,
                                     tamis_owned_dense **array);

/* Like tamis_owned_dense_create, but the elements are not initialised. */
tamis_status tamis_owned_dense_create_unset(int64_t rows, int64_t cols, tamis_type type, tamis_layout layout,
                                            tamis_owned_dense **array);

#endif
