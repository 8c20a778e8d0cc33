/* What the ranks of `--transport mpi` must have in common. */
#ifndef TOOL_GROUP_SAME_H
#define TOOL_GROUP_SAME_H

#include <tamis/types.h>

#include "cli/options.h"

/*
 * Whether all ranks have the same command, options (but for devices, threads, what is printed and names of files) and
 * matrix. The message names the first rank that has not, and the option. All ranks call it; an exit code, a status.
 */
int tool_ranks_same_options(const char *command, const tool_option *options, const void *settings);
tamis_status tool_ranks_same_matrix(const tamis_sparse *S);

#endif
