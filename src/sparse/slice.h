/* Slices of rows for the functions that want offsets from 0. */
#ifndef TAMIS_SPARSE_SLICE_H
#define TAMIS_SPARSE_SLICE_H

#include <tamis/structure.h>

/* The same matrix with offsets from 0: *offsets are those, to be released after use, or NULL where S's are good as they
   are. Columns and values stay the caller's. */
tamis_status tamis_slice_rebase(const tamis_sparse *S, tamis_sparse *view, void **offsets);

#endif
