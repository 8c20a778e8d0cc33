/* Philox 4x32-10 in bulk: several blocks side by side, in loops that compilers turn into vector code. */
#include "base/random.h"

enum { LANES = 8, DRAWS = 2 * LANES };

/* The draws of blocks first .. first + LANES - 1, in order. */
static void draw_blocks(uint64_t seed, uint64_t stream, uint64_t first, uint64_t *bits) {
    uint32_t a[LANES], b[LANES], c[LANES], d[LANES];
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int i = 0; i < LANES; i++) {
        const uint64_t block = first + (uint64_t)i;
        a[i] = (uint32_t)block;
        b[i] = (uint32_t)(block >> 32);
        c[i] = (uint32_t)stream;
        d[i] = (uint32_t)(stream >> 32);
    }
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < LANES; i++) {
            const uint64_t left = (uint64_t)0xd2511f53u * a[i], right = (uint64_t)0xcd9e8d57u * c[i];
            a[i] = (uint32_t)(right >> 32) ^ b[i] ^ key0;
            b[i] = (uint32_t)right;
            c[i] = (uint32_t)(left >> 32) ^ d[i] ^ key1;
            d[i] = (uint32_t)left;
        }
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    for (int i = 0; i < LANES; i++) {
        bits[2 * i] = (uint64_t)a[i] | (uint64_t)b[i] << 32;
        bits[2 * i + 1] = (uint64_t)c[i] | (uint64_t)d[i] << 32;
    }
}

void tamis_random_fill(uint64_t seed, uint64_t stream, uint64_t first, int64_t count, uint64_t *bits) {
    uint64_t some[DRAWS];
    if (count > 0 && (first & 1)) {
        *bits++ = tamis_random_at(seed, stream, first++);
        count--;
    }
    for (; count >= DRAWS; count -= DRAWS, first += DRAWS, bits += DRAWS) draw_blocks(seed, stream, first / 2, bits);
    if (count <= 0) return;
    draw_blocks(seed, stream, first / 2, some);
    for (int64_t i = 0; i < count; i++) bits[i] = some[i];
}
