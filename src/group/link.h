/* How long it takes to move bytes between the ranks of a group. */
#ifndef TAMIS_GROUP_LINK_H
#define TAMIS_GROUP_LINK_H

#include "group/rank.h"

/* Seconds to receive so many bytes in so many steps, each of which waits for the one before; 0: not known. */
double tamis_group_seconds(const tamis_group *group, double bytes, int64_t steps);

#endif
