/* The best columns of one row. */
#ifndef TAMIS_ML_SCAN_H
#define TAMIS_ML_SCAN_H

#include <stdint.h>
#include <tamis/dense.h>

#include "ml/serve/best.h"

/* Arguments of a scan: one packed row times the packed lines of B, on the CPU. */
typedef struct ml_scan {
    tamis_device *device;
    const void *row;
    const tamis_dense *B;
    const void *scales;  /* one per line, of B's type, multiplies its product; NULL: none */
    const void *terms;   /* the same, added to it */
    const int64_t *seen; /* sorted columns that are left out */
    int64_t seen_count;
    const bool *allowed; /* columns, or NULL: all */
    int threads;
} ml_scan;

/* Fills `best`, which must be empty, with a list, best first. */
tamis_status ml_scan_row(const ml_scan *scan, ml_best *best);

#endif
