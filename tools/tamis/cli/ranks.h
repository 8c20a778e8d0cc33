/*
 * Processes that compute together: `--transport mpi`. Each reads the matrix and makes the same operands, and computes
 * its rows; rank 0 gets the results, compares, prints and writes. All of them go through the same calls, so whatever
 * one rank alone decides or suffers is agreed on first.
 */
#ifndef TOOL_RANKS_H
#define TOOL_RANKS_H

#include <tamis/transport.h>

/* Enters the group of processes that a transport connects; `stop` closes it and ends MPI with an exit code. */
typedef void tool_ranks_stop(tamis_transport *transport, int code);
void tool_ranks_enter(const tamis_transport *transport, tool_ranks_stop *stop);

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
