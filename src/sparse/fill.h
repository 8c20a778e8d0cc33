/* Runs of seeded uniform values. */
#ifndef TAMIS_SPARSE_FILL_H
#define TAMIS_SPARSE_FILL_H

#include "sparse/index.h"

/* What tamis_fill_uniform does to one packed row of `count` elements, from another stream of random numbers. */
void tamis_fill_values(void *data, tamis_type type, int64_t count, uint64_t seed, uint64_t stream, double low,
                       double high);

#endif
