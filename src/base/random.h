/* Counter-based random numbers (Philox 4x32-10): value `index` of stream `stream` under `seed`, the same
   on every machine and in every order of evaluation. */
#ifndef TAMIS_BASE_RANDOM_H
#define TAMIS_BASE_RANDOM_H

#include "base/private.h"

#include <stdint.h>

typedef struct tamis_random {
    uint64_t seed, stream, index; /* index: the next draw */
    uint64_t block[2];            /* the last block drawn */
} tamis_random;

/* Makes draws 2 * block and 2 * block + 1, which are one result of Philox: its counter is `block` and `stream`, its key
   `seed`. */
void tamis_random_block(uint64_t seed, uint64_t stream, uint64_t block, uint64_t draws[2]);

/* Returns the 64 random bits of draw `index`. */
TAMIS_PRIVATE_API uint64_t tamis_random_at(uint64_t seed, uint64_t stream, uint64_t index);

/* Returns draw `index` as a number uniform in [0, 1), with 53 bits. */
TAMIS_PRIVATE_API double tamis_random_uniform_at(uint64_t seed, uint64_t stream, uint64_t index);

/* Sets bits[i] = tamis_random_at(seed, stream, first + i), much faster than one by one. */
TAMIS_PRIVATE_API void tamis_random_fill(uint64_t seed, uint64_t stream, uint64_t first, int64_t count, uint64_t *bits);

/* Draw the same numbers in sequence. */
TAMIS_PRIVATE_API tamis_random tamis_random_start(uint64_t seed, uint64_t stream);
TAMIS_PRIVATE_API uint64_t tamis_random_next(tamis_random *random);
TAMIS_PRIVATE_API double tamis_random_uniform(tamis_random *random);
TAMIS_PRIVATE_API int64_t tamis_random_below(tamis_random *random,
                                             int64_t bound); /* 0 .. bound - 1, unbiased; bound >= 1 */

#endif
