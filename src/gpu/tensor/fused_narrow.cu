/*
 * E = softmax(scale <A, B>) D by cells on the tensor cores, for operands of 16 bits: attention with any mask, without
 * values of S. Exponentials are rounded to 16 bits before they are multiplied by D, as in FlashAttention; their sums
 * and those of products are fp32.
 *
 *   all warps   copy B and D of cell c + STAGES - 1 (cp.async)  -->  a stage of the ring
 *               cell c:  A B' -> mask -> online softmax -> round to 16 bits -> sums += times D
 *               end of a panel: (merge the groups' partial sums) -> divide by the sum of exponentials -> E
 *
 * A group of four warps takes a run of cells of a member; GROUPS groups share a multiprocessor, so that one multiplies
 * while others compute exponentials. A warp has 16 rows. Rows of A stay for a panel, rows of B and D come with the
 * cells, copied directly from the operands (narrow_kernels.h). If several groups share a panel, each stores partial
 * sums, and the last one merges them in order. Non-finite results are recomputed in fp32, since a cell's products
 * outside the mask may be infinite.
 *
 * Moves, for each cell, 64 rows of B and of D and 512 bytes of masks; and for each panel its rows of A and of the
 * result. The right choice for attention in 16 bits if cells are dense: if about one score in ten or more is wanted.
 *
 * INNER_STEPS, WIDTH_STEPS: K and L in steps of 16 numbers. STAGES: cells in shared memory.
 */
#include "simt.h"
#include "edges.h"
#define FACTORS_BF16 (ELEMENT == 116)
#include "tensor_cores.h"
#include "cell_kernels.h"
#include "narrow_kernels.h"

#define OUTS (32 * WIDTH_TILES) /* sums of a thread */
#define REST 4                  /* and their softmax state, for two rows */
#define PART ((OUTS + REST) * THREADS) /* floats of a panel's partial sums */
#define POWERS_LOG (ELEMENT == 16 ? 14.0f : 0.0f) /* log2 of the scale of exponentials: fp16 has a small range */

typedef struct problem {
    int64 rows, others, inner, width;
    const offset *offsets;
    const index *columns;
    const element *a, *b, *d;
    int64 a_stride, b_stride, d_stride;
    output *out;
    int64 out_stride;
    real *pairs; /* NULL: not wanted */
    float in_log2; /* scores in units of log 2 */
    real alpha, beta;
} problem;

/* A thread's two rows: the largest score, in units of log 2, common to a row's lanes, and the lane's own sum of
   exponentials. */
typedef struct row_state {
    float most[2], total[2];
} row_state;

FUNCTION void begin_rows(row_state &rows, float *sums) {
#pragma unroll
    for (int i = 0; i < 2; i++) rows.most[i] = -INFINITY, rows.total[i] = 0;
#pragma unroll
    for (int i = 0; i < OUTS; i++) sums[i] = 0;
}

/* ------------------------------------------------------------------------------------------ results */

FUNCTION void write_result(const problem &p, int64 row, int64 column, float x) {
    output *const at = p.out + row * p.out_stride + column;
    *at = output_of(p.beta == 0 ? p.alpha * x : p.alpha * x + p.beta * real_of_output(*at));
}

/* Computes one number of a row's result in fp32, from the row's largest score and sum; all lanes of a warp. */
FUNCTION float plain_result(const problem &p, int64 row, int64 column, float most, float sum, int lane) {
    const int64 end = p.offsets[row + 1];
    float result = 0;
#pragma unroll 1
    for (int64 t = p.offsets[row] + lane; t < end; t += 32) {
        const int64 other = (int64)p.columns[t];
        const float x = plain_dot(p.a + row * p.a_stride, p.b + other * p.b_stride, p.inner);
        result = fmaf(exp2f(fmaf(x, p.in_log2, -most)), real_of(p.d[other * p.d_stride + column]), result);
    }
    return sum_of_warp(result) / sum;
}

/* Writes a thread's part of two rows of a tile, one by one; recomputes non-finite numbers with the row's largest score
   and sum. */
NOINLINE void write_each(const problem &p, int tile, const float *sums, int64 row, int lane, const float *most, const float *total) {
    uint64 again = 0;
#pragma unroll 1
    for (int i = 0; i < 32; i++) {
        const int half = i / 2 % 2, column = tile * SIDE + column_of(i, lane);
        if (row + half * 8 >= p.rows || column >= p.width) continue;
        if (total[half] == 0 || fabsf(sums[i]) < INFINITY)
            write_result(p, row + half * 8, column, total[half] == 0 ? 0 : sums[i]);
        else
            again |= (uint64)1 << i;
    }
#pragma unroll 1
    for (asked of = next_asked(again); of.lane >= 0; of = next_asked(again)) {
        const int half = of.number / 2 % 2, column = tile * SIDE + column_of(of.number, of.lane);
        const int64 of_row = row - lane / 4 + of.lane / 4 + half * 8;
        const float x = plain_result(p, of_row, column, __shfl_sync(0xffffffffu, half ? most[1] : most[0], of.lane),
                                     __shfl_sync(0xffffffffu, half ? total[1] : total[0], of.lane), lane);
        if (lane != of.lane) continue;
        write_result(p, of_row, column, x);
        again &= again - 1;
    }
}

/* The same in pairs, for the usual case. */
FUNCTION void write_rows(const problem &p, float *sums, int64 row, int lane, const row_state &rows) {
    const uint64 pair = 2 * sizeof(output);
    int usual = p.beta == 0 && p.width % 2 == 0 && row + 8 < p.rows && (uint64)p.out % pair == 0 && p.out_stride % 2 == 0;
    float back[2];
#pragma unroll
    for (int i = 0; i < 2; i++) back[i] = rows.total[i] == 0 ? 0 : 1 / rows.total[i];
#pragma unroll
    for (int i = 0; i < OUTS; i++) {
        sums[i] *= back[i / 2 % 2];
        usual &= fabsf(sums[i]) < INFINITY;
    }
    if (__all_sync(0xffffffffu, usual)) {
        output *const out = p.out + row * p.out_stride;
#pragma unroll
        for (int i = 0; i < OUTS; i += 2)
            if (column_of(i, lane) < p.width)
                write_pair(out + i / 2 % 2 * 8 * p.out_stride + column_of(i, lane), sums[i] * p.alpha, sums[i + 1] * p.alpha);
    } else {
        const float most[2] = {rows.most[0], rows.most[1]};
        const float total[2] = {rows.total[0] / exp2f(POWERS_LOG), rows.total[1] / exp2f(POWERS_LOG)};
#pragma unroll 1
        for (int tile = 0; tile < WIDTH_TILES; tile++) {
            float copy[32]; /* so that sums can stay in registers */
#pragma unroll
            for (int i = 0; i < OUTS; i++)
                if (i / 32 == tile) copy[i % 32] = sums[i];
            write_each(p, tile, copy, row, lane, most, total);
        }
    }
}

/* Stores a row's largest score in natural units, and its sum of exponentials relative to that rounded score. */
FUNCTION void keep_row(const problem &p, int when, int64 row, float most, float total) {
    real *const pairs = p.pairs;
    float natural = most, sum = total / exp2f(POWERS_LOG);
    if (fabsf(most) < INFINITY) {
        natural = most * 0.693147181f;
        sum *= exp2f(fmaf(-natural, LOG2_E_LOW, fmaf(-natural, LOG2_E, most)));
    }
    KEEP_ROW(when && row < p.rows, row, natural, sum);
}

/* Writes the rows of panels without cells. */
FUNCTION void write_empty(const problem &p, int64 first_panel, int64 end_panel, int item) {
    for (int64 row = first_panel * SIDE; row < min64(end_panel * SIDE, p.rows); row++) {
        for (int64 column = item; column < p.width; column += THREADS) write_result(p, row, column, 0);
        keep_row(p, item == 0, row, -INFINITY, 0);
    }
}

/* ------------------------------------------------------------------------------------------ softmax */

/* Online softmax: turns scores into exponentials relative to the row's largest, rounded, and rescales the earlier
   sums. */
FUNCTION void exponentials(uint32 *factors, row_state &rows, float *sums, const float *x, float in_log2) {
    float largest[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        largest[half] = fmaxf(x[2 * half], x[2 * half + 1]);
#pragma unroll
        for (int i = 2 * half + 4; i < 32; i += 4) largest[half] = fmaxf(largest[half], fmaxf(x[i], x[i + 1]));
    }
#pragma unroll
    for (int other = 1; other < 4; other *= 2)
#pragma unroll
        for (int half = 0; half < 2; half++) largest[half] = fmaxf(largest[half], __shfl_xor_sync(0xffffffffu, largest[half], other));
#pragma unroll
    for (int half = 0; half < 2; half++) largest[half] = fmaxf(rows.most[half], largest[half] * in_log2);
    if (__any_sync(0xffffffffu, largest[0] != rows.most[0] || largest[1] != rows.most[1])) { /* rare after a row's first cells */
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float factor = power_of_two(rows.most[half] - SHIFT(largest[half]));
            rows.most[half] = largest[half];
            rows.total[half] *= factor;
#pragma unroll
            for (int i = 2 * half; i < OUTS; i += 4) sums[i] *= factor, sums[i + 1] *= factor;
        }
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const float against = SHIFT(largest[half]) - POWERS_LOG;
        float total = 0;
#pragma unroll
        for (int i = 2 * half; i < 32; i += 4) {
            const float y = power_of_two(fmaf(x[i], in_log2, -against)), z = power_of_two(fmaf(x[i + 1], in_log2, -against));
            total += y + z;
            factors[i / 2] = pair_of(y, z);
        }
        rows.total[half] += total;
    }
}

/* Adds the groups' partial sums of a panel in order. */
FUNCTION void gather_parts(float *sums, row_state &rows, const float *parts, int first_group, int last_group) {
    begin_rows(rows, sums);
#pragma unroll 1
    for (int g = first_group; g <= last_group; g++) {
        const float *const part = parts + (int64)(2 * g + (g == first_group)) * PART;
        const float *const rest = part + OUTS * THREADS;
        float factor[2], before[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            take_larger(rows.most[i], __ldcg(rest + i * THREADS), before[i], factor[i]);
            rows.total[i] = fmaf(factor[i], __ldcg(rest + (2 + i) * THREADS), rows.total[i] * before[i]);
        }
#pragma unroll
        for (int i = 0; i < OUTS; i++) sums[i] = fmaf(factor[i / 2 % 2], __ldcg(part + i * THREADS), sums[i] * before[i / 2 % 2]);
    }
}

/* ------------------------------------------------------------------------------------------ the kernels */

/* Starts to copy a cell into its stage; and the rows of A of a panel. */
FUNCTION void copy_cell(uint32 to, const source &b, const source &d, const uint32 *rows, int item) {
    copy_rows(to, b, INNER_TILES, INNER_WHOLE, rows, item);
    copy_rows(to + INNER_TILES * TILE, d, WIDTH_TILES, WIDTH_WHOLE, rows, item);
}
FUNCTION void copy_own(uint32 to, const source &a, int64 panel, int64 count, int item) {
    uint32 rows[LINES];
    rows_of_panel(rows, panel, count, item);
    copy_rows(to, a, INNER_TILES, INNER_WHOLE, rows, item);
}

/* Clears the counters of groups that have stored their parts. */
KERNEL fused_narrow_clear(OUT(int32, arrived), int64 scratch_batch_stride, int32 clears) {
    let_next_launch_begin();
    MEMBER(arrived, scratch_batch_stride);
    for (int i = LOCAL_ID; i < clears; i += GROUP) arrived[i] = 0;
}

/* Scales scores where they fall with the product, and masks them unless the cell is full. */
FUNCTION void finish_scores(float *x, float in_log2, int falls, int full, uint32 wanted) {
    if (falls) {
#pragma unroll
        for (int i = 0; i < 32; i++) x[i] *= in_log2;
    }
    if (!full) {
#pragma unroll
        for (int i = 0; i < 32; i++)
            if (!(wanted >> i & 1)) x[i] = -INFINITY;
    }
}

/* Stores a group's part of a panel that groups share. Returns 1 to the last warp of the panel's rows, with all parts. */
FUNCTION int share_rows(float *sums, row_state &state, float *partials, int32 *arrived, int begins, int first_group, int last_group, int lane) {
    float *const to = partials + (int64)(2 * GROUP_X + begins) * PART;
    const float rest[REST] = {state.most[0], state.most[1], state.total[0], state.total[1]};
#pragma unroll
    for (int i = 0; i < OUTS + REST; i++) to[i * THREADS] = i < OUTS ? sums[i] : rest[i - OUTS];
    const int last = arrives_last(arrived + first_group * WARPS, last_group - first_group, lane);
    if (last) gather_parts(sums, state, partials, first_group, last_group);
    return last;
}

KERNEL fused_narrow(int64 rows, IN(offset, offsets), IN(index, columns), IN(element, a), int64 a_stride, IN(element, b), int64 b_stride,
                int64 inner, IN(element, d), int64 d_stride, int64 width, OUT(output, out), int64 out_stride, BATCH_PARAMETERS,
                real edge_scale, real alpha, real beta, KEEP_PARAMETERS, int64 others, int32 each, int32 more, IN(int64, records),
                OUT(float, partials), OUT(int32, arrived), IN(index, lists), IN(int32, together), IN(uint32, masks)) {
    extern __shared__ __align__(1024) char memory[];
    MEMBER(partials, scratch_batch_stride);
    MEMBER(arrived, scratch_batch_stride);
    const int item = LOCAL_ID, warp = item / 32, lane = item % 32, row_in = warp * 16 + lane / 4;
    const cell_record *const all = (const cell_record *)records;
    const int begin = begin_of(all, (int)GROUP_X, each, more), end = begin_of(all, (int)GROUP_X + 1, each, more);
    const uint32 own = shared_address(memory), first_stage = own + INNER_TILES * TILE;
    const problem p = {rows, others, inner, width, offsets, columns, a, b, d, a_stride, b_stride, d_stride, out, out_stride,
                       keeps ? pairs : 0, edge_scale * LOG2_E, alpha, beta};
    wait_for_last_launch();
    const int64 panel_before = begin > 0 ? all[begin - 1].panel : -1;
    if (GROUP_X == 0) write_empty(p, 0, all[0].panel, item);
    if (begin >= end) return;
    const uint64 own_first = operand_of(own), stage_first = operand_of(first_stage), stage_across = operand_across(first_stage, TILE);
    const int rises = p.in_log2 > 0; /* scores rise with the product */
    const float in_log2 = rises ? p.in_log2 : 1;
    const source from_a = source_of(a, a_stride, inner, INNER_TILES, item), from_b = source_of(b, b_stride, inner, INNER_TILES, item),
                 from_d = source_of(d, d_stride, width, WIDTH_TILES, item);
    next_record record;
    uint32 coming[LINES]; /* rows of the cell that is copied next */
    copy_own(own, from_a, all[begin].panel, rows, item);
    const auto copy_to = [&](int place) { copy_cell(first_stage + place * (TILES * TILE), from_b, from_d, coming, item); };
    fill_ring(record, coming, records, together, lists, others, begin, end, item, copy_to);
    load_mixed_record(record, records, together, min(begin + STAGES, end - 1));
    int stage = 0, fresh = 1; /* fresh: a panel begins */
    uint32 next_wanted = masks[(int64)begin * THREADS + item];
    int64 panel = all[begin].panel, next_panel = all[begin].next_panel;
    float sums[OUTS];
    row_state state;
    begin_rows(state, sums);
#pragma unroll 1
    for (int c = begin; c < end; c++) {
        const uint32 wanted = next_wanted;
        COPIES_WAIT(STAGES - 2);
        proxies_meet();
        __syncthreads(); /* all copies have arrived, and the previous cell's stage is free */
        const int tile = stage * TILES;
        float x[32];
        begin_dots(x, own_first, tile_of(stage_first, tile), INNER_STEPS);
        if (c + STAGES - 1 < end) { /* while the products run */
            copy_to(stage == 0 ? STAGES - 1 : stage - 1);
            load_rows(coming, record, lists, others, item);
            load_mixed_record(record, records, together, min(c + STAGES + 1, end - 1));
        }
        copies_commit();
        int64 after = next_panel;
        if (c + 1 < end) {
            next_wanted = masks[(int64)(c + 1) * THREADS + item];
            after = all[c + 1].next_panel;
        }
        fresh = panel != next_panel;
        const int full = __all_sync(0xffffffffu, wanted == 0xffffffffu);
        PRODUCTS_WAIT(0);
        PRODUCTS_PIN(x, 32);
        if (fresh && c + 1 < end) {
            __syncthreads(); /* the own rows are no longer needed */
            copy_own(own, from_a, next_panel, rows, item);
            copies_commit();
        }
        finish_scores(x, p.in_log2, !rises, full, wanted);
        uint32 factors[16];
        exponentials(factors, state, sums, x, in_log2);
        begin_sums(sums, factors, tile_of(stage_across, tile + INNER_TILES), WIDTH_TILES);
        PRODUCTS_WAIT(0);
        PRODUCTS_PIN(sums, OUTS);

        const int whole = fresh, from_before = panel == panel_before;
        const int64 ended = panel, following = next_panel;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        panel = next_panel;
        next_panel = after;
        if (!whole && c + 1 < end) continue;
        sum_of_four(state.total);
        int mine = ended * SIDE + warp * 16 < rows; /* 1: this warp writes the result */
        if (mine && (!whole || from_before)) /* groups share the panel */
            mine = share_rows(sums, state, partials + item, arrived + warp, !from_before, group_of_cell(all[c].first_cell, each, more),
                              group_of_cell(all[c].end_cell - 1, each, more), lane);
        if (mine) {
            const int64 row = ended * SIDE + row_in;
            write_rows(p, sums, row, lane, state);
#pragma unroll
            for (int i = 0; i < 2; i++) keep_row(p, lane % 4 == 0, row + 8 * i, state.most[i], state.total[i]);
        }
        begin_rows(state, sums);
        if (whole) write_empty(p, ended + 1, following, item);
        COPIES_WAIT(0); /* the next panel's own rows */
    }
}
