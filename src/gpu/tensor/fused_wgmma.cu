/*
 * E = softmax(scale <A, B> + s) D by cells on the tensor cores of compute capability 9.0, in one pass, with the accuracy of
 * fp32: attention with any mask. The scores of a cell of 128 rows and 128 columns never leave the registers.
 *
 * A group stays on a multiprocessor and takes a run of cells of a member. Four of its warps copy, as those of sddmm_wgmma.cu do:
 * split rows of B, of A when the panel changes, and of D (split_rows.cu), in slots of 16 KiB in the order in which they are needed.
 * Two times four warps have 64 rows each. They multiply as sddmm_wgmma.cu does, keep of the scores those that the cell's mask
 * names, follow the largest score and the sum of exponentials of each row, and multiply the exponentials, split into two of fp16,
 * by the rows of D. Sums of each 64 columns begin at zero and are added in fp32 registers.
 *
 * Exponentials are multiplied by the scale of their row of D, so that its split numbers serve as they are; what brings them into
 * fp16's range is common to the cell. A panel that two groups share is left as partial sums, with each row's largest score and
 * sum, which fused_merge brings together. What is not finite, or so small that fp16 has kept too little of it, is computed again,
 * plainly.
 *
 * PRODUCTS: 3; 1 with math = tf32. ALIGNED: a cell is 128 neighbouring columns. RESIDENT: slices of 32 of K, whose rows of A stay
 * for a panel. BLOCKS: of 64 columns of D.
 *
 * The right choice for softmax where cells are dense: attention, from about one score in ten on. Shared memory: RESIDENT times
 * 16 KiB of A, a ring of SLOTS times 16 KiB, 2 KiB for each of three cells.
 */
#define GROUPS 1
#include "simt.h"
#include "edges.h"
#include "hopper.h"
#include "cell_kernels.h"
#include "copy_kernels.h"

#define LOWS        (TILE / 2) /* of a tile of D, which has 64 columns of 64 rows: from the highs */
#define CELLS       3            /* that are described at once */
#define COPIERS     128          /* threads */
#define MULTIPLIERS 8            /* warps */
#define OUTS        (32 * BLOCKS) /* of a thread */
#define ROW_WORDS   (64 * BLOCKS + 4) /* of a partial row: its sums; then these */
#define MOST        (64 * BLOCKS)     /* the largest score */
#define TOTAL       (64 * BLOCKS + 1) /* the sum of exponentials */
#define DOUBT       (64 * BLOCKS + 2) /* results below are computed again */

typedef struct cell_notes {
    float row_scales[SIDE], scales[SIDE], d_scales[SIDE]; /* of rows of A, B and D */
    cell_record cell;
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
    const float *const x = p.a + row * p.a_stride, *const y = p.b + (int64)p.columns[t] * p.b_stride;
    float sum = 0;
#pragma unroll 1
    for (int64 i = 0; i < p.inner; i++) sum = fmaf(x[i], y[i], sum);
    return HAS_VALUES ? p.scale * sum + p.values[t] : p.scale * sum;
}

/* One number of a row's result, from the row's largest score and sum. */
FUNCTION float plain_result(const problem &p, int64 row, int64 column, float most, float sum) {
    float result = 0;
#pragma unroll 1
    for (int64 t = p.offsets[row]; t < (int64)p.offsets[row + 1]; t++)
        result = fmaf(exp(plain_score(p, row, t) - most), p.d[(int64)p.columns[t] * p.d_stride + column], result);
    return result / sum;
}

FUNCTION void write_result(const problem &p, int64 row, int64 column, float x) {
    output *const at = p.out + row * p.out_stride + column;
    *at = p.beta == 0 ? p.alpha * x : p.alpha * x + p.beta * *at;
}

/* ------------------------------------------------------------------------------------------ copying */

/* 64 columns of 64 rows of D: their highs, then their lows. */
FUNCTION void copy_block(uint32 to, const char *split, const cell_ahead &cell, int half, int block, uint32 gate, int item) {
    if (ALIGNED) {
        if (item == 0) copy_bulk(to, split + ((cell.list / 64 + half) * BLOCKS + block) * TILE, TILE, gate);
        return;
    }
    to += item / 8 * 128 + ((item % 8 ^ item / 8 % 8) << 4);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        uint32 column = half ? cell.columns[4 + i % 4] : cell.columns[i % 4];
        asm volatile("" : "+r"(column));
        copy_16(to + i * 16 * 128,
                split + ((int64)column * BLOCKS + block) * 256 + i / 4 * 128 + ((item % 8 ^ column & 7) << 4));
    }
}

/* ------------------------------------------------------------------------------------------ multiplying */

/* What 32 of K add to the scores: first high x low and low x high (not with PRODUCTS of 1), then high x high. */
FUNCTION void multiply_slice(float *sum, float *d, uint64 x, uint64 y) {
#pragma unroll
    for (int crossed = PRODUCTS == 3; crossed >= 0; crossed--) {
        PRODUCTS_PIN(d, 64);
        products_begin();
        if (crossed) {
            multiply_64x128(d, x, y + 4, 0);
            multiply_64x128(d, x + 4, y, 1);
            multiply_64x128(d, x + 2, y + 6, 1);
            multiply_64x128(d, x + 6, y + 2, 1);
        } else {
            multiply_64x128(d, x, y, 0);
            multiply_64x128(d, x + 2, y + 2, 1);
        }
        products_commit();
        PRODUCTS_WAIT(0);
        PRODUCTS_PIN(d, 64);
#pragma unroll
        for (int i = 0; i < 64; i++) sum[i] = crossed ? fmaf(d[i], 0x1p-11f, sum[i]) : sum[i] + d[i];
        PRODUCTS_PIN(sum, 64);
    }
}

/* What 64 columns of the cell add to 64 columns of the result; `back` turns their scale back. */
FUNCTION void multiply_block(float *out, float *d, const uint32 *highs, const uint32 *lows, uint32 at, float back) {
    const uint64 y = operand_across(at, TILE);
#pragma unroll
    for (int crossed = PRODUCTS == 3; crossed >= 0; crossed--) {
        PRODUCTS_PIN(d, 32);
        products_begin();
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (crossed) {
                multiply_64x64_across_held(d, lows + 4 * k, y + 128 * k, k > 0);
                multiply_64x64_across_held(d, highs + 4 * k, y + 128 * k + LOWS / 16, 1);
            } else {
                multiply_64x64_across_held(d, highs + 4 * k, y + 128 * k, k > 0);
            }
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

/* 2^x for exponents that lie near: e^(x - most) by two numbers for the logarithm. */
FUNCTION float exponential(float x, float most) {
    const float y = x - most;
    return exp2f(fmaf(y, 1.44269502f, y * 1.92596303e-8f));
}

FUNCTION int wanted(const uint4 *bits, int i, int lane) {
    const uint4 &of = bits[i / 2 % 2];
    const int column = i / 4 * 8 + i % 2; /* and 2 (lane % 4) */
    const uint32 word = column < 32 ? of.x : column < 64 ? of.y : column < 96 ? of.z : of.w;
    return word >> (column % 32) & 1; /* shifted by the lane's own before */
}

/* The place in S of an entry of a row: how many of the row's lie before it in the cell. */
FUNCTION int64 place_of(uint4 of, int column, index first) {
    const uint32 words[4] = {of.x, of.y, of.z, of.w};
    int before = 0;
#pragma unroll
    for (int w = 0; w < 4; w++) {
        const int bit = column - 32 * w;
        before += bits_set(bit >= 32 ? words[w] : bit > 0 ? words[w] & (1u << bit) - 1 : 0);
    }
    return (int64)first + before;
}

FUNCTION uint4 shifted(uint4 x, int by) { return make_uint4(x.x >> by, x.y >> by, x.z >> by, x.w >> by); }

/* ------------------------------------------------------------------------------------------ results */

/* Writes a row's number, or returns that it is not finite or doubtful: it is to be computed again. */
FUNCTION int write_unless_doubtful(const problem &p, int64 row, int64 column, float x, float sum, float doubt) {
    if (row >= p.rows || column >= p.width) return 0;
    const float result = sum == 0 ? 0 : x / sum; /* no nonzeros */
    if (!(fabsf(result) < INFINITY) || (fabsf(result) < doubt && sum != 0)) return 1;
    write_result(p, row, column, result);
    return 0;
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

#define FUSED_PARAMETERS                                                                                                           \
    int64 rows, IN(offset, offsets), IN(index, columns), IN(value, values), IN(element, a), int64 a_stride, IN(element, b),         \
        int64 b_stride, int64 inner, IN(element, d), int64 d_stride, int64 width, OUT(output, out), int64 out_stride,               \
        BATCH_PARAMETERS, real edge_scale, real alpha, real beta, KEEP_PARAMETERS, int32 each, int32 more, IN(int64, records),      \
        OUT(float, partials)
#define FUSED_MEMBER                                                                                                               \
    MEMBER(values, values_apart);                                                                                                  \
    MEMBER(a, a_apart);                                                                                                            \
    MEMBER(b, b_apart);                                                                                                            \
    MEMBER(d, d_apart);                                                                                                            \
    MEMBER(out, out_apart);                                                                                                        \
    MEMBER(pairs, pairs_apart);                                                                                                    \
    MEMBER(partials, scratch_apart);                                                                                               \
    const problem p = {rows,  offsets,  columns, values, a,          a_stride,          b,          b_stride, inner, d, d_stride,  \
                       width, out,      out_stride, keeps ? pairs : 0, edge_scale, alpha,    beta}

#define NOTE_BYTES (uint32)((ALIGNED ? 3 : 1) * 4 * SIDE + sizeof(cell_record))

/* What describes a cell; one thread. */
FUNCTION void copy_notes(cell_notes *into, int64 c, int64 list, const int64 *records, const float *row_scales,
                         const float *scales, const float *d_scales, uint32 gate) {
    copy_bulk(shared_address(into->row_scales), row_scales, 4 * SIDE, gate);
    if (ALIGNED) {
        copy_bulk(shared_address(into->scales), scales + list, 4 * SIDE, gate);
        copy_bulk(shared_address(into->d_scales), d_scales + list, 4 * SIDE, gate);
    }
    copy_bulk(shared_address(&into->cell), records + c * (int64)sizeof(cell_record) / 8, sizeof(cell_record), gate);
}

KERNEL fused_wgmma(FUSED_PARAMETERS, int64 tiled_rows, int64 tiled, IN(index, lists), IN(index, firsts),
                   IN(uint32, masks), IN(float, scales), IN(char, split), IN(float, d_scales), IN(char, d_split)) {
    extern __shared__ __align__(1024) char memory[];
    FUSED_MEMBER;
    MEMBER(scales, scratch_apart);
    MEMBER(split, 4 * scratch_apart);
    MEMBER(d_scales, scratch_apart);
    MEMBER(d_split, 4 * scratch_apart);
    const uint32 base = shared_address(memory), ring = base + RESIDENT * TILE;
    cell_notes *const notes = (cell_notes *)(memory + (RESIDENT + SLOTS) * TILE);
    const uint32 gates = shared_address(notes + CELLS);
    const int warp = LOCAL_ID / 32, lane = LOCAL_ID % 32;
    const int begin = first_cell(blockIdx.x, each, more), end = first_cell(blockIdx.x + 1, each, more);
    if (LOCAL_ID == 0) {
        for (int i = 0; i < SLOTS; i++) {
            gate_make(FULL(i), ALIGNED ? 1 : COPIERS);
            gate_make(EMPTY(i), MULTIPLIERS);
        }
        for (int i = 0; i < CELLS; i++) gate_make(NOTED(i), MULTIPLIERS);
        gate_make(A_FREE, MULTIPLIERS);
        proxies_meet(); /* bulk copies use the gates, too */
    }
    __syncthreads();
    turn slot = {0, 0}, note = {0, 0};
    if (warp >= MULTIPLIERS) { /* copies */
        REGISTERS_LESS(56);
        const int item = LOCAL_ID - MULTIPLIERS * 32;
        if (ALIGNED && item >= 32) return; /* one thread begins all copies */
        const int64 slice_bytes = (tiled - tiled_rows) * 128;
        const char *const columns_split = split + tiled_rows * RESIDENT * 128;
        int64 panel = -1;
        uint32 a_passed = 1;
        cell_ahead here;
        record_ahead record;
        if (begin < end) {
            look_for_record(record, begin, records);
            look_ahead(here, record, lists, item);
            look_for_record(record, begin + 1 < end ? begin + 1 : begin, records);
        }
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
            for (int s = 0; s < RESIDENT + 2 * BLOCKS; s++) {
                const uint32 gate = FULL(slot.place), to = ring + slot.place * TILE;
                gate_wait(EMPTY(slot.place), slot.passed ^ 1);
                next_turn(slot, SLOTS);
                if (item == 0) {
                    gate_expect(gate, (s == 0 ? NOTE_BYTES + (changed ? RESIDENT * TILE : 0) : 0) + ALIGNED * TILE);
                    if (s == 0) {
                        copy_notes(into, c, here.list, records, scales + panel * SIDE, scales + tiled_rows, d_scales, gate);
#pragma unroll 1
                        for (int i = 0; changed && i < RESIDENT; i++)
                            copy_bulk(base + i * TILE, split + (i * tiled_rows * 128 + panel * TILE), TILE, gate);
                    }
                }
                if (s == 0 && !ALIGNED) {
                    copy_4(shared_address(into->scales + item), scales + tiled_rows + here.own);
                    copy_4(shared_address(into->d_scales + item), d_scales + here.own);
                }
                if (s < RESIDENT)
                    copy_columns(to, columns_split, here, s, RESIDENT, slice_bytes, gate, item);
                else
                    copy_block(to, d_split, here, (s - RESIDENT) / BLOCKS, (s - RESIDENT) % BLOCKS, gate, item);
                if (!ALIGNED)
                    gate_arrive_with_copies(gate);
                else if (item == 0)
                    gate_arrive(gate);
            }
            if (c + 1 < end) {
                look_ahead(here, record, lists, item);
                if (c + 2 < end) look_for_record(record, c + 2, records);
            }
        }
        return;
    }
    REGISTERS_MORE(224);
    const uint32 a_half = warp / 4 * 64 * 128; /* warps 4 i .. 4 i + 3 have rows 64 i .. 64 i + 63 */
    const int row_in = warp * 16 + lane / 4;
    const int64 panel_before = begin > 0 ? ((const cell_record *)records)[begin - 1].panel : -1;
    if (GROUP_X == 0) write_empty(p, 0, ((const cell_record *)records)[0].panel, LOCAL_ID);
    float out_sums[OUTS], most[2], total[2], d_most = 0;
    int small = 0, fresh = 1;
#pragma unroll 1
    for (int c = begin; c < end; c++) {
        float sum[64], d[64], factor[2], nothing = 0; /* or NaN */
        uint4 bits[2], whole_bits[2];
        for (int i = 0; i < 2; i++) whole_bits[i] = *(const uint4 *)(masks + ((int64)c * SIDE + row_in + 8 * i) * 4);
        if (fresh) {
            fresh = 0;
            d_most = 0;
            small = 0;
            for (int i = 0; i < 2; i++) most[i] = -INFINITY, total[i] = 0;
#pragma unroll
            for (int i = 0; i < OUTS; i++) out_sums[i] = 0;
        }
#pragma unroll
        for (int i = 0; i < 64; i++) sum[i] = 0;
#pragma unroll
        for (int s = 0; s < RESIDENT; s++) {
            gate_wait(FULL(slot.place), slot.passed); /* with the first of which the notes come */
            if (!ALIGNED) proxies_meet();
            multiply_slice(sum, d, operand_of(base + s * TILE + a_half), operand_of(ring + slot.place * TILE));
            if (lane == 0) gate_arrive(EMPTY(slot.place));
            next_turn(slot, SLOTS);
        }
        const cell_notes *const noted = notes + note.place;
        const int64 panel = noted->cell.panel, next_panel = noted->cell.next_panel;
        if (panel != next_panel && lane == 0) gate_arrive(A_FREE);

        /* scores */
        float row_scales[2];
        for (int i = 0; i < 2; i++) {
            row_scales[i] = noted->row_scales[row_in + 8 * i];
            bits[i] = shifted(whole_bits[i], lane % 4 * 2);
        }
        const float4 four = *(const float4 *)(noted->scales + 4 * lane), d_four = *(const float4 *)(noted->d_scales + 4 * lane);
        const int tiny = four.x < 0 || four.y < 0 || four.z < 0 || four.w < 0 || row_scales[0] < 0 || row_scales[1] < 0;
        if (__any_sync(0xffffffffu, tiny)) { /* what is doubtful shall be computed again */
#pragma unroll
            for (int i = 0; i < 64; i++)
                if ((noted->scales[i / 4 * 8 + lane % 4 * 2 + i % 2] < 0 || row_scales[i / 2 % 2] < 0) &&
                    fabsf(sum[i]) < 8 * (float)inner)
                    sum[i] = float_of_bits(0x7fc00000u);
        }
#pragma unroll
        for (int i = 0; i < 2; i++) row_scales[i] = fabsf(row_scales[i]) * p.scale;
#pragma unroll
        for (int j = 0; j < 16; j++) {
            const float2 by = *(const float2 *)(noted->scales + 8 * j + lane % 4 * 2);
#pragma unroll
            for (int i = 4 * j; i < 4 * j + 4; i++) {
                sum[i] *= fabsf(i % 2 ? by.y : by.x) * row_scales[i / 2 % 2];
                nothing = fmaf(wanted(bits, i, lane) ? sum[i] : 0, 0.0f, nothing);
            }
        }
        if (HAS_VALUES) {
#pragma unroll
            for (int i = 0; i < 64; i++)
                if (wanted(bits, i, lane))
                    sum[i] += p.values[place_of(whole_bits[i / 2 % 2], i / 4 * 8 + i % 2 + lane % 4 * 2,
                                                firsts[(int64)c * SIDE + row_in + i / 2 % 2 * 8])];
        }
        if (nothing != 0) { /* what is not finite, again */
            uint64 again = 0;
#pragma unroll
            for (int i = 0; i < 64; i++)
                if (wanted(bits, i, lane) && !(fabsf(sum[i]) < INFINITY)) again |= (uint64)1 << i;
#pragma unroll 1
            for (; again; again &= again - 1) {
                const int which = __ffsll((long long)again) - 1, lower = which / 2 % 2, row = row_in + 8 * lower;
                const float x = plain_score(p, panel * SIDE + row,
                                            place_of(lower ? whole_bits[1] : whole_bits[0],
                                                     which / 4 * 8 + which % 2 + lane % 4 * 2, firsts[(int64)c * SIDE + row]));
#pragma unroll
                for (int i = 0; i < 64; i++) sum[i] = i == which ? x : sum[i];
            }
        }

        /* the largest, of a row's four lanes in common */
        float largest[2] = {most[0], most[1]};
#pragma unroll
        for (int i = 0; i < 64; i++) {
            if (!wanted(bits, i, lane)) sum[i] = -INFINITY;
            largest[i / 2 % 2] = sum[i] > largest[i / 2 % 2] ? sum[i] : largest[i / 2 % 2];
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            for (int other = 1; other < 4; other *= 2) largest[i] = fmaxf(largest[i], __shfl_xor_sync(0xffffffffu, largest[i], other));
            const float against = largest[i] == -INFINITY ? 0 : largest[i];
            factor[i] = exponential(most[i], against);
            total[i] *= factor[i];
            most[i] = largest[i];
            largest[i] = against;
        }
#pragma unroll
        for (int i = 0; i < OUTS; i++) out_sums[i] *= factor[i / 2 % 2];

        /* exponentials, times the scales of their rows of D over the largest of these */
        uint32 highs[32], lows[32];
        const float d_own = fmaxf(fmaxf(fabsf(d_four.x), fabsf(d_four.y)), fmaxf(fabsf(d_four.z), fabsf(d_four.w)));
        const float d_largest = float_of_bits(__reduce_max_sync(0xffffffffu, bits_of_float(d_own)));
        const float to_halves = 0x1p13f / d_largest;
        small |= __any_sync(0xffffffffu, d_four.x < 0 || d_four.y < 0 || d_four.z < 0 || d_four.w < 0);
        d_most = fmaxf(d_most, d_largest);
        if (__any_sync(0xffffffffu, d_four.x != d_four.x || d_four.y != d_four.y || d_four.z != d_four.z || d_four.w != d_four.w))
            d_most = INFINITY, small = 1; /* a row of D is not finite: all is computed again */
#pragma unroll
        for (int i = 0; i < 64; i += 2) {
            const float2 by = *(const float2 *)(noted->d_scales + i / 4 * 8 + lane % 4 * 2);
            float x = exponential(sum[i], largest[i / 2 % 2]), y = exponential(sum[i + 1], largest[i / 2 % 2]);
            total[i / 2 % 2] += x + y;
            x *= fabsf(by.x) * to_halves;
            y *= fabsf(by.y) * to_halves;
            highs[i / 2] = halves_of(x, y);
            lows[i / 2] = halves_of((x - half_to_float((ushort)highs[i / 2])) * 2048,
                                    (y - half_to_float((ushort)(highs[i / 2] >> 16))) * 2048);
        }
        __syncwarp();
        if (lane == 0) gate_arrive(NOTED(note.place));
        next_turn(note, CELLS);

        /* times D */
#pragma unroll
        for (int i = 0; i < 2 * BLOCKS; i++) {
            gate_wait(FULL(slot.place), slot.passed);
            if (!ALIGNED) proxies_meet();
            multiply_block(out_sums + 32 * (i % BLOCKS), d, highs + 16 * (i / BLOCKS), lows + 16 * (i / BLOCKS),
                           ring + slot.place * TILE, d_largest * 0x1p-13f);
            if (lane == 0) gate_arrive(EMPTY(slot.place));
            next_turn(slot, SLOTS);
        }

        const int whole = next_panel != panel, from_before = panel == panel_before;
        if (!whole && c + 1 < end) continue;
        fresh = 1;
        const float doubt = small ? 0x1p-11f * d_most : 0;
#pragma unroll
        for (int i = 0; i < 2; i++)
            for (int other = 1; other < 4; other *= 2) total[i] += __shfl_xor_sync(0xffffffffu, total[i], other);
        if (whole && !from_before) { /* all of the panel's cells were here */
            const int64 row = panel * SIDE + row_in;
            uint64 again = 0;
#pragma unroll
            for (int i = 0; i < OUTS; i++)
                again |= (uint64)write_unless_doubtful(p, row + i / 2 % 2 * 8, i / 4 * 8 + lane % 4 * 2 + i % 2, out_sums[i],
                                                       total[i / 2 % 2], doubt) << i;
#pragma unroll 1
            for (; again; again &= again - 1) {
                const int which = __ffsll((long long)again) - 1, lower = which / 2 % 2;
                const int64 of_row = row + 8 * lower, column = which / 4 * 8 + lane % 4 * 2 + which % 2;
                write_result(p, of_row, column,
                             plain_result(p, of_row, column, lower ? most[1] : most[0], lower ? total[1] : total[0]));
            }
#pragma unroll
            for (int i = 0; i < 2; i++) keep_row(p, lane % 4 == 0, row + 8 * i, most[i], total[i]);
        } else {
            float *const to = partials + (int64)(2 * GROUP_X + !from_before) * SIDE * ROW_WORDS;
#pragma unroll
            for (int i = 0; i < OUTS; i += 2)
                *(float2 *)(to + (row_in + i / 2 % 2 * 8) * ROW_WORDS + i / 4 * 8 + lane % 4 * 2) =
                    make_float2(out_sums[i], out_sums[i + 1]);
            if (lane % 4 == 0)
#pragma unroll
                for (int i = 0; i < 2; i++)
                    *(float4 *)(to + (row_in + 8 * i) * ROW_WORDS + MOST) = make_float4(most[i], total[i], doubt, 0);
        }
        if (whole) write_empty(p, panel + 1, next_panel, LOCAL_ID);
    }
}

#define MERGED_ROWS (GROUP / (16 * BLOCKS)) /* of a group of fused_merge, whose work-items have four columns each */

/* Groups for each place where the cells of one group of fused_wgmma, of `groups`, end and those of the next begin: where that
   is the first one within a panel, its parts are brought together in order. */
KERNEL fused_merge(FUSED_PARAMETERS, int32 groups) {
    FUSED_MEMBER;
    const panel_parts parts = find_parts((const cell_record *)records, (int)(GROUP_X / (SIDE / MERGED_ROWS)), each, more, groups);
    if (parts.first < 0) return;
    const int here = parts.first, last = parts.last;
    const int64 panel = parts.panel;
    const int row_in = (int)(GROUP_X % (SIDE / MERGED_ROWS)) * MERGED_ROWS + LOCAL_ID / (16 * BLOCKS);
    const int column = LOCAL_ID % (16 * BLOCKS) * 4;
    const int64 row = panel * SIDE + row_in;
    if (row >= rows) return;
    float most = -INFINITY, total = 0, doubt = 0, x[4] = {0, 0, 0, 0};
    for (int g = here; g <= last; g++) most = fmaxf(most, partials[((int64)(2 * g + (g == here)) * SIDE + row_in) * ROW_WORDS + MOST]);
    const float against = most == -INFINITY ? 0 : most;
    for (int g = here; g <= last; g++) {
        const float *const part = partials + ((int64)(2 * g + (g == here)) * SIDE + row_in) * ROW_WORDS;
        const float factor = exponential(part[MOST], against);
        const float4 four = *(const float4 *)(part + column);
        total = fmaf(factor, part[TOTAL], total);
        doubt = fmaxf(doubt, part[DOUBT]);
        x[0] = fmaf(factor, four.x, x[0]);
        x[1] = fmaf(factor, four.y, x[1]);
        x[2] = fmaf(factor, four.z, x[2]);
        x[3] = fmaf(factor, four.w, x[3]);
    }
    int again = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) again |= write_unless_doubtful(p, row, column + i, x[i], total, doubt) << i;
#pragma unroll 1
    for (int i = 0; i < 4; i++)
        if (again >> i & 1) write_result(p, row, column + i, plain_result(p, row, column + i, most, total));
    keep_row(p, column == 0, row, most, total);
}
