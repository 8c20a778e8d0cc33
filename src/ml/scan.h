/* The best columns of one row. */
#ifndef TAMIS_ML_SCAN_H
#define TAMIS_ML_SCAN_H

#include <stdint.h>
#include <tamis/dense.h>

#include "ml/best.h"

/* Fills `best`, which is empty, from the products of one packed row with the packed lines of B, all on the host,
   without the columns in `seen`, which are sorted. `best` is a heap then. */
tamis_status ml_scan(const void *row, const tamis_dense *B, const int64_t *seen, int64_t seen_count,
                     const bool *allowed, int threads, ml_best *best);

#endif
