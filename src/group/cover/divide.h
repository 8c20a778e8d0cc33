/* Which of a rank's nonzeros others compute: a cover for each pair of ranks. */
#ifndef TAMIS_GROUP_COVER_DIVIDE_H
#define TAMIS_GROUP_COVER_DIVIDE_H

#include <tamis/shard.h>

#include "base/status.h"

/* The bytes that a row of B (and D) costs, and a partial row of the output (with the row of A that it needs). */
typedef struct tamis_cover_price {
    int64_t fetched, sum;
} tamis_cover_price;

/* Partial rows, and the nonzeros in them. */
typedef struct tamis_partial_rows {
    int64_t rows, entries;
} tamis_partial_rows;

/* What a rank fetches, and what others compute for it. */
typedef struct tamis_division {
    int32_t *owners;                   /* of each ghost row */
    bool *kept;                        /* the ghost row is fetched; else its owner computes the nonzeros with it */
    int64_t *fetched;                  /* rows of B, by rank */
    tamis_partial_rows *given, *taken; /* by rank: what it computes for this one; what this one computes for it */
    int64_t all_fetched;
    tamis_partial_rows all_given, all_taken; /* of all ranks; the caller sets what is taken */
} tamis_division;

/* Makes a division of the shard that fetches every ghost row. The caller releases it, after an error too. */
tamis_status tamis_division_create(const tamis_shard_description *is, tamis_division *division);
void tamis_division_release(tamis_division *division);

/* The fewest bytes that any division may have, by a look at each nonzero. */
tamis_status tamis_division_bound(const tamis_shard_description *is, const tamis_division *division,
                                  const tamis_cover_price *price, double *bytes);

/* Makes it the cheapest division: the nonzeros of a row that one rank owns, and those of a column, are covered once. */
tamis_status tamis_division_cover(const tamis_shard_description *is, const tamis_cover_price *price,
                                  tamis_division *division);

#endif
