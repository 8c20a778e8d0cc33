/* Decides if several devices compute, or only the first of them. */
#ifndef TOOL_GROUP_CHOICE_H
#define TOOL_GROUP_CHOICE_H

#include "group/group.h"

/* Refuses options of groups if there is only one device, and joins the other processes of --transport mpi. Returns an
   exit code. */
int tool_group_begin(tool_group_kind *kind);

/* Opens all devices, or only the first if it is predicted to be no slower than all, unless kind->spread says always.
   With processes all are opened. */
tamis_status tool_group_open_best(const tool_group_kind *kind, const tool_problem *problem,
                                  const tamis_options *planning, tool_group *group);

/* Makes the same decision for an open group of all devices. */
tamis_status tool_group_predict(const tool_group *group, const tool_group_kind *kind, const tool_problem *problem,
                                const tamis_options *planning, tool_group_choice *choice);

#endif
