/*
 * A rank's rows in three ranges: an interior whose nonzeros have own columns alone, and the rows before and behind it.
 * The interior reads the caller's B in place, while the rows that the others need are on their way, and writes rows of
 * its own, so softmax and 16 bits are as without it.
 */
#ifndef TAMIS_GROUP_INTERIOR_H
#define TAMIS_GROUP_INTERIOR_H

#include <tamis/shard.h>

/* Rows of a shard's pattern as a pattern of its own. */
typedef struct tamis_row_range {
    int64_t first_row, first_entry;
    int64_t first_own, last_own; /* own rows of B that its nonzeros need: first_own .. last_own - 1 and others */
    tamis_sparse S;              /* its values are the shard's, from first_entry on */
    void *arrays[2];
} tamis_row_range;

enum { TAMIS_INTERIOR, TAMIS_BEFORE, TAMIS_BEHIND, TAMIS_ROW_RANGES };

/* Finds the interior with the most nonzeros: its first row, the row behind its last, and its nonzeros. */
typedef struct tamis_interior {
    int64_t first, end, nnz;
} tamis_interior;
tamis_interior tamis_interior_find(const tamis_shard_description *is);

/* Makes the ranges; the caller releases them, after an error too. */
tamis_status tamis_row_ranges_make(const tamis_shard_description *is, const tamis_interior *interior,
                                   tamis_row_range *ranges);
void tamis_row_ranges_release(tamis_row_range *ranges);

#endif
