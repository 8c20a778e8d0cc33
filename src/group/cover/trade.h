/*
 * Joint cover: a rank fetches some rows of B, and of its other nonzeros with columns of others the owners compute
 * partial rows of the output, which it adds to its own. Each rank then has two patterns: its rows of S with the
 * nonzeros that it keeps, and what it computes for others, a row for each partial row over its own rows of B.
 */
#ifndef TAMIS_GROUP_COVER_TRADE_H
#define TAMIS_GROUP_COVER_TRADE_H

#include "group/cover/divide.h"
#include "group/exchange/exchange.h"
#include "group/making.h"

typedef struct tamis_cover {
    bool used;
    const char *declined;  /* why it is not used; NULL: it is, or it would not be faster */
    bool counted;          /* the rows are known; else the bytes and seconds are a bound */
    int64_t fetched, sums; /* rows of B and partial rows that this rank would receive */
    double bytes, seconds; /* in all; of the slowest rank, 0: not known */
    int messages;
    int32_t kind; /* 1: S is a pattern, or its values are not read; else 2 + their type */

    /* where it is used */
    int64_t *entries;        /* the numbers of the kept nonzeros in S */
    tamis_row_exchange rows; /* rows of A come, and partial sums go back: of the pattern that is computed for others */
    tamis_row_exchange values; /* S's values at its nonzeros come */
    void *packed;              /* they have one set after another, where there are several; else values.rows has them */
    const void *own;           /* S's values, where the device reads them */
    void *own_memory;          /* on a GPU */
    int64_t sets;              /* of the values that came last */
    bool fresh;                /* what came last are S's values, which do not change on a GPU */
} tamis_cover;

/* Tells each rank what it is to compute for this one, and sets what this one computes for it. */
tamis_status tamis_cover_count(tamis_division *division, const tamis_row_exchange *exchange);

/* Sends the nonzeros that this rank does not keep to those that compute them, and makes the exchanges of the cover, and
   the lists of `exchange` anew. All ranks call it together. */
tamis_status tamis_cover_trade(tamis_cover *cover, const tamis_division *division, tamis_row_exchange *exchange,
                               tamis_group_making *m);

/* tamis_cover_make_buffers makes the buffers of rows; own_sums: own rows with sums, in front of the partial rows.
   tamis_cover_make_values makes the buffers of S's values; local: S as the exchange has it. */
tamis_status tamis_cover_make_buffers(tamis_cover *cover, const tamis_options *o, int64_t own_sums);
tamis_status tamis_cover_make_values(tamis_cover *cover, const tamis_sparse *local);
void tamis_cover_destroy(tamis_cover *cover);

#endif
