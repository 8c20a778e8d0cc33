/*
 * Rows of A and B for sddmm_wgmma.cu: each fp32 number as two of fp16, so that three products of these have the accuracy of
 * one in fp32. A team takes a row: it finds the largest magnitude, scales the row by a power of two such that this lies
 * in [2^13, 2^14), and writes x = high + low / 2^11, which are the upper and the lower eleven bits of x.
 *
 * `split` holds the rows of A and then of B, both filled up to whole tiles of 128: for each 32 of K a slice of 128 bytes, 32
 * highs and 32 lows, their 16-byte pieces exchanged as the products want them (operand_of in hopper.h). The slices of A lie
 * one after another, each with all rows, so that a tile is one copy; those of B likewise where ALIGNED is 1, and else by
 * rows, to be gathered.
 * `scales` holds for each what turns it back; negative where the row has a number other than 0 that is scaled to less
 * than 2^-14, of which fp16 keeps fewer bits (see `doubted` in sddmm_wgmma.cu); NaN where a number is not finite.
 *
 * PIECES: four numbers each that a lane keeps; 0: a row is too long for that and is read twice.
 *
 * Bounded by memory: 4 bytes in and 4 out for each number.
 */
#include "simt.h"

/* Four numbers, zeros beyond the row's end. */
FUNCTION float4 read_four(const float *row, int64 k, int64 inner, int aligned) {
    if (aligned && k + 4 <= inner) return *(const float4 *)(row + k);
    return make_float4(k < inner ? row[k] : 0, k + 1 < inner ? row[k + 1] : 0, k + 2 < inner ? row[k + 2] : 0,
                       k + 3 < inner ? row[k + 3] : 0);
}

FUNCTION uint32 halves_of(float x, float y) { /* x in the lower half */
    uint32 both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
    return both;
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

KERNEL split_rows(int64 rows, int64 cols, IN(float, a), int64 a_stride, IN(float, b), int64 b_stride, int64 inner,
                  int64 a_apart, int64 b_apart, int64 scratch_apart, int64 tiled_rows,
                  int64 tiled, int32 slices, OUT(float, scales), OUT(uint32, split)) {
    const int64 row = (GROUP_X * GROUP + LOCAL_ID) / TEAM;
    const int lane = LOCAL_ID % TEAM;
    const int64 padded = (int64)slices * 32;
    MEMBER(a, a_apart);
    MEMBER(b, b_apart);
    MEMBER(scales, scratch_apart);
    MEMBER(split, scratch_apart);
    if (row >= rows + cols) return; /* whole teams, whose lanes ask no others */
    const int of_a = row < rows;
    const int64 own = of_a ? row : row - rows; /* of its matrix */
    uint32 *const into = split + (of_a ? 0 : tiled_rows * slices * 32);
    const int64 row_step = of_a || ALIGNED ? 32 : slices * 32,
                slice_step = of_a ? tiled_rows * 32 : ALIGNED ? (tiled - tiled_rows) * 32 : 32;
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
            const int piece = (int)(k % 32 / 8), turned = (int)(own & 7), within = (int)(k % 8 / 2);
            uint32 *const at = into + k / 32 * slice_step + own * row_step + within;
            *(uint2 *)(at + ((piece ^ turned) << 2)) = high;
            *(uint2 *)(at + ((piece + 4 ^ turned) << 2)) = low;
        }
    }
    if (lane == 0) {
        const float back = float_of_bits(finite ? (uint32)(127 - power) << 23 : 0x7fc00000u);
        scales[of_a ? own : tiled_rows + own] = least != 0xffffffffu && float_of_bits(least + 1) * scale < 0x1p-14f ? -back : back;
    }
}
