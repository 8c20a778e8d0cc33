/* Checks that the ranks of `--transport mpi` agree. */
#ifndef TOOL_GROUP_SAME_H
#define TOOL_GROUP_SAME_H

#include <tamis/types.h>

#include "cli/options.h"

/*
 * Check that all ranks have the same command, options (except devices, threads, printing and file names) and matrix.
 * The message names the first rank that differs, and the option. Collective. Return an exit code, and a status.
 */
int tool_ranks_same_options(const char *command, const tool_option *options, const void *settings);
tamis_status tool_ranks_same_matrix(const tamis_sparse *S);

#endif
