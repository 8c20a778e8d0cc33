/* Philox 4x32-10 in bulk: several blocks side by side, in loops that compilers turn into vector code. */
#include "base/random.h"

enum {
    MANY = 32, /* blocks side by side: below that compilers unroll the loops instead of turning them into vector code */
    FEW = 4    /* for what is left over */
};

/* The draws of blocks first .. first + lanes - 1, in order. */
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
