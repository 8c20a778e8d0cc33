/* Sends partial sums of rows back to the owners, which add them. */
#ifndef TAMIS_GROUP_EXCHANGE_GIVE_BACK_H
#define TAMIS_GROUP_EXCHANGE_GIVE_BACK_H

#include "group/exchange/exchange.h"

/*
 * Partial sums in exchange.partial, in the type of sums. A row holds the members of the first output, one after
 * another, then the members of the second; for a softmax each member's pair follows (see tamis_row_sum).
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

/* Lays out the partial sums, which the local plan writes. */
void tamis_give_back_lay_out(tamis_giving *g);

/* Sends partial sums to their owners and adds the received ones: own sums first, then the other ranks' in order. Waits
   for other ranks. */
tamis_status tamis_give_back(tamis_giving *g);

#endif
