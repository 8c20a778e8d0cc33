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

/* Many draws are made from several blocks side by side, in loops that compilers turn into vector code. */
enum {
    MANY = 32, /* blocks side by side: below that compilers unroll the loops instead of turning them into vector code */
    FEW = 4    /* for what is left over */
};

/* Makes the draws of blocks first .. first + lanes - 1, in order. */
static inline __attribute__((always_inline)) void draw_blocks(int lanes, uint64_t seed, uint64_t stream, uint64_t first,
                                                              uint64_t *bits) {
    uint32_t a[MANY], b[MANY], c[MANY], d[MANY];
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int i = 0; i < lanes; i++) {
        const uint64_t block = first + (uint64_t)i;
        a[i] = (uint32_t)block;
        b[i] = (uint32_t)(block >> 32);
        c[i] = (uint32_t)stream;
        d[i] = (uint32_t)(stream >> 32);
    }
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < lanes; i++) {
            const uint64_t left = (uint64_t)0xd2511f53u * a[i], right = (uint64_t)0xcd9e8d57u * c[i];
            a[i] = (uint32_t)(right >> 32) ^ b[i] ^ key0;
            b[i] = (uint32_t)right;
            c[i] = (uint32_t)(left >> 32) ^ d[i] ^ key1;
            d[i] = (uint32_t)left;
        }
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    for (int i = 0; i < lanes; i++) {
        bits[2 * i] = (uint64_t)a[i] | (uint64_t)b[i] << 32;
        bits[2 * i + 1] = (uint64_t)c[i] | (uint64_t)d[i] << 32;
    }
}

static void draw_many(uint64_t seed, uint64_t stream, uint64_t first, uint64_t *bits) {
    draw_blocks(MANY, seed, stream, first, bits);
}
static void draw_few(uint64_t seed, uint64_t stream, uint64_t first, uint64_t *bits) {
    draw_blocks(FEW, seed, stream, first, bits);
}

void tamis_random_fill(uint64_t seed, uint64_t stream, uint64_t first, int64_t count, uint64_t *bits) {
    if (count > 0 && (first & 1)) {
        *bits++ = tamis_random_at(seed, stream, first++);
        count--;
    }
    for (; count >= 2 * MANY; count -= 2 * MANY, first += 2 * MANY, bits += 2 * MANY)
        draw_many(seed, stream, first / 2, bits);
    for (; count >= 2 * FEW; count -= 2 * FEW, first += 2 * FEW, bits += 2 * FEW)
        draw_few(seed, stream, first / 2, bits);
    for (; count > 0; count--) *bits++ = tamis_random_at(seed, stream, first++);
}
