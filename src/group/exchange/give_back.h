/* What goes back to the owners: partial sums of rows, which the owners add. */
#ifndef TAMIS_GROUP_EXCHANGE_GIVE_BACK_H
#define TAMIS_GROUP_EXCHANGE_GIVE_BACK_H

#include "group/exchange/exchange.h"

/*
 * Partial sums as exchange.partial has them, in the type that sums are kept in. A row
 * holds the members of the first output, one after another, then those of the second, then of a softmax the pair of
 * each member (see tamis_row_sum).
 */
typedef struct tamis_giving {
    tamis_row_exchange *exchange;
    void *stream; /* the caller's */
    tamis_shared_rows to[TAMIS_EXCHANGED];
    tamis_dense held[TAMIS_EXCHANGED]; /* partial sums */
    int count;
    double factor, keep;
    bool weighted;      /* by the pairs of a softmax */
    void *softmax_rows; /* NULL: not requested */
} tamis_giving;

/* Lays out the partial sums: where the local plan writes them. */
void tamis_give_back_lay_out(tamis_giving *g);

/* Sends partial sums to their owners and adds what comes: own sums first, then those of rank 0, of rank 1, ... Waits
   for other ranks. */
tamis_status tamis_give_back(tamis_giving *g);

#endif
