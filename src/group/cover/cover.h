/* The decision for or against a joint cover. */
#ifndef TAMIS_GROUP_COVER_COVER_H
#define TAMIS_GROUP_COVER_COVER_H

#include "group/cover/trade.h"

/* Collective: decides if the plan uses a joint cover, and sets it up. The exchange then has only the nonzeros that this
   rank keeps. Its lists must have been made. */
tamis_status tamis_cover_make(tamis_cover *cover, tamis_row_exchange *exchange, tamis_group_making *m);

#endif
