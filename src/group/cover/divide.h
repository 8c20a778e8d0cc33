/* Divides a rank's nonzeros between itself and other ranks, by a minimum vertex cover for each pair of ranks. */
#ifndef TAMIS_GROUP_COVER_DIVIDE_H
#define TAMIS_GROUP_COVER_DIVIDE_H

#include <tamis/shard.h>

#include "base/status.h"

/* Bytes to send. fetched: a row of B (and D); sum: a partial row of the output (and the row of A that it needs). */
typedef struct tamis_cover_price {
    int64_t fetched, sum;
} tamis_cover_price;

/* Partial rows, and the nonzeros in them. */
typedef struct tamis_partial_rows {
    int64_t rows, entries;
} tamis_partial_rows;

/* The division of a rank's remote work: the rows of B that it fetches from others, and the nonzeros that others compute
   for it. */
typedef struct tamis_division {
    int32_t *owners;  /* owner of each ghost row */
    bool *kept;       /* true: the ghost row is fetched; false: its owner computes the nonzeros with it */
    int64_t *fetched; /* rows of B fetched, by rank */
    tamis_partial_rows *given, *taken; /* by rank: given is computed for this rank, taken is computed by it */
    int64_t all_fetched;
    tamis_partial_rows all_given, all_taken; /* sums over ranks; the caller sets all_taken */
} tamis_division;

/* Makes a division of the shard, of the scope, that fetches every ghost row. */
tamis_status tamis_division_create(const tamis_shard_description *is, tamis_division *division);

/* Computes a lower bound of the bytes of any division, in one pass over the nonzeros. */
tamis_status tamis_division_bound(const tamis_shard_description *is, const tamis_division *division,
                                  const tamis_cover_price *price, double *bytes);

/* Turns `division` into the cheapest one: a minimum weighted vertex cover of the bipartite graph of rows and ghost
   columns, for each owner. */
tamis_status tamis_division_cover(const tamis_shard_description *is, const tamis_cover_price *price,
                                  tamis_division *division);

#endif
