/* Common functions of the benchmarks in this folder. */
#ifndef TAMIS_BENCH_H
#define TAMIS_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <tamis/tamis.h>

static inline void need(tamis_status status) {
    if (status == TAMIS_OK) return;
    fprintf(stderr, "%s\n", tamis_last_error());
    exit(1);
}

/* Comparison for qsort: doubles, ascending. */
static inline int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#endif
