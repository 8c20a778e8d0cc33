/* One operation on several devices of this process: a rank of a group, and a thread, for each. */
#ifndef TOOL_GANG_H
#define TOOL_GANG_H

#include <tamis/group.h>

#include "options.h"
#include "problem.h"

typedef struct tool_rank tool_rank;

typedef struct tool_gang {
    int ranks;
    tool_rank *at;
} tool_gang;

/* Opens the devices and makes the ranks' plans: rows of S with equal nonzeros; rows of B like those of a square S, else
   equal numbers. Operands of the problem are on the host. After an error too it is to be closed. */
tamis_status tool_gang_open(const tool_chosen *devices, const tool_problem *problem, const tamis_options *planning,
                            tool_gang *gang);
void tool_gang_close(tool_gang *gang);

/* One execution; the seconds of the rank that takes longest. */
tamis_status tool_gang_execute(const tool_gang *gang, const tool_problem *problem, double *seconds);

/* Opens, executes once, and closes. */
tamis_status tool_gang_once(const tool_chosen *devices, const tool_problem *problem, const tamis_options *planning);

/* What the first rank computes, and what all of them exchange. */
tamis_status tool_gang_describe(const tool_gang *gang, tamis_plan_report *local, tamis_group_report *group);

#endif
