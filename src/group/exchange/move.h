/* Moving rows between ranks, along the lists of an exchange. */
#ifndef TAMIS_GROUP_EXCHANGE_MOVE_H
#define TAMIS_GROUP_EXCHANGE_MOVE_H

#include "group/exchange/exchange.h"

/* One exchange under way. */
typedef struct tamis_move {
    tamis_row_exchange *exchange;
    void *stream; /* the caller's */
    void *send, *receive;
    int64_t send_first;                          /* bytes before the first row */
    int64_t send_gap, receive_gap;               /* bytes before the rows of the ranks behind this one */
    const int64_t *send_starts, *receive_starts; /* by rank, in rows */
    int64_t row_bytes;
    tamis_transfer transfer;
} tamis_move;

/* `begin` sends what the exchange's stream has written, `arrive` makes the rows usable in the caller's stream, `end`
   says that the others have theirs. `end` follows each `begin` that has succeeded, so that no rank's memory is in use
   afterwards; it returns the status of what came in between, with its message, unless that is TAMIS_OK. */
tamis_status tamis_move_begin(tamis_move *m);
tamis_status tamis_move_arrive(const tamis_move *m);
tamis_status tamis_move_end(const tamis_move *m, tamis_status status);

/* Puts the exchange's stream behind the caller's; the caller's behind the exchange's. Nothing on the CPU. */
tamis_status tamis_move_follow(const tamis_move *m);
tamis_status tamis_move_lead(const tamis_move *m);

#endif
