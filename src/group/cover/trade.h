/* Setting up a joint cover: nonzeros change their ranks. */
#ifndef TAMIS_GROUP_COVER_TRADE_H
#define TAMIS_GROUP_COVER_TRADE_H

#include "group/cover/cover.h"
#include "group/cover/divide.h"

/* Tells each rank what it is to compute for this one, and sets what this one computes for it. */
tamis_status tamis_cover_count(tamis_division *division, const tamis_row_exchange *exchange);

/* Sends the nonzeros that this rank does not keep to those that compute them, and makes the exchanges of the cover, and
   the lists of `exchange` anew. All ranks call it together. */
tamis_status tamis_cover_trade(tamis_cover *cover, const tamis_division *division, tamis_row_exchange *exchange,
                               tamis_group_making *m);

/* Make the buffers, with room for sums of so many own rows in front of the partial rows; those of S's values. `local`
   is S as the exchange has it. */
tamis_status tamis_cover_make_buffers(tamis_cover *cover, const tamis_options *o, int64_t own_sums);
tamis_status tamis_cover_make_values(tamis_cover *cover, const tamis_sparse *local);
void tamis_cover_destroy(tamis_cover *cover);

#endif
