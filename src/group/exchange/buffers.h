/* The buffers of an exchange, in the memory that the rank's device computes on. */
#ifndef TAMIS_GROUP_EXCHANGE_BUFFERS_H
#define TAMIS_GROUP_EXCHANGE_BUFFERS_H

#include "group/exchange/exchange.h"

/* Sets row_bytes and back_bytes: so many elements that a row of one member of the batch has at most, of what is fetched
   and of what goes back. */
void tamis_row_exchange_set_widths(tamis_row_exchange *e, int64_t fetched, int64_t back);

/* Makes the buffers, for widths, in_place and gives; with `pairs` also those of a softmax. */
tamis_status tamis_row_exchange_make_buffers(tamis_row_exchange *e, bool pairs);
void tamis_row_exchange_release_buffers(tamis_row_exchange *e);

#endif
