/*
 * Gradients of E = softmax(scale <A, B>) D by cells on the tensor cores, with the accuracy of fp32: the backward pass
 * of attention with any mask. No array has an element per nonzero. The method is FlashAttention's backward pass (Dao,
 * "FlashAttention-2", section 3.1), on the cells of a sparse pattern, without atomics: one launch goes by rows of S,
 * the other by rows of its transpose.
 *
 * With x = scale <A_i, B_j>, g = <dE_i, D_j> and p the softmax of a row's x:
 *
 *   BY_COLUMNS = 0   sums p g B_j and p B_j over a row's cells, with the largest x so far as in fused_wgmma.cu, then
 *                    delta_i = sum p g and dA_i = scale (sum p g B_j - delta_i sum p B_j). Stores the row's largest x,
 *                    the inverse of its sum of exponentials and delta_i for the other launch.
 *   BY_COLUMNS = 1   of a column j: dB_j = scale sum p (g - delta_i) A_i and dD_j = sum p dE_i.
 *
 * A panel has 64 own rows: of A and dE, or of B and D. The other rows come with the cells. A, B, D and dE have at most
 * 64 columns; split_rows.cu has split them into lines of 64 highs and 64 lows. A tile of 64 lines serves as an operand
 * along its rows, for <A_i, B_j>, and across them, for the sums.
 *
 *   all warps   copy the other rows of cell c + STAGES - 1  -->  a stage of the ring
 *               cell c:  x = A B', g = dE D'  -> scale, mask -> p = 2^(x - most)
 *                        p                     -> split into highs and lows -> second sums += p times other rows
 *                        p g or p (g - delta)  -> split into highs and lows -> first sums  += times other rows
 *               end of a panel: (merge the groups' partial sums) -> scale -> results, statistics of rows
 *
 * A group takes a run of cells of a member, and two groups share a multiprocessor. Its four warps have 16 rows each,
 * and all of them copy cells: with a separate copying warp, threads would have too few registers. Each row of factors
 * is scaled by a power of two of its largest number in a cell, so that two fp16 numbers hold 22 bits of them. If
 * several groups share a panel, each stores partial sums, and the last one adds them up in order. Results that are not
 * finite, or so small that fp16 has lost their bits, are recomputed in fp32.
 *
 * PRODUCTS: 3 if numbers are two fp16 numbers each; 1 with math = tf32. STAGES: cells in shared memory.
 *
 * The right choice for fp32 where attention's forward pass is: about one score in ten of the cells or more.
 */
#include "simt.h"
#include "tensor_cores.h"
#include "cell_kernels.h"

#define MULTIPLIERS 4               /* warps */
#define THREADS     (32 * MULTIPLIERS)
#define LOWS        (PRODUCTS == 3) /* rows are split into highs and lows */
#define PARTS       (1 + LOWS)      /* tiles of a matrix */
#define OWN         (2 * PARTS)     /* tiles that stay for a panel, and tiles of a cell */
#define OUTS        32              /* sums of a thread for each of both results */
#define RESTS       11              /* and their statistics, for two rows */
#define PART        ((2 * OUTS + RESTS) * THREADS) /* floats of a panel's partial sums */

#include "line_kernels.h"
#include "split_kernels.h"

typedef struct cell_notes {
    float own[2][SIDE], scales[2][SIDE]; /* of the own rows, and of the other rows */
    float most[SIDE], inverse[SIDE], delta[SIDE]; /* BY_COLUMNS: of the other rows */
    cell_record cell;
    int32 gathered, unused[3]; /* 1: threads gathered its tiles */
} cell_notes;

#define FULL(i)  (gates + 8 * (i))
#define OWN_FULL (gates + 8 * STAGES)

/* Arguments shared by the kernels of a call. a and e: own rows; b and d: the other rows. */
typedef struct problem {
    int64 rows, inner, width;
    const offset *offsets;
    const index *columns;
    const element *a, *e, *b, *d;
    int64 a_stride, e_stride, b_stride, d_stride;
    output *out[2];
    int64 out_strides[2];
    const float *most, *inverse, *delta; /* of all rows of S */
    real scale, factor[2], beta;         /* factor: of both results */
} problem;

/* A thread's state of its two rows: the sums (backward_kernels.h), the largest factor of each product, and 1 if numbers
   have lost bits. */
typedef struct row_sums {
    float most[2], total[2], delta[2], top[2][2];
    int lost;
} row_sums;
#include "backward_kernels.h"

FUNCTION void begin_rows(row_sums &rows, float *sums) {
    rows.lost = 0;
#pragma unroll
    for (int i = 0; i < 2 * OUTS; i++) sums[i] = 0;
#pragma unroll
    for (int i = 0; i < 2; i++) rows.most[i] = -INFINITY, rows.total[i] = rows.delta[i] = rows.top[0][i] = rows.top[1][i] = 0;
}

/* ------------------------------------------------------------------------------------------ plainly */

FUNCTION float plain_score(const problem &p, int64 row, int64 other) {
    return p.scale * LOG2_E * plain_dot(p.a + row * p.a_stride, p.b + other * p.b_stride, p.inner);
}

FUNCTION float plain_outer(const problem &p, int64 row, int64 other) {
    return plain_dot(p.e + row * p.e_stride, p.d + other * p.d_stride, p.width);
}

/* Computes one number of a row of result `which` in fp32; all lanes of a warp. The last three: of the row, unless
   BY_COLUMNS. */
FUNCTION float plain_result(const problem &p, int which, int64 row, int64 column, int lane, float most, float inverse, float delta) {
    const int64 end = p.offsets[row + 1];
    float result = 0;
#pragma unroll 1
    for (int64 t = p.offsets[row] + lane; t < end; t += 32) {
        const int64 other = (int64)p.columns[t];
        if (BY_COLUMNS) most = p.most[other], inverse = p.inverse[other], delta = p.delta[other];
        const float share = exp2f(plain_score(p, row, other) - most) * inverse;
        if (which == 0)
            result = fmaf(share * (plain_outer(p, row, other) - delta), real_of(p.b[other * p.b_stride + column]), result);
        else
            result = fmaf(share, real_of(p.d[other * p.d_stride + column]), result);
    }
    return sum_of_warp(result);
}

FUNCTION void write_result(const problem &p, int which, int64 row, int64 column, float x) {
    output *const at = p.out[which] + row * p.out_strides[which] + column;
    const float scaled = p.factor[which] * x;
    *at = output_of(p.beta == 0 ? scaled : scaled + p.beta * real_of_output(*at));
}

/* ------------------------------------------------------------------------------------------ results */

/* Adds the groups' partial sums of a panel in order, as if one group had had all its cells. */
FUNCTION void gather_parts(float *sums, row_sums &rows, const float *parts, int first_group, int last_group) {
    begin_rows(rows, sums);
#pragma unroll 1
    for (int g = first_group; g <= last_group; g++) {
        const float *const part = parts + (int64)(2 * g + (g == first_group)) * PART;
        const float *const rest = part + 2 * OUTS * THREADS;
        float factor[2], before[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            take_larger(rows.most[i], __ldcg(rest + i * THREADS), before[i], factor[i]);
            rows.total[i] = fmaf(factor[i], __ldcg(rest + (2 + i) * THREADS), rows.total[i] * before[i]);
            rows.delta[i] = fmaf(factor[i], __ldcg(rest + (4 + i) * THREADS), rows.delta[i] * before[i]);
#pragma unroll
            for (int which = 0; which < 2; which++)
                rows.top[which][i] = fmaxf(rows.top[which][i] * before[i], factor[i] * __ldcg(rest + (6 + 2 * which + i) * THREADS));
        }
        rows.lost |= __ldcg(rest + 10 * THREADS) != 0;
#pragma unroll
        for (int i = 0; i < 2 * OUTS; i++)
            sums[i] = fmaf(factor[i / 2 % 2], __ldcg(part + i * THREADS), sums[i] * before[i / 2 % 2]);
    }
}

FUNCTION void leave_part(float *to, const float *sums, const row_sums &rows) {
    const float rest[RESTS] = {rows.most[0], rows.most[1], rows.total[0], rows.total[1], rows.delta[0], rows.delta[1],
                               rows.top[0][0], rows.top[0][1], rows.top[1][0],  rows.top[1][1],  (float)rows.lost};
#pragma unroll
    for (int i = 0; i < 2 * OUTS + RESTS; i++) to[i * THREADS] = i < 2 * OUTS ? sums[i] : rest[i - 2 * OUTS];
}

/* Writes a thread's part of two rows of a result; sums is a copy, so that the sums can stay in registers. Recomputes
   results that are not finite, or smaller than `doubt` of their row, with the row's statistics. */
NOINLINE void write_rows(const problem &p, int which, int64 row, int lane, const float *sums, const float *doubt, const float *most,
                         const float *inverse, const float *delta) {
    const int column = lane % 4 * 2;
    const int64 stride = p.out_strides[which], columns = which == 0 ? p.inner : p.width;
    const uint64 pair = 2 * sizeof(output);
    output *const out[2] = {p.out[which] + row * stride + column, p.out[which] + (row + 8) * stride + column};
    const int paired = p.beta == 0 && columns % 2 == 0 && row + 8 < p.rows && (uint64)p.out[which] % pair == 0 && stride % 2 == 0;
    uint32 again = 0;
#pragma unroll
    for (int i = 0; i < OUTS; i++) {
        const float x = fabsf(sums[i]);
        const int inside = row + i / 2 % 2 * 8 < p.rows && i / 4 * 8 + column + i % 2 < columns;
        if (inside && (!(x < INFINITY) || x < doubt[i / 2 % 2])) again |= 1u << i;
    }
    if (paired && again == 0) {
#pragma unroll
        for (int i = 0; i < OUTS; i += 2)
            if (i / 4 * 8 + column < columns) write_pair(out[i / 2 % 2] + i / 4 * 8, sums[i] * p.factor[which], sums[i + 1] * p.factor[which]);
    } else {
#pragma unroll 1
        for (int i = 0; i < OUTS; i++)
            if (!(again >> i & 1) && row + i / 2 % 2 * 8 < p.rows && i / 4 * 8 + column + i % 2 < columns)
                write_result(p, which, row + i / 2 % 2 * 8, i / 4 * 8 + column + i % 2, sums[i]);
    }
#pragma unroll 1
    for (asked of = next_asked(again); of.lane >= 0; of = next_asked(again)) {
        const int lower = of.number / 2 % 2;
        const int64 of_row = row - lane / 4 + of.lane / 4 + 8 * lower;
        const int64 of_column = of.number / 4 * 8 + of.lane % 4 * 2 + of.number % 2;
        const float x = plain_result(p, which, of_row, of_column, lane, __shfl_sync(0xffffffffu, lower ? most[1] : most[0], of.lane),
                                     __shfl_sync(0xffffffffu, lower ? inverse[1] : inverse[0], of.lane),
                                     __shfl_sync(0xffffffffu, lower ? delta[1] : delta[0], of.lane));
        if (lane != of.lane) continue;
        write_result(p, which, of_row, of_column, x);
        again &= again - 1;
    }
}

/* Writes the rows of panels without cells. */
FUNCTION void write_empty(const problem &p, int64 first_panel, int64 end_panel, int item, float *stats, int64 filled) {
    for (int64 row = first_panel * SIDE + item; !BY_COLUMNS && row < end_panel * SIDE; row += THREADS)
        for (int i = 0; i < 3; i++) stats[i * filled + row] = 0;
    for (int which = 0; which < 2; which++)
        for (int64 row = first_panel * SIDE; p.out[which] && row < min64(end_panel * SIDE, p.rows); row++)
            for (int64 column = item; column < (which == 0 ? p.inner : p.width); column += THREADS)
                write_result(p, which, row, column, 0);
}

/* Turns the sums of a panel into results, and stores the statistics of its rows. */
FUNCTION void write_panel(const problem &p, int64 row, int lane, float *sums, row_sums &rows, float *stats,
                          int64 filled) {
    float inverse[2], delta[2], doubt[2][2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        inverse[i] = rows.total[i] == 0 ? 0 : 1 / rows.total[i]; /* 0: no nonzeros */
        delta[i] = rows.delta[i] * inverse[i];
        doubt[0][i] = rows.lost ? 0x1p-4f * (BY_COLUMNS ? rows.top[0][i] : (rows.top[0][i] + fabsf(delta[i]) * rows.top[1][i]) * inverse[i]) : 0;
        doubt[1][i] = rows.lost ? 0x1p-4f * rows.top[1][i] : 0;
    }
    if (!BY_COLUMNS) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            if (lane % 4 != 0) continue;
            stats[row + 8 * i] = SHIFT(rows.most[i]);
            stats[filled + row + 8 * i] = inverse[i];
            stats[2 * filled + row + 8 * i] = delta[i];
        }
#pragma unroll
        for (int i = 0; i < OUTS; i++) {
            const int half = i / 2 % 2;
            sums[i] = rows.total[half] == 0 ? 0 : (sums[i] - delta[half] * sums[OUTS + i]) * inverse[half];
        }
    }
    const float most[2] = {rows.most[0], rows.most[1]};
#pragma unroll
    for (int which = 0; which < 1 + BY_COLUMNS; which++) {
        float result[OUTS];
#pragma unroll
        for (int i = 0; i < OUTS; i++) result[i] = sums[OUTS * which + i];
        if (p.out[which]) write_rows(p, which, row, lane, result, doubt[which], most, inverse, delta);
    }
}

/* ------------------------------------------------------------------------------------------ the kernel */

/* The source of cells (notes and tiles), and their destination in shared memory. */
typedef struct source {
    const int64 *records;
    const index *lists;
    const int32 *together;
    const float *own_scales, *scales, *stats; /* of both matrices; statistics of the rows */
    const char *own_split, *split;
    int64 own_filled, filled;
    uint32 stages, own; /* destination of tiles */
    cell_notes *notes;
    uint32 gates;
} source;

/* A thread's data about a cell, loaded ahead of its copies: columns one cell ahead, their addresses two cells ahead. */
typedef struct ahead {
    int64 panel;
    int32 start;                      /* the first of contiguous columns; -1: gathered */
    uint32 described, columns[LINES]; /* columns of this thread: for the notes, and to copy */
} ahead;

FUNCTION void load_columns(ahead &cell, const next_record &record, const source &from, int item) {
    cell.panel = record.panel;
    cell.start = record.start;
    if (cell.start >= 0) return;
    cell.described = (uint32)from.lists[record.list + min(item % SIDE, record.last)];
#pragma unroll
    for (int i = 0; i < LINES; i++) cell.columns[i] = (uint32)from.lists[record.list + min(item / 8 + AT_A_TIME * i, record.last)];
}

/* Starts to copy a cell; called by all threads. */
FUNCTION void copy_cell(const ahead &cell, const source &from, int c, int stage, int item) {
    cell_notes *const into = from.notes + stage;
    const uint32 gate = from.gates + 8 * stage, to = from.stages + stage * (OWN * TILE);
    const int gathered = cell.start < 0;
    if (item == 0) {
        into->gathered = gathered;
        gate_expect(gate, 2 * 4 * SIDE + sizeof(cell_record) + (gathered ? 0 : (2 + 3 * BY_COLUMNS) * 4 * SIDE + OWN * TILE));
    }
    /* one thread of each warp starts bulk copies, so that no warp falls behind */
    copy_together(shared_address(&into->cell), from.records + c * (int64)sizeof(cell_record) / 8, sizeof(cell_record), gate, item, THREADS);
    for (int i = 0; i < 2; i++) {
        const int by = item ^ 32 * i;
        copy_together(shared_address(into->own[i]), from.own_scales + i * from.own_filled + cell.panel * SIDE, 4 * SIDE, gate, by, THREADS);
        if (!gathered) copy_together(shared_address(into->scales[i]), from.scales + i * from.filled + cell.start, 4 * SIDE, gate, by, THREADS);
    }
    for (int i = 0; BY_COLUMNS && !gathered && i < 3; i++)
        copy_together(shared_address(into->most + i * SIDE), from.stats + i * from.filled + cell.start, 4 * SIDE, gate, item ^ 32 * i, THREADS);
    for (int i = 0; !gathered && i < OWN; i++)
        copy_together(to + i * TILE, from.split + (i * from.filled + cell.start) * 128, TILE, gate, item ^ 32 * (MULTIPLIERS - 1 - i), THREADS);
    if (BULK && !gathered) {
        gate_arrive(gate);
        return;
    }
    if (gathered && item < SIDE) {
        for (int i = 0; i < 2; i++) copy_4(shared_address(into->scales[i] + item), from.scales + i * from.filled + cell.described);
        for (int i = 0; BY_COLUMNS && i < 3; i++)
            copy_4(shared_address(into->most + i * SIDE + item), from.stats + i * from.filled + cell.described);
    }
#pragma unroll
    for (int i = 0; gathered && i < OWN; i++)
#pragma unroll
        for (int line = 0; line < LINES; line++) {
            const int row = item / 8 + AT_A_TIME * line;
            const uint32 column = cell.columns[line];
            copy_16(to + i * TILE + row * 128 + ((item % 8 ^ row % 8) << 4),
                    from.split + (i * from.filled + column) * 128 + ((item % 8 ^ (column & 7)) << 4));
        }
    gate_arrive_with_copies(gate);
}

/* Starts to copy the own rows of a panel; called by all threads. */
FUNCTION void copy_own(const source &from, int64 panel, int item) {
    const uint32 gate = from.gates + 8 * STAGES;
    if (BULK && item > 0) return;
    gate_expect(gate, OWN * TILE);
    if (BULK) gate_arrive(gate);
    for (int i = 0; i < OWN; i++)
        copy_together(from.own + i * TILE, from.own_split + (i * from.own_filled + panel * SIDE) * 128, TILE, gate, item, THREADS);
    if (!BULK) gate_arrive_with_copies(gate);
}

/* Recomputes the cell's scores, or outer products, that are not finite or have too few bits in fp16. */
NOINLINE void again_out_of_line(float *x, const problem &p, int outer, uint32 wanted, const cell_notes *noted, const index *lists, int64 row,
                            int row_in, int lane) {
    uint32 again = 0;
    const int64 count = outer ? p.width : p.inner;
    const float *const own = noted->own[outer], *const scales = noted->scales[outer];
#pragma unroll 1
    for (int i = 0; i < 32; i++) {
        const float by = scales[column_of(i, lane)], of_row = own[row_in + i / 2 % 2 * 8];
        const int doubtful = (by < 0 || of_row < 0) && fabsf(x[i]) < DOUBT * (float)count;
        x[i] *= fabsf(by) * fabsf(of_row) * (outer ? 1 : p.scale * LOG2_E);
        if (wanted >> i & 1 && (doubtful || !(fabsf(x[i]) < INFINITY))) again |= 1u << i;
    }
#pragma unroll 1
    for (; again; again &= again - 1) {
        const int which = __ffs((int)again) - 1, column = min(column_of(which, lane), noted->cell.last);
        const int64 at = noted->cell.list + column, other = lists ? (int64)lists[at] : at, own_row = row + which / 2 % 2 * 8;
        x[which] = outer ? plain_outer(p, own_row, other) : plain_score(p, own_row, other);
    }
}

/* The same on a copy, so that scores can stay in registers. */
FUNCTION void again_plainly(float *x, const problem &p, int outer, uint32 wanted, const cell_notes *noted, const index *lists, int64 row,
                            int row_in, int lane) {
    float copy[32];
#pragma unroll
    for (int i = 0; i < 32; i++) copy[i] = x[i];
    again_out_of_line(copy, p, outer, wanted, noted, lists, row, row_in, lane);
#pragma unroll
    for (int i = 0; i < 32; i++) x[i] = copy[i];
}

/* Scores x = A B' and outer products g = dE D' of a cell, without the scales of their rows. */
FUNCTION void multiply_cell(float *x, float *g, uint64 own, uint64 stage, int tile) {
    float crossed[2][LOWS ? 32 : 1];
    if (LOWS) {
        PRODUCTS_PIN(crossed[0], 32);
        PRODUCTS_PIN(crossed[1], 32);
    }
    PRODUCTS_PIN(x, 32);
    PRODUCTS_PIN(g, 32);
    products_begin();
    begin_rows_products(x, crossed[0], own, tile_of(own, LOWS), tile_of(stage, tile), tile_of(stage, tile + LOWS));
    if (PRODUCTS_AT_ONCE) add_crossed(x, crossed[0]);
    begin_rows_products(g, crossed[1], tile_of(own, PARTS), tile_of(own, PARTS + LOWS), tile_of(stage, tile + PARTS),
                        tile_of(stage, tile + PARTS + LOWS));
    products_commit();
    PRODUCTS_WAIT(0);
    if (!PRODUCTS_AT_ONCE) add_crossed(x, crossed[0]);
    add_crossed(g, crossed[1]);
}

/* Scales and masks the scores and outer products of a cell: fully, except for the scales of the own rows, which it
   returns. The result is 1 if numbers have lost bits. */
FUNCTION int scale_cell(float *x, float *g, float *row_factors, float *own_second, const problem &p, const cell_notes *noted,
                        const index *lists, uint32 wanted, int64 row, int row_in, float in_log2, int unusual, int lane) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
        row_factors[i] = fmaxf(fabsf(noted->own[0][row_in + 8 * i]) * in_log2, 0x1p-120f); /* not 0: 0 * infinity is NaN */
        own_second[i] = noted->own[1][row_in + 8 * i];
    }
    uint32 marks = 0;
    int lost = 0;
#pragma unroll
    for (int i = 0; i < 2; i++) { /* compared as bits, negative numbers and NaN are above 2^40 */
        const float2 two = *(const float2 *)(noted->scales[i] + 2 * lane), own = *(const float2 *)(noted->own[i] + 2 * lane);
        marks = max(max(marks, max(bits_of_float(two.x), bits_of_float(two.y))), max(bits_of_float(own.x), bits_of_float(own.y)));
        lost |= bits_of_float(two.x) > 0x7f800000u || bits_of_float(two.y) > 0x7f800000u;
    }
    const int special = unusual || __reduce_max_sync(0xffffffffu, marks) > bits_of_float(0x1p40f);
    lost = special && __any_sync(0xffffffffu, lost);
    if (special) {
        again_plainly(x, p, 0, wanted, noted, lists, row, row_in, lane);
        again_plainly(g, p, 1, wanted, noted, lists, row, row_in, lane);
        row_factors[0] = row_factors[1] = own_second[0] = own_second[1] = 1;
    } else {
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const float2 by = *(const float2 *)(noted->scales[0] + 8 * j + lane % 4 * 2), outer = *(const float2 *)(noted->scales[1] + 8 * j + lane % 4 * 2);
#pragma unroll
            for (int i = 4 * j; i < 4 * j + 4; i++) {
                x[i] *= i % 2 ? by.y : by.x;
                g[i] *= i % 2 ? outer.y : outer.x;
            }
        }
    }
    if (!__all_sync(0xffffffffu, wanted == 0xffffffffu)) {
#pragma unroll
        for (int i = 0; i < 32; i++)
            if (!(wanted >> i & 1)) x[i] = -INFINITY, g[i] = 0;
    }
    return lost;
}

/* Factors of both products, first and second, as two fp16 numbers each; `back` undoes the scales of their rows. */
typedef struct cell_factors {
    uint32 highs[2][16], lows[2][16];
    float back[2][2];
} cell_factors;

/* Makes x the factor of the second product, and splits it; makes g that of the first. */
FUNCTION void find_factors(float *x, float *g, cell_factors &factors, row_sums &of, float *sums, const float *row_factors,
                           const float *own_second, const cell_notes *noted, int lane) {
#if BY_COLUMNS
    const float one[2] = {1, 1};
#pragma unroll
    for (int j = 0; j < 8; j++) {
        const int at = 8 * j + lane % 4 * 2;
        const float2 most = *(const float2 *)(noted->most + at), inverse = *(const float2 *)(noted->inverse + at),
                     delta = *(const float2 *)(noted->delta + at), by = *(const float2 *)(noted->scales[0] + at),
                     outer = *(const float2 *)(noted->scales[1] + at);
#pragma unroll
        for (int i = 4 * j; i < 4 * j + 4; i++) {
            const int half = i / 2 % 2;
            const float score = fmaf(x[i], row_factors[half], i % 2 ? -most.y : -most.x);
            const float share = power_of_two(score) * (i % 2 ? inverse.y : inverse.x);
            const float difference = fmaf(g[i], own_second[half], i % 2 ? -delta.y : -delta.x);
            g[i] = share * difference * fabsf(i % 2 ? by.y : by.x);
            x[i] = share * fabsf(i % 2 ? outer.y : outer.x);
        }
    }
    split_factors(x, one, factors.highs[1], factors.lows[1], factors.back[1], of.top[1]);
#else
    /* exponentials are at most 1, so the largest scale bounds the second product's factors */
    float largest_by = fmaxf(fabsf(noted->scales[0][lane]), fabsf(noted->scales[0][lane + 32]));
    largest_by = float_of_bits(__reduce_max_sync(0xffffffffu, bits_of_float(largest_by)));
    const float by_halves = to_halves(largest_by, factors.back[1][0]);
    factors.back[1][1] = factors.back[1][0];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float largest = -INFINITY;
#pragma unroll
        for (int i = 2 * half; i < 32; i += 4) largest = fmaxf(largest, fmaxf(x[i], x[i + 1]));
#pragma unroll
        for (int other = 1; other < 4; other *= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, other));
        largest = fmaxf(of.most[half], largest * row_factors[half]);
        const float against = SHIFT(largest), factor = power_of_two(of.most[half] - against);
        of.most[half] = largest;
        if (__any_sync(0xffffffffu, factor != 1)) { /* rare after a row's first cells */
            of.total[half] *= factor;
            of.delta[half] *= factor;
            of.top[0][half] *= factor;
            of.top[1][half] *= factor;
#pragma unroll
            for (int i = 2 * half; i < 2 * OUTS; i += 4) sums[i] *= factor, sums[i + 1] *= factor;
        }
        float total = 0, delta = 0;
#pragma unroll
        for (int i = 2 * half; i < 32; i += 4) {
            const float2 by = *(const float2 *)(noted->scales[0] + i / 4 * 8 + lane % 4 * 2);
#pragma unroll
            for (int k = i; k < i + 2; k++) {
                const float power = power_of_two(fmaf(x[k], row_factors[half], -against));
                const float term = power * g[k];
                total += power;
                delta += term;
                x[k] = power * (fabsf(k % 2 ? by.y : by.x) * by_halves);
                g[k] = term * fabsf(k % 2 ? by.y : by.x);
            }
            split_two(x[i], x[i + 1], factors.highs[1][i / 2], factors.lows[1][i / 2]);
        }
        of.top[1][half] = fmaxf(of.top[1][half], largest_by);
        of.total[half] += total;
        of.delta[half] = fmaf(delta, own_second[half], of.delta[half]);
    }
#endif
}

/* Adds both factors times the other rows to the sums; small products first. */
FUNCTION void add_factored(float *sums, const float *g, cell_factors &factors, row_sums &of, const float *own_second, uint64 stage_across,
                           int tile) {
    const float one[2] = {1, 1};
    float d[2][32];
    const uint64 y[2] = {tile_of(stage_across, tile), tile_of(stage_across, BY_COLUMNS ? tile + PARTS : tile)};
    const uint64 z[2] = {tile_of(stage_across, tile + LOWS), tile_of(stage_across, BY_COLUMNS ? tile + PARTS + LOWS : tile + LOWS)};
    const float *const of_row = BY_COLUMNS ? one : own_second;
    if (LOWS) {
#pragma unroll
        for (int which = 1; which >= 0; which--) {
            if (which == 0) split_factors(g, of_row, factors.highs[0], factors.lows[0], factors.back[0], of.top[0]);
#pragma unroll
            for (int crossed = 1; crossed >= 0; crossed--) {
                begin_factors(d[0], factors.highs[which], factors.lows[which], y[which], z[which], crossed);
                PRODUCTS_WAIT(0);
                add_factors(sums + OUTS * which, d[0], factors.back[which], crossed ? 0x1p-11f : 1);
            }
        }
    } else {
        begin_factors(d[1], factors.highs[1], factors.lows[1], y[1], z[1], 0);
        split_factors(g, of_row, factors.highs[0], factors.lows[0], factors.back[0], of.top[0]); /* meanwhile */
        begin_factors(d[0], factors.highs[0], factors.lows[0], y[0], z[0], 0);
        PRODUCTS_WAIT(1);
        add_factors(sums + OUTS, d[1], factors.back[1], 1);
        PRODUCTS_WAIT(0);
        add_factors(sums, d[0], factors.back[0], 1);
    }
}

KERNEL backward_wgmma(BACKWARD_PARAMETERS, int32 each, int32 more, IN(int64, records), OUT(float, partials), OUT(int32, arrived),
                      IN(index, lists), IN(int32, together), IN(uint32, masks), SPLIT_PARAMETERS, OUT(float, stats)) {
    extern __shared__ __align__(1024) char memory[];
    BACKWARD_SCRATCH;
    SPLIT_MEMBERS;
    MEMBER(arrived, scratch_batch_stride);
    const problem p = {rows, inner, width, offsets, columns, a, e, b, d, a_stride, e_stride, b_stride, d_stride,
                       {writes & 1 ? first : 0, writes & 2 ? second : 0}, {first_stride, second_stride},
                       stats, stats + filled, stats + 2 * filled, edge_scale, {alpha * edge_scale, alpha}, beta};
    const uint32 base = shared_address(memory), first_stage = base + OWN * TILE;
    cell_notes *const notes = (cell_notes *)(memory + (1 + STAGES) * OWN * TILE);
    const uint32 gates = shared_address(notes + STAGES);
    const source from = {records,   lists, together,   own_scales, scales,      stats, own_split,
                         split, own_filled, filled,     first_stage, base,  notes, gates};
    const int warp = LOCAL_ID / 32, lane = LOCAL_ID % 32, row_in = warp * 16 + lane / 4;
    const int begin = first_cell(blockIdx.x, each, more), end = first_cell(blockIdx.x + 1, each, more);
    const cell_record *const all_records = (const cell_record *)records;
    if (LOCAL_ID == 0) {
        for (int i = 0; i < STAGES; i++) gate_make(FULL(i), THREADS);
        gate_make(OWN_FULL, BULK ? 1 : THREADS);
        proxies_meet(); /* bulk copies use the gates, too */
    }
    __syncthreads();
    wait_for_last_launch();
    const int64 panel_before = begin > 0 ? all_records[begin - 1].panel : -1;
    if (GROUP_X == 0) write_empty(p, 0, all_records[0].panel, LOCAL_ID, stats, own_filled);
    const uint64 own_first = operand_of(base), stage_first = operand_of(first_stage), stage_across = operand_across(first_stage, TILE);
    const float in_log2 = fabsf(p.scale) * LOG2_E;
    const int unusual = !(p.scale > 0 && in_log2 > 0x1p-40f && in_log2 < 0x1p40f);
    ahead next;
    next_record record;
    if (begin < end) copy_own(from, all_records[begin].panel, LOCAL_ID);
    for (int c = begin; c < min(begin + STAGES, end); c++) {
        load_mixed_record(record, from.records, from.together, c);
        load_columns(next, record, from, LOCAL_ID);
        if (c < begin + STAGES - 1) copy_cell(next, from, c, c - begin, LOCAL_ID);
    }
    if (begin + STAGES < end) load_mixed_record(record, from.records, from.together, begin + STAGES);
    turn stage = {0, 0};
    uint32 own_passed = 0;
    int fresh = 1; /* fresh: a panel begins */
    float sums[2 * OUTS];
    row_sums of;
    begin_rows(of, sums);
#pragma unroll 1
    for (int c = begin; c < end; c++) {
        const uint32 wanted = masks[(int64)c * (2 * SIDE) + LOCAL_ID];
        __syncthreads(); /* the previous cell's stage is free */
        if (c + STAGES - 1 < end) {
            copy_cell(next, from, c + STAGES - 1, stage.place == 0 ? STAGES - 1 : stage.place - 1, LOCAL_ID);
            if (c + STAGES < end) load_columns(next, record, from, LOCAL_ID);
            if (c + STAGES + 1 < end) load_mixed_record(record, from.records, from.together, c + STAGES + 1);
        }
        const int tile = stage.place * OWN;
        const cell_notes *const noted = notes + stage.place;
        gate_wait(FULL(stage.place), stage.passed);
        if (fresh) {
            gate_wait(OWN_FULL, own_passed);
            own_passed ^= 1;
        }
        if (noted->gathered) proxies_meet();
        float x[32], g[32];
        multiply_cell(x, g, own_first, stage_first, tile);
        const int64 panel = noted->cell.panel, next_panel = noted->cell.next_panel;
        fresh = panel != next_panel;
        if (fresh && c + 1 < end) {
            __syncthreads(); /* the own rows are no longer needed */
            copy_own(from, next_panel, LOCAL_ID);
        }

        float row_factors[2], own_second[2];
        of.lost |= scale_cell(x, g, row_factors, own_second, p, noted, lists, wanted, panel * SIDE + row_in, row_in, in_log2, unusual, lane);
        cell_factors factors;
        find_factors(x, g, factors, of, sums, row_factors, own_second, noted, lane);
        add_factored(sums, g, factors, of, own_second, stage_across, tile);

        const int whole = fresh, from_before = panel == panel_before;
        const int panel_begins = noted->cell.first_cell, panel_ends = noted->cell.end_cell - 1;
        next_turn(stage, STAGES);
        if (!whole && c + 1 < end) continue;
        sum_of_four(of.total);
        sum_of_four(of.delta);
        int mine = 1; /* 1: this warp writes the result */
        if (BY_COLUMNS) of.most[0] = of.most[1] = 0;
        if (!whole || from_before) { /* groups share the panel */
            const int first_group = group_of_cell(panel_begins, each, more), last_group = group_of_cell(panel_ends, each, more);
            leave_part(partials + (int64)(2 * GROUP_X + !from_before) * PART + LOCAL_ID, sums, of);
            mine = arrives_last(arrived + first_group * MULTIPLIERS + warp, last_group - first_group, lane);
            if (mine) gather_parts(sums, of, partials + LOCAL_ID, first_group, last_group);
        }
        if (mine) write_panel(p, panel * SIDE + row_in, lane, sums, of, stats, own_filled);
        begin_rows(of, sums);
        if (whole) write_empty(p, panel + 1, next_panel, LOCAL_ID, stats, own_filled);
    }
}
