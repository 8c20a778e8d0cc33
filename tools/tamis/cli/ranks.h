/*
 * Processes that compute together: `--transport mpi`. Each reads the matrix and makes the same operands, and computes
 * its rows; rank 0 gets the results, compares, prints and writes. All make the same calls, so the ranks first agree on
 * every decision or failure of a single rank.
 */
#ifndef TOOL_RANKS_H
#define TOOL_RANKS_H

#include <tamis/transport.h>

/* Enters the group of processes that a transport connects; `stop` closes it and ends MPI with an exit code. */
typedef void tool_ranks_stop(tamis_transport *transport, int code);
void tool_ranks_enter(const tamis_transport *transport, tool_ranks_stop *stop);

/* Notes that all ranks have seen the failure with which this one will end. */
void tool_ranks_know(void);

/* Leaves the group, and returns the exit code. If only this rank has failed, the others fail, too, with its number. */
int tool_ranks_end(int code);

/* Returns the transport; NULL without --transport mpi: then there is one rank, number 0. */
const tamis_transport *tool_ranks_transport(void);
int tool_rank_number(void);
int tool_rank_count(void);

/* Collective: return the status of the first rank that failed, with its message; the exit code; the largest number.
   With one rank they return its value. */
tamis_status tool_ranks_agree(tamis_status status);
int tool_ranks_agree_code(int code);
double tool_ranks_most(double value);

/* Collective: gathers the bytes of each rank r in rank 0's `whole`, from starts[r] on. */
tamis_status tool_ranks_collect(const void *mine, void *whole, const int64_t *starts);

#endif
