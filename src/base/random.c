/* Philox 4x32-10 of Salmon, Moraes, Dror and Shaw ("Parallel random numbers: as easy as 1, 2, 3", SC'11): draw `index`
   is one half of block index / 2, keyed by the seed. */
#include "base/random.h"

enum { ROUNDS = 10 };

/* One round of Philox. */
static inline __attribute__((always_inline)) void turn(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d,
                                                       uint64_t seed, uint32_t round) {
    const uint64_t left = (uint64_t)0xd2511f53u * *a, right = (uint64_t)0xcd9e8d57u * *c;
    *a = (uint32_t)(right >> 32) ^ *b ^ ((uint32_t)seed + round * 0x9e3779b9u);
    *b = (uint32_t)right;
    *c = (uint32_t)(left >> 32) ^ *d ^ ((uint32_t)(seed >> 32) + round * 0xbb67ae85u);
    *d = (uint32_t)left;
}

void tamis_random_block(uint64_t seed, uint64_t stream, uint64_t block, uint64_t draws[2]) {
    uint32_t a = (uint32_t)block, b = (uint32_t)(block >> 32), c = (uint32_t)stream, d = (uint32_t)(stream >> 32);
    for (uint32_t round = 0; round < ROUNDS; round++) turn(&a, &b, &c, &d, seed, round);
    draws[0] = (uint64_t)a | (uint64_t)b << 32;
    draws[1] = (uint64_t)c | (uint64_t)d << 32;
}

/* Many draws are computed from several blocks side by side, in loops that compilers vectorise. */
enum {
    MANY = 32, /* blocks side by side: with fewer, compilers unroll the loops instead of vectorising them */
    FEW = 4    /* for what is left over */
};

/* Makes the draws of blocks first .. first + lanes - 1, in order. */
static inline __attribute__((always_inline)) void draw_blocks(int lanes, uint64_t seed, uint64_t stream, uint64_t first,
                                                              uint64_t *bits) {
    uint32_t a[MANY], b[MANY], c[MANY], d[MANY];
    for (int i = 0; i < lanes; i++) {
        const uint64_t block = first + (uint64_t)i;
        a[i] = (uint32_t)block;
        b[i] = (uint32_t)(block >> 32);
        c[i] = (uint32_t)stream;
        d[i] = (uint32_t)(stream >> 32);
    }
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (int i = 0; i < lanes; i++) turn(&a[i], &b[i], &c[i], &d[i], seed, round);
    for (int i = 0; i < lanes; i++) {
        bits[2 * i] = (uint64_t)a[i] | (uint64_t)b[i] << 32;
        bits[2 * i + 1] = (uint64_t)c[i] | (uint64_t)d[i] << 32;
    }
}

static double uniform_of(uint64_t bits) { return (double)(bits >> 11) * 0x1p-53; }

uint64_t tamis_random_at(uint64_t seed, uint64_t stream, uint64_t index) {
    uint64_t block[2];
    tamis_random_block(seed, stream, index / 2, block);
    return block[index & 1];
}

double tamis_random_uniform_at(uint64_t seed, uint64_t stream, uint64_t index) {
    return uniform_of(tamis_random_at(seed, stream, index));
}

tamis_random tamis_random_start(uint64_t seed, uint64_t stream) {
    return (tamis_random){.seed = seed, .stream = stream};
}

uint64_t tamis_random_next(tamis_random *random) {
    if ((random->index & 1) == 0) tamis_random_block(random->seed, random->stream, random->index / 2, random->block);
    return random->block[random->index++ & 1];
}

double tamis_random_uniform(tamis_random *random) { return uniform_of(tamis_random_next(random)); }

int64_t tamis_random_below(tamis_random *random, int64_t bound) {
    const uint64_t n = (uint64_t)bound,
                   unfair =
                       (0 - n) % n; /* 2^64 mod n: draws below it are rejected, as they would favour small results */
    for (;;) {
        const uint64_t bits = tamis_random_next(random);
        if (bits >= unfair) return (int64_t)(bits % n);
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
