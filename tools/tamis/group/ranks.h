/*
 * Processes that compute together: `--transport mpi`. Each reads the matrix and makes the same operands, and computes
 * its rows; rank 0 gets the results, compares, prints and writes. All of them go through the same calls, so whatever
 * one rank alone decides or suffers is agreed on first.
 */
#ifndef TOOL_RANKS_H
#define TOOL_RANKS_H

#include <tamis/transport.h>

#include "cli/options.h"

/*
 * Joins the other processes if the transport is mpi, through libtamis_mpi, which is opened now. *devices, by default
 * the processor, becomes this rank's device, number rank of them, from the first again after the last. `link` must then
 * be the default. Ranks but the first print nothing. Returns an exit code.
 */
int tool_ranks_begin(int transport, int link, tool_chosen *devices);

/*
 * Whether all ranks have the same command, options (but for devices, threads, what is printed and names of files) and
 * matrix. The message names the first rank that has not, and the option. All ranks call it; an exit code, a status.
 */
int tool_ranks_same_options(const char *command, const tool_option *options, const void *settings);
tamis_status tool_ranks_same_matrix(const tamis_sparse *S);

/* All ranks have seen the failure that this one is about to end with. */
void tool_ranks_know(void);

/* Leaves them, and returns the exit code. If this rank alone has failed, the others fail with its number. */
int tool_ranks_end(int code);

/* The transport, NULL without --transport mpi; then there is one rank, number 0. */
const tamis_transport *tool_ranks_transport(void);
int tool_rank_number(void);
int tool_rank_count(void);

/* The status of the first rank that has failed, with its message; the exit code; the largest number. All ranks call it.
   Without others it is what this one has. */
tamis_status tool_ranks_agree(tamis_status status);
int tool_ranks_agree_code(int code);
double tool_ranks_most(double value);

/* A place of its own in rank 0's `whole` for the bytes of each rank: from starts[r] on. All ranks call it. */
tamis_status tool_ranks_collect(const void *mine, void *whole, const int64_t *starts);

#endif
