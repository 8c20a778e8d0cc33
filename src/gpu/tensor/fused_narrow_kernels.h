/*
 * Shared by the kernels of attention for operands of 16 bits, fused_narrow.cu and fused_large.cu: their operands, and a
 * thread's work on its two rows: masks, online softmax, partial sums of shared panels, and results; those that are not
 * finite are recomputed in fp32. The kernels define ROWS, the rows of a panel, and MULTIPLYING, the threads that
 * multiply. Included after narrow_kernels.h.
 */
#include "score_kernels.h"

#define SCORES     (SIDE / 2)                     /* of a thread in a cell */
#define WORDS      (SIDE / 64)                    /* of its mask */
#define OUTS       (32 * WIDTH_TILES)             /* sums of a thread */
#define REST       4                              /* and their softmax state, for two rows */
#define PART       ((OUTS + REST) * MULTIPLYING)  /* floats of a panel's partial sums */
#define POWERS_LOG (ELEMENT == 16 ? 14.0f : 0.0f) /* log2 of the scale of exponentials: fp16 has a small range */

typedef struct problem {
    int64 rows, others, inner, width;
    const offset *offsets;
    const index *columns;
    const element *a, *b, *d;
    int64 a_stride, b_stride, d_stride;
    output *out;
    int64 out_stride;
    real *pairs;   /* NULL: not wanted */
    float in_log2; /* scores in units of log 2 */
    real alpha, beta;
#if SCORES_ARE_TEXTS
    cell_text text;
#endif
} problem;

#define FUSED_PARAMETERS                                                                                               \
    int64 rows, IN(offset, offsets), IN(index, columns), IN(element, a), int64 a_stride, IN(element, b),               \
        int64 b_stride, int64 inner, IN(element, d), int64 d_stride, int64 width, OUT(output, out), int64 out_stride,  \
        BATCH_PARAMETERS, real edge_scale, real alpha, real beta TEXT_PARAMETERS, KEEP_PARAMETERS, int64 others,       \
        int32 each, int32 more, IN(int64, records), OUT(float, partials), OUT(int32, arrived), IN(index, lists),       \
        IN(int32, together), IN(uint32, masks)
#define PROBLEM                                                                                                        \
    {                                                                                                                  \
        rows, others, inner, width, offsets, columns, a, b, d, a_stride, b_stride, d_stride, out, out_stride,          \
            keeps ? pairs : 0, (SCORES_ARE_TEXTS ? 1 : edge_scale) * LOG2_E, alpha, beta AND_SCORES                    \
    }

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
        float x = plain_dot(p.a + row * p.a_stride, p.b + other * p.b_stride, p.inner);
#if SCORES_ARE_TEXTS
        x = text_score(p.text, x, 1, row, other).p;
#endif
        result = fmaf(exp2f(fmaf(x, p.in_log2, -most)), real_of(p.d[other * p.d_stride + column]), result);
    }
    return sum_of_warp(result) / sum;
}

/* Writes a thread's part of two rows of a tile, one by one; recomputes non-finite numbers with the row's largest score
   and sum. */
NOINLINE void write_each(const problem &p, int tile, const float *sums, int64 row, int lane, const float *most,
                         const float *total) {
    uint64 again = 0;
#pragma unroll 1
    for (int i = 0; i < 32; i++) {
        const int half = i / 2 % 2, column = tile * LINE + column_of(i, lane);
        if (row + half * 8 >= p.rows || column >= p.width) continue;
        if (total[half] == 0 || fabsf(sums[i]) < INFINITY)
            write_result(p, row + half * 8, column, total[half] == 0 ? 0 : sums[i]);
        else
            again |= (uint64)1 << i;
    }
#pragma unroll 1
    for (asked of = next_asked(again); of.lane >= 0; of = next_asked(again)) {
        const int half = of.number / 2 % 2, column = tile * LINE + column_of(of.number, of.lane);
        const int64 of_row = row - lane / 4 + of.lane / 4 + half * 8;
        const float x = plain_result(p, of_row, column, __shfl_sync(0xffffffffu, half ? most[1] : most[0], of.lane),
                                     __shfl_sync(0xffffffffu, half ? total[1] : total[0], of.lane), lane);
        if (lane != of.lane) continue;
        write_result(p, of_row, column, x);
        again &= again - 1;
    }
}

#if OUTPUT != 32
/* Writes a thread's part of two rows: four lanes exchange pairs of numbers, so that each has eight neighbours of every
   32 columns. */
FUNCTION void write_pieces(output *out, const float *sums, float alpha, int64 stride, int64 width, int lane) {
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int at = 0; at < OUTS / 16; at++) {
            uint32 words[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float *const pair = sums + at * 16 + i * 4 + half * 2;
                words[i] = (uint32)output_of(pair[0] * alpha) | (uint32)output_of(pair[1] * alpha) << 16;
            }
#pragma unroll
            for (int apart = 1; apart < 4; apart *= 2) /* the transpose of 4 x 4 words */
#pragma unroll
                for (int i = 0; i < 4; i++)
                    if (!(i & apart)) {
                        const uint32 given =
                            __shfl_xor_sync(0xffffffffu, lane & apart ? words[i] : words[i + apart], apart);
                        if (lane & apart)
                            words[i] = given;
                        else
                            words[i + apart] = given;
                    }
            const int column = at * 32 + lane % 4 * 8;
            if (column < width)
                *(uint4 *)(out + half * 8 * stride + column) = make_uint4(words[0], words[1], words[2], words[3]);
        }
}
#endif

/* The same in pairs, for the usual case. */
FUNCTION void write_rows(const problem &p, float *sums, int64 row, int lane, const row_state &rows) {
    const uint64 pair = 2 * sizeof(output);
    int usual =
        p.beta == 0 && p.width % 2 == 0 && row + 8 < p.rows && (uint64)p.out % pair == 0 && p.out_stride % 2 == 0;
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
#if OUTPUT != 32
        if (p.width % 8 == 0 && ((uint64)p.out | (uint64)p.out_stride * sizeof(output)) % 16 == 0) {
            write_pieces(out, sums, p.alpha, p.out_stride, p.width, lane);
            return;
        }
#endif
#pragma unroll
        for (int i = 0; i < OUTS; i += 2)
            if (column_of(i, lane) < p.width)
                write_pair(out + i / 2 % 2 * 8 * p.out_stride + column_of(i, lane), sums[i] * p.alpha,
                           sums[i + 1] * p.alpha);
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
    for (int64 row = first_panel * ROWS; row < min64(end_panel * ROWS, p.rows); row++) {
        for (int64 column = item; column < p.width; column += MULTIPLYING) write_result(p, row, column, 0);
        keep_row(p, item == 0, row, -INFINITY, 0);
    }
}

/* ------------------------------------------------------------------------------------------ softmax */

/* Masks scores unless the cell is full, and scales them where they fall with the product. */
FUNCTION void finish_scores(float *x, float in_log2, int falls, const uint32 *wanted) {
    uint32 all = wanted[0];
#pragma unroll
    for (int word = 1; word < WORDS; word++) all &= wanted[word];
    if (falls) {
#pragma unroll
        for (int i = 0; i < SCORES; i++) x[i] *= in_log2;
    }
    if (!__all_sync(0xffffffffu, all == 0xffffffffu)) {
#pragma unroll
        for (int i = 0; i < SCORES; i++)
            if (!(wanted[i / 32] >> i % 32 & 1)) x[i] = -INFINITY;
    }
}

/* Online softmax: replaces scores by exponentials relative to the largest of the row so far. factor: what rescales the
   earlier sums. Returns 1 if one of the warp's rows has a new largest score: rare after a row's first cells. */
FUNCTION int exponentials(row_state &rows, float *factor, float *x, float in_log2) {
    float largest[2];
    int changed;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        largest[half] = fmaxf(x[2 * half], x[2 * half + 1]);
#pragma unroll
        for (int i = 2 * half + 4; i < SCORES; i += 4) largest[half] = fmaxf(largest[half], fmaxf(x[i], x[i + 1]));
    }
#pragma unroll
    for (int other = 1; other < 4; other *= 2)
#pragma unroll
        for (int half = 0; half < 2; half++)
            largest[half] = fmaxf(largest[half], __shfl_xor_sync(0xffffffffu, largest[half], other));
#pragma unroll
    for (int half = 0; half < 2; half++) largest[half] = fmaxf(rows.most[half], largest[half] * in_log2);
    changed = __any_sync(0xffffffffu, largest[0] != rows.most[0] || largest[1] != rows.most[1]);
    if (changed) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            factor[half] = power_of_two(rows.most[half] - SHIFT(largest[half]));
            rows.most[half] = largest[half];
            rows.total[half] *= factor[half];
        }
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const float against = SHIFT(largest[half]) - POWERS_LOG;
        float total = 0;
#pragma unroll
        for (int i = 2 * half; i < SCORES; i += 4) {
            x[i] = power_of_two(fmaf(x[i], in_log2, -against));
            x[i + 1] = power_of_two(fmaf(x[i + 1], in_log2, -against));
            total += x[i] + x[i + 1];
        }
        rows.total[half] += total;
    }
    return changed;
}

FUNCTION void rescale(float *sums, const float *factor) {
#pragma unroll
    for (int i = 0; i < OUTS; i++) sums[i] *= factor[i / 2 % 2];
}

/* Rounds exponentials, to be multiplied by D. */
FUNCTION void round_pairs(uint32 *factors, const float *x) {
#pragma unroll
    for (int i = 0; i < SCORES; i += 2) factors[i / 2] = pair_of(x[i], x[i + 1]);
}

/* Adds the groups' partial sums of a panel in order. */
FUNCTION void gather_parts(float *sums, row_state &rows, const float *parts, int first_group, int last_group) {
    begin_rows(rows, sums);
#pragma unroll 1
    for (int g = first_group; g <= last_group; g++) {
        const float *const part = parts + (int64)(2 * g + (g == first_group)) * PART;
        const float *const rest = part + OUTS * MULTIPLYING;
        float factor[2], before[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            take_larger(rows.most[i], __ldcg(rest + i * MULTIPLYING), before[i], factor[i]);
            rows.total[i] = fmaf(factor[i], __ldcg(rest + (2 + i) * MULTIPLYING), rows.total[i] * before[i]);
        }
#pragma unroll
        for (int i = 0; i < OUTS; i++)
            sums[i] = fmaf(factor[i / 2 % 2], __ldcg(part + i * MULTIPLYING), sums[i] * before[i / 2 % 2]);
    }
}

/* Stores a group's part of a panel that groups share. Returns 1 to the last warp of the panel's rows, with all parts.
 */
FUNCTION int share_rows(float *sums, row_state &state, float *partials, int32 *arrived, int begins, int first_group,
                        int last_group, int lane) {
    float *const to = partials + (int64)(2 * GROUP_X + begins) * PART;
    const float rest[REST] = {state.most[0], state.most[1], state.total[0], state.total[1]};
#pragma unroll
    for (int i = 0; i < OUTS + REST; i++) to[i * MULTIPLYING] = i < OUTS ? sums[i] : rest[i - OUTS];
    const int last = arrives_last(arrived + first_group * (MULTIPLYING / 32), last_group - first_group, lane);
    if (last) gather_parts(sums, state, partials, first_group, last_group);
    return last;
}

/* Writes a warp's 16 rows of a panel. This group has its cells first .. end - 1; if other groups have more, the last
   group to come writes the rows, with all parts. row: this thread's first row. */
FUNCTION void finish_panel(const problem &p, float *sums, row_state &state, float *partials, int32 *arrived,
                           const cell_record *all, int first, int end, int64 row, int each, int more, int item) {
    const int lane = item % 32, begins = all[first].first_cell, ends = all[first].end_cell;
    int mine = row - lane / 4 < p.rows; /* 1: this warp writes the result */
    sum_of_four(state.total);
    if (mine && (first > begins || end < ends)) /* groups share the panel */
        mine = share_rows(sums, state, partials + item, arrived + item / 32, first == begins,
                          group_of_cell(begins, each, more), group_of_cell(ends - 1, each, more), lane);
    if (!mine) return;
    write_rows(p, sums, row, lane, state);
#pragma unroll
    for (int i = 0; i < 2; i++) keep_row(p, lane % 4 == 0, row + 8 * i, state.most[i], state.total[i]);
}

/* Clears the counters of groups that have stored their parts. */
KERNEL fused_clear(OUT(int32, arrived), int64 scratch_batch_stride, int32 clears) {
    let_next_launch_begin();
    MEMBER(arrived, scratch_batch_stride);
    for (int i = LOCAL_ID; i < clears; i += GROUP) arrived[i] = 0;
}
