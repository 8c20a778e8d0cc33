/* Deciding whether the ranks of a plan cover jointly. */
#ifndef TAMIS_GROUP_COVER_COVER_H
#define TAMIS_GROUP_COVER_COVER_H

#include "group/cover/trade.h"

/* Decides with the other ranks whether the plan covers jointly, and sets that up: the exchange then has the nonzeros
   that this rank keeps. After its lists have been made. */
tamis_status tamis_cover_make(tamis_cover *cover, tamis_row_exchange *exchange, tamis_group_making *m);

#endif
