/*
 * Splits rows of A and B for sddmm_wgmma.cu, and of B for spmm_wgmma.cu: each number becomes two fp16 numbers, so that
 * three products of these have the accuracy of one in fp32. A team takes a row, finds the largest magnitude, scales the
 * row by a power of two such that this lies in [2^13, 2^14), and writes x = high + low / 2^11, which are the upper and
 * the lower eleven bits of x.
 *
 * `split` holds lines of 128 bytes, whose 16-byte pieces are permuted as the products need them (operand_of in
 * hopper.h). For SDDMM it has the rows of A and then the rows of B, both padded to whole tiles of 128; a line has the
 * highs and the lows for 32 of K. The lines of A for a slice of K are contiguous, so that a tile is one copy. The lines
 * of B are ordered likewise if ALIGNED is 1, otherwise by rows, to be gathered. For SpMM (ACROSS) a line has 64 highs
 * or 64 lows of a row of B. If ALIGNED, the lines of 64 rows are contiguous, highs, then lows, for each 64 columns, and
 * padding rows are zeros; otherwise a row's lines are contiguous. `scales` holds for each row the factor that undoes
 * the scaling; negative if scaling brings a nonzero number of the row below 2^-14, where fp16 keeps fewer bits (see
 * `doubted` in sddmm_wgmma.cu); 0 for a row of zeros; NaN if a number is not finite.
 *
 * SLICED (for fused): the lines of a slice of all rows are contiguous; for D, all highs, then all lows.
 *
 * LOWS = 0: highs only, for numbers that have no more bits or may be rounded; a line has 64 of them.
 *
 * PIECES: pieces of 16 bytes that a lane keeps; 0 if a row is too long for that and is read twice. ROWS: rows of a
 * team, whose reads are in flight together.
 *
 * Memory-bound: 4 bytes in and 4 out for each number.
 */
#include "simt.h"
#include "cell_kernels.h"

#define EACH (16 / (int)sizeof(element)) /* elements of a lane's load */

/* A lane's numbers of a row, zero-padded. */
typedef struct numbers {
    float x[EACH];
} numbers;
FUNCTION numbers read_numbers(const element *row, int64 k, int64 inner, int aligned) {
    union {
        element x[EACH];
        uint4 words;
    } from;
    numbers to;
    if (aligned && k + EACH <= inner) {
        from.words = *(const uint4 *)(row + k);
    } else {
#pragma unroll
        for (int i = 0; i < EACH; i++) from.x[i] = k + i < inner ? row[k + i] : 0;
    }
#pragma unroll
    for (int i = 0; i < EACH; i++) to.x[i] = real_of(from.x[i]);
    return to;
}

/* Splits two numbers, after scaling: the upper bits, and the lower bits. */
FUNCTION void split_two(float x, float y, uint32 &high, uint32 &low) {
    high = halves_of(x, y);
    low = halves_of((x - half_to_float((ushort)high)) * 2048, (y - half_to_float((ushort)(high >> 16))) * 2048);
}

/* Updates the largest magnitude and the smallest nonzero one. A NaN is largest, since bits are compared. */
FUNCTION void measure(float x, uint32 &most, uint32 &least) {
    const uint32 bits = bits_of_float(x) & 0x7fffffffu;
    most = max(most, bits);
    least = min(least, bits - 1); /* 0 becomes the largest */
}

/* Rows of one or two matrices, of `length` numbers, and where their lines go. */
typedef struct rows_to_split {
    int64 a_rows, b_rows, b_filled; /* rows of b, including padding */
    const element *a, *b;
    int64 a_stride, b_stride, length;
    int64 tiled_rows, tiled, slices;
    float *scales;
    uint32 *split;
} rows_to_split;

FUNCTION int numbers_of_line(int across) { return LOWS && !across ? 32 : 64; }

/* Word offset of the line of row `own` that has number k. */
FUNCTION int64 line_of(const rows_to_split &rows, int64 own, int64 k, int of_a, int across) {
    const int64 slice = k / numbers_of_line(across), slices = rows.slices;
    if (across && SLICED) return (slice * (1 + LOWS) * rows.tiled + own) * 32;
    if (across)
        return ALIGNED ? ((own / 64 * slices + slice) * (64 + 64 * LOWS) + own % 64) * 32 : (own * slices + slice) * (32 + 32 * LOWS);
    const int64 before = of_a ? 0 : rows.tiled_rows * slices; /* lines */
    const int64 count = of_a ? rows.tiled_rows : rows.tiled - rows.tiled_rows;
    return (before + (of_a || ALIGNED || SLICED ? slice * count + own : own * slices + slice)) * 32;
}

FUNCTION void split(const rows_to_split &rows, int across) {
    const int line = numbers_of_line(across), lane = LOCAL_ID % TEAM;
    const int64 low = !across ? 0 : SLICED ? rows.tiled * 32 : ALIGNED ? 64 * 32 : 32; /* words from highs to lows, which may share a line */
    const int64 padded = rows.slices * line, first = GROUP_X * (GROUP / TEAM * ROWS) + LOCAL_ID / TEAM;
    const uint32 team = (TEAM == 32 ? 0xffffffffu : (1u << TEAM % 32) - 1) << (LOCAL_ID % 32 / TEAM * TEAM);
    const element *from[ROWS];
    int64 own[ROWS], inner[ROWS]; /* a row's number in its matrix; its length, 0 for padding */
    int of_a[ROWS], aligned[ROWS];
    uint32 most[ROWS], least[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const int64 row = first + r * (GROUP / TEAM);
        of_a[r] = row < rows.a_rows;
        own[r] = of_a[r] ? row : row - rows.a_rows;
        inner[r] = of_a[r] || own[r] < rows.b_rows ? rows.length : 0;
        from[r] = of_a[r] ? rows.a + own[r] * rows.a_stride : rows.b + own[r] * rows.b_stride;
        aligned[r] = (uint64)from[r] % 16 == 0;
        most[r] = 0;
        least[r] = 0xffffffffu;
    }
#if PIECES
    numbers kept[ROWS][PIECES];
#pragma unroll
    for (int i = 0; i < ROWS * PIECES; i++)
        kept[i / PIECES][i % PIECES] =
            read_numbers(from[i / PIECES], EACH * (lane + TEAM * (i % PIECES)), inner[i / PIECES], aligned[i / PIECES]);
#define PARTS            PIECES
#define NUMBERS(r, p, k) kept[r][p]
#else
#define PARTS            (int)((padded + EACH * TEAM - 1) / (EACH * TEAM))
#define NUMBERS(r, p, k) read_numbers(from[r], k, inner[r], aligned[r])
#endif
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll(PIECES ? PIECES : 1)
        for (int p = 0; p < PARTS; p++) {
            const numbers here = NUMBERS(r, p, EACH * (lane + (int64)TEAM * p));
#pragma unroll
            for (int i = 0; i < EACH; i++) measure(here.x[i], most[r], least[r]);
        }
#pragma unroll
    for (int lanes = TEAM / 2; lanes > 0; lanes /= 2)
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            most[r] = max(most[r], __shfl_xor_sync(team, most[r], lanes));
            least[r] = min(least[r], __shfl_xor_sync(team, least[r], lanes));
        }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (first + r * (GROUP / TEAM) >= rows.a_rows + rows.b_filled) break;
        /* 2^(13 - exponent), clamped to the range of a float: exponents -114 to 126 */
        const int finite = most[r] < 0x7f800000u, exponent = (int)(most[r] >> 23) - 127;
        const int power = !finite || most[r] == 0 ? 0 : exponent < -113 ? 126 : 13 - exponent;
        const float scale = finite ? float_of_bits((uint32)(127 + power) << 23) : 0;
#pragma unroll(PIECES ? PIECES : 1)
        for (int p = 0; p < PARTS; p++) {
            const int64 k = EACH * (lane + (int64)TEAM * p);
            const numbers here = NUMBERS(r, p, k);
            uint32 highs[EACH / 2], lows[EACH / 2];
#pragma unroll
            for (int i = 0; i < EACH / 2; i++)
                split_two(finite ? here.x[2 * i] * scale : 0, finite ? here.x[2 * i + 1] * scale : 0, highs[i], lows[i]);
            if (k >= padded) continue;
            const int piece = (int)(k % line / 8), turned = (int)(own[r] & 7);
            uint32 *const at = rows.split + line_of(rows, own[r], k, of_a[r], across) + k % 8 / 2;
            uint32 *const to_highs = at + ((piece ^ turned) << 2);
            uint32 *const to_lows = at + low + ((piece + (across ? 0 : 4) ^ turned) << 2);
#if ELEMENT == 32
            *(uint2 *)to_highs = *(const uint2 *)highs;
            if (LOWS) *(uint2 *)to_lows = *(const uint2 *)lows;
#else
            *(uint4 *)to_highs = *(const uint4 *)highs;
#endif
        }
        if (lane == 0) {
            const float back = most[r] == 0 ? 0 : float_of_bits(finite ? (uint32)(127 - power) << 23 : 0x7fc00000u);
            rows.scales[of_a[r] ? own[r] : rows.tiled_rows + own[r]] =
                least[r] != 0xffffffffu && float_of_bits(least[r] + 1) * scale < 0x1p-14f ? -back : back;
        }
    }
}

/* Splits the rows of A and B, or of B only. `across`: for SpMM. */
KERNEL split_rows(int64 a_rows, int64 b_rows, int64 b_filled, IN(element, a), int64 a_stride, IN(element, b), int64 b_stride,
                  int64 length, int64 a_batch_stride, int64 b_batch_stride, int64 scratch_batch_stride, int64 tiled_rows, int64 tiled,
                  int32 slices, OUT(float, scales), OUT(uint32, split_numbers)) {
    let_next_launch_begin();
    MEMBER(scales, scratch_batch_stride);
    MEMBER(split_numbers, scratch_batch_stride);
    const rows_to_split rows = {a_rows, b_rows, b_filled, a, b, a_stride, b_stride, length, tiled_rows, tiled, slices, scales, split_numbers};
    split(rows, ACROSS);
}

/* Groups with y = 0 split the rows of A and B, groups with y = 1 the rows of D, as for SpMM. `cleared`: counters of the
   next kernel. */
KERNEL split_three(int64 rows, int64 b_rows, int64 b_filled, IN(element, a), int64 a_stride, IN(element, b), int64 b_stride,
                   int64 inner, IN(element, d), int64 d_stride, int64 width, int64 a_batch_stride, int64 b_batch_stride, int64 d_batch_stride,
                   int64 scratch_batch_stride, int64 tiled_rows, int64 tiled, int32 slices, int32 d_slices, OUT(float, scales),
                   OUT(uint32, split_numbers), OUT(float, d_scales), OUT(uint32, d_split), int32 clears, OUT(int32, cleared)) {
    let_next_launch_begin();
    MEMBER(scales, scratch_batch_stride);
    MEMBER(split_numbers, scratch_batch_stride);
    MEMBER(d_scales, scratch_batch_stride);
    MEMBER(d_split, scratch_batch_stride);
    MEMBER(cleared, scratch_batch_stride);
    if (GROUP_Y == 0) {
        const rows_to_split both = {rows, b_rows, b_filled, a, b, a_stride, b_stride, inner, tiled_rows, tiled, slices, scales, split_numbers};
        for (int64 i = GROUP_X * GROUP + LOCAL_ID; i < clears; i += GROUPS_X * GROUP) cleared[i] = 0;
        split(both, 0);
    } else {
        const rows_to_split one = {0, b_rows, b_filled, d, d, d_stride, d_stride, width, 0, b_filled, d_slices, d_scales, d_split};
        if (GROUP_X * (GROUP / TEAM * ROWS) < b_filled) split(one, 1);
    }
}

/* Splits four matrices, each as for SpMM and by the groups of one y: A and E, which have a row for each row of S, then
   B and D. A and B have inner_slices lines of 64 columns, E and D width_slices. `cleared` as above. */
KERNEL split_four(int64 rows, int64 b_rows, int64 filled, int64 b_filled, IN(element, a), int64 a_stride, IN(element, b),
                  int64 b_stride, int64 inner, IN(element, d), int64 d_stride, int64 width, IN(element, e), int64 e_stride,
                  int64 e_batch_stride, BATCH_PARAMETERS, OUT(float, scales), OUT(uint32, split_numbers), OUT(float, b_scales),
                  OUT(uint32, b_split), int32 inner_slices, int32 width_slices, int32 clears, OUT(int32, cleared)) {
    let_next_launch_begin();
    MEMBER(scales, scratch_batch_stride);
    MEMBER(split_numbers, scratch_batch_stride);
    MEMBER(b_scales, scratch_batch_stride);
    MEMBER(b_split, scratch_batch_stride);
    MEMBER(cleared, scratch_batch_stride);
    const int second = GROUP_Y % 2, by_column = GROUP_Y / 2;
    const int64 count = by_column ? b_rows : rows, padded = by_column ? b_filled : filled;
    const element *const from = by_column ? second ? d : b : second ? e : a;
    const int64 stride = by_column ? second ? d_stride : b_stride : second ? e_stride : a_stride;
    const rows_to_split one = {0, count, padded, from, from, stride, stride, second ? width : inner, 0, padded,
                               second ? width_slices : inner_slices,
                               (by_column ? b_scales : scales) + second * padded,
                               (by_column ? b_split : split_numbers) + second * inner_slices * padded * (32 * (1 + LOWS))};
    if (GROUP_Y == 0)
        for (int64 i = GROUP_X * GROUP + LOCAL_ID; i < clears; i += GROUPS_X * GROUP) cleared[i] = 0;
    if (GROUP_X * (GROUP / TEAM * ROWS) < padded) split(one, 1);
}
