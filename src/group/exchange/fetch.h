/* A fetch: rows of one or two matrices come from their owners and become rows of X. */
#ifndef TAMIS_GROUP_EXCHANGE_FETCH_H
#define TAMIS_GROUP_EXCHANGE_FETCH_H

#include "group/exchange/move.h"

typedef struct tamis_fetch {
    tamis_row_exchange *exchange;
    void *stream; /* the caller's */
    tamis_shared_rows from[TAMIS_EXCHANGED];
    tamis_dense held[TAMIS_EXCHANGED]; /* in X */
    int count;
    bool second_is_first;             /* options.d_is_b promises it */
    int64_t members[TAMIS_EXCHANGED]; /* members exchanged; 0 for the second: it is the first */
    int64_t row_bytes;                /* of X */
    bool needs;                       /* some rank reads X */
    bool exchanges;                   /* X does not have these rows yet */
    tamis_move move;
} tamis_fetch;

/* Arguments of a call that must be equal on all ranks. */
typedef struct tamis_agreed {
    double alpha, beta;
    uint64_t requested; /* bit mask of the outputs whose sums go back */
} tamis_agreed;

/* Lays out X for these numbers of members, and sets the local plan's operands to it. */
void tamis_fetch_lay_out(tamis_fetch *f, int64_t first_members, int64_t second_members);

/*
 * Agrees with the other ranks on what is exchanged, and lays it out. mine: this rank's error so far, with its message.
 * generation: as in tamis_execution, for the first fetch; the rows of other fetches always count as changed. f->needs:
 * this rank reads X; the ranks exchange if one of them does.
 */
enum { TAMIS_FETCHES = 3 };
tamis_status tamis_fetch_agree(tamis_fetch *fetches, int count, tamis_status mine, uint64_t generation,
                               const tamis_agreed *agreed);

/* Packs the rows that others need and sends them; copies own rows in front of the ghost rows. After success the caller
   must call tamis_move_arrive and tamis_move_end of f->move. */
tamis_status tamis_fetch_begin(tamis_fetch *f);

/* Records, after a successful call, that X has the rows of this generation. */
void tamis_fetch_keep(const tamis_fetch *f, uint64_t generation);

#endif
