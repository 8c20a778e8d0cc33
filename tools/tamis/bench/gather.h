/* Reads the rows of B (and D) that a product reads, in the same order, without arithmetic. Even a perfect kernel
   without tiles takes this time. */
#ifndef TOOL_GATHER_H
#define TOOL_GATHER_H

#include "cli/problem.h"

/* Reads the rows once with `threads` threads, which share the nonzeros equally. B and D must be row-major. */
void tool_gather(const tool_problem *problem, int threads);

/* Flushes the operands from the caches by reading memory larger than the caches. The first call allocates it. bytes:
   size of the last cache level. */
void tool_flush_caches(int64_t bytes, int threads);

#endif
