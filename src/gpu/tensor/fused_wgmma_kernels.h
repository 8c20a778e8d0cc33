/*
 * Operands of fused_wgmma.cu, and a thread's work on its two rows: their state, the values of S, partial sums of shared
 * panels, and results; those that fp16 cannot give are recomputed in fp32. fused_wgmma.cu defines PRODUCTS, OUTS, PART
 * and the cells' sizes. Included after copy_kernels.h.
 */
#include "score_kernels.h"

/* The kernel's operands. */
typedef struct operands {
    int64 rows, inner, width;
    const offset *offsets;
    const index *columns;
    const value *values;
    const element *a, *b, *d;
    int64 a_stride, b_stride, d_stride;
    output *out;
    int64 out_stride;
    real *pairs; /* NULL: not wanted */
    real scale, alpha, beta;
    /* the cells: this group has begin .. end - 1, the others likewise */
    int begin, end, each, more;
    const int64 *records;
    const index *lists;
    const int32 *together;
    const uint32 *masks, *row_masks;
    const index *firsts;
    /* split rows of A, then of B, in slices; and of D */
    int64 tiled_rows, slice_bytes;
    const float *scales, *d_scales;
    const char *split, *d_split;
    /* the groups' partial sums of shared panels, and counters of those stored */
    float *partials;
    int32 *arrived;
#if SCORES_ARE_TEXTS
    cell_text text;
#endif
} operands;

/* A thread's state of its two rows: the largest score, in units of log 2; the sum of exponentials; the largest and
   smallest scale of the rows of D, and 1 if these have lost bits. */
typedef struct row_state {
    float most[2], total[2], d_most, d_least;
    int lost;
} row_state;

FUNCTION void begin_rows(row_state &rows, float *out_sums) {
    rows.lost = 0;
    rows.d_most = 0;
    rows.d_least = INFINITY;
#pragma unroll
    for (int i = 0; i < 2; i++) rows.most[i] = -INFINITY, rows.total[i] = 0;
#pragma unroll
    for (int i = 0; i < OUTS; i++) out_sums[i] = 0;
}

/* ------------------------------------------------------------------------------------------ plainly */

FUNCTION float plain_product(const operands &p, int64 row, int64 t) {
    const element *const x = p.a + row * p.a_stride, *const y = p.b + (int64)p.columns[t] * p.b_stride;
    float sum = 0;
#pragma unroll 1
    for (int64 i = 0; i < p.inner; i++) sum = fmaf(real_of(x[i]), real_of(y[i]), sum);
    return sum;
}

FUNCTION float plain_score(const operands &p, int64 row, int64 t) {
    const float x = plain_product(p, row, t);
#if SCORES_ARE_TEXTS
    return text_score(p.text, x, HAS_VALUES ? real_of_value(p.values[t]) : 1, row, (int64)p.columns[t]).p;
#else
    return HAS_VALUES ? p.scale * x + real_of_value(p.values[t]) : p.scale * x;
#endif
}

/* Computes one number of a row's result in fp32, from the row's largest score and sum; all lanes of a warp. */
FUNCTION float plain_result(const operands &p, int64 row, int64 column, float most, float sum, int lane) {
    const int64 end = p.offsets[row + 1];
    float result = 0;
#pragma unroll 1
    for (int64 t = p.offsets[row] + lane; t < end; t += 32)
        result = fmaf(relative_exp(plain_score(p, row, t), most),
                      real_of(p.d[(int64)p.columns[t] * p.d_stride + column]), result);
    return sum_of_warp(result) / sum;
}

FUNCTION void write_result(const operands &p, int64 row, int64 column, float x) {
    output *const at = p.out + row * p.out_stride + column;
    *at = output_of(p.beta == 0 ? p.alpha * x : p.alpha * x + p.beta * real_of_output(*at));
}

/* ------------------------------------------------------------------------------------------ softmax */

/* Converts a row's largest score to natural units, and its sum to be relative to that rounded score. */
FUNCTION float natural(float most, float &total) {
    if (!(fabsf(most) < INFINITY)) return most;
    const float x = most * 0.693147181f;
    total *= exp2f(fmaf(-x, LOG2_E_LOW, fmaf(-x, LOG2_E, most)));
    return x;
}

/* Adds the groups' partial sums of a panel in order, as if one group had had all its cells. */
FUNCTION void gather_parts(float *sums, row_state &rows, const float *parts, int first_group, int last_group) {
    float d_most = rows.d_most, d_least = rows.d_least;
    int lost = rows.lost;
    begin_rows(rows, sums);
#pragma unroll 1
    for (int g = first_group; g <= last_group; g++) {
        const float *const part = parts + (int64)(2 * g + (g == first_group)) * PART;
        float rest[6], factor[2], before[2];
#pragma unroll
        for (int i = 0; i < 6; i++) rest[i] = __ldcg(part + (OUTS + i) * (32 * MULTIPLIERS));
#pragma unroll
        for (int i = 0; i < 2; i++) {
            take_larger(rows.most[i], rest[i], before[i], factor[i]);
            rows.total[i] = fmaf(factor[i], rest[2 + i], rows.total[i] * before[i]);
        }
        lost |= rest[4] < 0;
        d_most = fmaxf(d_most, fabsf(rest[4]));
        d_least = fminf(d_least, rest[5]);
#pragma unroll
        for (int i = 0; i < OUTS; i++)
            sums[i] = fmaf(factor[i / 2 % 2], __ldcg(part + i * (32 * MULTIPLIERS)), sums[i] * before[i / 2 % 2]);
    }
    rows.lost = lost;
    rows.d_most = d_most;
    rows.d_least = d_least;
}

/* Loads the values of S for a thread's scores: of its two rows the columns that the masks have. */
FUNCTION void load_values(float *x, const operands &p, uint32 wanted, const uint32 *row_masks, const index *firsts,
                          int row_in, int lane) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const uint2 mask = *(const uint2 *)(row_masks + (row_in + 8 * half) * 2);
        const value *from = p.values + firsts[row_in + 8 * half];
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const int i = 4 * j + 2 * half, bit = j % 4 * 8 + lane % 4 * 2;
            const int before = (j < 4 ? 0 : bits_set(mask.x)) + bits_set((j < 4 ? mask.x : mask.y) & (1u << bit) - 1);
            const int first = wanted >> i & 1;
            x[i] = first ? real_of_value(from[before]) : 0;
            x[i + 1] = wanted >> (i + 1) & 1 ? real_of_value(from[before + first]) : 0;
        }
    }
}

/* The place in S of a thread's score i. */
FUNCTION int64 place_of(const uint32 *row_masks, const index *firsts, int row_in, int i, int lane) {
    const int row = row_in + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    const uint32 low = row_masks[row * 2], high = row_masks[row * 2 + 1], below = (1u << column % 32) - 1;
    return (int64)firsts[row] + (column < 32 ? bits_set(low & below) : bits_set(low) + bits_set(high & below));
}

/* ------------------------------------------------------------------------------------------ results */

/* Results below it are doubtful, if rows of D have scales from least to most, or have lost bits (negative).
   Exponentials times numbers of D are kept to 2^-49 of the largest; a thousand of them may hide an error in a result
   that is 2^-17 of it. */
FUNCTION float doubt_of(float most, float least) {
    const int small = most < 0 || fabsf(most) > 4096 * least || !(fabsf(most) < INFINITY);
    return small ? 0x1p-4f * fabsf(most) : 0;
}

/* Writes a thread's part of two rows, times `back`; recomputes what is not finite or doubtful with the row's largest
   score and sum. */
FUNCTION void write_rows(const operands &p, int64 row, int lane, const float *sums, const float *back,
                         const float *most, const float *total, float doubt) {
    const int column = lane % 4 * 2;
    const uint64 pair = 2 * sizeof(output);
    output *const out[2] = {p.out + row * p.out_stride + column, p.out + (row + 8) * p.out_stride + column};
    const int paired =
        p.beta == 0 && p.width % 2 == 0 && row + 8 < p.rows && (uint64)p.out % pair == 0 && p.out_stride % 2 == 0;
    int bad = 0;
#pragma unroll
    for (int i = 0; i < OUTS; i++) {
        const float x = fabsf(sums[i] * back[i / 2 % 2]);
        bad |= !(x < INFINITY) || x < doubt;
    }
    uint64 again = 0;
    if (paired && !bad) {
#pragma unroll
        for (int i = 0; i < OUTS; i += 2) {
            const float by = back[i / 2 % 2] * p.alpha;
            if (i / 4 * 8 + column < p.width) write_pair(out[i / 2 % 2] + i / 4 * 8, sums[i] * by, sums[i + 1] * by);
        }
    } else {
#pragma unroll 1
        for (int which = 0; which < OUTS; which++) {
            const int lower = which / 2 % 2, at = which / 4 * 8 + column + which % 2;
            const int64 of_row = row + 8 * lower;
            float x = 0;
#pragma unroll
            for (int i = 0; i < OUTS; i++) x = i == which ? sums[i] : x;
            const float sum = lower ? total[1] : total[0];
            x *= lower ? back[1] : back[0];
            if (of_row >= p.rows || at >= p.width) continue;
            if (sum != 0 && (!(fabsf(x) < INFINITY) || fabsf(x) < doubt))
                again |= (uint64)1 << which;
            else
                write_result(p, of_row, at, sum == 0 ? 0 : x);
        }
    }
#pragma unroll 1
    for (asked of = next_asked(again); of.lane >= 0; of = next_asked(again)) {
        const int lower = of.number / 2 % 2;
        const int64 of_row = row - lane / 4 + of.lane / 4 + 8 * lower;
        const int64 of_column = of.number / 4 * 8 + of.lane % 4 * 2 + of.number % 2;
        const float x = plain_result(p, of_row, of_column, __shfl_sync(0xffffffffu, lower ? most[1] : most[0], of.lane),
                                     __shfl_sync(0xffffffffu, lower ? total[1] : total[0], of.lane), lane);
        if (lane != of.lane) continue;
        write_result(p, of_row, of_column, x);
        again &= again - 1;
    }
}

FUNCTION void keep_row(const operands &p, int when, int64 row, float most, float sum) {
    real *const pairs = p.pairs;
    KEEP_ROW(when && row < p.rows, row, most, sum);
}

/* Writes the rows of panels without cells. */
FUNCTION void write_empty(const operands &p, int64 first_panel, int64 end_panel, int item) {
    for (int64 row = first_panel * SIDE; row < min64(end_panel * SIDE, p.rows); row++) {
        for (int64 column = item; column < p.width; column += 32 * MULTIPLIERS) write_result(p, row, column, 0);
        keep_row(p, item == 0, row, -INFINITY, 0);
    }
}
