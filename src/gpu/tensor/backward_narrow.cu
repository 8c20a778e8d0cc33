/*
 * Gradients of E = softmax(scale <A, B>) D by cells on the tensor cores, for operands of 16 bits: the backward pass of
 * attention with any mask. Factors of products are 16-bit numbers of the operands' type, as in FlashAttention (Dao,
 * "FlashAttention-2", section 3.1): p and p (g - delta) are rounded once, sums are fp32. No array has an element per
 * nonzero, and there are no atomic sums.
 *
 * With x = scale <A_i, B_j>, g = <dE_i, D_j> and p the softmax of a row's x, three launches:
 *
 *   PASS = 0 (SUMS)     by rows: the logarithm of the sum of exponentials of each row, and delta_i = sum p g
 *   PASS = 1 (ROWS)     by rows: dA_i = scale sum p (g - delta_i) B_j
 *   PASS = 2 (COLUMNS)  by columns: dB_j = scale sum p (g - delta_i) A_i and dD_j = sum p dE_i
 *
 * If K and L are long, two launches replace the last, since a thread has registers for only one of its results:
 *
 *   PASS = 3 (FIRST)    by columns: dB_j alone
 *   PASS = 4 (SECOND)   by columns: dD_j alone, without g
 *
 * backward_known.cu replaces the first if the forward call has kept the sums of exponentials and E.
 *
 * A panel has 64 own rows: of A and dE, or of B and D. The other rows come with the cells. Rows are copied from the
 * operands, in pieces of 16 bytes, into tiles of 64 rows and 64 numbers, zero-padded beyond K, L and the last row.
 *
 *   all warps   copy the other rows of cell c + STAGES - 1 (cp.async)           -->  a stage of the ring
 *               cell c:  x = A B'   -> mask, 2^(x - lse) = p ----------------->  second sums += p times other rows
 *                        g = dE D'  -> p (g - delta) ------------------------->  first sums  += times other rows
 *               end of a panel: (merge the groups' partial sums) -> scale -> result
 *
 * A group of four warps takes a run of cells of a member; GROUPS groups share a multiprocessor, so that one multiplies
 * while others compute exponentials. A warp has 16 own rows. If several groups share a panel, each stores partial sums,
 * and the last one adds them up in order. Non-finite results are recomputed in fp32, since a cell's products outside
 * the mask may be infinite.
 *
 * fp16 has a small range. Shares p are scaled by 2^14, and their factors (g - delta) by a power of two derived from the
 * largest |g| of the member, so that nothing overflows and underflow is negligible.
 *
 * Each launch moves, for each cell, 64 other rows of two matrices and 512 bytes of masks; and for each panel its own
 * rows and results. The right choice for 16 bits if the forward call is fused_narrow.cu.
 *
 * A text (score_kernels.h) takes the place of the scale, and its derivative that of its factor.
 *
 * INNER_STEPS, WIDTH_STEPS: K and L in steps of 16 numbers. STAGES: cells in shared memory.
 */
#include "simt.h"
#include "rounded_score_kernels.h"
#include "texts.h"
#define FACTORS_BF16 (ELEMENT == 116)
#include "tensor_cores.h"
#include "cell_kernels.h"
#include "narrow_kernels.h"

#define SUMS    0
#define ROWS    1
#define COLUMNS 2
#define FIRST   3
#define SECOND  4

#define BY_COLUMNS   (PASS >= COLUMNS)
#define NEEDS_G      (PASS != SECOND)
#define FIRST_TILES  (PASS == ROWS || PASS == COLUMNS || PASS == FIRST ? INNER_TILES : 0) /* tiles of both results */
#define SECOND_TILES (PASS == COLUMNS || PASS == SECOND ? WIDTH_TILES : 0)
#define OWN_TILES    (INNER_TILES + NEEDS_G * WIDTH_TILES)
#define OUTS     (PASS == SUMS ? 6 : 32 * (FIRST_TILES + SECOND_TILES)) /* sums of a thread */
#define PER      THREADS
#define RESTS    0
#define PART     (OUTS * THREADS) /* floats of a panel's partial sums */
#define COPIES_FIRST (TILES > 2) /* copies before a cell's products, for lack of registers for both; else while they run */
#define SHARES_LOG (ELEMENT == 16 ? 14.0f : 0.0f) /* log2 of the scale of shares */
#include "score_kernels.h"

/* Arguments shared by the kernels of a call. a and e: own rows; b and d: the other rows. stats: of all rows of S.
   Nonzeros come from the cells alone: the transpose's are stored nowhere else. */
typedef struct problem {
    int64 rows, others, inner, width;
    const cell_record *cells;
    const index *lists;
    const int32 *together;
    const uint32 *masks;
    const element *a, *e, *b, *d;
    int64 a_stride, e_stride, b_stride, d_stride;
    output *out[2];
    int64 out_strides[2];
    const float2 *stats;
    float in_log2, by; /* scores in units of log 2; the power of two that scales differences */
    real factor[2], beta; /* of both results */
#if SCORES_ARE_TEXTS
    cell_text text;
#endif
} problem;

/* ------------------------------------------------------------------------------------------ plainly */

/* The other row at place `j` of an own row in a cell; -1: no nonzero there (cell_masks of cell_entries.cu). */
FUNCTION int64 other_of(const problem &p, int64 c, int row_in, int j) {
    const int thread = row_in / 16 * 32 + row_in % 8 * 4 + j % 8 / 2, bit = j / 8 * 4 + row_in / 8 % 2 * 2 + j % 2;
    if (!(p.masks[p.cells[c].entries * THREADS + thread] >> bit & 1)) return -1;
    return p.together[c] >= 0 ? p.together[c] + j : (int64)p.lists[p.cells[c].list + j];
}

/* Computes one number of a row of result `which` in fp32, with the tensor cores' scaling; all lanes of a warp. `cell`:
   any of the row's panel. */
FUNCTION float plain_result(const problem &p, int which, int64 cell, int64 row, int64 column, int lane) {
    const int64 first = p.cells[cell].first_cell, end = p.cells[cell].end_cell;
    float result = 0;
#pragma unroll 1
    for (int64 t = first * SIDE + lane; t < end * SIDE; t += 32) {
        const int64 other = other_of(p, t / SIDE, (int)(row % SIDE), (int)(t % SIDE));
        if (other < 0) continue;
        const float2 stats = p.stats[BY_COLUMNS ? other : row];
        float x = plain_dot(p.a + row * p.a_stride, p.b + other * p.b_stride, p.inner), slope = 1;
#if SCORES_ARE_TEXTS
        const text_results found = text_score(p.text, x, 1, row, other);
        x = found.p, slope = found.by_x;
#endif
        const float share = exp2f(fmaf(x, p.in_log2, -stats.x));
        if (which == 0) {
            const float g = plain_dot(p.e + row * p.e_stride, p.d + other * p.d_stride, p.width);
            result = fmaf(share * ((g - stats.y) * p.by) * slope, real_of(p.b[other * p.b_stride + column]), result);
        } else {
            result = fmaf(share, real_of(p.d[other * p.d_stride + column]), result);
        }
    }
    return sum_of_warp(result);
}

FUNCTION void write_result(const problem &p, int which, int64 row, int64 column, float x) {
    output *const at = p.out[which] + row * p.out_strides[which] + column;
    const float scaled = p.factor[which] * x;
    *at = output_of(p.beta == 0 ? scaled : scaled + p.beta * real_of_output(*at));
}

/* ------------------------------------------------------------------------------------------ results */

/* Writes a thread's part of two rows of a result's tile, one by one; recomputes non-finite numbers. */
NOINLINE void write_each(const problem &p, int which, int64 cell, int tile, const float *sums, int64 row, int lane) {
    const int64 columns = which == 0 ? p.inner : p.width;
    uint64 again = 0;
#pragma unroll 1
    for (int i = 0; i < 32; i++) {
        if (row + i / 2 % 2 * 8 >= p.rows || tile * SIDE + column_of(i, lane) >= columns) continue;
        if (fabsf(sums[i]) < INFINITY)
            write_result(p, which, row + i / 2 % 2 * 8, tile * SIDE + column_of(i, lane), sums[i]);
        else
            again |= (uint64)1 << i;
    }
#pragma unroll 1
    for (asked of = next_asked(again); of.lane >= 0; of = next_asked(again)) {
        const int64 of_row = row - lane / 4 + of.lane / 4 + of.number / 2 % 2 * 8;
        const int64 column = tile * SIDE + column_of(of.number, of.lane);
        const float x = plain_result(p, which, cell, of_row, column, lane);
        if (lane != of.lane) continue;
        write_result(p, which, of_row, column, x);
        again &= again - 1;
    }
}

/* The same in pairs, for the usual case. */
FUNCTION void write_rows(const problem &p, int which, int64 cell, const float *sums, int64 row, int lane) {
    const int count = 32 * (which == 0 ? FIRST_TILES : SECOND_TILES);
    const int64 stride = p.out_strides[which], columns = which == 0 ? p.inner : p.width;
    const uint64 pair = 2 * sizeof(output);
    int usual = p.beta == 0 && columns % 2 == 0 && row + 8 < p.rows && (uint64)p.out[which] % pair == 0 && stride % 2 == 0;
    if (!p.out[which]) return;
#pragma unroll
    for (int i = 0; i < count; i++) usual &= fabsf(sums[i]) < INFINITY;
    if (__all_sync(0xffffffffu, usual)) {
        output *const out = p.out[which] + row * stride;
#pragma unroll
        for (int i = 0; i < count; i += 2)
            if (column_of(i, lane) < columns)
                write_pair(out + i / 2 % 2 * 8 * stride + column_of(i, lane), sums[i] * p.factor[which], sums[i + 1] * p.factor[which]);
    } else {
#pragma unroll 1
        for (int tile = 0; tile < count / 32; tile++) {
            float copy[32]; /* so that sums can stay in registers */
#pragma unroll
            for (int i = 0; i < count; i++)
                if (i / 32 == tile) copy[i % 32] = sums[i];
            write_each(p, which, cell, tile, copy, row, lane);
        }
    }
}

/* Writes the rows of panels without cells. */
FUNCTION void write_empty(const problem &p, float2 *stats, int64 first_panel, int64 end_panel, int item) {
    for (int64 row = first_panel * SIDE + item; PASS == SUMS && row < end_panel * SIDE; row += THREADS) stats[row] = make_float2(INFINITY, 0);
    for (int which = !FIRST_TILES; PASS != SUMS && which < 1 + (SECOND_TILES > 0); which++)
        for (int64 row = first_panel * SIDE; p.out[which] && row < min64(end_panel * SIDE, p.rows); row++)
            for (int64 column = item; column < (which == 0 ? p.inner : p.width); column += THREADS)
                write_result(p, which, row, column, 0);
}

/* ------------------------------------------------------------------------------------------ rows' sums */

/* A thread's state of its two rows: the sums (backward_kernels.h), and the largest |g|. */
typedef struct row_sums {
    float most[2], total[2], delta[2], largest;
} row_sums;

FUNCTION void begin_rows(row_sums &rows, float *sums) {
#pragma unroll
    for (int i = 0; i < OUTS; i++) sums[i] = 0;
#pragma unroll
    for (int i = 0; i < 2; i++) rows.most[i] = -INFINITY, rows.total[i] = rows.delta[i] = 0;
}

#include "backward_kernels.h"

/* Adds a cell (online softmax). x: scores, -infinity outside S, to be scaled by in_log2 > 0 to units of log 2; g: outer
   products, 0 outside S. */
FUNCTION void add_cell(row_sums &rows, const float *x, const float *g, float in_log2) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float largest = -INFINITY, total = 0, delta = 0;
#pragma unroll
        for (int i = 2 * half; i < 32; i += 4) largest = fmaxf(largest, fmaxf(x[i], x[i + 1]));
        largest = fmaxf(rows.most[half], largest * in_log2);
        const float against = SHIFT(largest), factor = power_of_two(rows.most[half] - against);
#pragma unroll
        for (int i = 2 * half; i < 32; i += 4)
#pragma unroll
            for (int k = i; k < i + 2; k++) {
                const float power = power_of_two(fmaf(x[k], in_log2, -against));
                total += power;
                delta = fmaf(power, g[k], delta);
            }
        rows.most[half] = largest;
        rows.total[half] = fmaf(rows.total[half], factor, total);
        rows.delta[half] = fmaf(rows.delta[half], factor, delta);
    }
    if (ELEMENT == 16) {
#pragma unroll
        for (int i = 0; i < 32; i++) rows.largest = fmaxf(rows.largest, fabsf(g[i]));
    }
}

/* ------------------------------------------------------------------------------------------ copying */

/* The matrices of the own rows, and of the other rows. */
typedef struct sources {
    source a, e, b, d;
} sources;

/* Starts to copy a cell into its stage, and the statistics of its rows. */
FUNCTION void copy_cell(uint32 to, uint32 notes, const sources &from, const float2 *stats, const uint32 *rows, int item) {
    copy_rows(to, from.b, INNER_TILES, INNER_WHOLE, rows, item);
    copy_rows(to + INNER_TILES * TILE, from.d, WIDTH_TILES, WIDTH_WHOLE, rows, item);
    if (BY_COLUMNS && item % 8 < LINES) {
        const uint32 row = item % 8 == 0 ? rows[0] : item % 8 == 1 ? rows[1] : item % 8 == 2 ? rows[2] : rows[3];
        copy_8(notes + (item / 8 + item % 8 * (THREADS / 8)) * 8, stats + row);
    }
}

/* Starts to copy the own rows of a panel. */
FUNCTION void copy_own(uint32 to, const sources &from, int64 panel, int64 count, int item) {
    uint32 rows[LINES];
    own_rows(rows, panel * SIDE, count, item);
    copy_rows(to, from.a, INNER_TILES, INNER_WHOLE, rows, item);
    if (NEEDS_G) copy_rows(to + INNER_TILES * TILE, from.e, WIDTH_TILES, WIDTH_WHOLE, rows, item);
}

/* Shares p and differences g - delta, scaled as factors. lse and delta: of rows of S. */
FUNCTION float share_of(float x, float in_log2, float lse) { return power_of_two(fmaf(x, in_log2, -lse)); }
FUNCTION float difference_of(float share, float g, float delta, float by) {
    return ELEMENT == 16 ? share * ((g - delta) * by) : share * (g - delta);
}

/* The power of two that scales differences, such that shares times differences stay below 2^15; 1 for bf16. */
FUNCTION float scale_of_differences(const uint32 *largest) {
    if (ELEMENT != 16) return 1;
    const int exponent = (int)(*largest >> 23);
    return exponent == 255 ? 1 : float_of_bits((uint32)min(max(253 - exponent, 27), 227) << 23);
}

/* Starts the outer products of a cell. */
FUNCTION void begin_outer(float *g, uint64 own, uint64 stage) {
    begin_dots(g, tile_of(own, INNER_TILES), tile_of(stage, INNER_TILES), WIDTH_STEPS);
}

/* Adds a cell to the sums. x: products of its rows; g: outer products, which may still run; lse and delta: of the own
   rows; noted: of the other rows. */
FUNCTION void add_products(row_sums &of, float *sums, float *x, float *g, const problem &p, const float *lse, const float *delta,
                           const float4 *noted, uint64 own, uint64 stage, uint64 across, uint32 wanted, int full, int c, int row_in, int lane) {
#if SCORES_ARE_TEXTS
    float slopes[32];
    text_scores(x, FIRST_TILES ? slopes : 0, 0, p.text, columns_of(p.cells + c, p.together[c], p.lists), p.cells[c].panel * SIDE + row_in, p.rows, lane);
#endif
#if PASS == SUMS
    if (!(p.in_log2 > 0)) { /* negative scale: the largest score is not that of the largest product */
#pragma unroll
        for (int i = 0; i < 32; i++) x[i] *= p.in_log2;
    }
    if (!full) {
#pragma unroll
        for (int i = 0; i < 32; i++)
            if (!(wanted >> i & 1)) x[i] = -INFINITY;
    }
    if (PRODUCTS_AT_ONCE) begin_outer(g, own, stage);
    PRODUCTS_WAIT(0);
    PRODUCTS_PIN(g, 32);
    if (!full) {
#pragma unroll
        for (int i = 0; i < 32; i++)
            if (!(wanted >> i & 1)) g[i] = 0;
    }
    add_cell(of, x, g, p.in_log2 > 0 ? p.in_log2 : 1);
#else
    if (PASS == ROWS) {
#pragma unroll
        for (int i = 0; i < 32; i++) x[i] = share_of(x[i], p.in_log2, lse[i / 2 % 2]);
    } else {
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const float4 two = noted[4 * j + lane % 4];
#pragma unroll
            for (int i = 4 * j; i < 4 * j + 4; i++) x[i] = share_of(x[i], p.in_log2, i % 2 ? two.z : two.x);
        }
    }
    uint32 factors[2][16]; /* shares times differences, and shares: 0 outside S, or NaN if a g is infinite */
    if (!full) {
#pragma unroll
        for (int i = 0; i < 32; i++)
            if (!(wanted >> i & 1)) x[i] = 0;
    }
#if SECOND_TILES
#pragma unroll
    for (int i = 0; i < 32; i += 2) factors[1][i / 2] = pair_of(x[i], x[i + 1]);
#endif
#if NEEDS_G
    PRODUCTS_WAIT(0);
    PRODUCTS_PIN(g, 32);
#endif
#if SECOND_TILES
    begin_sums(sums + 32 * FIRST_TILES, factors[1], tile_of(across, INNER_TILES), WIDTH_TILES);
#endif
#if FIRST_TILES
    if (PRODUCTS_AT_ONCE) begin_outer(g, own, stage);
    if (PASS == ROWS) {
#pragma unroll
        for (int i = 0; i < 32; i++) g[i] = difference_of(x[i], g[i], delta[i / 2 % 2], p.by);
    } else {
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const float4 two = noted[4 * j + lane % 4];
#pragma unroll
            for (int i = 4 * j; i < 4 * j + 4; i++) g[i] = difference_of(x[i], g[i], i % 2 ? two.w : two.y, p.by);
        }
    }
#if SCORES_ARE_TEXTS
#pragma unroll
    for (int i = 0; i < 32; i++) g[i] *= full || wanted >> i & 1 ? slopes[i] : 1;
#endif
#pragma unroll
    for (int i = 0; i < 32; i += 2) factors[0][i / 2] = pair_of(g[i], g[i + 1]);
    begin_sums(sums, factors[0], across, INNER_TILES);
#endif
    PRODUCTS_WAIT(0);
    PRODUCTS_PIN(sums, OUTS);
#endif
}

/* Writes the results of a panel that ends at cell c, or stores this group's part, if the panel is shared. */
FUNCTION void finish_panel(row_sums &of, float *sums, const problem &p, int c, int64 row, int shared, int begins, float *partials,
                           int32 *arrived, float2 *stats, int each, int more, int lane) {
    int mine = 1; /* 1: this warp writes the result */
#if PASS == SUMS
    merge_lanes(of);
#pragma unroll
    for (int i = 0; i < 2; i++) sums[i] = of.most[i], sums[2 + i] = of.total[i], sums[4 + i] = of.delta[i];
#endif
    if (shared) /* groups share the panel */
        mine = share_panel(of, sums, partials, arrived, begins, group_of_cell(p.cells[c].first_cell, each, more),
                           group_of_cell(p.cells[c].end_cell - 1, each, more), lane);
#if PASS == SUMS
    if (mine && lane % 4 == 0) store_stats(of, stats + row, SHARES_LOG);
#else
    if (mine && FIRST_TILES) write_rows(p, 0, c, sums, row, lane);
    if (mine && SECOND_TILES) write_rows(p, 1, c, sums + 32 * FIRST_TILES, row, lane);
#endif
    begin_rows(of, sums);
}

KERNEL backward_narrow(BACKWARD_PARAMETERS, int64 others, int32 each, int32 more, IN(int64, records), OUT(float, partials),
                       OUT(int32, arrived), OUT(uint32, largest), int64 counters, IN(index, lists), IN(int32, together),
                       IN(uint32, masks), OUT(float, stats)) {
    extern __shared__ __align__(1024) char memory[];
    BACKWARD_SCRATCH;
    MEMBER(arrived, counters);
    MEMBER(largest, counters);
    let_next_launch_begin();
    const int item = LOCAL_ID, warp = item / 32, lane = item % 32, row_in = warp * 16 + lane / 4;
    const cell_record *const all = (const cell_record *)records;
    const int begin = begin_of(all, (int)GROUP_X, each, more), end = begin_of(all, (int)GROUP_X + 1, each, more);
    const uint32 own = shared_address(memory), first_stage = own + OWN_TILES * TILE, first_notes = first_stage + STAGES * (TILES * TILE);
    wait_for_last_launch();
    const float by = PASS == SUMS ? 1 : scale_of_differences(largest), shares = ELEMENT == 16 ? 0x1p-14f : 1;
    TAKE_SCORES
    const real scale = SCORES_ARE_TEXTS ? 1 : edge_scale;
    const problem p = {rows, others, inner, width, all, lists, together, masks, a, e, b, d, a_stride, e_stride, b_stride, d_stride,
                       {writes & 1 ? first : 0, writes & 2 ? second : 0}, {first_stride, second_stride}, (const float2 *)stats,
                       scale * LOG2_E, by, {alpha * scale * shares / by, alpha * shares}, beta AND_SCORES};
    const int64 panel_before = begin > 0 ? all[begin - 1].panel : -1;
    if (GROUP_X == 0) write_empty(p, (float2 *)stats, 0, all[0].panel, item);
    const uint64 own_first = operand_of(own), stage_first = operand_of(first_stage), stage_across = operand_across(first_stage, TILE);
    if (begin >= end) return;
    const sources from = {source_of(a, a_stride, inner, INNER_TILES, item), source_of(e, e_stride, width, WIDTH_TILES, item),
                          source_of(b, b_stride, inner, INNER_TILES, item), source_of(d, d_stride, width, WIDTH_TILES, item)};
    next_record record;
    uint32 coming[LINES]; /* rows of the cell that is copied next */
    copy_own(own, from, all[begin].panel, rows, item);
    const auto copy_to = [&](int place) { copy_cell(first_stage + place * (TILES * TILE), first_notes + place * (SIDE * 8), from, p.stats, coming, item); };
    fill_ring(record, coming, records, together, lists, others, begin, end, item, copy_to);
    load_mixed_record(record, records, together, min(begin + STAGES, end - 1));
    int stage = 0, fresh = 1; /* fresh: a panel begins */
    uint32 next_wanted = masks[all[begin].entries * THREADS + item];
    int64 panel = all[begin].panel, next_panel = all[begin].next_panel;
    float sums[OUTS], lse[2], delta[2];
    row_sums of;
    begin_rows(of, sums);
    of.largest = 0;
    const auto copy_next = [&](int c, int stage) {
        if (c + STAGES - 1 < end) {
            copy_to(stage == 0 ? STAGES - 1 : stage - 1);
            load_rows(coming, record, lists, others, item);
            load_mixed_record(record, records, together, min(c + STAGES + 1, end - 1));
        }
        copies_commit();
    };
#pragma unroll 1
    for (int c = begin; c < end; c++) {
        const uint32 wanted = next_wanted;
        COPIES_WAIT(STAGES - 2);
        proxies_meet();
        __syncthreads(); /* all copies have arrived, and the previous cell's stage is free */
        if (PASS == ROWS && fresh) {
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const float2 two = p.stats[panel * SIDE + row_in + 8 * i];
                lse[i] = landed(two.x);
                delta[i] = landed(two.y);
            }
        }
        if (COPIES_FIRST) copy_next(c, stage);
        const int tile = stage * TILES;
        float x[32], g[32];
        begin_dots(x, own_first, tile_of(stage_first, tile), INNER_STEPS);
        if (NEEDS_G && !PRODUCTS_AT_ONCE) begin_outer(g, own_first, tile_of(stage_first, tile));
        if (!COPIES_FIRST) copy_next(c, stage);
        int64 after = next_panel;
        if (c + 1 < end) {
            next_wanted = masks[all[c + 1].entries * THREADS + item];
            after = all[c + 1].next_panel;
        }
        fresh = panel != next_panel;
        const int full = __all_sync(0xffffffffu, wanted == 0xffffffffu);
        PRODUCTS_WAIT(NEEDS_G);
        PRODUCTS_PIN(x, 32);
        const float4 *const noted = (const float4 *)(memory + (first_notes - own) + stage * (SIDE * 8));
        add_products(of, sums, x, g, p, lse, delta, noted, own_first, tile_of(stage_first, tile), tile_of(stage_across, tile), wanted, full, c, row_in, lane);
        if (fresh && c + 1 < end) {
            __syncthreads(); /* the own rows are no longer needed */
            copy_own(own, from, next_panel, rows, item);
            copies_commit();
        }
        const int whole = fresh, from_before = panel == panel_before;
        const int64 ended = panel, following = next_panel;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        panel = next_panel;
        next_panel = after;
        if (!whole && c + 1 < end) continue;
        finish_panel(of, sums, p, c, ended * SIDE + row_in, !whole || from_before, !from_before, partials + item, arrived + warp, (float2 *)stats,
                     each, more, lane);
        if (whole) write_empty(p, (float2 *)stats, ended + 1, following, item);
        COPIES_WAIT(0); /* the next panel's own rows */
    }
#if PASS == SUMS && ELEMENT == 16
    const uint32 bits = __reduce_max_sync(0xffffffffu, bits_of_float(of.largest));
    if (lane == 0) atomicMax(largest, bits);
#endif
}
