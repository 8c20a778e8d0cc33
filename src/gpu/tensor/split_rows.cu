/*
 * Rows of A and B for sddmm_wgmma.cu, of B for spmm_wgmma.cu: each fp32 number as two of fp16, so that three products of these have the accuracy of
 * one in fp32. A team takes a row: it finds the largest magnitude, scales the row by a power of two such that this lies
 * in [2^13, 2^14), and writes x = high + low / 2^11, which are the upper and the lower eleven bits of x.
 *
 * `split` holds lines of 128 bytes, whose 16-byte pieces are exchanged as the products want them (operand_of in hopper.h).
 * For SDDMM: the rows of A and then of B, both filled up to whole tiles of 128; a line has for 32 of K the highs and the
 * lows. The lines of A for a slice of K lie one after another, so that a tile is one copy; those of B likewise where ALIGNED is
 * 1, and else by rows, to be gathered. For SpMM (ACROSS): a line has 64 highs or 64 lows of a row of B. Where ALIGNED the lines of 64
 * rows lie one after another, highs, then lows, for each 64 columns, and rows that fill up are zeros; else a row's lines
 * do.
 * `scales` holds for each what turns it back; negative where the row has a number other than 0 that is scaled to less
 * than 2^-14, of which fp16 keeps fewer bits (see `doubted` in sddmm_wgmma.cu); NaN where a number is not finite.
 *
 * PIECES: four numbers each that a lane keeps; 0: a row is too long for that and is read twice.
 *
 * Bounded by memory: 4 bytes in and 4 out for each number.
 */
#include "simt.h"
#include "cell_kernels.h"

/* Four numbers, zeros beyond the row's end. */
FUNCTION float4 read_four(const float *row, int64 k, int64 inner, int aligned) {
    if (aligned && k + 4 <= inner) return *(const float4 *)(row + k);
    return make_float4(k < inner ? row[k] : 0, k + 1 < inner ? row[k + 1] : 0, k + 2 < inner ? row[k + 2] : 0,
                       k + 3 < inner ? row[k + 3] : 0);
}

/* Two numbers, scaled; the upper bits of them, and the lower. */
FUNCTION void split_two(float x, float y, uint32 &high, uint32 &low) {
    high = halves_of(x, y);
    low = halves_of((x - half_to_float((ushort)high)) * 2048, (y - half_to_float((ushort)(high >> 16))) * 2048);
}

/* The largest magnitude and the smallest but 0. A NaN is larger than all: bits are compared. */
FUNCTION void measure(float x, uint32 &most, uint32 &least) {
    const uint32 bits = bits_of_float(x) & 0x7fffffffu;
    most = max(most, bits);
    least = min(least, bits - 1); /* 0 becomes the largest */
}

#if ACROSS
#define NUMBERS_OF_LINE 64
#define LOW             (ALIGNED ? 64 * 32 : 32) /* words from highs to lows */
#else
#define NUMBERS_OF_LINE 32
#define LOW             0
#endif

/* Where the line of row `own` begins that has number k of it, in words. */
FUNCTION int64 line_of(int64 own, int64 k, int of_a, int64 slices, int64 tiled_rows, int64 tiled) {
    const int64 slice = k / NUMBERS_OF_LINE;
    if (ACROSS) return ALIGNED ? ((own / 64 * slices + slice) * 128 + own % 64) * 32 : (own * slices + slice) * 64;
    const int64 before = of_a ? 0 : tiled_rows * slices; /* lines */
    const int64 rows = of_a ? tiled_rows : tiled - tiled_rows;
    return (before + (of_a || ALIGNED ? slice * rows + own : own * slices + slice)) * 32;
}

KERNEL split_rows(int64 a_rows, int64 b_rows, int64 b_filled, IN(float, a), int64 a_stride, IN(float, b), int64 b_stride,
                  int64 length, int64 a_apart, int64 b_apart, int64 scratch_apart, int64 tiled_rows, int64 tiled,
                  int32 slices, OUT(float, scales), OUT(uint32, split)) {
    const int64 row = (GROUP_X * GROUP + LOCAL_ID) / TEAM;
    const int lane = LOCAL_ID % TEAM;
    const int64 padded = (int64)slices * NUMBERS_OF_LINE;
    MEMBER(a, a_apart);
    MEMBER(b, b_apart);
    MEMBER(scales, scratch_apart);
    MEMBER(split, scratch_apart);
    if (row >= a_rows + b_filled) return; /* whole teams, whose lanes ask no others */
    const int of_a = row < a_rows;
    const int64 own = of_a ? row : row - a_rows; /* of its matrix */
    const int64 inner = of_a || own < b_rows ? length : 0;
    const uint32 team = (TEAM == 32 ? 0xffffffffu : (1u << TEAM % 32) - 1) << (LOCAL_ID % 32 / TEAM * TEAM);
    const float *const from = of_a ? a + own * a_stride : b + own * b_stride;
    const int aligned = (uint64)from % 16 == 0;
    uint32 most = 0, least = 0xffffffffu;
#if PIECES
    float4 kept[PIECES];
#pragma unroll
    for (int p = 0; p < PIECES; p++) kept[p] = read_four(from, 4 * lane + 4 * TEAM * p, inner, aligned);
#define STEPS         PIECES
#define NUMBERS(p, k) kept[p]
#else
#define STEPS         (int)((padded + 4 * TEAM - 1) / (4 * TEAM))
#define NUMBERS(p, k) read_four(from, k, inner, aligned)
#endif
#pragma unroll(PIECES ? PIECES : 1)
    for (int p = 0; p < STEPS; p++) {
        const float4 x = NUMBERS(p, 4 * lane + (int64)4 * TEAM * p);
        measure(x.x, most, least);
        measure(x.y, most, least);
        measure(x.z, most, least);
        measure(x.w, most, least);
    }
#pragma unroll
    for (int lanes = TEAM / 2; lanes > 0; lanes /= 2) {
        most = max(most, __shfl_xor_sync(team, most, lanes));
        least = min(least, __shfl_xor_sync(team, least, lanes));
    }
    /* 2^(13 - exponent), within what a float has: -114 to 126 */
    const int finite = most < 0x7f800000u, exponent = (int)(most >> 23) - 127;
    const int power = !finite || most == 0 ? 0 : exponent < -113 ? 126 : 13 - exponent;
    const float scale = finite ? float_of_bits((uint32)(127 + power) << 23) : 0;
#pragma unroll(PIECES ? PIECES : 1)
    for (int p = 0; p < STEPS; p++) {
        const int64 k = 4 * lane + (int64)4 * TEAM * p;
        float4 x = NUMBERS(p, k);
        if (!finite) x = make_float4(0, 0, 0, 0);
        uint2 high, low;
        split_two(x.x * scale, x.y * scale, high.x, low.x);
        split_two(x.z * scale, x.w * scale, high.y, low.y);
        if (k < padded) {
            const int piece = (int)(k % NUMBERS_OF_LINE / 8), turned = (int)(own & 7), within = (int)(k % 8 / 2);
            uint32 *const at = split + line_of(own, k, of_a, slices, tiled_rows, tiled) + within;
            *(uint2 *)(at + ((piece ^ turned) << 2)) = high;
            *(uint2 *)(at + LOW + ((piece + (ACROSS ? 0 : 4) ^ turned) << 2)) = low;
        }
    }
    if (lane == 0) {
        const float back = float_of_bits(finite ? (uint32)(127 - power) << 23 : 0x7fc00000u);
        scales[of_a ? own : tiled_rows + own] = least != 0xffffffffu && float_of_bits(least + 1) * scale < 0x1p-14f ? -back : back;
    }
}
