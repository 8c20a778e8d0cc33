/*
 * A rank's rows in three ranges: an interior whose nonzeros have only own columns, and the rows before and behind it.
 * The interior is computed from the caller's B while ghost rows arrive. It writes its own rows of the output, so
 * softmax and 16-bit outputs are not affected.
 */
#ifndef TAMIS_GROUP_INTERIOR_H
#define TAMIS_GROUP_INTERIOR_H

#include <tamis/shard.h>

/* A range of rows of a shard's pattern as a pattern. */
typedef struct tamis_row_range {
    int64_t first_row, first_entry;
    int64_t first_own,
        last_own;   /* range first_own .. last_own - 1 that contains all own rows of B that its nonzeros need */
    tamis_sparse S; /* its values are the shard's, from first_entry on */
    void *arrays[2];
} tamis_row_range;

enum { TAMIS_INTERIOR, TAMIS_BEFORE, TAMIS_BEHIND, TAMIS_ROW_RANGES };

/* The interior with the most nonzeros: its first row, the row behind its last, and its number of nonzeros. */
typedef struct tamis_interior {
    int64_t first, end, nnz;
} tamis_interior;
tamis_interior tamis_interior_find(const tamis_shard_description *is);

/* Makes the ranges. The caller releases them, also after an error. */
tamis_status tamis_row_ranges_make(const tamis_shard_description *is, const tamis_interior *interior,
                                   tamis_row_range *ranges);
void tamis_row_ranges_release(tamis_row_range *ranges);

#endif
