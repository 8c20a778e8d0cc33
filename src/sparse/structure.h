/*
 * Functions on the structure of a sparse matrix, for the layers above: variants of the public functions with a number
 * of threads and without checks of the view. Views are host views that have passed tamis_sparse_check. threads <= 0
 * means the default.
 */
#ifndef TAMIS_SPARSE_STRUCTURE_H
#define TAMIS_SPARSE_STRUCTURE_H

#include <tamis/structure.h>

/* Makes a view of the same matrix with offsets from 0. *offsets: the new offsets, which the caller releases after use,
   or NULL if S's own begin at 0. Columns and values are not copied. */
tamis_status tamis_slice_rebase(const tamis_sparse *S, tamis_sparse *view, void **offsets);

/* Checks every entry of the arrays. */
tamis_status tamis_validate_threads(const tamis_sparse *S, int threads);

/*
 * Computes the cheap part of a profile of a valid CSR, in O(rows). Statistics of the offsets are exact. bandwidth and
 * mean_span are estimates from at most 1024 rows. sorted is false and duplicates -1: unknown.
 */
void tamis_profile_rows(const tamis_sparse *S, int threads, tamis_profile *profile);
/* The same without bandwidth and mean_span, which are 0. */
void tamis_profile_lengths(const tamis_sparse *S, int threads, tamis_profile *profile);

/* Adds empty rows, which S did not include, to a profile; bandwidth and mean_span stay. */
void tamis_profile_add_empty(tamis_profile *profile, int64_t rows);

/* Computes the rest of a profile of a valid CSR, exactly, in one pass over the columns: bandwidth, mean_span, sorted
   and duplicates. tamis_profile_rows must have set *profile before. */
void tamis_profile_columns(const tamis_sparse *S, int threads, tamis_profile *profile);

/*
 * Equal shares of nonzeros. Part p of `parts` has the nonzeros [begin(p), begin(p + 1)) with
 * begin(p) = p * nnz / parts; asking for part = parts gives the end: (nnz, rows).
 *
 * row_begin(p) is the row inside which nonzero begin(p) lies. If begin(p) is a boundary between rows, it is the first
 * row that starts there, empty or not. So part p meets the rows row_begin(p) .. row_begin(p + 1), the last one only if
 * begin(p + 1) lies inside it. An empty row belongs to exactly one part, that with
 * row_begin(p) <= row < row_begin(p + 1).
 */
void tamis_partition_nonzeros(const void *offsets, tamis_index_type offset_type, int64_t rows, int64_t nnz, int parts,
                              int part, int64_t *nonzero_begin, int64_t *row_begin);

/* For parts of whole rows: returns the first row whose offset is at least begin(p). */
int64_t tamis_partition_rows(const void *offsets, tamis_index_type offset_type, int64_t rows, int64_t nnz, int parts,
                             int part);

/* Returns the same for offsets that begin at `base`. */
int64_t tamis_partition_rows_from(const void *offsets, tamis_index_type offset_type, int64_t rows, int64_t base,
                                  int64_t nnz, int parts, int part);

/* Returns total * part / parts without overflow. */
int64_t tamis_partition_even(int64_t total, int parts, int part);

/* Loops over the items i of share `share` of `total`. */
#define TAMIS_EACH_OF_SHARE(i, total, shares, share)                                                                   \
    for (int64_t i = tamis_partition_even(total, shares, share),                                                       \
                 i##_end = tamis_partition_even(total, shares, (share) + 1);                                           \
         i < i##_end; i++)

#endif
