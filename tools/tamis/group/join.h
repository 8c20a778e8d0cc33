/* Joining the other processes of `--transport mpi`. */
#ifndef TOOL_GROUP_JOIN_H
#define TOOL_GROUP_JOIN_H

#include "cli/options.h"

/*
 * Joins the other processes if the transport is mpi, through libtamis_mpi, which is opened now. *devices, by default
 * the processor, becomes this rank's device, number rank of them, from the first again after the last. `link` must then
 * be the default. Ranks but the first print nothing. Returns an exit code.
 */
int tool_ranks_begin(int transport, int link, tool_chosen *devices);

#endif
