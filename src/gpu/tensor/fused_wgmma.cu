/*
 * E = softmax(scale <A, B> + s) D by cells on the tensor cores of compute capability 9.0, in one pass, with the
 * accuracy of fp32: attention with any mask. The scores of a cell of 64 rows and 64 columns never leave the registers.
 *
 * A group takes a run of cells of a member. GROUPS of them share a multiprocessor, so that one multiplies while others
 * compute exponentials. One warp of a group copies split rows (split_rows.cu) in tiles of 8 KiB in the order in which
 * they are needed: of B, of A when the panel changes, and of D. Four warps have 16 rows each. They multiply, keep the
 * scores that the cell's mask names, track the largest score and the sum of exponentials of each row, and multiply the
 * exponentials, each split into two fp16 numbers, by the rows of D. Sums over 64 of K, or over 64 columns, begin at
 * zero and are added in fp32 registers, because tensor cores truncate when they accumulate (Ootomo and Yokota, arXiv
 * 2203.03341).
 *
 * Scores are in units of log 2 until a row is finished. Exponentials are multiplied by the scale of their row of D, so
 * that the split rows of D can be used unchanged; the factor that brings them into fp16's range is common to the cell.
 * If several groups share a panel, each leaves partial sums, and the last one combines them in order. Results that are
 * not finite, or so small that fp16 keeps too few of their bits, are recomputed in fp32.
 *
 * PRODUCTS: 3 if numbers and exponentials are two fp16 numbers each; 2 for fp16 and bf16, which one fp16 number holds;
 * 1 with math = tf32. RESIDENT: lines of 128 bytes of a row of A that stay for a panel. BLOCKS: of 64 columns of D.
 * SLOTS: tiles of the ring in shared memory.
 *
 * The right choice for softmax if cells are dense: attention, from about one score in ten on.
 */
#include "simt.h"
#include "edges.h"
#include "hopper.h"
#include "cell_kernels.h"

#define SIDE 64    /* rows and columns of a cell */
#define COPIERS 32 /* threads */
#include "copy_kernels.h"

#define CELLS       3                     /* that are described at once */
#define tile_of(first, tile) operand_after(first, (tile) * TILE)
#define MULTIPLIERS 4                     /* warps */
#define LOWS        (PRODUCTS == 3)       /* rows are highs and lows */
#define STEPS       (LOWS ? 2 : 4)        /* of 16 numbers in a line's highs */
#define AT_ONCE     (LOWS ? 2 : 1)        /* lines, until their products are added in registers */
#define D_TILES     (BLOCKS * (1 + LOWS)) /* of a cell */
#define OUTS        (32 * BLOCKS)         /* of a thread */
#define PART        ((OUTS + 6) * 32 * MULTIPLIERS) /* floats that a group leaves of a panel */
#define LOG2_E_LOW  1.92596303e-8f

typedef struct cell_notes {
    float row_scales[SIDE], scales[SIDE], d_scales[SIDE]; /* of rows of A, B and D */
    cell_record cell;
    int32 gathered, unused[3]; /* its tiles: by the copying threads */
} cell_notes;

#define FULL(i)  (gates + 8 * (i))
#define EMPTY(i) (gates + 8 * (SLOTS + (i)))
#define NOTED(i) (gates + 8 * (2 * SLOTS + (i)))
#define A_FREE   (gates + 8 * (2 * SLOTS + CELLS))

/* What the kernels of a call share. */
typedef struct problem {
    int64 rows;
    const offset *offsets;
    const index *columns;
    const value *values;
    const element *a;
    int64 a_stride;
    const element *b;
    int64 b_stride, inner;
    const element *d;
    int64 d_stride, width;
    output *out;
    int64 out_stride;
    real *pairs;
    real scale, alpha, beta;
} problem;

/* ------------------------------------------------------------------------------------------ plainly */

FUNCTION float plain_score(const problem &p, int64 row, int64 t) {
    const element *const x = p.a + row * p.a_stride, *const y = p.b + (int64)p.columns[t] * p.b_stride;
    float sum = 0;
#pragma unroll 1
    for (int64 i = 0; i < p.inner; i++) sum = fmaf(real_of(x[i]), real_of(y[i]), sum);
    return HAS_VALUES ? p.scale * sum + real_of_value(p.values[t]) : p.scale * sum;
}

/* One number of a row's result, from the row's largest score and sum; by all lanes of a warp. */
FUNCTION float plain_result(const problem &p, int64 row, int64 column, float most, float sum, int lane) {
    const int64 end = p.offsets[row + 1];
    float result = 0;
#pragma unroll 1
    for (int64 t = p.offsets[row] + lane; t < end; t += 32)
        result = fmaf(exp(plain_score(p, row, t) - most), real_of(p.d[(int64)p.columns[t] * p.d_stride + column]), result);
    return sum_of_warp(result) / sum;
}

FUNCTION void write_result(const problem &p, int64 row, int64 column, float x) {
    output *const at = p.out + row * p.out_stride + column;
    *at = output_of(p.beta == 0 ? p.alpha * x : p.alpha * x + p.beta * real_of_output(*at));
}

/* ------------------------------------------------------------------------------------------ multiplying */

/* What a line of 64 rows at x and of 64 at y adds: high x low and low x high, and high x high. */
FUNCTION void multiply_lines(float *crossed, float *whole, uint64 x, uint64 y, int first, int fresh) {
    if (LOWS) {
        multiply_64x64(crossed, x, y + 4, !first);
        multiply_64x64(crossed, x + 4, y, 1);
        multiply_64x64(crossed, x + 2, y + 6, 1);
        multiply_64x64(crossed, x + 6, y + 2, 1);
    }
#pragma unroll
    for (int k = 0; k < STEPS; k++) multiply_64x64(whole, x + 2 * k, y + 2 * k, !fresh || k > 0);
}

/* What 64 columns of the cell add to 64 columns of the result, first high x low and low x high: y has the highs of D, z the
   lows; `back` turns their scale back. */
FUNCTION void multiply_block(float *out, const uint32 *highs, const uint32 *lows, uint64 y, uint64 z, float back) {
    float d[32];
#pragma unroll
    for (int crossed = PRODUCTS > 1; crossed >= 0; crossed--) {
        PRODUCTS_PIN(d, 32);
        products_begin();
#pragma unroll
        for (int k = 0; k < 4; k++) {
            multiply_64x64_across_held(d, (crossed ? lows : highs) + 4 * k, y + 128 * k, k > 0);
            if (crossed && LOWS) multiply_64x64_across_held(d, highs + 4 * k, z + 128 * k, 1);
        }
        products_commit();
        PRODUCTS_WAIT(0);
        PRODUCTS_PIN(d, 32);
        const float factor = crossed ? back * 0x1p-11f : back;
#pragma unroll
        for (int i = 0; i < 32; i++) out[i] = fmaf(d[i], factor, out[i]);
        PRODUCTS_PIN(out, 32);
    }
}

/* ------------------------------------------------------------------------------------------ softmax */

/* A row's largest score in natural units, and its sum such that both belong together in spite of rounding. */
FUNCTION float natural(float most, float &total) {
    if (!(fabsf(most) < INFINITY)) return most;
    const float x = most * 0.693147181f;
    total *= exp2f(fmaf(-x, LOG2_E_LOW, fmaf(-x, LOG2_E, most)));
    return x;
}

/* Partial sums of groups of a panel, in order: as one group would have them that had all of its cells. */
FUNCTION void gather_parts(float *sums, float *most, float *total, int &lost, float &d_most, float &d_least, const float *parts,
                           int first_group, int last_group) {
#pragma unroll
    for (int i = 0; i < OUTS; i++) sums[i] = 0;
    for (int i = 0; i < 2; i++) most[i] = -INFINITY, total[i] = 0;
#pragma unroll 1
    for (int g = first_group; g <= last_group; g++) {
        const float *const part = parts + (int64)(2 * g + (g == first_group)) * PART;
        float rest[6], factor[2], before[2];
#pragma unroll
        for (int i = 0; i < 6; i++) rest[i] = __ldcg(part + (OUTS + i) * (32 * MULTIPLIERS));
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const float largest = fmaxf(most[i], rest[i]), against = largest == -INFINITY ? 0 : largest;
            before[i] = power_of_two(most[i] - against);
            factor[i] = power_of_two(rest[i] - against);
            total[i] = fmaf(factor[i], rest[2 + i], total[i] * before[i]);
            most[i] = largest;
        }
        lost |= rest[4] < 0;
        d_most = fmaxf(d_most, fabsf(rest[4]));
        d_least = fminf(d_least, rest[5]);
#pragma unroll
        for (int i = 0; i < OUTS; i++)
            sums[i] = fmaf(factor[i / 2 % 2], __ldcg(part + i * (32 * MULTIPLIERS)), sums[i] * before[i / 2 % 2]);
    }
}

/* Values of S that a thread's scores need: of its two rows those of its columns that the masks have. */
FUNCTION void read_values(float *x, const problem &p, uint32 wanted, const uint32 *row_masks, const index *firsts, int row_in,
                          int lane) {
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

/* Below it results are doubtful, where rows of D have scales from least to most, or lost bits (negative): exponentials times
   numbers of D are kept to 2^-49 of the largest, which a thousand of them may hide in a result that is 2^-17 of it. */
FUNCTION float doubt_of(float most, float least) {
    const int small = most < 0 || fabsf(most) > 4096 * least || !(fabsf(most) < INFINITY);
    return small ? 0x1p-4f * fabsf(most) : 0;
}

/* What a thread has of two rows, times `back`; what is not finite or doubtful is computed again with the row's largest score
   and sum. */
FUNCTION void write_rows(const problem &p, int64 row, int lane, const float *sums, const float *back, const float *most,
                         const float *total, float doubt) {
    const int column = lane % 4 * 2;
    const uint64 pair = 2 * sizeof(output);
    output *const out[2] = {p.out + row * p.out_stride + column, p.out + (row + 8) * p.out_stride + column};
    const int paired = p.beta == 0 && p.width % 2 == 0 && row + 8 < p.rows && (uint64)p.out % pair == 0 && p.out_stride % 2 == 0;
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

FUNCTION void keep_row(const problem &p, int when, int64 row, float most, float sum) {
    real *const pairs = p.pairs;
    KEEP_ROW(when && row < p.rows, row, most, sum);
}

/* Rows whose panels have no cell. */
FUNCTION void write_empty(const problem &p, int64 first_panel, int64 end_panel, int item) {
    for (int64 row = first_panel * SIDE; row < min64(end_panel * SIDE, p.rows); row++) {
        for (int64 column = item; column < p.width; column += 32 * MULTIPLIERS) write_result(p, row, column, 0);
        keep_row(p, item == 0, row, -INFINITY, 0);
    }
}

/* ------------------------------------------------------------------------------------------ the kernels */

#define NOTE_BYTES(start) (uint32)(((start) < 0 ? 1 : 3) * 4 * SIDE + sizeof(cell_record))

/* What describes a cell, whose columns begin at `start` or are gathered; one thread. */
FUNCTION void copy_notes(cell_notes *into, int64 c, int32 start, const int64 *records, const float *row_scales,
                         const float *scales, const float *d_scales, uint32 gate) {
    into->gathered = start < 0;
    copy_bulk(shared_address(into->row_scales), row_scales, 4 * SIDE, gate);
    if (start >= 0) {
        copy_bulk(shared_address(into->scales), scales + start, 4 * SIDE, gate);
        copy_bulk(shared_address(into->d_scales), d_scales + start, 4 * SIDE, gate);
    }
    copy_bulk(shared_address(&into->cell), records + c * (int64)sizeof(cell_record) / 8, sizeof(cell_record), gate);
}

KERNEL fused_wgmma(int64 rows, IN(offset, offsets), IN(index, columns), IN(value, values), IN(element, a),
                   int64 a_stride, IN(element, b), int64 b_stride, int64 inner, IN(element, d), int64 d_stride,
                   int64 width, OUT(output, out), int64 out_stride, BATCH_PARAMETERS, real edge_scale, real alpha,
                   real beta, KEEP_PARAMETERS, int32 each, int32 more, IN(int64, records), OUT(float, partials),
                   OUT(int32, arrived), int64 tiled_rows, int64 tiled, IN(index, lists), IN(int32, together),
                   IN(uint32, masks), IN(uint32, row_masks), IN(index, firsts), IN(float, scales), IN(char, split),
                   IN(float, d_scales), IN(char, d_split)) {
    extern __shared__ __align__(1024) char memory[];
    MEMBER(values, values_batch_stride);
    MEMBER(a, a_batch_stride);
    MEMBER(b, b_batch_stride);
    MEMBER(d, d_batch_stride);
    MEMBER(out, out_batch_stride);
    MEMBER(pairs, pairs_batch_stride);
    MEMBER(partials, scratch_batch_stride);
    MEMBER(arrived, scratch_batch_stride);
    const problem p = {rows, offsets, columns, values, a, a_stride, b, b_stride, inner, d, d_stride, width, out,
                      out_stride, keeps ? pairs : 0, edge_scale, alpha, beta};
    MEMBER(scales, scratch_batch_stride);
    MEMBER(split, 4 * scratch_batch_stride);
    MEMBER(d_scales, scratch_batch_stride);
    MEMBER(d_split, 4 * scratch_batch_stride);
    const uint32 base = shared_address(memory), ring = base + RESIDENT * TILE;
    cell_notes *const notes = (cell_notes *)(memory + (RESIDENT + SLOTS) * TILE);
    const uint32 gates = shared_address(notes + CELLS);
    const int warp = LOCAL_ID / 32, lane = LOCAL_ID % 32;
    const int begin = first_cell(blockIdx.x, each, more), end = first_cell(blockIdx.x + 1, each, more);
    if (LOCAL_ID == 0) {
        for (int i = 0; i < SLOTS; i++) {
            gate_make(FULL(i), COPIERS);
            gate_make(EMPTY(i), MULTIPLIERS);
        }
        for (int i = 0; i < CELLS; i++) gate_make(NOTED(i), MULTIPLIERS);
        gate_make(A_FREE, MULTIPLIERS);
        proxies_meet(); /* bulk copies use the gates, too */
    }
    __syncthreads();
    turn slot = {0, 0}, note = {0, 0};
    if (warp == MULTIPLIERS) { /* copies; of neighbouring columns by the bulk */
        const int64 slice_bytes = (tiled - tiled_rows) * 128;
        const char *const columns_split = split + tiled_rows * RESIDENT * 128;
        int64 panel = -1;
        uint32 a_passed = 1;
        cell_ahead here;
        next_record record;
        int32 start = -1, next_start = -1;
        if (begin < end) {
            load_record(record, begin, records);
            start = together[begin];
            load_columns(here, record, start < 0 ? lists : 0, lane);
            load_record(record, begin + 1 < end ? begin + 1 : begin, records);
            next_start = together[begin + 1 < end ? begin + 1 : begin];
        }
        wait_for_last_launch();
#pragma unroll 1
        for (int c = begin; c < end; c++) {
            const int changed = here.panel != panel;
            gate_wait(NOTED(note.place), note.passed ^ 1);
            cell_notes *const into = notes + note.place;
            next_turn(note, CELLS);
            if (changed) {
                gate_wait(A_FREE, a_passed);
                a_passed ^= 1;
            }
            panel = here.panel;
#pragma unroll 1
            for (int s = 0; s < RESIDENT + D_TILES; s++) {
                const uint32 gate = FULL(slot.place), to = ring + slot.place * TILE;
                const char *const lines = s < RESIDENT ? columns_split + s * slice_bytes : d_split + (s - RESIDENT) * slice_bytes;
                gate_wait(EMPTY(slot.place), slot.passed ^ 1);
                next_turn(slot, SLOTS);
                if (lane == 0) {
                    gate_expect(gate, (s == 0 ? NOTE_BYTES(start) + (changed ? RESIDENT * TILE : 0) : 0) + (start < 0 ? 0 : TILE));
                    if (s == 0) {
                        copy_notes(into, c, start, records, scales + panel * SIDE, scales + tiled_rows, d_scales, gate);
#pragma unroll 1
                        for (int i = 0; changed && i < RESIDENT; i++)
                            copy_bulk(base + i * TILE, split + (i * tiled_rows * 128 + panel * TILE), TILE, gate);
                    }
                    if (start >= 0) copy_bulk(to, lines + (int64)start * 128, TILE, gate);
                }
                if (start >= 0) {
                    gate_arrive(gate);
                    continue;
                }
                if (s == 0)
#pragma unroll
                    for (int i = 0; i < DESCRIBED; i++) {
                        copy_4(shared_address(into->scales + lane + COPIERS * i), scales + tiled_rows + here.own[i]);
                        copy_4(shared_address(into->d_scales + lane + COPIERS * i), d_scales + here.own[i]);
                    }
                gather_tile(to, lines, 128, here, lane);
                gate_arrive_with_copies(gate);
            }
            if (c + 1 < end) {
                start = next_start;
                load_columns(here, record, start < 0 ? lists : 0, lane);
                if (c + 2 < end) {
                    load_record(record, c + 2, records);
                    next_start = together[c + 2];
                }
            }
        }
        return;
    }
    wait_for_last_launch();
    const int row_in = warp * 16 + lane / 4;
    const int64 panel_before = begin > 0 ? ((const cell_record *)records)[begin - 1].panel : -1;
    if (GROUP_X == 0) write_empty(p, 0, ((const cell_record *)records)[0].panel, LOCAL_ID);
    const uint64 first_a = operand_of(base), first_slot = operand_of(ring), first_across = operand_across(ring, TILE);
    const float in_log2 = fabsf(p.scale) * LOG2_E;
    const int unusual = !(p.scale > 0 && in_log2 > 0x1p-40f && in_log2 < 0x1p40f);
    float out_sums[OUTS], most[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0}, d_most = 0, d_least = INFINITY;
    int lost = 0;
#pragma unroll
    for (int i = 0; i < OUTS; i++) out_sums[i] = 0;
#pragma unroll 1
    for (int c = begin; c < end; c++) {
        const uint32 wanted = masks[(int64)c * (2 * SIDE) + LOCAL_ID];
        float sum[32];
        {
            float crossed[32], whole[32];
#pragma unroll
            for (int s = 0; s < RESIDENT; s += AT_ONCE) {
                const int count = RESIDENT - s < AT_ONCE ? RESIDENT - s : AT_ONCE;
                turn tiles[AT_ONCE];
#pragma unroll
                for (int i = 0; i < count; i++) {
                    tiles[i] = slot;
                    gate_wait(FULL(slot.place), slot.passed); /* with the first of which the notes come */
                    next_turn(slot, SLOTS);
                }
                if (notes[note.place].gathered) proxies_meet();
                if (LOWS) {
                    PRODUCTS_PIN(crossed, 32);
                }
                PRODUCTS_PIN(whole, 32);
                products_begin();
#pragma unroll
                for (int i = 0; i < count; i++)
                    multiply_lines(crossed, whole, tile_of(first_a, s + i), tile_of(first_slot, tiles[i].place),
                                   s + i == 0, i == 0);
                products_commit();
                PRODUCTS_WAIT(0);
                PRODUCTS_PIN(whole, 32);
                if (LOWS) {
                    PRODUCTS_PIN(crossed, 32);
                }
                for (int i = 0; i < count && lane == 0; i++) gate_arrive(EMPTY(tiles[i].place));
#pragma unroll
                for (int i = 0; i < 32; i++) sum[i] = s == 0 ? whole[i] : sum[i] + whole[i];
            }
#pragma unroll
            for (int i = 0; i < 32 && LOWS; i++) sum[i] = fmaf(crossed[i], 0x1p-11f, sum[i]);
            PRODUCTS_PIN(sum, 32);
        }
        const cell_notes *const noted = notes + note.place;
        const int64 panel = noted->cell.panel, next_panel = noted->cell.next_panel;
        if (panel != next_panel && lane == 0) gate_arrive(A_FREE);

        /* scores: sum[i] times the scale of its row */
        float factor[2], row_scales[2], row_factors[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            row_scales[i] = noted->row_scales[row_in + 8 * i];
            row_factors[i] = fmaxf(fabsf(row_scales[i]) * in_log2, 0x1p-120f); /* not 0, which infinity would be multiplied by */
        }
        const float2 scales_two = *(const float2 *)(noted->scales + 2 * lane);
        const float2 d_two = *(const float2 *)(noted->d_scales + 2 * lane);
        /* as bits what is negative, not a number or large is above 2^40 */
        const uint32 marks = __reduce_max_sync(0xffffffffu, max(max(bits_of_float(scales_two.x), bits_of_float(scales_two.y)),
                                                                max(bits_of_float(row_scales[0]), bits_of_float(row_scales[1]))));
        const int special = unusual || marks > bits_of_float(0x1p40f);
        if (special) { /* what is doubtful shall be computed again */
#pragma unroll
            for (int i = 0; i < 32; i++) {
                const float by = noted->scales[i / 4 * 8 + lane % 4 * 2 + i % 2];
                if ((by < 0 || row_scales[i / 2 % 2] < 0) && fabsf(sum[i]) < DOUBT * (float)inner) sum[i] = float_of_bits(0x7fc00000u);
                sum[i] *= fabsf(by) * fabsf(row_scales[i / 2 % 2]) * (p.scale * LOG2_E);
            }
        } else {
#pragma unroll
            for (int j = 0; j < 8; j++) {
                const float2 by = *(const float2 *)(noted->scales + 8 * j + lane % 4 * 2);
#pragma unroll
                for (int i = 4 * j; i < 4 * j + 4; i++) sum[i] *= i % 2 ? by.y : by.x;
            }
            if (HAS_VALUES) {
#pragma unroll
                for (int i = 0; i < 32; i++) sum[i] *= row_factors[i / 2 % 2];
            }
        }
        const uint32 *const own_masks = row_masks + (int64)c * (2 * SIDE);
        const index *const own_firsts = firsts + (int64)c * SIDE;
        if (HAS_VALUES) {
            float x[32];
            read_values(x, p, wanted, own_masks, own_firsts, row_in, lane);
#pragma unroll
            for (int i = 0; i < 32; i++) sum[i] = fmaf(x[i], LOG2_E, sum[i]);
        }
        if (special) { /* what is not finite, again */
            uint32 again = 0;
#pragma unroll
            for (int i = 0; i < 32; i++)
                if (wanted >> i & 1 && !(fabsf(sum[i]) < INFINITY)) again |= 1u << i;
#pragma unroll 1
            for (; again; again &= again - 1) {
                const int which = __ffs((int)again) - 1, row = row_in + which / 2 % 2 * 8;
                const float x = LOG2_E * plain_score(p, panel * SIDE + row, place_of(own_masks, own_firsts, row_in, which, lane));
#pragma unroll
                for (int i = 0; i < 32; i++) sum[i] = i == which ? x : sum[i];
            }
        }
        if (special || HAS_VALUES) row_factors[0] = row_factors[1] = 1; /* sum has the scores themselves */
        if (!__all_sync(0xffffffffu, wanted == 0xffffffffu)) {
#pragma unroll
            for (int i = 0; i < 32; i++)
                if (!(wanted >> i & 1)) sum[i] = -INFINITY;
        }

        /* the largest, of a row's four lanes in common */
        float largest[2] = {-INFINITY, -INFINITY};
#pragma unroll
        for (int i = 0; i < 32; i++) largest[i / 2 % 2] = fmaxf(largest[i / 2 % 2], sum[i]);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            for (int other = 1; other < 4; other *= 2) largest[i] = fmaxf(largest[i], __shfl_xor_sync(0xffffffffu, largest[i], other));
            largest[i] = fmaxf(most[i], largest[i] * row_factors[i]);
            const float against = largest[i] == -INFINITY ? 0 : largest[i];
            factor[i] = power_of_two(most[i] - against);
            total[i] *= factor[i];
            most[i] = largest[i];
            largest[i] = against;
        }
#pragma unroll
        for (int i = 0; i < OUTS; i++) out_sums[i] *= factor[i / 2 % 2];

        /* exponentials, times the scales of their rows of D over the largest of these */
        uint32 highs[16], lows[16];
        uint32 d_bits = __reduce_max_sync(0xffffffffu, max(bits_of_float(d_two.x), bits_of_float(d_two.y)));
        const uint32 d_low = __reduce_min_sync(0xffffffffu, min((bits_of_float(d_two.x) & 0x7fffffffu) - 1, /* but 0 */
                                                                (bits_of_float(d_two.y) & 0x7fffffffu) - 1));
        if (d_bits > 0x7f800000u) { /* bits are lost of a row, or it is not finite: then all is computed again */
            const float largest_d = fmaxf(fabsf(d_two.x), fabsf(d_two.y));
            lost = 1;
            d_bits = __reduce_max_sync(0xffffffffu, bits_of_float(largest_d));
            if (__any_sync(0xffffffffu, d_two.x != d_two.x || d_two.y != d_two.y)) d_most = INFINITY;
        }
        d_most = fmaxf(d_most, float_of_bits(d_bits));
        if (d_low < 0x7f800000u) d_least = fminf(d_least, float_of_bits(d_low + 1));
        d_bits = max(d_bits, bits_of_float(0x1p-113f));
        const float to_halves = float_of_bits(((127 + 13 + 127) << 23) - d_bits); /* 2^13 over it, a power of two */
        const float d_back = float_of_bits(d_bits - (13 << 23));
#pragma unroll
        for (int i = 0; i < 32; i += 2) {
            const int half = i / 2 % 2;
            const float2 by = *(const float2 *)(noted->d_scales + i / 4 * 8 + lane % 4 * 2);
            float x = power_of_two(fmaf(sum[i], row_factors[half], -largest[half]));
            float y = power_of_two(fmaf(sum[i + 1], row_factors[half], -largest[half]));
            total[half] += x + y;
            x *= fabsf(by.x) * to_halves;
            y *= fabsf(by.y) * to_halves;
            highs[i / 2] = halves_of(x, y);
            lows[i / 2] = PRODUCTS == 1 ? 0
                                        : halves_of((x - half_to_float((ushort)highs[i / 2])) * 2048,
                                                    (y - half_to_float((ushort)(highs[i / 2] >> 16))) * 2048);
        }

        /* times D */
#pragma unroll
        for (int i = 0; i < BLOCKS; i++) {
            const turn first = slot;
            turn second = slot;
            gate_wait(FULL(first.place), first.passed);
            next_turn(slot, SLOTS);
            if (LOWS) {
                second = slot;
                gate_wait(FULL(second.place), second.passed);
                next_turn(slot, SLOTS);
            }
            if (noted->gathered) proxies_meet();
            multiply_block(out_sums + 32 * i, highs, lows, tile_of(first_across, first.place), tile_of(first_across, second.place), d_back);
            if (lane == 0) {
                gate_arrive(EMPTY(first.place));
                if (LOWS) gate_arrive(EMPTY(second.place));
            }
        }

        const int whole = next_panel != panel, from_before = panel == panel_before;
        const int panel_begins = noted->cell.first_cell, panel_ends = noted->cell.end_cell - 1;
        __syncwarp();
        if (lane == 0) gate_arrive(NOTED(note.place));
        next_turn(note, CELLS);
        if (!whole && c + 1 < end) continue;
#pragma unroll
        for (int i = 0; i < 2; i++)
            for (int other = 1; other < 4; other *= 2) total[i] += __shfl_xor_sync(0xffffffffu, total[i], other);
        int mine = 1; /* to write */
        if (!whole || from_before) { /* groups share the panel */
            const int first_group = group_of_cell(panel_begins, each, more), last_group = group_of_cell(panel_ends, each, more);
            float *const to = partials + (int64)(2 * GROUP_X + !from_before) * PART + LOCAL_ID;
            const float rest[6] = {most[0], most[1], total[0], total[1], lost ? -d_most : d_most, d_least};
#pragma unroll
            for (int i = 0; i < OUTS + 6; i++) to[i * (32 * MULTIPLIERS)] = i < OUTS ? out_sums[i] : rest[i - OUTS];
            fence_of_device();
            __syncwarp();
            if (lane == 0) mine = atomic_add_int(arrived + first_group * MULTIPLIERS + warp, 1) == last_group - first_group;
            mine = __shfl_sync(0xffffffffu, mine, 0);
            if (mine) { /* the last to come */
                fence_of_device();
                gather_parts(out_sums, most, total, lost, d_most, d_least, partials + LOCAL_ID, first_group, last_group);
            }
        }
        if (mine) {
            const int64 row = panel * SIDE + row_in;
            const float back[2] = {total[0] == 0 ? 0 : 1 / total[0], total[1] == 0 ? 0 : 1 / total[1]}; /* 0: no nonzeros */
#pragma unroll
            for (int i = 0; i < 2; i++) most[i] = natural(most[i], total[i]);
            write_rows(p, row, lane, out_sums, back, most, total, doubt_of(lost ? -d_most : d_most, d_least));
#pragma unroll
            for (int i = 0; i < 2; i++) keep_row(p, lane % 4 == 0, row + 8 * i, most[i], total[i]);
        }
        lost = 0;
        d_most = 0;
        d_least = INFINITY;
#pragma unroll
        for (int i = 0; i < 2; i++) most[i] = -INFINITY, total[i] = 0;
#pragma unroll
        for (int i = 0; i < OUTS; i++) out_sums[i] = 0;
        if (whole) write_empty(p, panel + 1, next_panel, LOCAL_ID);
    }
}
