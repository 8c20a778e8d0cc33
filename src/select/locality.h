/* How much of B a cache can reuse from row to row. */
#ifndef TAMIS_SELECT_LOCALITY_H
#define TAMIS_SELECT_LOCALITY_H

#include "base/backend.h"

/* Share of the column accesses in windows of `window` consecutive nonzeros that are the window's first to their column:
   about the misses of a cache that holds `window` rows of B. 1 where nothing is reused, small for banded matrices. A
   sample of windows is looked at (tens of microseconds). Needs only offsets, columns, types and sizes of the problem.
 */
double tamis_fresh_share(const tamis_problem *problem, int64_t window);

#endif
