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
/* Offers the rows of B whose first `length` numbers have the largest cosine with a unit vector, with the square of the
   cosine and its sign; `left_out` is no candidate. */
tamis_status ml_scan_directions(const void *unit, const tamis_dense *B, int64_t length, int64_t left_out, int threads,
                                ml_best *best);

#endif
