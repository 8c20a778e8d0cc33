/* One exchange of rows between the ranks of a plan. */
#ifndef TAMIS_GROUP_MOVE_H
#define TAMIS_GROUP_MOVE_H

#include "group/trade.h"

/* `begin` sends what the plan's stream has written, `arrive` makes the rows usable in the caller's stream, `end` says
   that the others have theirs. */
tamis_status tamis_move_begin(tamis_move *m);
tamis_status tamis_move_arrive(const tamis_move *m);
tamis_status tamis_move_end(const tamis_move *m);

/* The plan's stream comes behind the caller's; the caller's behind the plan's. Nothing on the CPU. */
tamis_status tamis_move_follow(const tamis_move *m);
tamis_status tamis_move_lead(const tamis_move *m);

#endif
