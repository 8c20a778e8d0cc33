/*
 * Work on the structure of a sparse matrix, as the layers above use it: the public functions with a thread count, and
 * without the checks of the view. Views are host views that tamis_sparse_check has passed; threads <= 0 means the
 * default.
 */
#ifndef TAMIS_SPARSE_STRUCTURE_H
#define TAMIS_SPARSE_STRUCTURE_H

#include <tamis/structure.h>

/* Checks every entry of the arrays. */
tamis_status tamis_validate_threads(const tamis_sparse *S, int threads);

/*
 * The cheap part of a profile of a valid CSR, O(rows): everything that follows from the offsets is exact; bandwidth and
 * mean_span are estimated from at most 1024 rows (exact for those when their columns are sorted); sorted is false
 * and duplicates -1, for they are not looked at.
 */
void tamis_profile_rows(const tamis_sparse *S, int threads, tamis_profile *profile);

/* The rest of a profile of a valid CSR, exact, one pass over the columns: bandwidth, mean_span, sorted, duplicates.
 *profile must have been through tamis_profile_rows. */
void tamis_profile_columns(const tamis_sparse *S, int threads, tamis_profile *profile);

/*
 * Equal shares of nonzeros. Part p of `parts` has the nonzeros [begin(p), begin(p + 1)) with
 * begin(p) = p * nnz / parts; asking for part = parts gives the end: (nnz, rows).
 *
 * row_begin(p) is the row that nonzero begin(p) lies inside of, or, when begin(p) is a boundary between rows, the first
 * row that starts there, empty or not. So part p meets the rows row_begin(p) .. row_begin(p + 1), the last one only if
 * begin(p + 1) lies inside it, and an empty row belongs to exactly one part: the one with
 * row_begin(p) <= row < row_begin(p + 1).
 */
void tamis_partition_nonzeros(const void *offsets, tamis_index_type offset_type, int64_t rows, int64_t nnz, int parts,
                              int part, int64_t *nonzero_begin, int64_t *row_begin);

/* Whole rows instead: the first row whose offset is at least begin(p); a row belongs to one part, as a whole. */
int64_t tamis_partition_rows(const void *offsets, tamis_index_type offset_type, int64_t rows, int64_t nnz, int parts,
                             int part);

/* The same where offsets begin at `base`. */
int64_t tamis_partition_rows_from(const void *offsets, tamis_index_type offset_type, int64_t rows, int64_t base,
                                  int64_t nnz, int parts, int part);

/* total * part / parts without overflow. */
int64_t tamis_partition_even(int64_t total, int parts, int part);

#endif
