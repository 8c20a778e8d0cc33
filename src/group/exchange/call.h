/* A whole call of a group: it fetches rows, computes, and gives partial sums back. */
#ifndef TAMIS_GROUP_EXCHANGE_CALL_H
#define TAMIS_GROUP_EXCHANGE_CALL_H

#include "group/exchange/fetch.h"
#include "group/exchange/give_back.h"

/* The caller fills in from, count and needs of each fetch; to, count, factor and weighted of the giving; and the fields
   below except `execution` and `gives_back`. */
typedef struct tamis_call {
    tamis_row_exchange *exchange;
    tamis_fetch fetches[TAMIS_FETCHES]; /* the first uses `exchange`, and overlaps compute_own */
    int more;            /* number of further fetches, with their own exchanges, which end before the first */
    tamis_giving giving; /* its exchange may be set; default: `exchange` */
    tamis_status mine;   /* the caller's error so far, with its message */
    const tamis_execution *given;
    tamis_execution execution;                  /* `given` with defaults filled in; set before `check` */
    bool gives_back;                            /* sums go back */
    void *context;                              /* first argument of the callbacks, each of which may be NULL */
    tamis_status (*check)(void *context);       /* checks the operands of the local plan */
    tamis_status (*compute_own)(void *context); /* computes while rows arrive */
    tamis_status (*compute)(void *context);     /* computes when they have arrived */
} tamis_call;

tamis_status tamis_call_run(tamis_call *c);

#endif
