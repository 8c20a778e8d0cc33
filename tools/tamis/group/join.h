/* Joins the other processes of `--transport mpi`. */
#ifndef TOOL_GROUP_JOIN_H
#define TOOL_GROUP_JOIN_H

#include <tamis/types.h>

#include "cli/options.h"

/*
 * Joins the other processes if the transport is mpi, through libtamis_mpi, which is opened now. Sets *devices (default:
 * the CPU) to this rank's device, assigned round-robin. `link` must then be the default. Only rank 0 prints. Returns an
 * exit code.
 */
int tool_ranks_begin(int transport, int link, tool_chosen *devices);

/* Checks that all ranks have the same matrix. The message names the first rank that differs. Collective. */
tamis_status tool_ranks_same_matrix(const tamis_sparse *S);

#endif
