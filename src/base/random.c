/* Philox 4x32-10 of Random123: draw `index` is one half of block index / 2, keyed by the seed. */
#include "base/random.h"

#include <Random123/philox.h>

static philox4x32_ctr_t block_of(uint64_t seed, uint64_t stream, uint64_t block) {
    const philox4x32_ctr_t counter = {
        {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)}};
    const philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    return philox4x32(counter, key);
}

static uint64_t half_of(const uint32_t *block, uint64_t index) {
    const uint32_t *const two = block + 2 * (index & 1);
    return (uint64_t)two[0] | (uint64_t)two[1] << 32;
}

static double uniform_of(uint64_t bits) { return (double)(bits >> 11) * 0x1p-53; }

uint64_t tamis_random_at(uint64_t seed, uint64_t stream, uint64_t index) {
    const philox4x32_ctr_t block = block_of(seed, stream, index / 2);
    return half_of(block.v, index);
}

double tamis_random_uniform_at(uint64_t seed, uint64_t stream, uint64_t index) {
    return uniform_of(tamis_random_at(seed, stream, index));
}

tamis_random tamis_random_start(uint64_t seed, uint64_t stream) {
    return (tamis_random){.seed = seed, .stream = stream};
}

uint64_t tamis_random_next(tamis_random *random) {
    if ((random->index & 1) == 0) {
        const philox4x32_ctr_t block = block_of(random->seed, random->stream, random->index / 2);
        for (int i = 0; i < 4; i++) random->block[i] = block.v[i];
    }
    return half_of(random->block, random->index++);
}

double tamis_random_uniform(tamis_random *random) { return uniform_of(tamis_random_next(random)); }

int64_t tamis_random_below(tamis_random *random, int64_t bound) {
    const uint64_t n = (uint64_t)bound,
                   unfair = (0 - n) % n; /* 2^64 mod n: draws below it would favour small results */
    for (;;) {
        const uint64_t bits = tamis_random_next(random);
        if (bits >= unfair) return (int64_t)(bits % n);
    }
}
