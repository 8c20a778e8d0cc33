/* Nonzeros in any order on their way to rows: dealt out to buckets of neighbouring rows, whose memory goes back bucket
   by bucket while the rows of the result fill. */
#ifndef TAMIS_IO_BUCKETS_H
#define TAMIS_IO_BUCKETS_H

#include "io/rows/entries.h"
#include "io/rows/rows.h"

typedef struct tamis_bucket_block tamis_bucket_block;

typedef struct tamis_bucket {
    tamis_bucket_block *first, *last;
    int64_t count;
} tamis_bucket;

typedef struct tamis_buckets {
    tamis_bucket *list; /* `room` of them */
    int64_t room;
    int shift; /* bucket `row >> shift`; 16 at most */
    tamis_type value_type;
    bool with_values;
    double mirror; /* not 0: entries off the diagonal also the other way round, their values times this */
    int threads;
} tamis_buckets;

void tamis_buckets_free(tamis_buckets *buckets);

/* Adds the window's entries, whose indices are of 32 bits, and whose rows are below `rows`. */
tamis_status tamis_buckets_add(tamis_buckets *buckets, const tamis_entries *window, int64_t rows);

/* Makes the arrays of *list, whose sizes and types are set. Entries of a row stay in the order in which they came.
   Empties the buckets, also on failure. */
tamis_status tamis_buckets_to_rows(tamis_buckets *buckets, tamis_rows *list);

/* Appends them as entries to those that are there. */
tamis_status tamis_buckets_to_entries(tamis_buckets *buckets, tamis_entries *entries);

#endif
