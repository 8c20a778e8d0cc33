/* The distinct columns of a pattern outside a range, in ascending order, and a map from columns to their indices. */
#ifndef TAMIS_GROUP_GHOSTS_H
#define TAMIS_GROUP_GHOSTS_H

#include "sparse/index.h"

typedef struct tamis_ghosts {
    int64_t *columns; /* ascending */
    int64_t count;
    int32_t *numbers; /* by column, if entries are not few compared with columns; else */
    struct tamis_ghost_slot
        *slots;         /* a hash table, whose memory is proportional to the ghosts rather than to the columns */
    int bits;           /* it has 1 << bits slots */
    int64_t begin, end; /* if both are NULL: all columns except these */
} tamis_ghosts;

/* Finds the columns of a valid CSR on the host that are not in begin .. end - 1. */
tamis_status tamis_ghosts_find(const tamis_sparse *S, int64_t begin, int64_t end, tamis_ghosts *ghosts);

/* Makes all of `cols` columns ghosts, except begin .. end - 1. */
tamis_status tamis_ghosts_all(int64_t cols, int64_t begin, int64_t end, tamis_ghosts *ghosts);
void tamis_ghosts_release(tamis_ghosts *ghosts);

/* Returns a ghost column's index in the list. */
int64_t tamis_ghosts_number(const tamis_ghosts *ghosts, int64_t column);

#endif
