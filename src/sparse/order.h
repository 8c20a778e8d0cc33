/* Reordering of entries: what conversion, transpose, sorting and the generators share. Views are valid host views. */
#ifndef TAMIS_SPARSE_ORDER_H
#define TAMIS_SPARSE_ORDER_H

#include "sparse/matrix.h"

/* Where reordered entries go. Arrays of S's index and value types; values and permutation may be NULL. */
typedef struct tamis_reordered {
    void *columns;        /* NULL, to group: only the rest */
    void *values;         /* ones where S has none */
    int64_t *permutation; /* entry t came from entry permutation[t] */
} tamis_reordered;

/*
 * Groups the entries of S by row (COO only) or by column, stable: a counting sort. offsets gets one entry more than
 * there are groups, of offset_type; the other index of each entry goes to columns.
 */
tamis_status tamis_group(const tamis_sparse *S, bool by_column, int threads, tamis_index_type offset_type,
                         void *offsets, const tamis_reordered *to);

/* Row indices of all entries of a CSR. */
void tamis_expand_rows(const tamis_sparse *S, int threads, void *row_indices);

/* Sorts the columns of each row of a CSR, stable. `to` may be its own arrays, both of them, without a permutation. */
tamis_status tamis_sort_rows(const tamis_sparse *S, int threads, const tamis_reordered *to);

/* Whether the columns of each row of a CSR rise, or repeat, and how many repeat. */
bool tamis_is_sorted(const tamis_sparse *S, int threads, int64_t *duplicates);

/* Merges equal columns of each sorted row of an owned CSR, in place, summing their values in double. The arrays shrink.
 */
tamis_status tamis_merge_duplicates(tamis_owned_sparse *matrix, bool last);
/* The same; the arrays keep their size. */
void tamis_merge_in_place(tamis_owned_sparse *matrix, bool last);

#endif
