/* Reordering of entries, for conversion, transpose, sorting and the generators. Views are valid host views. */
#ifndef TAMIS_SPARSE_ORDER_H
#define TAMIS_SPARSE_ORDER_H

#include "sparse/matrix.h"

/* Output arrays for reordered entries, with S's index and value types. Values and permutation may be NULL. */
typedef struct tamis_reordered {
    void *columns;        /* may be NULL for tamis_group */
    void *values;         /* ones if S has none */
    int64_t *permutation; /* entry t came from entry permutation[t] */
} tamis_reordered;

/*
 * Groups the entries of S by row (COO only) or by column, by a stable counting sort. `offsets`, of offset_type, has one
 * entry more than there are groups; `columns` receives the other index of each entry.
 */
tamis_status tamis_group(const tamis_sparse *S, bool by_column, int threads, tamis_index_type offset_type,
                         void *offsets, const tamis_reordered *to);

/* Returns true if so few groups have entries that listing these groups is faster than counting all groups. */
static inline bool tamis_groups_are_rare(int64_t groups, int64_t nnz) { return groups / 16 - 256 > nnz; }

/* Groups a COO the same way, leaving out groups without entries, in time and memory proportional to its entries. The
   i-th group is listed[i]. `listed` and `offsets` have room for nnz + 1; *count is set to the number of groups. */
tamis_status tamis_group_listed(const tamis_sparse *S, bool by_column, tamis_index_type offset_type, int64_t *listed,
                                int64_t *count, void *offsets, const tamis_reordered *to);

/* Writes the row indices of all entries of a CSR. */
void tamis_expand_rows(const tamis_sparse *S, int threads, void *row_indices);

/* Stably sorts the columns of each row of a CSR. Without a permutation, `to` may have both of S's own arrays. */
tamis_status tamis_sort_rows(const tamis_sparse *S, int threads, const tamis_reordered *to);

/* Radix sort of nonnegative numbers up to `most`. The result is in *sorted; the other array is scratch. */
void tamis_sort_numbers(int64_t **sorted, int64_t *spare, int64_t count, int64_t most);

/* Returns true if the indices begin .. end - 1 of an array are sorted; they may repeat. */
bool tamis_indices_rise(const void *indices, tamis_index_type type, int64_t begin, int64_t end);

/* Returns true if the columns of each row of a CSR are sorted; they may repeat, *duplicates times. */
bool tamis_is_sorted(const tamis_sparse *S, int threads, int64_t *duplicates);

/* Merges equal columns in each sorted row of an owned CSR: sums their values in double, or keeps the last. Shrinks the
   arrays. */
tamis_status tamis_merge_duplicates(tamis_owned_sparse *matrix, bool last);
/* Merges the same way, but the arrays keep their size. */
void tamis_merge_in_place(tamis_owned_sparse *matrix, bool last);

#endif
