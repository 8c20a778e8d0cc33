/*
 * Work on the structure of sparse matrices: checks, profiles, conversions, transposes, partitions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAMIS_STRUCTURE_H
#define TAMIS_STRUCTURE_H

#include <tamis/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Host data only. Output arrays are the caller's, of S's index, offset and value types unless a comment says
   otherwise; they must not overlap the inputs. Pointers marked (optional) may be NULL. */

/* Checks every entry of S's arrays: TAMIS_ERROR_PATTERN with the first bad entry, its value and the bound. */
TAMIS_API tamis_status tamis_validate(const tamis_sparse *S);

/* How the rows of a matrix are filled. */
typedef struct tamis_profile {
    int64_t rows, cols, nnz;
    double mean;      /* nonzeros a row */
    double variation; /* coefficient of variation of the nonzeros a row: standard deviation / mean, 0 if nnz = 0 */
    int64_t max, min; /* longest and shortest row */
    int64_t empty_rows;
    int64_t bandwidth;  /* max |column - row| over the nonzeros */
    double mean_span;   /* mean over nonempty rows of last - first + 1 column */
    double density;     /* nnz / (rows * cols), 0 when that is 0 */
    bool sorted;        /* columns rise, or repeat, within every row (COO: entries by row, then column) */
    int64_t duplicates; /* entries equal to their predecessor in a sorted row; -1 when not sorted */
    uint64_t reserved[6];
} tamis_profile;

/* Row profile of a valid S. One pass over the arrays. */
TAMIS_API tamis_status tamis_row_profile(const tamis_sparse *S, tamis_profile *profile);

/* CSR -> COO: row_indices[nnz]. Columns and values stay S's. */
TAMIS_API tamis_status tamis_csr_to_coo(const tamis_sparse *S, void *row_indices);

/* COO (any order) -> CSR, stable within a row: offsets[rows + 1], columns[nnz], values[nnz] (optional; ones where S
   has none), permutation[nnz] (optional): entry t of the CSR is entry permutation[t] of S. */
TAMIS_API tamis_status tamis_coo_to_csr(const tamis_sparse *S, void *offsets, void *columns, void *values,
                                        int64_t *permutation);

/* Transpose of CSR or COO as CSR (cols x rows), rows of each column in the order of S: offsets[cols + 1],
   columns[nnz], values[nnz] (optional), permutation[nnz] (optional) as above. */
TAMIS_API tamis_status tamis_transpose(const tamis_sparse *S, void *offsets, void *columns, void *values,
                                       int64_t *permutation);

/* CSR with the columns of each row sorted, stable among equals: columns[nnz], values[nnz] (optional),
   permutation[nnz] (optional). Offsets stay S's. */
TAMIS_API tamis_status tamis_sort(const tamis_sparse *S, void *columns, void *values, int64_t *permutation);

/* Cuts the rows of a valid CSR S into `parts` runs of as equal numbers of nonzeros as whole rows allow: part p has the
   rows first_rows[p] .. first_rows[p + 1] - 1; first_rows has parts + 1 entries, the first 0, the last S.rows. Each
   part is a view without a copy: see tamis_sparse.offset_base and tamis_slice. */
TAMIS_API tamis_status tamis_partition(const tamis_sparse *S, int parts, int64_t *first_rows);

/* The view of rows first .. first + rows - 1 of a CSR matrix in S's own arrays. Of device data the two offsets must be
   said, since they lie on the device: begin = offsets[first], end = offsets[first + rows]; of host data they are read
   and begin and end are not looked at. OpenCL's memory has no addresses: set the slice's offsets to a copy of its own,
   and leave columns and values. */
TAMIS_API tamis_status tamis_slice(const tamis_sparse *S, int64_t first, int64_t rows, int64_t begin, int64_t end,
                                   tamis_sparse *slice);

#ifdef __cplusplus
}
#endif

#endif
