/* How much of B a cache can reuse from row to row. */
#ifndef TAMIS_SPARSE_LOCALITY_H
#define TAMIS_SPARSE_LOCALITY_H

#include <tamis/tamis.h>

enum { TAMIS_LOCALITY_WINDOWS = 8, TAMIS_LOCALITY_MOST = 2048 };

/* Share of the column accesses in windows of `window` consecutive nonzeros that are the window's first to their column:
   about the misses of a cache that holds `window` rows of B. 1 where nothing is reused, small for banded matrices. A
   sample of windows is looked at (tens of microseconds). */
double tamis_fresh_share(const void *columns, tamis_index_type type, int64_t nnz, int64_t window);

/* Where window w of TAMIS_LOCALITY_WINDOWS lies, at most TAMIS_LOCALITY_MOST nonzeros; false: there are no more. */
bool tamis_fresh_window(int64_t nnz, int64_t window, int w, int64_t *begin, int64_t *end);

#endif
