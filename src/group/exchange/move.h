/* Moves rows between ranks, along the lists of an exchange. */
#ifndef TAMIS_GROUP_EXCHANGE_MOVE_H
#define TAMIS_GROUP_EXCHANGE_MOVE_H

#include "group/exchange/exchange.h"

/* One exchange under way. */
typedef struct tamis_move {
    tamis_row_exchange *exchange;
    void *stream; /* the caller's */
    void *send, *receive;
    int64_t send_first;                          /* bytes before the first row */
    int64_t send_gap, receive_gap;               /* gap in bytes before the rows of the ranks after this one */
    const int64_t *send_starts, *receive_starts; /* by rank, in rows */
    int64_t row_bytes;
    tamis_transfer transfer;
} tamis_move;

/* `begin` sends the rows that the exchange's stream has written, `arrive` makes the received rows usable in the
   caller's stream, `end` waits until the others have theirs. `end` must follow each successful `begin`, so that no
   rank's memory is in use afterwards. It returns the status of the steps in between, with its message, unless that is
   TAMIS_OK. */
tamis_status tamis_move_begin(tamis_move *m);
tamis_status tamis_move_arrive(const tamis_move *m);
tamis_status tamis_move_end(const tamis_move *m, tamis_status status);

/* tamis_move_follow makes the exchange's stream wait for the caller's; tamis_move_lead makes the caller's wait for the
   exchange's. No effect on the CPU. */
tamis_status tamis_move_follow(const tamis_move *m);
tamis_status tamis_move_lead(const tamis_move *m);

#endif
