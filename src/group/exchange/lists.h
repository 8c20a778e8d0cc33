/* Makes an exchange: the ranks tell each other which rows they need. */
#ifndef TAMIS_GROUP_EXCHANGE_LISTS_H
#define TAMIS_GROUP_EXCHANGE_LISTS_H

#include "group/exchange/exchange.h"
#include "group/making.h"

/*
 * Makes an exchange in steps, between which the ranks share whether they have succeeded, so that none waits for one
 * that has given up:
 *   1. each checks its arguments; all compare what must be equal, and learn how many rows of B each has
 *   2. each makes its shard; counts of rows that are needed go to their owners
 *   3. each makes room for what it is asked for; the numbers of the rows follow
 * After an error the caller destroys the exchange.
 */
tamis_status tamis_row_exchange_create(tamis_row_exchange *e, tamis_group_making *m);

/* Repeats steps 2 and 3 for a part of S, and replaces their results. */
tamis_status tamis_row_exchange_list(tamis_row_exchange *exchange, const tamis_sparse *part, tamis_group_making *m);

/*
 *   4. each takes the requests of the others, and makes its local plan and its buffers
 * tamis_row_exchange_finish shares the status of step 4, and counts the ghost rows of all ranks.
 */
tamis_status tamis_row_exchange_take_requests(tamis_row_exchange *e, const tamis_group_making *m);
tamis_status tamis_row_exchange_finish(tamis_row_exchange *e, tamis_status mine);

/* Releases the lists and the buffers. */
void tamis_row_exchange_destroy(tamis_row_exchange *e);

#endif
