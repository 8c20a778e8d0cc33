/* How often the rows of S reuse rows of B. */
#ifndef TAMIS_SPARSE_LOCALITY_H
#define TAMIS_SPARSE_LOCALITY_H

#include <tamis/tamis.h>

enum { TAMIS_LOCALITY_WINDOWS = 8, TAMIS_LOCALITY_MOST = 2048 };

/* Returns the share of columns that are new in their window of `window` consecutive nonzeros: about the share of misses
   of a cache that holds `window` rows of B. It is 1 if no column repeats, and small for banded matrices. It reads a
   sample of windows, which takes tens of microseconds. */
double tamis_fresh_share(const void *columns, tamis_index_type type, int64_t nnz, int64_t window);

/* Finds the nonzeros of window w, at most TAMIS_LOCALITY_MOST of them. Returns false if there is no such window. */
bool tamis_fresh_window(int64_t nnz, int64_t window, int w, int64_t *begin, int64_t *end);

/* Counts the different values among at most TAMIS_LOCALITY_MOST columns. */
int64_t tamis_fresh_count(const void *columns, tamis_index_type type, int64_t count);

#endif
