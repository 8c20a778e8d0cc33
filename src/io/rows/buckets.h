/* Converts nonzeros in any order to rows: distributes them to buckets of neighbouring rows, and frees the buckets one
   by one while it fills the rows of the result. */
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
    int shift; /* a row's bucket is row >> shift; at most 16 */
    tamis_type value_type;
    bool with_values;
    double mirror; /* not 0: off-diagonal entries are mirrored, with values times this */
    int threads;
} tamis_buckets;

void tamis_buckets_free(tamis_buckets *buckets);

/* Adds the window's entries, which must have 32-bit indices and rows below `rows`. */
tamis_status tamis_buckets_add(tamis_buckets *buckets, const tamis_entries *window, int64_t rows);

/* Fills the arrays of *list, whose sizes and types must be set. Entries of a row keep their order. The
   buckets are empty then. */
tamis_status tamis_buckets_to_rows(tamis_buckets *buckets, tamis_rows *list);

/* Moves the buckets' contents behind the entries. */
tamis_status tamis_buckets_to_entries(tamis_buckets *buckets, tamis_entries *entries);

#endif
