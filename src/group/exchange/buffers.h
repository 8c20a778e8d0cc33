/* The buffers of an exchange, in the memory that the rank's device computes on. */
#ifndef TAMIS_GROUP_EXCHANGE_BUFFERS_H
#define TAMIS_GROUP_EXCHANGE_BUFFERS_H

#include "group/exchange/exchange.h"

/* Sets row_bytes and back_bytes. fetched, back: the most elements of a row, per member of the batch, in each
   direction. */
void tamis_row_exchange_set_widths(tamis_row_exchange *e, int64_t fetched, int64_t back);

/* Allocates the buffers, by the widths, in_place and gives; with `pairs` also the buffers of a softmax. */
tamis_status tamis_row_exchange_make_buffers(tamis_row_exchange *e, bool pairs);
void tamis_row_exchange_release_buffers(tamis_row_exchange *e);

#endif
