/* A whole call of a group: it fetches rows, computes, and gives partial sums back. */
#ifndef TAMIS_GROUP_EXCHANGE_CALL_H
#define TAMIS_GROUP_EXCHANGE_CALL_H

#include "group/exchange/fetch.h"
#include "group/exchange/give_back.h"

/* The caller fills in of each fetch from, count and needs, of the giving to, count, factor and weighted, and what is
   below but for `execution` and `gives_back`. */
typedef struct tamis_call {
    tamis_row_exchange *exchange;
    tamis_fetch fetches[TAMIS_FETCHES]; /* the first is of `exchange`, and compute_own runs meanwhile */
    int more;                           /* fetches, each with an exchange of its own: they end before that */
    tamis_giving giving;                /* its exchange may be set; else it is `exchange` */
    tamis_status mine;                  /* what the caller has found wrong, with its message */
    const tamis_execution *given;
    tamis_execution execution;                  /* `given` with defaults filled in, from `check` on */
    bool gives_back;                            /* sums go back */
    void *context;                              /* the first argument of what follows; each may be NULL */
    tamis_status (*check)(void *context);       /* checks what the local plan gets */
    tamis_status (*compute_own)(void *context); /* computes while rows are on their way */
    tamis_status (*compute)(void *context);     /* computes when they are there */
} tamis_call;

tamis_status tamis_call_run(tamis_call *c);

#endif
