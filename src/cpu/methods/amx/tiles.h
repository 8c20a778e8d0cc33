/*
 * The instructions of AMX: eight tiles of sixteen rows of 64 bytes, and a product of two of them,
 *
 *   TILE_MULTIPLY(t, c, a, b)    c[m][n] += sum over k < 32 of a[m][k] b[k][n]
 *
 * with c in fp32, a in bf16, and b as sixteen rows of interleaved pairs: row k / 2 has b[k][n] and b[k + 1][n] side by
 * side. `t` holds the tiles: the processor's, or without AMX an emulation, with the same sums in the same order.
 */
#ifndef TAMIS_CPU_METHODS_AMX_TILES_H
#define TAMIS_CPU_METHODS_AMX_TILES_H

#include "cpu/kernels/vector.h"

#if defined(__AMX_BF16__)

typedef struct tile_registers {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_registers;

/* Call it before a thread's first tile instruction. */
INLINE void tiles_begin(tile_registers *t) {
    *t = (tile_registers){.palette = 1};
    for (int i = 0; i < 8; i++) {
        t->row_bytes[i] = 64;
        t->rows[i] = 16;
    }
    _tile_loadconfig(t);
}

INLINE void tiles_end(tile_registers *t) {
    (void)t;
    _tile_release();
}

/* The processor holds the tiles. The clobber is needed because the compiler does not know that a tile load reads
   memory. */
#define TILE_DO(t, ...)                                                                                                \
    do {                                                                                                               \
        (void)(t);                                                                                                     \
        __VA_ARGS__;                                                                                                   \
    } while (0)
#define TILE_ZERO(t, tile)               TILE_DO(t, _tile_zero(tile))
#define TILE_LOAD(t, tile, from, stride) TILE_DO(t, __asm__ volatile("" ::: "memory"); _tile_loadd(tile, from, stride))
#define TILE_STORE(t, tile, to, stride)  TILE_DO(t, _tile_stored(tile, to, stride))
#define TILE_MULTIPLY(t, c, a, b)        TILE_DO(t, _tile_dpbf16ps(c, a, b))

#else

typedef struct tile_registers {
    union {
        char bytes[16][64];
        float sums[16][16];
        uint16_t halves[16][32];
    } tile[8];
} tile_registers;

INLINE void tiles_begin(tile_registers *t) { memset(t, 0xff, sizeof *t); }
INLINE void tiles_end(tile_registers *t) { (void)t; }

/* Flushes subnormal numbers to 0. */
INLINE float tile_flush(float x) { return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0, x) : x; }

INLINE float tile_widen(uint16_t half) {
    const uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return tile_flush(x);
}

INLINE void tile_multiply(tile_registers *t, int c, int a, int b) {
    for (int m = 0; m < 16; m++) {
        float pairs[32] = {0};
        for (int k = 0; k < 16; k++)
            for (int n = 0; n < 32; n++)
                pairs[n] = tile_flush(pairs[n] + tile_widen(t->tile[a].halves[m][2 * k + n % 2]) *
                                                     tile_widen(t->tile[b].halves[k][n]));
        for (int n = 0; n < 16; n++)
            t->tile[c].sums[m][n] = tile_flush(t->tile[c].sums[m][n] + tile_flush(pairs[2 * n] + pairs[2 * n + 1]));
    }
}

INLINE void tile_copy(char *to, int64_t to_stride, const char *from, int64_t from_stride) {
    for (int i = 0; i < 16; i++) memcpy(to + i * to_stride, from + i * from_stride, 64);
}

#define TILE_ZERO(t, number)               memset(&(t)->tile[number], 0, 1024)
#define TILE_LOAD(t, number, from, stride) tile_copy((t)->tile[number].bytes[0], 64, from, stride)
#define TILE_STORE(t, number, to, stride)  tile_copy((char *)(to), stride, (t)->tile[number].bytes[0], 64)
#define TILE_MULTIPLY(t, c, a, b)          tile_multiply(t, c, a, b)

#endif

#endif
