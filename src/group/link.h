/* Cost model of moving bytes between the ranks of a group. */
#ifndef TAMIS_GROUP_LINK_H
#define TAMIS_GROUP_LINK_H

#include "group/rank.h"

/* Returns the seconds to receive `bytes` bytes in `steps` steps, one after another; 0: not known. */
double tamis_group_seconds(const tamis_group *group, double bytes, int64_t steps);

#endif
