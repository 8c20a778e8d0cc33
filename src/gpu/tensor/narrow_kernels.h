/*
 * Shared by the kernels of attention for operands of 16 bits (fused_narrow.cu, fused_large.cu, backward_narrow.cu):
 * tiles of rows copied directly from the operands, and products of tiles. The kernels are compiled with INNER_STEPS and
 * WIDTH_STEPS, K and L in steps of 16 numbers. Included after tensor_cores.h and cell_kernels.h.
 */
#ifndef THREADS
#define THREADS 128 /* that copy */
#endif
#define WARPS       (THREADS / 32)
#define INNER_TILES ((INNER_STEPS + 3) / 4)
#define WIDTH_TILES ((WIDTH_STEPS + 3) / 4)
#define TILES       (INNER_TILES + WIDTH_TILES) /* of a cell */
#ifndef PAIRED
#define PAIRED 0 /* 1: two tiles are one product */
#endif
#include "line_kernels.h"

/* ------------------------------------------------------------------------------------------ copying */

/* Copies a piece at an unaligned address; `bytes` of it are to be read. */
FUNCTION void copy_piece(uint32 to, const element *from, int bytes) {
    uint32 words[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        words[i] = (4 * i < bytes ? (uint32)from[2 * i] : 0) | (4 * i + 2 < bytes ? (uint32)from[2 * i + 1] << 16 : 0);
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]),
                 "r"(words[3])
                 : "memory");
}

/* A thread's view of a matrix's rows, one piece of each 64 numbers: the first one; bytes from row to row; bytes to be
   read of the pieces, eight bits per tile; 1 if pieces can be copied by cp.async. */
typedef struct source {
    const char *at;
    int64 stride;
    uint32 bytes;
    int straight;
} source;

FUNCTION source source_of(const element *from, int64 stride, int64 numbers, int tiles, int item) {
    const int64 apart = stride * (int64)sizeof(element);
    source x = {(const char *)(from + item % 8 * 8), apart, 0,
                ((uint64)from | (uint64)apart) % 16 == 0 && apart < ((int64)1 << 32)};
    for (int tile = 0; tile < tiles; tile++)
        x.bytes |= (uint32)max(0, min(16, ((int)numbers - tile * LINE - item % 8 * 8) * (int)sizeof(element)))
                   << 8 * tile;
    return x;
}

/* In assembly, since the compiler adds a high word of 0 to each. */
FUNCTION const char *row_at(const char *at, uint32 row, uint32 stride) {
    uint64 address;
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(address) : "r"(row), "r"(stride), "l"((uint64)at));
    return (const char *)address;
}

/* Starts to copy the pieces of a thread's lines, `rows` of the matrix, into tiles. `whole`: all have 16 bytes. */
FUNCTION void copy_rows(uint32 to, const source &from, int tiles, int whole, const uint32 *rows, int item) {
    const uint32 place = to + item / 8 * 128 + ((item % 8 ^ item / 8 % 8) << 4);
    if (from.straight) {
#pragma unroll
        for (int line = 0; line < LINES; line++) {
            const char *const at = row_at(from.at, rows[line], (uint32)from.stride);
#pragma unroll
            for (int tile = 0; tile < tiles; tile++) {
                const uint32 into = place + tile * TILE + line * (AT_A_TIME * 128);
                if (whole)
                    copy_16(into, at + tile * 128);
                else
                    copy_16_or_less(into, at + tile * 128, from.bytes >> 8 * tile & 255);
            }
        }
    } else {
#pragma unroll 1
        for (int tile = 0; tile < tiles; tile++)
#pragma unroll
            for (int line = 0; line < LINES; line++)
                copy_piece(place + tile * TILE + line * (AT_A_TIME * 128),
                           (const element *)(from.at + rows[line] * from.stride + tile * 128),
                           from.bytes >> 8 * tile & 255);
    }
}

/* ------------------------------------------------------------------------------------------ multiplying */

/* Starts d = 64 own rows times the SIDE other rows of a cell; the own ones are a part of SIDE rows, too. It is done
   after PRODUCTS_WAIT. */
FUNCTION void begin_dots(float *d, uint64 own, uint64 other, int steps) {
    PRODUCTS_PIN(d, SIDE / 2);
    products_begin();
#pragma unroll
    for (int k = 0; k < steps; k++) {
        const int at = k / 4 * TILE + k % 4 * 32;
#if SIDE == 128
        multiply_64x128(d, operand_after(own, at), operand_after(other, at), k > 0);
#else
        multiply_64x64(d, operand_after(own, at), operand_after(other, at), k > 0);
#endif
    }
    products_commit();
}

/* Adds factors of 64 own rows and SIDE other rows, times the latter's tiles. */
FUNCTION void begin_sums(float *sums, const uint32 *factors, uint64 across, int tiles) {
    PRODUCTS_PIN(sums, 32 * tiles);
    products_begin();
#pragma unroll
    for (int tile = 0; tile < tiles; tile += PAIRED ? 2 : 1)
#pragma unroll
        for (int k = 0; k < SIDE / 16; k++) {
            const uint64 at = operand_after(across, tile * TILE + k * 2048);
#if PAIRED
            if (tile + 1 < tiles) {
                multiply_64x128_across_held(sums + 32 * tile, factors + 4 * k, at, 1);
                continue;
            }
#endif
            multiply_64x64_across_held(sums + 32 * tile, factors + 4 * k, at, 1);
        }
    products_commit();
}

FUNCTION uint32 pair_of(float x, float y) { /* x in the lower half */
#if ELEMENT == 16
    return halves_of(x, y);
#else
    uint32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
    return both;
#endif
}
