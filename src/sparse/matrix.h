/* Owned matrices from inside: a view and the arrays behind it. */
#ifndef TAMIS_SPARSE_MATRIX_H
#define TAMIS_SPARSE_MATRIX_H

#include <tamis/matrix.h>

/* The view points at the same arrays. Those that the format has not, and values of a pattern, are NULL. */
struct tamis_owned_sparse {
    tamis_sparse view;
    void *offsets, *row_indices, *columns, *values;
    /* of arrays in a device's memory: how each goes back there; NULL: they are from base/memory.h */
    void (*release)(const tamis_owned_sparse *matrix, void *memory);
    const void *owner; /* what `release` has to know */
    void *device;
};

struct tamis_owned_dense {
    tamis_dense view;
    void *data;
};

/* Arrays for `shape` (its format, sizes and types count; its array pointers do not), not initialised: offsets or
   row_indices, columns, and values when with_values. */
tamis_status tamis_owned_sparse_create(const tamis_sparse *shape, bool with_values, tamis_owned_sparse **matrix);

/*
 * Takes over arrays that came from tamis_allocate; pass NULL for those that the format has not. They must have the
 * lengths that `shape` says. On failure the arrays are released too: either way the caller has no longer to do so.
 */
tamis_status tamis_owned_sparse_adopt(const tamis_sparse *shape, void *offsets, void *row_indices, void *columns,
                                      void *values, tamis_owned_sparse **matrix);

#endif
