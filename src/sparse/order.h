/* Reordering of entries, for conversion, transpose, sorting and the generators. Views are valid host views. */
#ifndef TAMIS_SPARSE_ORDER_H
#define TAMIS_SPARSE_ORDER_H

#include "sparse/matrix.h"

/* The arrays that get the reordered entries, of S's index and value types. Values and permutation may be NULL. */
typedef struct tamis_reordered {
    void *columns;        /* tamis_group takes NULL too */
    void *values;         /* ones if S has none */
    int64_t *permutation; /* entry t came from entry permutation[t] */
} tamis_reordered;

/*
 * Groups the entries of S by row (COO only) or by column, in a stable counting sort. `offsets`, of offset_type, gets
 * one entry more than there are groups; `columns` gets the other index of each entry.
 */
tamis_status tamis_group(const tamis_sparse *S, bool by_column, int threads, tamis_index_type offset_type,
                         void *offsets, const tamis_reordered *to);

/* Whether entries are so few that the groups which have any are better listed than all of them counted. */
static inline bool tamis_groups_are_rare(int64_t groups, int64_t nnz) { return groups / 16 - 256 > nnz; }

/* Groups a COO the same way, in time and memory by its entries: groups without entries are left out. The i-th group is
   listed[i]. `listed` and `offsets` have room for nnz + 1, *count gets the number of groups. */
tamis_status tamis_group_listed(const tamis_sparse *S, bool by_column, tamis_index_type offset_type, int64_t *listed,
                                int64_t *count, void *offsets, const tamis_reordered *to);

/* Writes the row indices of all entries of a CSR. */
void tamis_expand_rows(const tamis_sparse *S, int threads, void *row_indices);

/* Sorts the columns of each row of a CSR, stably. `to` may have S's own arrays, both of them, if there is no
   permutation. */
tamis_status tamis_sort_rows(const tamis_sparse *S, int threads, const tamis_reordered *to);

/* Whether the indices begin .. end - 1 of an array rise or repeat. */
bool tamis_indices_rise(const void *indices, tamis_index_type type, int64_t begin, int64_t end);

/* Whether the columns of each row of a CSR rise or repeat; *duplicates gets the number of repeats. */
bool tamis_is_sorted(const tamis_sparse *S, int threads, int64_t *duplicates);

/* Merges equal columns of each sorted row of an owned CSR: their values are summed in double, or the last one stays.
   The arrays shrink. */
tamis_status tamis_merge_duplicates(tamis_owned_sparse *matrix, bool last);
/* Merges the same way, but the arrays keep their size. */
void tamis_merge_in_place(tamis_owned_sparse *matrix, bool last);

#endif
