/*
 * Joint cover: a rank fetches some rows of B. For its other nonzeros with ghost columns, the columns' owners compute
 * partial rows of the output, which the rank adds to its own. So each rank has two patterns: its rows of S with the
 * nonzeros that it keeps, and the partial rows that it computes for others, over its own rows of B.
 */
#ifndef TAMIS_GROUP_COVER_TRADE_H
#define TAMIS_GROUP_COVER_TRADE_H

#include "group/cover/divide.h"
#include "group/exchange/exchange.h"
#include "group/making.h"

typedef struct tamis_cover {
    bool used;
    const char *declined;  /* why it is impossible; NULL: it is used, or would not be faster */
    bool counted;          /* rows are exact; else bytes and seconds are bounds */
    int64_t fetched, sums; /* rows of B, and partial rows, that this rank would receive */
    double bytes, seconds; /* bytes: total; seconds: of the slowest rank, 0: not known */
    int messages;
    int32_t kind; /* 1: S is a pattern, or its values are not read; else 2 + their type */

    /* where it is used */
    int64_t *entries;        /* indices of the kept nonzeros in S */
    tamis_row_exchange rows; /* for the pattern computed for others: receives rows of A, and sends partial sums back */
    tamis_row_exchange values; /* receives S's values at these nonzeros */
    void *packed;     /* the sets of values, concatenated, if there are several; else they are in values.rows */
    const void *own;  /* S's values in memory that the device reads */
    void *own_memory; /* on a GPU */
    int64_t sets;     /* sets of the values received last */
    bool fresh;       /* the values received last are S's own, which do not change on a GPU */
} tamis_cover;

/* Exchanges counts: tells each rank what to compute for this one, and sets what this one computes for it. */
tamis_status tamis_cover_count(tamis_division *division, const tamis_row_exchange *exchange);

/* Collective: sends the nonzeros that this rank does not keep to the ranks that compute them, makes the cover's
   exchanges, and remakes the lists of `exchange`. */
tamis_status tamis_cover_trade(tamis_cover *cover, const tamis_division *division, tamis_row_exchange *exchange,
                               tamis_group_making *m);

/* tamis_cover_make_buffers makes the buffers of rows; own_sums: own rows with sums, in front of the partial rows.
   tamis_cover_make_values makes the buffers of S's values; local: S as the exchange has it. */
tamis_status tamis_cover_make_buffers(tamis_cover *cover, const tamis_options *o, int64_t own_sums);
tamis_status tamis_cover_make_values(tamis_cover *cover, const tamis_sparse *local);
void tamis_cover_destroy(tamis_cover *cover);

#endif
