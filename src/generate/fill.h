/* Seeded uniform values. */
#ifndef TAMIS_GENERATE_FILL_H
#define TAMIS_GENERATE_FILL_H

#include <tamis/types.h>

/* Fills one packed row of `count` elements as tamis_fill_uniform does, from another random stream. */
void tamis_fill_values(void *data, tamis_type type, int64_t count, uint64_t seed, uint64_t stream, double low,
                       double high);

#endif
