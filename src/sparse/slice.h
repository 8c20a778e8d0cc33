/* Slices of rows for functions that need offsets from 0. */
#ifndef TAMIS_SPARSE_SLICE_H
#define TAMIS_SPARSE_SLICE_H

#include <tamis/structure.h>

/* Makes a view of the same matrix with offsets from 0. *offsets: the new offsets, which the caller releases after use,
   or NULL if S's own begin at 0. Columns and values are not copied. */
tamis_status tamis_slice_rebase(const tamis_sparse *S, tamis_sparse *view, void **offsets);

#endif
