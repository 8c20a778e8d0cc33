/*
 * Gradients of E = softmax(scale <A, B>) D by cells on the tensor cores of compute capability 9.0, with the accuracy of
 * fp32, for K or L of more than 64, up to 128. It has the arithmetic of backward_wgmma.cu, on rows that split_rows.cu
 * has split into two fp16 numbers each, and the launches of backward_narrow.cu:
 *
 *   PASS = 0 (SUMS)     by rows: the logarithm of the sum of exponentials of each row, and delta_i = sum p g
 *   PASS = 1 (ROWS)     by rows: dA_i = scale sum p (g - delta_i) B_j
 *   PASS = 2 (FIRST)    by columns: dB_j = scale sum p (g - delta_i) A_i
 *   PASS = 3 (SECOND)   by columns: dD_j = sum p dE_i
 *
 *   all warps   copy the other rows of cell c + STAGES - 1 (cp.async)  -->  a stage of the ring
 *   each half   cell c, 32 columns:  x = A B', g = dE D'  -> scale, mask
 *                   SUMS:     online softmax -> most, total, delta
 *                   others:   p (g - delta), or p  -> split into highs and lows -> sums += times other rows
 *               end of a panel: add both halves -> (merge the groups' partial sums) -> scale -> result
 *
 * A cell and the own rows take nearly all of a multiprocessor's shared memory, so one group is resident. It has two
 * halves of four warps. Both have all 64 own rows, and each has half of the cell's columns; their sums are added at the
 * end of a panel. Results that are not finite, or so small that fp16 has lost their bits, are recomputed in fp32.
 *
 * Each launch moves, for each cell, 64 other rows of two matrices, split, 4 bytes per number, and 512 bytes of masks;
 * and for each panel its own split rows and results. The right choice for such K and L if the forward call goes by
 * cells: if about one score in ten of them or more is wanted.
 *
 * INNER_TILES, WIDTH_TILES: K and L in tiles of 64 numbers. STAGES: cells in shared memory.
 */
#include "simt.h"
#include "tensor_cores.h"
#include "cell_kernels.h"

#define SUMS   0
#define ROWS   1
#define FIRST  2
#define SECOND 3

#define LOWS    1
#define WARPS   4 /* of a half */
#define PER     (32 * WARPS)
#define THREADS (2 * PER)
#define WANTED  16                     /* numbers of a thread: two rows of 32 columns */

#define BY_COLUMNS (PASS >= FIRST)
#define NEEDS_G    (PASS != SECOND)
#define RESULT     (PASS == SECOND)
#define CELL_TILES (2 * (INNER_TILES + WIDTH_TILES))
#define OWN_TILES  (2 * (INNER_TILES + NEEDS_G * WIDTH_TILES))
#define OUT_TILES  (PASS == SUMS ? 0 : RESULT ? WIDTH_TILES : INNER_TILES)
#define OUTS       (PASS == SUMS ? 6 : 32 * OUT_TILES) /* sums of a thread */
#define RESTS      3                                   /* and statistics: largest factors, 1 if bits are lost */
#define PART       ((OUTS + RESTS) * PER)              /* floats of a panel's partial sums */
#define MERGED     (32 + RESTS)                        /* floats that a thread hands to the other half */

#include "line_kernels.h"
#include "split_kernels.h"

/* Notes of the other rows of a cell. */
typedef struct cell_notes {
    float scales[2][SIDE];
    float2 stats[SIDE]; /* BY_COLUMNS */
} cell_notes;

/* Arguments shared by the kernels of a call. a and e: own rows; b and d: the other rows. stats: of all rows of S. */
typedef struct problem {
    int64 rows, others, inner, width;
    const offset *offsets;
    const index *columns;
    const element *a, *e, *b, *d;
    int64 a_stride, e_stride, b_stride, d_stride;
    output *out;
    int64 out_stride;
    const float2 *stats;
    float in_log2; /* scores in units of log 2 */
    real factor, beta;
} problem;

/* ------------------------------------------------------------------------------------------ plainly */

FUNCTION float plain_score(const problem &p, int64 row, int64 other) {
    return p.in_log2 * plain_dot(p.a + row * p.a_stride, p.b + other * p.b_stride, p.inner);
}

FUNCTION float plain_outer(const problem &p, int64 row, int64 other) {
    return plain_dot(p.e + row * p.e_stride, p.d + other * p.d_stride, p.width);
}

/* Computes one number of a row's result in fp32; all lanes of a warp. */
FUNCTION float plain_result(const problem &p, int64 row, int64 column, int lane) {
    const int64 end = p.offsets[row + 1];
    float result = 0;
#pragma unroll 1
    for (int64 t = p.offsets[row] + lane; t < end; t += 32) {
        const int64 other = (int64)p.columns[t];
        const float2 stats = p.stats[BY_COLUMNS ? other : row];
        const float share = exp2f(plain_score(p, row, other) - stats.x);
        if (RESULT)
            result = fmaf(share, real_of(p.d[other * p.d_stride + column]), result);
        else
            result = fmaf(share * (plain_outer(p, row, other) - stats.y), real_of(p.b[other * p.b_stride + column]), result);
    }
    return sum_of_warp(result);
}

FUNCTION void write_result(const problem &p, int64 row, int64 column, float x) {
    output *const at = p.out + row * p.out_stride + column;
    const float scaled = p.factor * x;
    *at = output_of(p.beta == 0 ? scaled : scaled + p.beta * real_of_output(*at));
}

/* Recomputes scores of half a cell, or outer products, that are not finite or have too few bits in fp16. */
NOINLINE void again_out_of_line(float *x, const problem &p, int outer, uint32 wanted, const cell_notes *noted, const index *lists,
                                int64 list, int last, int first_column, const float *own, int64 row, int lane) {
    uint32 again = 0;
    const int64 count = outer ? p.width : p.inner;
    const float *const scales = noted->scales[outer];
#pragma unroll 1
    for (int i = 0; i < WANTED; i++) {
        const float by = scales[first_column + column_of(i, lane)], of_row = own[i / 2 % 2];
        const int doubtful = (by < 0 || of_row < 0) && fabsf(x[i]) < DOUBT * (float)count;
        x[i] *= fabsf(by) * fabsf(of_row) * (outer ? 1 : p.in_log2);
        if (wanted >> i & 1 && (doubtful || !(fabsf(x[i]) < INFINITY))) again |= 1u << i;
    }
#pragma unroll 1
    for (; again; again &= again - 1) {
        const int which = __ffs((int)again) - 1, column = min(first_column + column_of(which, lane), last);
        const int64 other = lists ? (int64)lists[list + column] : list + column, own_row = row + which / 2 % 2 * 8;
        x[which] = outer ? plain_outer(p, own_row, other) : plain_score(p, own_row, other);
    }
}

/* The same on copies, so that scores can stay in registers. */
FUNCTION void again_plainly(float *x, const problem &p, int outer, uint32 wanted, const cell_notes *noted, const index *lists,
                            int64 list, int last, int first_column, const float *own, int64 row, int lane) {
    float copy[WANTED];
    const float scales[2] = {own[0], own[1]};
#pragma unroll
    for (int i = 0; i < WANTED; i++) copy[i] = x[i];
    again_out_of_line(copy, p, outer, wanted, noted, lists, list, last, first_column, scales, row, lane);
#pragma unroll
    for (int i = 0; i < WANTED; i++) x[i] = copy[i];
}

/* ------------------------------------------------------------------------------------------ results */

/* Writes a thread's part of two rows of a result's tile. Recomputes numbers that are not finite, or smaller than
   `doubt` of their row. */
NOINLINE void write_tile(const problem &p, int tile, const float *sums, const float *doubt, int64 row, int lane) {
    const int64 columns = RESULT ? p.width : p.inner;
    uint32 again = 0;
#pragma unroll 1
    for (int i = 0; i < 32; i++) {
        const int64 column = tile * SIDE + column_of(i, lane);
        const float x = fabsf(sums[i]);
        if (row + i / 2 % 2 * 8 >= p.rows || column >= columns) continue;
        if (x < INFINITY && x >= doubt[i / 2 % 2])
            write_result(p, row + i / 2 % 2 * 8, column, sums[i]);
        else
            again |= 1u << i;
    }
#pragma unroll 1
    for (asked of = next_asked(again); of.lane >= 0; of = next_asked(again)) {
        const int64 of_row = row - lane / 4 + of.lane / 4 + of.number / 2 % 2 * 8;
        const int64 column = tile * SIDE + column_of(of.number, of.lane);
        const float x = plain_result(p, of_row, column, lane);
        if (lane != of.lane) continue;
        write_result(p, of_row, column, x);
        again &= again - 1;
    }
}

/* The same in pairs, for the usual case. */
FUNCTION void write_rows(const problem &p, const float *sums, const float *top, int lost, int64 row, int lane) {
    const int64 columns = RESULT ? p.width : p.inner;
    const uint64 pair = 2 * sizeof(output);
    const float doubt[2] = {lost ? 0x1p-4f * top[0] : 0, lost ? 0x1p-4f * top[1] : 0};
    int usual = p.beta == 0 && columns % 2 == 0 && row + 8 < p.rows && (uint64)p.out % pair == 0 && p.out_stride % 2 == 0;
#pragma unroll
    for (int i = 0; i < 32 * OUT_TILES; i++) usual &= fabsf(sums[i]) < INFINITY && fabsf(sums[i]) >= doubt[i / 2 % 2];
    if (__all_sync(0xffffffffu, usual)) {
        output *const out = p.out + row * p.out_stride;
#pragma unroll
        for (int i = 0; i < 32 * OUT_TILES; i += 2)
            if (column_of(i, lane) < columns)
                write_pair(out + i / 2 % 2 * 8 * p.out_stride + column_of(i, lane), sums[i] * p.factor, sums[i + 1] * p.factor);
        return;
    }
#pragma unroll 1
    for (int tile = 0; tile < OUT_TILES; tile++) {
        float copy[32];
#pragma unroll
        for (int i = 0; i < 32 * OUT_TILES; i++)
            if (i / 32 == tile) copy[i % 32] = sums[i];
        write_tile(p, tile, copy, doubt, row, lane);
    }
}

/* Writes the rows of panels without cells. */
FUNCTION void write_empty(const problem &p, float2 *stats, int64 first_panel, int64 end_panel, int item) {
    if (PASS == SUMS) {
        for (int64 row = first_panel * SIDE + item; row < end_panel * SIDE; row += THREADS) stats[row] = make_float2(INFINITY, 0);
        return;
    }
    for (int64 row = first_panel * SIDE; row < min64(end_panel * SIDE, p.rows); row++)
        for (int64 column = item; column < (RESULT ? p.width : p.inner); column += THREADS) write_result(p, row, column, 0);
}

/* ------------------------------------------------------------------------------------------ rows' sums */

/* A thread's state of its two rows: the sums (backward_kernels.h), the largest factor, and 1 if numbers have lost
   bits. */
typedef struct row_sums {
    float most[2], total[2], delta[2], top[2];
    int lost;
} row_sums;

FUNCTION void begin_rows(row_sums &rows, float *sums) {
    rows.lost = 0;
#pragma unroll
    for (int i = 0; i < OUTS; i++) sums[i] = 0;
#pragma unroll
    for (int i = 0; i < 2; i++) rows.most[i] = -INFINITY, rows.total[i] = rows.delta[i] = rows.top[i] = 0;
}

#include "backward_kernels.h"

/* Adds half a cell (online softmax). x: scores, -infinity outside S; g: outer products, 0 outside S. */
FUNCTION void add_cell(row_sums &rows, const float *x, const float *g) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float largest = rows.most[half], total = 0, delta = 0;
#pragma unroll
        for (int i = 2 * half; i < WANTED; i += 4) largest = fmaxf(largest, fmaxf(x[i], x[i + 1]));
        const float against = SHIFT(largest), factor = power_of_two(rows.most[half] - against);
#pragma unroll
        for (int i = 2 * half; i < WANTED; i += 4)
#pragma unroll
            for (int k = i; k < i + 2; k++) {
                const float power = power_of_two(x[k] - against);
                total += power;
                delta = fmaf(power, g[k], delta);
            }
        rows.most[half] = largest;
        rows.total[half] = fmaf(rows.total[half], factor, total);
        rows.delta[half] = fmaf(rows.delta[half], factor, delta);
    }
}

/* ------------------------------------------------------------------------------------------ copying */

/* A matrix of split rows, one tile of all rows after another; and the rows' statistics. */
typedef struct source {
    const char *split;
    const float *scales;
    const float2 *stats;
    int64 filled;
} source;

#define ALL_ROWS ((int64)1 << 32) /* rows beyond the last exist, as zeros */

/* Starts to copy a thread's lines, of the given `rows`. */
FUNCTION void copy_tiles(uint32 to, const source &from, int tiles, const uint32 *rows, int item) {
#pragma unroll
    for (int line = 0; line < LINES; line++) {
        const int row = item / 8 + THREADS / 8 * line;
        const char *const at = from.split + (uint64)rows[line] * 128 + ((item % 8 ^ (rows[line] & 7)) << 4);
#pragma unroll
        for (int tile = 0; tile < tiles; tile++)
            copy_16(to + tile * TILE + row * 128 + ((item % 8 ^ row % 8) << 4), at + tile * from.filled * 128);
    }
}

FUNCTION void copy_cell(uint32 to, cell_notes *notes, const source &from, const uint32 *rows, int item) {
    copy_tiles(to, from, CELL_TILES, rows, item);
    if (item % 8 < LINES) {
        const uint32 row = item % 8 == 0 ? rows[0] : rows[1];
        const int at = item / 8 + item % 8 * (THREADS / 8);
        for (int i = 0; i < 2; i++) copy_4(shared_address(&notes->scales[i][at]), from.scales + i * from.filled + row);
        if (BY_COLUMNS) copy_8(shared_address(&notes->stats[at]), from.stats + row);
    }
}

FUNCTION void copy_own(uint32 to, const source &from, int64 panel, int item) {
    uint32 rows[LINES];
    own_rows(rows, panel * SIDE, ALL_ROWS, item);
    copy_tiles(to, from, OWN_TILES, rows, item);
}

/* ------------------------------------------------------------------------------------------ multiplying */

/* Multiplies 64 own rows by 32 other rows, in tiles of highs and lows. */
FUNCTION void begin_dots(float *sum, float *crossed, uint64 own, uint64 other, int tiles) {
#pragma unroll
    for (int tile = 0; tile < 2 * tiles; tile += 2)
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const uint64 x = tile_of(own, tile) + 2 * k, y = tile_of(other, tile) + 2 * k;
            multiply_64x32(crossed, x, tile_of(other, tile + 1) + 2 * k, tile + k > 0);
            multiply_64x32(crossed, tile_of(own, tile + 1) + 2 * k, y, 1);
            multiply_64x32(sum, x, y, tile + k > 0);
        }
}

FUNCTION void add_small(float *sum, float *crossed) {
    PRODUCTS_PIN(sum, WANTED);
    PRODUCTS_PIN(crossed, WANTED);
#pragma unroll
    for (int i = 0; i < WANTED; i++) sum[i] = fmaf(crossed[i], 0x1p-11f, sum[i]);
    PRODUCTS_PIN(sum, WANTED);
}

/* Splits the factors of 64 own rows and 32 other rows into two fp16 numbers each. */
FUNCTION void split_half(const float *x, uint32 *highs, uint32 *lows, float *back, float *top) {
    float by[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float largest = 0;
#pragma unroll
        for (int i = 2 * half; i < WANTED; i += 4) largest = fmaxf(largest, fmaxf(fabsf(x[i]), fabsf(x[i + 1])));
#pragma unroll
        for (int other = 1; other < 4; other *= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, other));
        by[half] = to_halves(largest, back[half]);
        top[half] = fmaxf(top[half], largest);
    }
#pragma unroll
    for (int i = 0; i < WANTED; i += 2) split_two(x[i] * by[i / 2 % 2], x[i + 1] * by[i / 2 % 2], highs[i / 2], lows[i / 2]);
}

/* Adds the factors times the tiles at y, small products first. */
FUNCTION void add_products(float *sums, const uint32 *highs, const uint32 *lows, const float *back, uint64 y) {
#pragma unroll
    for (int small = 1; small >= 0; small--) {
        float d[OUT_TILES > 0 ? OUT_TILES : 1][32];
#pragma unroll
        for (int tile = 0; tile < OUT_TILES; tile++) PRODUCTS_PIN(d[tile], 32);
        products_begin();
#pragma unroll
        for (int tile = 0; tile < OUT_TILES; tile++)
#pragma unroll
            for (int k = 0; k < 2; k++) {
                const uint64 high = tile_of(y, 2 * tile) + 128 * k, low = tile_of(y, 2 * tile + 1) + 128 * k;
                multiply_64x64_across_held(d[tile], (small ? lows : highs) + 4 * k, high, k > 0);
                if (small) multiply_64x64_across_held(d[tile], highs + 4 * k, low, 1);
            }
        products_commit();
        PRODUCTS_WAIT(0);
#pragma unroll
        for (int tile = 0; tile < OUT_TILES; tile++) add_factors(sums + 32 * tile, d[tile], back, small ? 0x1p-11f : 1);
    }
}

/* ------------------------------------------------------------------------------------------ the kernel */

/* Scores and outer products of half a cell, without the scales of their rows. */
FUNCTION void multiply_half(float *x, float *g, uint64 own, uint64 other) {
    float crossed[2][WANTED];
    PRODUCTS_PIN(x, WANTED);
    PRODUCTS_PIN(g, WANTED);
    PRODUCTS_PIN(crossed[0], WANTED);
    PRODUCTS_PIN(crossed[1], WANTED);
    products_begin();
    begin_dots(x, crossed[0], own, other, INNER_TILES);
    if (NEEDS_G)
        begin_dots(g, crossed[1], tile_of(own, 2 * INNER_TILES), tile_of(other, 2 * INNER_TILES), WIDTH_TILES);
    products_commit();
    PRODUCTS_WAIT(0);
    add_small(x, crossed[0]);
    if (NEEDS_G) add_small(g, crossed[1]);
}

/* Scales and masks them. Returns 1 if numbers have lost bits. */
FUNCTION int scale_half(float *x, float *g, const problem &p, const cell_notes *noted, const index *lists, const cell_record &cell,
                        const float (*own_by)[2], uint32 wanted, int first_column, int64 row, float in_log2, int unusual, int lane) {
    uint32 marks = 0; /* compared as bits, negative numbers and NaN are above 2^40 */
    int lost = 0;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint32 bits = bits_of_float(noted->scales[i][first_column + lane]);
        marks = max(max(marks, bits), max(bits_of_float(own_by[i][0]), bits_of_float(own_by[i][1])));
        lost |= bits > 0x7f800000u;
    }
    const int special = unusual || __reduce_max_sync(0xffffffffu, marks) > bits_of_float(0x1p40f);
    lost = special && __any_sync(0xffffffffu, lost);
    if (special) {
        again_plainly(x, p, 0, wanted, noted, lists, cell.list, cell.last, first_column, own_by[0], row, lane);
        if (NEEDS_G)
            again_plainly(g, p, 1, wanted, noted, lists, cell.list, cell.last, first_column, own_by[1], row, lane);
    } else {
#pragma unroll
        for (int j = 0; j < WANTED / 4; j++) {
            const float2 by = *(const float2 *)(noted->scales[0] + first_column + column_of(4 * j, lane)),
                         outer = *(const float2 *)(noted->scales[1] + first_column + column_of(4 * j, lane));
#pragma unroll
            for (int i = 4 * j; i < 4 * j + 4; i++) {
                x[i] *= (i % 2 ? by.y : by.x) * (own_by[0][i / 2 % 2] * in_log2);
                if (NEEDS_G) g[i] *= (i % 2 ? outer.y : outer.x) * own_by[1][i / 2 % 2];
            }
        }
    }
    if (!__all_sync(0xffffffffu, wanted == 0xffffu)) {
#pragma unroll
        for (int i = 0; i < WANTED; i++)
            if (!(wanted >> i & 1)) x[i] = -INFINITY, g[i] = 0;
    }
    return lost;
}

/* Adds half a cell to the sums: its shares, or shares times differences,, times the other rows. */
FUNCTION void add_half(float *sums, row_sums &of, float *x, const float *g, const cell_notes *noted, const float *lse, const float *delta,
                       uint64 across, int first_column, int lane) {
#if PASS == SUMS
    add_cell(of, x, g);
#else
#pragma unroll
    for (int j = 0; j < WANTED / 4; j++) {
        const int at = first_column + column_of(4 * j, lane);
        const float4 known = BY_COLUMNS ? *(const float4 *)(noted->stats + at) : make_float4(0, 0, 0, 0);
        const float2 by = *(const float2 *)(noted->scales[RESULT] + at);
#pragma unroll
        for (int i = 4 * j; i < 4 * j + 4; i++) {
            const float minus = BY_COLUMNS ? (i % 2 ? known.z : known.x) : lse[i / 2 % 2];
            const float mean = BY_COLUMNS ? (i % 2 ? known.w : known.y) : delta[i / 2 % 2];
            const float share = power_of_two(x[i] - minus);
            x[i] = (RESULT ? share : share * (g[i] - mean)) * fabsf(i % 2 ? by.y : by.x);
        }
    }
    uint32 highs[WANTED / 2], lows[WANTED / 2];
    float back[2];
    split_half(x, highs, lows, back, of.top);
    add_products(sums, highs, lows, back, tile_of(across, 2 * INNER_TILES * RESULT));
#endif
}

/* The second half hands its sums to the first. */
FUNCTION void merge_halves(row_sums &of, float *sums, float *merged, int second_half) {
#if PASS == SUMS
    merge_lanes(of);
    if (second_half)
#pragma unroll
        for (int i = 0; i < 2; i++) merged[3 * i * PER] = of.most[i], merged[(3 * i + 1) * PER] = of.total[i], merged[(3 * i + 2) * PER] = of.delta[i];
    __syncthreads();
    if (!second_half)
#pragma unroll
        for (int i = 0; i < 2; i++) merge_row(of, i, merged[3 * i * PER], merged[(3 * i + 1) * PER], merged[(3 * i + 2) * PER]);
#pragma unroll
    for (int i = 0; i < 2; i++) sums[i] = of.most[i], sums[2 + i] = of.total[i], sums[4 + i] = of.delta[i];
#else
#pragma unroll
    for (int t = 0; t < OUT_TILES; t++) {
        if (t > 0) __syncthreads();
        if (second_half) {
#pragma unroll
            for (int i = 0; i < 32; i++) merged[i * PER] = sums[32 * t + i];
            merged[32 * PER] = of.top[0], merged[33 * PER] = of.top[1], merged[34 * PER] = (float)of.lost;
        }
        __syncthreads();
        if (!second_half) {
#pragma unroll
            for (int i = 0; i < 32; i++) sums[32 * t + i] += merged[i * PER];
            of.top[0] = fmaxf(of.top[0], merged[32 * PER]), of.top[1] = fmaxf(of.top[1], merged[33 * PER]);
            of.lost |= merged[34 * PER] != 0;
        }
    }
#endif
}

KERNEL backward_wide(BACKWARD_PARAMETERS, int64 others, int32 each, int32 more, IN(int64, records), OUT(float, partials),
                     OUT(int32, arrived), int64 counters, IN(index, lists), IN(int32, together), IN(uint32, masks),
                     SPLIT_PARAMETERS, OUT(float, stats)) {
    extern __shared__ __align__(1024) char memory[];
    BACKWARD_SCRATCH;
    SPLIT_MEMBERS;
    MEMBER(arrived, counters);
    let_next_launch_begin();
    const int item = LOCAL_ID, second_half = item / PER, in_half = item % PER, warp = in_half / 32, lane = item % 32;
    const int row_in = warp * 16 + lane / 4, first_column = second_half * (SIDE / 2);
    const cell_record *const all = (const cell_record *)records;
    const int begin = begin_of(all, (int)GROUP_X, each, more), end = begin_of(all, (int)GROUP_X + 1, each, more);
    const uint32 own = shared_address(memory), first_stage = own + OWN_TILES * TILE;
    cell_notes *const notes = (cell_notes *)(memory + (OWN_TILES + STAGES * CELL_TILES) * TILE);
    float *const merged = (float *)(notes + STAGES) + in_half;
    const problem p = {rows, others, inner, width, offsets, columns, a, e, b, d, a_stride, e_stride, b_stride, d_stride,
                       RESULT ? second : first, RESULT ? second_stride : first_stride, (const float2 *)stats, edge_scale * LOG2_E,
                       RESULT ? alpha : alpha * edge_scale, beta};
    const source own_rows = {own_split, own_scales, p.stats, own_filled}, from = {split, scales, p.stats, filled};
    wait_for_last_launch();
    const int64 panel_before = begin > 0 ? all[begin - 1].panel : -1;
    if (GROUP_X == 0 && (PASS == SUMS || writes >> RESULT & 1)) write_empty(p, (float2 *)stats, 0, all[0].panel, item);
    if (begin >= end || (PASS != SUMS && !(writes >> RESULT & 1))) return;
    const uint64 own_first = operand_of(own), half_first = operand_of(first_stage + first_column * 128),
                 half_across = operand_across(first_stage + first_column * 128, TILE);
    const float in_log2 = fabsf(p.in_log2);
    const int unusual = !(p.in_log2 > 0 && in_log2 > 0x1p-40f && in_log2 < 0x1p40f);
    next_record record;
    uint32 coming[LINES]; /* rows of the cell that is copied next */
    copy_own(own, own_rows, all[begin].panel, item);
    const auto copy_to = [&](int place) { copy_cell(first_stage + place * (CELL_TILES * TILE), notes + place, from, coming, item); };
    fill_ring(record, coming, records, together, lists, ALL_ROWS, begin, end, item, copy_to);
    if (begin + STAGES < end) load_mixed_record(record, records, together, begin + STAGES);
    int stage = 0, fresh = 1; /* fresh: a panel begins */
    float sums[OUTS], own_by[2][2], lse[2], delta[2];
    row_sums of;
    begin_rows(of, sums);
#pragma unroll 1
    for (int c = begin; c < end; c++) {
        const uint32 wanted = masks[(int64)c * PER + in_half] >> WANTED * second_half & 0xffffu;
        const int64 panel = all[c].panel, next_panel = all[c].next_panel;
        if (STAGES == 2 || fresh)
            COPIES_WAIT(0);
        else
            COPIES_WAIT(STAGES - 2);
        proxies_meet();
        __syncthreads(); /* all copies have arrived, and the previous cell's stage is free */
        if (c + STAGES - 1 < end) {
            copy_to(stage == 0 ? STAGES - 1 : stage - 1);
            if (c + STAGES < end) load_rows(coming, record, lists, ALL_ROWS, item);
            if (c + STAGES + 1 < end) load_mixed_record(record, records, together, c + STAGES + 1);
        }
        copies_commit();
        if (fresh) {
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const int64 row = panel * SIDE + row_in + 8 * i;
                own_by[0][i] = landed(own_scales[row]);
                own_by[1][i] = landed(own_scales[own_filled + row]);
                if (PASS == ROWS) lse[i] = landed(p.stats[row].x), delta[i] = landed(p.stats[row].y);
            }
        }
        const cell_notes *const noted = notes + stage;
        const int tile = stage * CELL_TILES;
        float x[WANTED], g[WANTED];
        multiply_half(x, g, own_first, tile_of(half_first, tile));
        fresh = panel != next_panel;
        if (fresh && c + 1 < end) {
            __syncthreads(); /* the own rows are no longer needed */
            copy_own(own, own_rows, next_panel, item);
            copies_commit();
        }

        of.lost |= scale_half(x, g, p, noted, lists, all[c], own_by, wanted, first_column, panel * SIDE + row_in, in_log2, unusual, lane);
        add_half(sums, of, x, g, noted, lse, delta, tile_of(half_across, tile), first_column, lane);

        const int whole = fresh, from_before = panel == panel_before;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        if (!whole && c + 1 < end) continue;
        merge_halves(of, sums, merged, second_half);
        if (!second_half) {
            int mine = PASS == SUMS || panel * SIDE + warp * 16 < rows; /* 1: this warp writes the result */
            if (mine && (!whole || from_before)) /* groups share the panel */
                mine = share_panel(of, sums, partials + item, arrived + warp, !from_before, group_of_cell(all[c].first_cell, each, more),
                                   group_of_cell(all[c].end_cell - 1, each, more), lane);
            const int64 row = panel * SIDE + row_in;
#if PASS == SUMS
            if (mine && lane % 4 == 0) store_stats(of, (float2 *)stats + row, 0);
#else
            if (mine) write_rows(p, sums, of.top, of.lost, row, lane);
#endif
        }
        begin_rows(of, sums);
        if (whole) write_empty(p, (float2 *)stats, panel + 1, next_panel, item);
    }
}
