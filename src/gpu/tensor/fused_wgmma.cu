/*
 * E = softmax(scale <A, B> + s) D by cells on the tensor cores, in one pass, with the accuracy of fp32: attention with
 * any mask. The scores of a cell of 64 rows and 64 columns never leave the registers.
 *
 *   copying warp        tiles of A (per panel), B and D, notes  -->  ring of SLOTS tiles
 *                                                                         |  FULL / EMPTY gates
 *   multiplying warps   A B' <--------------------------------------------+
 *                       -> scale, + S, mask -> online softmax -> split into highs and lows -> sums += times D
 *                       end of a panel: (merge the groups' partial sums) -> divide by the sum of exponentials -> E
 *
 * A group takes a run of cells of a member. GROUPS groups share a multiprocessor, so that one multiplies while others
 * compute exponentials. One warp of a group copies split rows (split_rows.cu) in tiles of 8 KiB in the order in which
 * they are needed: of B, of A when the panel changes, and of D. Four warps have 16 rows each. They multiply, keep the
 * scores that the cell's mask names, track the largest score and the sum of exponentials of each row, and multiply the
 * exponentials, each split into two fp16 numbers, by the rows of D. Sums over 64 of K, or over 64 columns, begin at
 * zero and are added in fp32 registers, because tensor cores truncate when they accumulate (Ootomo and Yokota, arXiv
 * 2203.03341).
 *
 * Scores are in units of log 2 until a row is finished. Exponentials are multiplied by the scale of their row of D, so
 * that the split rows of D can be used unchanged; the factor that brings them into fp16's range is common to the cell.
 * If several groups share a panel, each stores partial sums, and the last one merges them in order. Results that are
 * not finite, or so small that fp16 keeps too few of their bits, are recomputed in fp32.
 *
 * PRODUCTS: 3 if numbers and exponentials are two fp16 numbers each; 2 for fp16 and bf16, which one fp16 number holds;
 * 1 with math = tf32. A text (score_kernels.h) takes the place of scale and s. RESIDENT: lines of 128 bytes of a row of A, which stay for a panel. BLOCKS: blocks of 64 columns
 * of D. SLOTS: tiles of the ring in shared memory.
 *
 * The right choice for softmax if cells are dense: attention, if about one score in ten or more is wanted.
 */
#include "simt.h"
#include "edges.h"
#include "tensor_cores.h"
#include "cell_kernels.h"

#define SIDE 64    /* rows and columns of a cell */
#define COPIERS 32 /* threads */
#include "copy_kernels.h"

#define CELLS       3                     /* cells whose notes are in shared memory */
#define tile_of(first, tile) operand_after(first, (tile) * TILE)
#define MULTIPLIERS 4                     /* warps */
#define LOWS        (PRODUCTS == 3)       /* rows are split into highs and lows */
#define STEPS       (LOWS ? 2 : 4)        /* steps of 16 numbers in a line's highs */
#define AT_ONCE     (LOWS ? 2 : 1)        /* lines whose products are accumulated before they are added in registers */
#define D_TILES     (BLOCKS * (1 + LOWS)) /* tiles of a cell */
#define OUTS        (32 * BLOCKS)         /* sums of a thread */
#define PART        ((OUTS + 6) * 32 * MULTIPLIERS) /* floats of a panel's partial sums */

#include "fused_wgmma_kernels.h"

/* ------------------------------------------------------------------------------------------ multiplying */

/* Adds the products of a line of 64 rows at x and of 64 at y: crossed += high x low + low x high, whole += high x
   high. */
FUNCTION void multiply_lines(float *crossed, float *whole, uint64 x, uint64 y, int first, int fresh) {
#if PRODUCTS_AT_ONCE && PRODUCTS == 3
#pragma unroll
    for (int k = 0; k < STEPS; k++)
        multiply_halves_64x64(crossed, whole, x + 2 * k, x + 2 * k + 4, y + 2 * k, y + 2 * k + 4, !first || k > 0, !fresh || k > 0);
#else
    if (LOWS) {
        multiply_64x64(crossed, x, y + 4, !first);
        multiply_64x64(crossed, x + 4, y, 1);
        multiply_64x64(crossed, x + 2, y + 6, 1);
        multiply_64x64(crossed, x + 6, y + 2, 1);
    }
#pragma unroll
    for (int k = 0; k < STEPS; k++) multiply_64x64(whole, x + 2 * k, y + 2 * k, !fresh || k > 0);
#endif
}

/* Adds the products of 64 columns of the cell to 64 columns of the result, crossed terms first. y has the highs of D, z
   the lows; `back` undoes their scale. */
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

/* ------------------------------------------------------------------------------------------ shared memory */

typedef struct cell_notes {
    float row_scales[SIDE], scales[SIDE], d_scales[SIDE]; /* scales of rows of A, B and D */
    cell_record cell;
    int32 gathered, unused[3]; /* 1: copying threads gathered its tiles */
} cell_notes;

/* Layout: tiles of A, the ring of tiles of B and D, the notes of CELLS cells, and the gates. */
typedef struct shared_memory {
    uint32 a, ring, gates;
    cell_notes *notes;
} shared_memory;

#define FULL(i)  (shared.gates + 8 * (i))
#define EMPTY(i) (shared.gates + 8 * (SLOTS + (i)))
#define NOTED(i) (shared.gates + 8 * (2 * SLOTS + (i)))
#define A_FREE   (shared.gates + 8 * (2 * SLOTS + CELLS))

/* One thread initialises the gates; all wait for it. */
FUNCTION void make_gates(const shared_memory &shared) {
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
}

/* ------------------------------------------------------------------------------------------ the warp that copies */

/* The copying warp's data about cells ahead: columns of the cell that it copies next, contiguous from `start` or
   gathered, and the record of the one after. */
typedef struct cells_ahead {
    cell_ahead here;
    next_record record;
    int32 start;
} cells_ahead;

FUNCTION void load_first_cells(cells_ahead &ahead, const operands &p, int lane) {
    ahead.start = ahead.record.start = -1;
    if (p.begin >= p.end) return;
    load_mixed_record(ahead.record, p.records, p.together, p.begin);
    ahead.start = ahead.record.start;
    load_columns(ahead.here, ahead.record, ahead.start < 0 ? p.lists : 0, lane);
    load_mixed_record(ahead.record, p.records, p.together, p.begin + 1 < p.end ? p.begin + 1 : p.begin);
}

/* Advances from cell c to the next one. */
FUNCTION void load_next_cell(cells_ahead &ahead, const operands &p, int c, int lane) {
    if (c + 1 >= p.end) return;
    ahead.start = ahead.record.start;
    load_columns(ahead.here, ahead.record, ahead.start < 0 ? p.lists : 0, lane);
    if (c + 2 < p.end) load_mixed_record(ahead.record, p.records, p.together, c + 2);
}

#define NOTE_BYTES(start) (uint32)(((start) < 0 ? 1 : 3) * 4 * SIDE + sizeof(cell_record))

/* Copies the notes of cell c, whose columns are contiguous from `start` or gathered. */
FUNCTION void copy_notes(cell_notes *into, const operands &p, int64 c, int64 panel, int32 start, uint32 gate, int lane) {
    if (lane == 0) into->gathered = start < 0;
    copy_together(shared_address(into->row_scales), p.scales + panel * SIDE, 4 * SIDE, gate, lane, COPIERS);
    if (start >= 0) {
        copy_together(shared_address(into->scales), p.scales + p.tiled_rows + start, 4 * SIDE, gate, lane, COPIERS);
        copy_together(shared_address(into->d_scales), p.d_scales + start, 4 * SIDE, gate, lane, COPIERS);
    }
    copy_together(shared_address(&into->cell), p.records + c * (int64)sizeof(cell_record) / 8, sizeof(cell_record), gate, lane, COPIERS);
}

/* Copies the scales of gathered rows of B and D. */
FUNCTION void gather_scales(cell_notes *into, const operands &p, const cell_ahead &here, int lane) {
#pragma unroll
    for (int i = 0; i < DESCRIBED; i++) {
        copy_4(shared_address(into->scales + lane + COPIERS * i), p.scales + p.tiled_rows + here.own[i]);
        copy_4(shared_address(into->d_scales + lane + COPIERS * i), p.d_scales + here.own[i]);
    }
}

/* Copies tile s of cell c into the ring; with the first one the notes and, for a new panel, the rows of A. */
FUNCTION void copy_tile(const operands &p, const shared_memory &shared, const cells_ahead &ahead, cell_notes *into, int c, int s,
                        int changed, turn &slot, int lane) {
    const uint32 gate = FULL(slot.place), to = shared.ring + slot.place * TILE;
    const char *const lines =
        s < RESIDENT ? p.split + p.tiled_rows * RESIDENT * 128 + s * p.slice_bytes : p.d_split + (s - RESIDENT) * p.slice_bytes;
    gate_wait(EMPTY(slot.place), slot.passed ^ 1);
    next_turn(slot, SLOTS);
    if (!BULK || lane == 0) {
        gate_expect(gate, (s == 0 ? NOTE_BYTES(ahead.start) + (changed ? RESIDENT * TILE : 0) : 0) + (ahead.start < 0 ? 0 : TILE));
        if (s == 0) {
            copy_notes(into, p, c, ahead.here.panel, ahead.start, gate, lane);
#pragma unroll 1
            for (int i = 0; changed && i < RESIDENT; i++)
                copy_together(shared.a + i * TILE, p.split + (i * p.tiled_rows * 128 + ahead.here.panel * TILE), TILE, gate, lane, COPIERS);
        }
        if (ahead.start >= 0) copy_together(to, lines + (int64)ahead.start * 128, TILE, gate, lane, COPIERS);
    }
    if (BULK && ahead.start >= 0) {
        gate_arrive(gate);
        return;
    }
    if (ahead.start < 0) {
        if (s == 0) gather_scales(into, p, ahead.here, lane);
        gather_tile(to, lines, 128, ahead.here, lane);
    }
    gate_arrive_with_copies(gate);
}

/* Copies the group's cells in the order of multiplication; one warp. */
FUNCTION void copy_cells(const operands &p, const shared_memory &shared, int lane) {
    int64 panel = -1;
    uint32 a_passed = 1;
    turn slot = {0, 0}, note = {0, 0};
    cells_ahead ahead;
    load_first_cells(ahead, p, lane);
    wait_for_last_launch();
#pragma unroll 1
    for (int c = p.begin; c < p.end; c++) {
        const int changed = ahead.here.panel != panel;
        gate_wait(NOTED(note.place), note.passed ^ 1);
        cell_notes *const into = shared.notes + note.place;
        next_turn(note, CELLS);
        if (changed) {
            gate_wait(A_FREE, a_passed);
            a_passed ^= 1;
        }
        panel = ahead.here.panel;
#pragma unroll 1
        for (int s = 0; s < RESIDENT + D_TILES; s++) copy_tile(p, shared, ahead, into, c, s, changed, slot, lane);
        load_next_cell(ahead, p, c, lane);
    }
}

/* ------------------------------------------------------------------------------------------ the warps that multiply */

/* Multiplies `count` lines from line s on, as soon as they arrive. */
FUNCTION void multiply_step(float *crossed, float *whole, const shared_memory &shared, uint64 first_a, uint64 first_slot, int s,
                            int count, turn &slot, const turn &note, int lane) {
    turn tiles[AT_ONCE];
#pragma unroll
    for (int i = 0; i < count; i++) {
        tiles[i] = slot;
        gate_wait(FULL(slot.place), slot.passed); /* the notes come with the first one */
        next_turn(slot, SLOTS);
    }
    if (shared.notes[note.place].gathered) proxies_meet();
    if (LOWS) {
        PRODUCTS_PIN(crossed, 32);
    }
    PRODUCTS_PIN(whole, 32);
    products_begin();
#pragma unroll
    for (int i = 0; i < count; i++)
        multiply_lines(crossed, whole, tile_of(first_a, s + i), tile_of(first_slot, tiles[i].place), s + i == 0, i == 0);
    products_commit();
    PRODUCTS_WAIT(0);
    PRODUCTS_PIN(whole, 32);
    if (LOWS) {
        PRODUCTS_PIN(crossed, 32);
    }
    for (int i = 0; i < count && lane == 0; i++) gate_arrive(EMPTY(tiles[i].place));
}

/* Scales scores to units of log 2, and products of texts to what they are, except for the row factors where these can be applied later. Doubtful scores become
   NaN, to be recomputed. */
FUNCTION void scale_scores(float *sum, const float *row_scales, const float *row_factors, int special, const operands &p,
                           const cell_notes *noted, int lane) {
    if (special) {
#pragma unroll
        for (int i = 0; i < 32; i++) {
            const float by = noted->scales[i / 4 * 8 + lane % 4 * 2 + i % 2];
            if ((by < 0 || row_scales[i / 2 % 2] < 0) && fabsf(sum[i]) < DOUBT * (float)p.inner) sum[i] = float_of_bits(0x7fc00000u);
            sum[i] *= fabsf(by) * fabsf(row_scales[i / 2 % 2]) * (SCORES_ARE_TEXTS ? 1 : p.scale * LOG2_E);
        }
    } else {
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const float2 by = *(const float2 *)(noted->scales + 8 * j + lane % 4 * 2);
#pragma unroll
            for (int i = 4 * j; i < 4 * j + 4; i++) sum[i] *= i % 2 ? by.y : by.x;
        }
        if (HAS_VALUES || SCORES_ARE_TEXTS) {
#pragma unroll
            for (int i = 0; i < 32; i++) sum[i] *= row_factors[i / 2 % 2];
        }
    }
}

/* Recomputes the scores, or the products of texts, that are not finite in fp32. */
FUNCTION void compute_again(float *sum, const operands &p, uint32 wanted, const uint32 *row_masks, const index *firsts,
                            int64 panel, int row_in, int lane) {
    uint32 again = 0;
#pragma unroll
    for (int i = 0; i < 32; i++)
        if (wanted >> i & 1 && !(fabsf(sum[i]) < INFINITY)) again |= 1u << i;
#pragma unroll 1
    for (; again; again &= again - 1) {
        const int which = __ffs((int)again) - 1, row = row_in + which / 2 % 2 * 8;
#if SCORES_ARE_TEXTS
        const float x = plain_product(p, panel * SIDE + row, place_of(row_masks, firsts, row_in, which, lane));
#else
        const float x = LOG2_E * plain_score(p, panel * SIDE + row, place_of(row_masks, firsts, row_in, which, lane));
#endif
#pragma unroll
        for (int i = 0; i < 32; i++) sum[i] = i == which ? x : sum[i];
    }
}

#if SCORES_ARE_TEXTS
/* Replaces products by scores in units of log 2. */
FUNCTION void take_texts(float *sum, const operands &p, int c, uint32 wanted, const uint32 *row_masks, const index *firsts,
                         const cell_notes *noted, int row_in, int lane) {
    float s[32];
    if (HAS_VALUES) load_values(s, p, wanted, row_masks, firsts, row_in, lane);
    text_scores(sum, 0, HAS_VALUES ? s : 0, p.text, columns_of(&noted->cell, p.together[c], p.lists),
                noted->cell.panel * SIDE + row_in, p.rows, lane);
#pragma unroll
    for (int i = 0; i < 32; i++) sum[i] *= LOG2_E;
}
#endif

/* Online softmax: updates the largest score of each row over its four lanes, and rescales the earlier sums. `against`:
   the shift of the exponentials. */
FUNCTION void track_largest(row_state &rows, float *out_sums, float *against, const float *sum, const float *row_factors) {
    float factor[2], largest[2] = {-INFINITY, -INFINITY};
#pragma unroll
    for (int i = 0; i < 32; i++) largest[i / 2 % 2] = fmaxf(largest[i / 2 % 2], sum[i]);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        for (int other = 1; other < 4; other *= 2) largest[i] = fmaxf(largest[i], __shfl_xor_sync(0xffffffffu, largest[i], other));
        largest[i] = fmaxf(rows.most[i], largest[i] * row_factors[i]);
        against[i] = SHIFT(largest[i]);
        factor[i] = power_of_two(rows.most[i] - against[i]);
        rows.total[i] *= factor[i];
        rows.most[i] = largest[i];
    }
#pragma unroll
    for (int i = 0; i < OUTS; i++) out_sums[i] *= factor[i / 2 % 2];
}

/* Exponentials, times the scales of their rows of D over the largest of these, split into highs and lows. Returns the
   factor that undoes the scale of their products. */
FUNCTION float exponentials(uint32 *highs, uint32 *lows, row_state &rows, const float *sum, const float *row_factors,
                            const float *against, const cell_notes *noted, float2 d_two, int lane) {
    uint32 d_bits = __reduce_max_sync(0xffffffffu, max(bits_of_float(d_two.x), bits_of_float(d_two.y)));
    const uint32 d_low = __reduce_min_sync(0xffffffffu, min((bits_of_float(d_two.x) & 0x7fffffffu) - 1, /* ignores 0 */
                                                            (bits_of_float(d_two.y) & 0x7fffffffu) - 1));
    if (d_bits > 0x7f800000u) { /* a row has lost bits or is not finite: then recomputes everything */
        const float largest_d = fmaxf(fabsf(d_two.x), fabsf(d_two.y));
        rows.lost = 1;
        d_bits = __reduce_max_sync(0xffffffffu, bits_of_float(largest_d));
        if (__any_sync(0xffffffffu, d_two.x != d_two.x || d_two.y != d_two.y)) rows.d_most = INFINITY;
    }
    rows.d_most = fmaxf(rows.d_most, float_of_bits(d_bits));
    if (d_low < 0x7f800000u) rows.d_least = fminf(rows.d_least, float_of_bits(d_low + 1));
    d_bits = max(d_bits, bits_of_float(0x1p-113f));
    const float to_halves = float_of_bits(((127 + 13 + 127) << 23) - d_bits); /* 2^13 / d, a power of two */
#pragma unroll
    for (int i = 0; i < 32; i += 2) {
        const int half = i / 2 % 2;
        const float2 by = *(const float2 *)(noted->d_scales + i / 4 * 8 + lane % 4 * 2);
        float x = power_of_two(fmaf(sum[i], row_factors[half], -against[half]));
        float y = power_of_two(fmaf(sum[i + 1], row_factors[half], -against[half]));
        rows.total[half] += x + y;
        x *= fabsf(by.x) * to_halves;
        y *= fabsf(by.y) * to_halves;
        highs[i / 2] = halves_of(x, y);
        lows[i / 2] = PRODUCTS == 1 ? 0
                                    : halves_of((x - half_to_float((ushort)highs[i / 2])) * 2048,
                                                (y - half_to_float((ushort)(highs[i / 2] >> 16))) * 2048);
    }
    return float_of_bits(d_bits - (13 << 23));
}

/* Stores this group's part of a panel's rows. Returns 1 if it was the last part, and all have been gathered. */
FUNCTION int share_rows(row_state &rows, float *out_sums, const operands &p, int begins_here, int first_group, int last_group,
                        int warp, int lane) {
    float *const to = p.partials + (int64)(2 * GROUP_X + begins_here) * PART + LOCAL_ID;
    const float rest[6] = {rows.most[0],  rows.most[1], rows.total[0], rows.total[1], rows.lost ? -rows.d_most : rows.d_most,
                           rows.d_least};
#pragma unroll
    for (int i = 0; i < OUTS + 6; i++) to[i * (32 * MULTIPLIERS)] = i < OUTS ? out_sums[i] : rest[i - OUTS];
    const int last = arrives_last(p.arrived + first_group * MULTIPLIERS + warp, last_group - first_group, lane);
    if (last) gather_parts(out_sums, rows, p.partials + LOCAL_ID, first_group, last_group);
    return last;
}

FUNCTION void write_panel(row_state &rows, const float *out_sums, const operands &p, int64 row, int lane) {
    const float back[2] = {rows.total[0] == 0 ? 0 : 1 / rows.total[0], rows.total[1] == 0 ? 0 : 1 / rows.total[1]}; /* 0: no nonzeros */
#pragma unroll
    for (int i = 0; i < 2; i++) rows.most[i] = natural(rows.most[i], rows.total[i]);
    write_rows(p, row, lane, out_sums, back, rows.most, rows.total, doubt_of(rows.lost ? -rows.d_most : rows.d_most, rows.d_least));
#pragma unroll
    for (int i = 0; i < 2; i++) keep_row(p, lane % 4 == 0, row + 8 * i, rows.most[i], rows.total[i]);
}

/* Adds the shares of a cell times the blocks of D, which are next in the ring. */
FUNCTION void multiply_blocks(float *sums, const uint32 *highs, const uint32 *lows, const shared_memory &shared, uint64 first_across,
                              turn &slot, const cell_notes *noted, float back, int lane) {
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
        multiply_block(sums + 32 * i, highs, lows, tile_of(first_across, first.place), tile_of(first_across, second.place), back);
        if (lane == 0) {
            gate_arrive(EMPTY(first.place));
            if (LOWS) gate_arrive(EMPTY(second.place));
        }
    }
}

/* Multiplies the group's cells, 16 rows per warp, and writes the rows of panels that end here. */
FUNCTION void multiply_cells(const operands &p, const shared_memory &shared, int warp, int lane) {
    wait_for_last_launch();
    const cell_record *const records = (const cell_record *)p.records;
    const int row_in = warp * 16 + lane / 4;
    const int64 panel_before = p.begin > 0 ? records[p.begin - 1].panel : -1;
    if (GROUP_X == 0) write_empty(p, 0, records[0].panel, LOCAL_ID);
    const uint64 first_a = operand_of(shared.a), first_slot = operand_of(shared.ring), first_across = operand_across(shared.ring, TILE);
    const float in_log2 = SCORES_ARE_TEXTS ? 1 : fabsf(p.scale) * LOG2_E;
    const int unusual = !((SCORES_ARE_TEXTS || p.scale > 0) && in_log2 > 0x1p-40f && in_log2 < 0x1p40f);
    turn slot = {0, 0}, note = {0, 0};
    float out_sums[OUTS];
    row_state rows;
    begin_rows(rows, out_sums);
#pragma unroll 1
    for (int c = p.begin; c < p.end; c++) {
        const uint32 wanted = p.masks[(int64)c * (2 * SIDE) + LOCAL_ID];
        float sum[32];
        { /* 1. scores, without the scales of their rows */
            float crossed[32], whole[32];
#pragma unroll
            for (int s = 0; s < RESIDENT; s += AT_ONCE) {
                multiply_step(crossed, whole, shared, first_a, first_slot, s, RESIDENT - s < AT_ONCE ? RESIDENT - s : AT_ONCE, slot, note, lane);
#pragma unroll
                for (int i = 0; i < 32; i++) sum[i] = s == 0 ? whole[i] : sum[i] + whole[i];
            }
#pragma unroll
            for (int i = 0; i < 32 && LOWS; i++) sum[i] = fmaf(crossed[i], 0x1p-11f, sum[i]);
            PRODUCTS_PIN(sum, 32);
        }
        const cell_notes *const noted = shared.notes + note.place;
        const int64 panel = noted->cell.panel, next_panel = noted->cell.next_panel;
        if (panel != next_panel && lane == 0) gate_arrive(A_FREE);

        /* 2. their scales, the values of S, and the mask */
        float row_scales[2], row_factors[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            /* rows past the end have none: what lies there must not decide how the others are rounded */
            row_scales[i] = panel * SIDE + row_in + 8 * i < p.rows ? noted->row_scales[row_in + 8 * i] : 0;
            row_factors[i] = fmaxf(fabsf(row_scales[i]) * in_log2, 0x1p-120f); /* not 0: 0 * infinity is NaN */
        }
        const float2 scales_two = *(const float2 *)(noted->scales + 2 * lane);
        const float2 d_two = *(const float2 *)(noted->d_scales + 2 * lane);
        /* compared as bits, negative numbers and NaN are above 2^40 */
        const uint32 marks = __reduce_max_sync(0xffffffffu, max(max(bits_of_float(scales_two.x), bits_of_float(scales_two.y)),
                                                                max(bits_of_float(row_scales[0]), bits_of_float(row_scales[1]))));
        const int special = unusual || marks > bits_of_float(0x1p40f);
        const uint32 *const own_masks = p.row_masks + (int64)c * (2 * SIDE);
        const index *const own_firsts = p.firsts + (int64)c * SIDE;
        scale_scores(sum, row_scales, row_factors, special, p, noted, lane);
#if SCORES_ARE_TEXTS
        if (special) compute_again(sum, p, wanted, own_masks, own_firsts, panel, row_in, lane);
        take_texts(sum, p, c, wanted, own_masks, own_firsts, noted, row_in, lane);
#else
        if (HAS_VALUES) {
            float x[32];
            load_values(x, p, wanted, own_masks, own_firsts, row_in, lane);
#pragma unroll
            for (int i = 0; i < 32; i++) sum[i] = fmaf(x[i], LOG2_E, sum[i]);
        }
        if (special) compute_again(sum, p, wanted, own_masks, own_firsts, panel, row_in, lane);
#endif
        if (special || HAS_VALUES || SCORES_ARE_TEXTS) row_factors[0] = row_factors[1] = 1; /* sum has the scores themselves */
        if (!__all_sync(0xffffffffu, wanted == 0xffffffffu)) {
#pragma unroll
            for (int i = 0; i < 32; i++)
                if (!(wanted >> i & 1)) sum[i] = -INFINITY;
        }

        /* 3. exponentials */
        float against[2];
        uint32 highs[16], lows[16];
        track_largest(rows, out_sums, against, sum, row_factors);
        const float d_back = exponentials(highs, lows, rows, sum, row_factors, against, noted, d_two, lane);

        /* 4. times D */
        multiply_blocks(out_sums, highs, lows, shared, first_across, slot, noted, d_back, lane);

        /* 5. results, at the end of a panel or of the group's cells */
        const int whole = next_panel != panel, from_before = panel == panel_before;
        const int panel_begins = noted->cell.first_cell, panel_ends = noted->cell.end_cell - 1;
        __syncwarp();
        if (lane == 0) gate_arrive(NOTED(note.place));
        next_turn(note, CELLS);
        if (!whole && c + 1 < p.end) continue;
        sum_of_four(rows.total);
        int writes = 1;
        if (!whole || from_before) /* groups share the panel */
            writes = share_rows(rows, out_sums, p, !from_before, group_of_cell(panel_begins, p.each, p.more),
                                group_of_cell(panel_ends, p.each, p.more), warp, lane);
        if (writes) write_panel(rows, out_sums, p, panel * SIDE + row_in, lane);
        begin_rows(rows, out_sums);
        if (whole) write_empty(p, panel + 1, next_panel, LOCAL_ID);
    }
}

KERNEL fused_wgmma(int64 rows, IN(offset, offsets), IN(index, columns), IN(value, values), IN(element, a),
                   int64 a_stride, IN(element, b), int64 b_stride, int64 inner, IN(element, d), int64 d_stride,
                   int64 width, OUT(output, out), int64 out_stride, BATCH_PARAMETERS, real edge_scale, real alpha,
                   real beta TEXT_PARAMETERS, KEEP_PARAMETERS, int32 each, int32 more, IN(int64, records), OUT(float, partials),
                   int64 arrived_at, int64 tiled_rows, int64 tiled, IN(index, lists), IN(int32, together),
                   IN(uint32, masks), IN(uint32, row_masks), IN(index, firsts), IN(char, lines), int64 split_at,
                   int64 d_scales_at, int64 d_split_at) {
    extern __shared__ __align__(1024) char memory[];
    MEMBER(partials, scratch_batch_stride);
    MEMBER(lines, 4 * scratch_batch_stride);
    TAKE_SCORES
    const operands p = {rows, inner, width, offsets, columns, values, a, b, d, a_stride, b_stride, d_stride, out, out_stride,
                        keeps ? pairs : 0, edge_scale, alpha, beta, first_cell(blockIdx.x, each, more),
                        first_cell(blockIdx.x + 1, each, more), each, more, records, lists, together, masks, row_masks, firsts,
                        tiled_rows, (tiled - tiled_rows) * 128, (const float *)lines, (const float *)(lines + d_scales_at),
                        lines + split_at, lines + d_split_at, partials, (int32 *)(partials + arrived_at) AND_SCORES};
    const uint32 base = shared_address(memory);
    cell_notes *const notes = (cell_notes *)(memory + (RESIDENT + SLOTS) * TILE);
    const shared_memory shared = {base, base + RESIDENT * TILE, shared_address(notes + CELLS), notes};
    const int warp = LOCAL_ID / 32, lane = LOCAL_ID % 32;
    make_gates(shared);
    if (warp == MULTIPLIERS)
        copy_cells(p, shared, lane);
    else
        multiply_cells(p, shared, warp, lane);
}
