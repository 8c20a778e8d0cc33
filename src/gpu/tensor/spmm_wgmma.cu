/*
 * SpMM by cells on the tensor cores, with the accuracy of fp32: cells of 128 rows and 64 columns of S are made dense
 * and multiplied by the 64 rows of B that their columns name.
 *
 *   building warps     values of S -> scale, split -> scatter into a dense 128 x 64 tile  --+
 *                      split rows of B, bulk copy or gather  -------------------------------+-->  ring of STAGES
 *                                                                                                 |  FULL / EMPTY gates
 *   multiplying warps  S B (crossed terms, then high x high), added in fp32 registers  <----------+
 *                      end of a panel: undo the scale -> C, or partial sums for spmm_merge
 *
 * A group is persistent (one per multiprocessor) and takes a run of cells, for all columns of C or for SPAN of them.
 * Some of its warps build a tile: each scatters the numbers of STRIP rows of the cell, split into two fp16 numbers (as
 * split_rows.cu splits rows of B), into a cleared tile of shared memory, while the split rows of B are copied next to
 * it, in one piece or gathered. Two sets of four warps multiply 64 rows each: high x low and low x high first, then
 * high x high. Each product begins at zero and is added in fp32 registers, because tensor cores truncate when they
 * accumulate. If two groups share a panel, they store partial sums, which spmm_merge adds.
 *
 * Numbers that are split must lie near a common power of two. Each row of B has its own, computed beforehand. Numbers
 * of S are multiplied by that of their row of B, and STRIP rows share a guess, made from eight numbers of each. The
 * kernel detects a number that does not fit: the result is not finite, or the number is so small that fp16 keeps too
 * few of its bits. The sums of rows in which this could be visible are then recomputed in fp32.
 *
 * PRODUCTS: 3 as above; 2 if rows of B are fp16 or bf16, which one fp16 number holds, and numbers of S fp32; 1 if both
 * have 16 bits, and with math = tf32, which has eleven: the highs alone. ALIGNED: a cell is 64 neighbouring columns.
 *
 * The right choice if cells are dense enough: if about one number in fifteen or more is nonzero. Shared memory: STAGES
 * of 32 KiB of S and 16 or 32 KiB of B, and 10 KiB more.
 */
#define GROUPS 1
#include "simt.h"
#include "tensor_cores.h"
#include "cell_kernels.h"

#define ROWS        128
#define COLUMNS     64
#define TILE        (ROWS * 128)    /* bytes: highs or lows of S */
#define LINES       (COLUMNS * 128) /* bytes: highs or lows of B, 64 columns of C */
#define BLOCKS      (SPAN / 64)
#define S_PARTS     (PRODUCTS > 1 ? 2 : 1) /* highs and lows, or highs only */
#define B_PARTS     (PRODUCTS > 2 ? 2 : 1)
#define B_BYTES     (B_PARTS * BLOCKS * LINES)
#define STAGE       (S_PARTS * TILE + B_BYTES)
#define SUMS        (SPAN / 2) /* sums of a thread */
#define MULTIPLIERS 8          /* warps */
#define BUILDERS    (PRODUCTS_AT_ONCE ? 4 : 8) /* with mma.sync, registers suffice for twelve warps, but not for sixteen */
#define STRIP       (ROWS / BUILDERS)          /* rows of a builder */
#define PANELS      8  /* panels whose notes are kept: more than there are stages */
#define AT_ONCE     (INDEX == 64 ? 4 : ALIGNED ? 12 : 8) /* numbers that a lane builds at once */
/* Error bound: numbers scaled to less than 2^-14 are kept to 2^-36, highs alone to 2^-25. A number of S is multiplied
   by up to 2^14, a number of B by up to 2^16, for all its rows. Scaled sums this many times the lost bits do not show
   them. */
#define SMALL       (PRODUCTS == 1 && ELEMENT != 32 ? 0x1p15f : 16.0f)
#define SMALL_IN_B  (PRODUCTS == 2 ? 64 << 11 : 64) /* numbers of S that count as one of B */

typedef struct panel_notes {
    float back[ROWS], doubt[ROWS]; /* undoes the scale of a row's sums; sums below `doubt` are recomputed */
} panel_notes;
typedef struct stage_notes {
    int64 panel, next_panel;
    int32 notes, unused;
} stage_notes;
typedef struct shared_notes {
    panel_notes panels[PANELS];
    float scales[BUILDERS][COLUMNS];
    stage_notes stages[STAGES];
} shared_notes;

#define FULL(i)  (shared.gates + 8 * (i))
#define EMPTY(i) (shared.gates + 8 * (STAGES + (i)))

/* The operands of both kernels; spmm_merge has no split rows. */
typedef struct operands {
    int64 rows, nnz;
    const offset *offsets;
    const index *columns;
    const value *values;
    const element *b;
    int64 b_stride, width;
    output *out;
    int64 out_stride;
    real alpha, beta;
    /* the cells: this group has begin .. end - 1 */
    int begin, end;
    const cell_record *records;
    const index *lists, *row_offsets;
    const ushort *entries;
    /* split rows of B, in blocks of 64 columns */
    int64 blocks;
    const float *scales;
    const char *split;
    /* partial sums of shared panels */
    float *partials, *doubts;
} operands;

/* Layout: the stages of S and B, their notes, and the gates. */
typedef struct shared_memory {
    char *stages;
    uint32 base, gates;
    shared_notes *notes;
} shared_memory;

#if INDEX == 64
typedef uint64 unsigned_index;
#else
typedef uint32 unsigned_index;
#endif
FUNCTION float value_at(const value *values, int64 t) { return HAS_VALUES ? real_of_value(values[t]) : 1; }

/* ------------------------------------------------------------------------------------------ results */

/* Recomputes one result in fp32; all lanes of a warp. */
FUNCTION float plain_sum(const operands &p, int64 row, int64 column, int lane) {
    const int64 end = p.offsets[row + 1];
    float sum = 0;
#pragma unroll 4
    for (int64 j = p.offsets[row] + lane; j < end; j += 32)
        sum = fmaf(value_at(p.values, j), real_of(p.b[(int64)p.columns[j] * p.b_stride + column]), sum);
    return sum_of_warp(sum);
}

FUNCTION void write_result(const operands &p, int64 row, int64 column, float x) {
    output *const at = p.out + row * p.out_stride + column;
    *at = output_of(p.beta == 0 ? p.alpha * x : p.alpha * x + p.beta * real_of_output(*at));
}

FUNCTION int is_doubtful(float x, float doubt) { return !(fabsf(x) < INFINITY) || fabsf(x) < doubt; }

/* ------------------------------------------------------------------------------------------ building */

/* A builder's data about a cell, loaded ahead: its record; a lane's columns `lane` and `lane` + 32; the nonzeros. */
typedef struct cell_ahead {
    index entries;
    index list; /* where its columns begin in their list; or its first column */
    int32 last, first, end; /* last column; the warp's entries */
} cell_ahead;

FUNCTION void load_record(cell_ahead &cell, int64 c, const cell_record *records, int warp) {
    const cell_record *const record = records + c;
    cell.entries = (index)record->entries;
    cell.list = (index)record->list;
    cell.first = record->begins[warp * (STRIP / 16)];
    cell.end = record->begins[(warp + 1) * (STRIP / 16)];
    cell.last = record->last;
}

FUNCTION void load_columns(uint32 *columns, const cell_ahead &cell, const index *lists, int lane) {
#pragma unroll
    for (int i = 0; i < 2; i++)
        columns[i] = (uint32)(ALIGNED ? cell.list + lane + 32 * i : lists[cell.list + min(lane + 32 * i, cell.last)]);
}

/* Entries are byte offsets in the tile (cell_entries.cu). They are read in pairs, from an even address on, so perhaps
   from one before the warp's first: `from` counts from the warp's first. Missing entries are skipped, four numbers of a
   lane at a time. */
FUNCTION int first_pair(const cell_ahead &cell, int lane) {
    return 2 * lane - (int)(cell.entries + cell.first & 1);
}
#define PASSED(from) ((from) - 2 * lane >= cell.end - cell.first)
#define PAIRS        (AT_ONCE / 2)
#define NUMBER(i)    (64 * ((i) / 2) + (i) % 2) /* number of a lane's entry i, from its first */

FUNCTION void load_entries(uint32 *pairs, const cell_ahead &cell, int from, const ushort *entries) {
    const uint32 *const at = (const uint32 *)(entries + (cell.entries + cell.first + from));
#pragma unroll
    for (int i = 0; i < PAIRS; i++)
        if (from + 64 * i < cell.end - cell.first) pairs[i] = at[32 * i];
}

/* Loads the values. `place`: in lane l, the offset from an entry's number to S for row l % STRIP. */
FUNCTION void load_values(value *x, const uint32 *pairs, const cell_ahead &cell, int from, index place,
                              const value *values, uint64 nnz, int lane) {
#pragma unroll
    for (int g = 0; g < AT_ONCE; g += 4) {
        if (g > 0 && PASSED(from + 32 * g)) break;
#pragma unroll
        for (int i = g; i < g + 4; i++) {
            const index t = __shfl_sync(0xffffffffu, place, pairs[i / 2] >> (i % 2 ? 23 : 7)) + cell.first + from + NUMBER(i);
            /* always a valid address, and neither a branch nor a conversion after the load, which would wait for it */
            if (HAS_VALUES) x[i] = values[min((unsigned_index)t, (unsigned_index)nnz - 1)];
        }
    }
}

/* Stores a number's high, and its low if there are lows, if it belongs to the warp. */
FUNCTION void store_high(uint32 at, ushort high, uint32 number, uint32 count) {
    asm volatile("{.reg .pred p; setp.lt.u32 p, %2, %3; @p st.shared.b16 [%0], %1;}" ::"r"(at), "h"(high), "r"(number), "r"(count)
                 : "memory");
}
FUNCTION void store_halves(uint32 at, ushort high, ushort low, uint32 number, uint32 count) {
    asm volatile("{.reg .pred p; setp.lt.u32 p, %3, %4; @p st.shared.b16 [%0], %1; @p st.shared.b16 [%0 + %5], %2;}" ::"r"(at),
                 "h"(high), "h"(low), "r"(number), "r"(count), "n"(TILE)
                 : "memory");
}

/* Scales, splits and scatters the numbers. `small`: counts numbers below 2^-14, of which fp16 keeps too few bits. It
   also counts a lane's surplus numbers, so some sums may be tested needlessly. */
FUNCTION void scatter(uint32 tile, const uint32 *pairs, const value *x, const cell_ahead &cell, int from,
                      const float *scales, uint32 &small, int lane) {
#pragma unroll
    for (int g = 0; g < AT_ONCE; g += 4) {
        if (g > 0 && PASSED(from + 32 * g)) break;
        uint32 place[4];
        float scaled[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            place[i] = i % 2 ? pairs[(g + i) / 2] >> 16 : pairs[(g + i) / 2] & 0xffff;
            scaled[i] = (HAS_VALUES ? real_of_value(x[g + i]) : 1) * scales[(place[i] >> 1 ^ place[i] >> 4 & 56) & 63];
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const ushort high = float_to_half(scaled[i]);
            const uint32 number = (uint32)(from + NUMBER(g + i)), count = (uint32)(cell.end - cell.first);
            if (S_PARTS == 2)
                store_halves(tile + place[i], high, float_to_half((scaled[i] - half_to_float(high)) * 2048), number, count);
            else
                store_high(tile + place[i], high, number, count);
            small += (bits_of_float(scaled[i]) & 0x7fffffffu) - 1 < 0x38800000u - 1; /* 0 becomes the largest */
        }
    }
}

/* The scale of STRIP rows of a panel (a guess): a power of two that brings the largest of 8 sampled numbers of each row
   to 2^8. */
FUNCTION float scale_of_rows(const operands &p, const float *scales, int64 row, int lane) {
    const int64 begin = row < p.rows ? p.offsets[row] : 0, length = row < p.rows ? p.offsets[row + 1] - begin : 0;
    uint32 most = 0; /* compared as bits; non-finite numbers are ignored */
#pragma unroll
    for (int i = 0; i < STRIP / 4; i++)
        if (length > 0) {
            const int64 t = begin + length * (lane / STRIP * (STRIP / 4) + i) / 8;
            const uint32 bits = bits_of_float(value_at(p.values, t) * scales[p.columns[t]]) & 0x7fffffff;
            most = bits < 0x7f800000 ? max(most, bits) : most;
        }
    most = __reduce_max_sync(0xffffffffu, most);
    const int exponent = (int)(most >> 23) - 127;
    return float_of_bits((uint32)(127 + (most > 0 ? min(max(8 - exponent, -126), 126) : 0)) << 23);
}

/* Copies 64 rows of B: contiguous for an aligned cell, otherwise gathered by all builders. */
FUNCTION void copy_rows(uint32 to, const char *split, const cell_ahead &cell, const uint32 *columns, int64 first_block,
                        int64 blocks, uint32 gate, int warp, int lane) {
    if (ALIGNED) {
        const int item = warp * 32 + lane;
        if (item == 0) gate_expect(gate, B_BYTES);
        copy_together(to, split + ((int64)cell.list / COLUMNS * blocks + first_block) * (B_PARTS * LINES), B_BYTES, gate, item, 32 * BUILDERS);
        return;
    }
    enum { PIECES = 8 * B_PARTS * BLOCKS, ROWS_AT_ONCE = 32 / PIECES }; /* of 16 bytes each, per row */
    const int piece = lane % PIECES;
#pragma unroll
    for (int i = 0; i < COLUMNS / BUILDERS; i += ROWS_AT_ONCE) {
        const int row = warp * (COLUMNS / BUILDERS) + i + lane / PIECES;
        uint32 column = __shfl_sync(0xffffffffu, warp < BUILDERS / 2 ? columns[0] : columns[1], row % 32);
        asm volatile("" : "+r"(column)); /* prevents hoisting every row's address into registers */
        copy_16(to + piece / 8 * LINES + row * 128 + (((piece ^ column ^ row) & 7) << 4),
                split + ((int64)column * blocks + first_block) * (128 * B_PARTS) + piece * 16);
    }
}

/* ------------------------------------------------------------------------------------------ multiplying */

#if PRODUCTS_AT_ONCE
/* Adds the crossed terms and the large ones of 32 columns of C, each from zero, to the sums: both use the loaded
   fragments. */
FUNCTION void multiply_cell(float *sum, uint64 x, uint64 y) {
#pragma unroll
    for (int j = 0; j < SPAN / 32; j++) {
        float crossed[16], whole[16];
#pragma unroll
        for (int k = 0; k < COLUMNS / 16; k++) {
            const uint64 at = y + 128 * k + j / 2 * (B_PARTS * LINES / 16);
            uint32 own_highs[4], own_lows[4], highs[4], lows[4];
            load_own(own_highs, x + 2 * k);
            if (S_PARTS == 2) load_own(own_lows, x + 2 * k + TILE / 16);
#pragma unroll
            for (int i = 0; i < 4; i++) { /* of eight columns */
                if (i % 2 == 0) load_across(highs, at, j % 2 * 2 + i / 2);
                if (i % 2 == 0 && B_PARTS == 2) load_across(lows, at + LINES / 16, j % 2 * 2 + i / 2);
                if (B_PARTS == 2) multiply_16x8(crossed + 4 * i, own_highs, lows + i % 2 * 2, k > 0);
                if (S_PARTS == 2) multiply_16x8(crossed + 4 * i, own_lows, highs + i % 2 * 2, B_PARTS == 2 || k > 0);
                multiply_16x8(whole + 4 * i, own_highs, highs + i % 2 * 2, k > 0);
            }
        }
#pragma unroll
        for (int i = 0; i < 16; i++) sum[16 * j + i] = (S_PARTS == 2 ? fmaf(crossed[i], 0x1p-11f, sum[16 * j + i]) : sum[16 * j + i]) + whole[i];
    }
    PRODUCTS_WAIT(0);
}
#else
FUNCTION void multiply(float *d, uint64 x, uint64 y, int add) {
#if SPAN == 128
    multiply_64x128_across(d, x, y, add);
#else
    multiply_64x64_across(d, x, y, add);
#endif
}

/* Adds the crossed terms and then the large ones of 64 columns of S, each from zero, to the sums. */
FUNCTION void multiply_cell(float *sum, uint64 x, uint64 y) {
    float d[SUMS];
#pragma unroll
    for (int crossed = PRODUCTS > 1; crossed >= 0; crossed--) {
        PRODUCTS_PIN(d, SUMS);
        products_begin();
#pragma unroll
        for (int k = 0; k < COLUMNS / 16; k++) {
            if (crossed) {
                if (B_PARTS == 2) multiply(d, x + 2 * k, y + 128 * k + LINES / 16, k > 0);
                multiply(d, x + 2 * k + TILE / 16, y + 128 * k, B_PARTS == 2 || k > 0);
            } else {
                multiply(d, x + 2 * k, y + 128 * k, k > 0);
            }
        }
        products_commit();
        PRODUCTS_WAIT(0);
        PRODUCTS_PIN(d, SUMS);
#pragma unroll
        for (int i = 0; i < SUMS; i++) sum[i] = crossed ? fmaf(d[i], 0x1p-11f, sum[i]) : sum[i] + d[i];
        PRODUCTS_PIN(sum, SUMS);
    }
}
#endif

/* Writes the rows of panels without cells. */
FUNCTION void write_empty(const operands &p, int64 first_panel, int64 end_panel, int64 first, int item) {
    for (int64 row = first_panel * ROWS; row < min64(end_panel * ROWS, p.rows); row++)
        for (int64 column = first + item; column < min64(first + SPAN, p.width); column += 256)
            write_result(p, row, column, 0);
}

/* ------------------------------------------------------------------------------------------ the two kinds of warps */

/* Notes how to scale a strip's results, and which are doubtful. small: this lane's count of numbers that have lost bits. */
FUNCTION void note_strip(const operands &p, panel_notes *to, int panel, float rows_scale, uint32 small, int builder, int lane) {
    const uint32 counted = __reduce_add_sync(0xffffffffu, small);
    const int64 row = (int64)panel * ROWS + builder * STRIP + lane;
    const float back = float_of_bits((254u << 23) - bits_of_float(rows_scale));
    if (lane < STRIP) {
        to->back[builder * STRIP + lane] = back;
        to->doubt[builder * STRIP + lane] = row < p.rows ? SMALL * (float)counted * back : 0;
    }
}

/* Builds the group's cells, STRIP rows per warp, and copies the rows of B that they need. */
FUNCTION void build_cells(const operands &p, const shared_memory &shared, int builder, int lane) {
    turn stage = {0, 0};
    float *const own_scales = shared.notes->scales[builder];
    cell_ahead cell, next, after;
    uint32 pairs[AT_ONCE / 2], next_pairs[AT_ONCE / 2], columns_here[2], columns_next[2];
    float scale[2], rows_scale = 1;
    value x[AT_ONCE];
    index place, next_place;
    int panel = -1, panel_count = -1;
    uint32 small = 0;
    load_record(cell, p.begin, p.records, builder);
    load_record(next, min(p.begin + 1, p.end - 1), p.records, builder);
    load_columns(columns_here, cell, p.lists, lane);
    load_columns(columns_next, next, p.lists, lane);
    load_entries(pairs, cell, first_pair(cell, lane), p.entries);
    load_entries(next_pairs, next, first_pair(next, lane), p.entries);
    place = p.row_offsets[(int64)p.begin * ROWS + builder * STRIP + lane % STRIP];
    next_place = p.row_offsets[(int64)min(p.begin + 1, p.end - 1) * ROWS + builder * STRIP + lane % STRIP];
    load_values(x, pairs, cell, first_pair(cell, lane), place, p.values, (uint64)p.nnz, lane);
    load_record(after, min(p.begin + 2, p.end - 1), p.records, builder);
    wait_for_last_launch();
    for (int i = 0; i < 2; i++) scale[i] = p.scales[columns_here[i]];
#pragma unroll 1
    for (int c = p.begin; c < p.end; c++) {
        const cell_record *const here = p.records + c;
        const int panel_here = (int)here->panel, next_panel = (int)here->next_panel;
        /* prefetch: values of the next cell, entries of the one after, the record of the one after that */
        value next_x[AT_ONCE];
        float next_scale[2];
        uint32 after_pairs[AT_ONCE / 2], columns_after[2];
        load_values(next_x, next_pairs, next, first_pair(next, lane), next_place, p.values, (uint64)p.nnz, lane);
        for (int i = 0; i < 2; i++) next_scale[i] = p.scales[columns_next[i]];
        load_entries(after_pairs, after, first_pair(after, lane), p.entries);
        load_columns(columns_after, after, p.lists, lane);
        const index after_place = p.row_offsets[(int64)min(c + 2, p.end - 1) * ROWS + builder * STRIP + lane % STRIP];
        cell_ahead last;
        load_record(last, min(c + 3, p.end - 1), p.records, builder);

        if (panel_here != panel) {
            panel = panel_here;
            panel_count++;
            small = 0;
            rows_scale = scale_of_rows(p, p.scales, (int64)panel * ROWS + builder * STRIP + lane % STRIP, lane);
        }
        __syncwarp();
        for (int i = 0; i < 2; i++) {
            own_scales[lane + 32 * i] = fabsf(scale[i]) * rows_scale;
            if (scale[i] < 0) small += SMALL_IN_B; /* that row of B has lost bits */
        }
        gate_wait(EMPTY(stage.place), stage.passed ^ 1);
        const uint32 tile = shared.base + stage.place * STAGE;
        copy_rows(tile + S_PARTS * TILE, p.split, cell, columns_here, GROUP_Y * BLOCKS, p.blocks,
                  FULL(stage.place), builder, lane);
#pragma unroll
        for (int i = 0; i < STRIP / 4; i++)
            for (int half = 0; half < S_PARTS; half++)
                *(float4 *)(shared.stages + stage.place * STAGE + half * TILE + builder * (STRIP * 128) + i * 512 + lane * 16) = make_float4(0, 0, 0, 0);
        __syncwarp();
        int from = first_pair(cell, lane);
        scatter(tile, pairs, x, cell, from, own_scales, small, lane);
#pragma unroll 1
        for (from += 32 * AT_ONCE; !PASSED(from); from += 32 * AT_ONCE) {
            load_entries(pairs, cell, from, p.entries);
            load_values(x, pairs, cell, from, place, p.values, (uint64)p.nnz, lane);
            scatter(tile, pairs, x, cell, from, own_scales, small, lane);
        }
        if (next_panel != panel || c + 1 == p.end)
            note_strip(p, shared.notes->panels + panel_count % PANELS, panel, rows_scale, small, builder, lane);
        if (builder == 0 && lane == 0) {
            shared.notes->stages[stage.place].panel = panel;
            shared.notes->stages[stage.place].next_panel = next_panel;
            shared.notes->stages[stage.place].notes = panel_count % PANELS;
        }
        if (BULK && ALIGNED)
            gate_arrive(FULL(stage.place));
        else
            gate_arrive_with_copies(FULL(stage.place));
        next_turn(stage, STAGES);
        cell = next;
        next = after;
        after = last;
        place = next_place;
        next_place = after_place;
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) x[i] = next_x[i];
#pragma unroll
        for (int i = 0; i < AT_ONCE / 2; i++) {
            pairs[i] = next_pairs[i];
            next_pairs[i] = after_pairs[i];
        }
        for (int i = 0; i < 2; i++) {
            columns_here[i] = columns_next[i];
            columns_next[i] = columns_after[i];
            scale[i] = next_scale[i];
        }
    }
}

/* Writes the rows of a panel whose cells were all here; recomputes doubtful results. */
FUNCTION void write_panel(float *sum, const float *back, const float *doubt, const operands &p, int64 panel, int64 first, int in_pairs,
                          int warp, int lane) {
    const int row_in = warp * 16 + lane / 4;
    float nothing = 0; /* 0, or NaN */
#pragma unroll
    for (int i = 0; i < SUMS; i++) {
        sum[i] *= back[i / 2 % 2];
        nothing = fmaf(sum[i], 0.0f, nothing);
    }
    const int64 row = panel * ROWS + row_in, column = first + lane % 4 * 2;
    uint64 again = 0;
    if (nothing == 0 && doubt[0] == 0 && doubt[1] == 0 && in_pairs) {
#pragma unroll
        for (int i = 0; i < SUMS; i += 2)
            if (row + i / 2 % 2 * 8 < p.rows && column + i / 4 * 8 < p.width)
                write_pair(p.out + (row + i / 2 % 2 * 8) * p.out_stride + column + i / 4 * 8, p.alpha * sum[i], p.alpha * sum[i + 1]);
    } else {
#pragma unroll
        for (int i = 0; i < SUMS; i++)
            if (row + i / 2 % 2 * 8 < p.rows && column + i / 4 * 8 + i % 2 < p.width) {
                if (is_doubtful(sum[i], doubt[i / 2 % 2]))
                    again |= (uint64)1 << i;
                else
                    write_result(p, row + i / 2 % 2 * 8, column + i / 4 * 8 + i % 2, sum[i]);
            }
    }
#pragma unroll 1
    for (asked of = next_asked(again); of.lane >= 0; of = next_asked(again)) {
        const int64 of_row = panel * ROWS + warp * 16 + of.lane / 4 + of.number / 2 % 2 * 8;
        const int64 of_column = first + of.lane % 4 * 2 + of.number / 4 * 8 + of.number % 2;
        const float x = plain_sum(p, of_row, of_column, lane);
        if (lane != of.lane) continue;
        write_result(p, of_row, of_column, x);
        again &= again - 1;
    }
}

/* Stores the partial sums of a shared panel for spmm_merge. */
FUNCTION void leave_part(const float *sum, const float *back, const float *doubt, const operands &p, int begins_here, int row_in, int lane) {
    const int64 part = (2 * GROUP_X + begins_here) * gridDim.y + GROUP_Y;
    if (lane % 4 == 0)
        for (int i = 0; i < 2; i++) p.doubts[part * ROWS + row_in + 8 * i] = doubt[i];
#pragma unroll
    for (int i = 0; i < SUMS; i += 2) {
        const int row = row_in + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2;
        *(float2 *)(p.partials + (part * ROWS + row) * SPAN + column) =
            make_float2(sum[i] * back[i / 2 % 2], sum[i + 1] * back[i / 2 % 2]);
    }
}

/* Multiplies the group's cells and writes the rows of panels that end here. */
FUNCTION void multiply_cells(const operands &p, const shared_memory &shared, int warp, int lane) {
    turn stage = {0, 0};
    const int64 first = GROUP_Y * SPAN; /* the first column of C */
    const int64 panel_before = p.begin > 0 ? p.records[p.begin - 1].panel : -1;
    if (GROUP_X == 0) write_empty(p, 0, p.records[0].panel, first, LOCAL_ID);
    const int in_pairs = p.beta == 0 && p.width % 2 == 0 && p.out_stride % 2 == 0 && (uint64)p.out % (2 * sizeof(output)) == 0;
    float sum[SUMS];
#pragma unroll
    for (int i = 0; i < SUMS; i++) sum[i] = 0;
#pragma unroll 1
    for (int c = p.begin; c < p.end; c++) {
        const uint32 at = shared.base + stage.place * STAGE;
        gate_wait(FULL(stage.place), stage.passed);
        proxies_meet(); /* not by the builders, where it would wait for all their prefetches */
        const uint64 x_at = operand_of(at + warp / 4 * 64 * 128), y_at = operand_across(at + S_PARTS * TILE, B_PARTS * LINES);
        multiply_cell(sum, x_at, y_at);
        const stage_notes here = shared.notes->stages[stage.place]; /* not earlier: registers are few */
        const int whole = here.next_panel != here.panel, from_before = here.panel == panel_before;
        float back[2] = {0, 0}, doubt[2] = {0, 0};
        const int row_in = warp * 16 + lane / 4;
        if (whole || c + 1 == p.end)
            for (int i = 0; i < 2; i++) {
                back[i] = shared.notes->panels[here.notes].back[row_in + 8 * i];
                doubt[i] = shared.notes->panels[here.notes].doubt[row_in + 8 * i];
            }
        __syncwarp();
        if (lane == 0) gate_arrive(EMPTY(stage.place));
        next_turn(stage, STAGES);
        if (!whole && c + 1 < p.end) continue;
        if (whole && !from_before)
            write_panel(sum, back, doubt, p, here.panel, first, in_pairs, warp, lane);
        else
            leave_part(sum, back, doubt, p, !from_before, row_in, lane);
        if (whole) write_empty(p, here.panel + 1, here.next_panel, first, LOCAL_ID);
#pragma unroll
        for (int i = 0; i < SUMS; i++) sum[i] = 0;
    }
}

KERNEL spmm_wgmma(int64 rows, int64 nnz, IN(offset, offsets), IN(index, columns), IN(value, values), IN(element, b), int64 b_stride,
                  int64 width, OUT(output, out), int64 out_stride, BATCH_PARAMETERS, real alpha, real beta,
                  int32 each, int32 more, int64 blocks, IN(index, lists), IN(int64, records), IN(index, row_offsets),
                  IN(ushort, entries), IN(float, scales), IN(char, split), OUT(float, partials), OUT(float, doubts)) {
    extern __shared__ __align__(1024) char memory[];
    MEMBER(scales, scratch_batch_stride);
    MEMBER(split, 4 * scratch_batch_stride);
    MEMBER(partials, scratch_batch_stride);
    MEMBER(doubts, scratch_batch_stride);
    const operands p = {rows, nnz, offsets, columns, values, b, b_stride, width, out, out_stride, alpha, beta,
                        first_cell(blockIdx.x, each, more), first_cell(blockIdx.x + 1, each, more), (const cell_record *)records, lists,
                        row_offsets, entries, blocks, scales, split, partials, doubts};
    shared_notes *const notes = (shared_notes *)(memory + STAGES * STAGE);
    const shared_memory shared = {memory, shared_address(memory), shared_address(notes + 1), notes};
    const int warp = LOCAL_ID / 32, lane = LOCAL_ID % 32;
    if (LOCAL_ID == 0) {
        for (int i = 0; i < STAGES; i++) {
            gate_make(FULL(i), 32 * BUILDERS);
            gate_make(EMPTY(i), MULTIPLIERS);
        }
        proxies_meet(); /* bulk copies use the gates, too */
    }
    __syncthreads();
    if (warp >= MULTIPLIERS) {
        REGISTERS_LESS(112);
        build_cells(p, shared, warp - MULTIPLIERS, lane);
        return;
    }
    REGISTERS_MORE(144);
    wait_for_last_launch();
    multiply_cells(p, shared, warp, lane);
}

#define MERGED_ROWS (GROUP * 4 / SPAN) /* rows of a group of spmm_merge, whose work-items have four columns each */
#define PARTS       8                  /* parts that a work-item reads at once */

/* Merges shared panels. There are groups for each boundary between the cells of two groups of spmm_wgmma; if the
   boundary is the first one within its panel, they add the panel's parts in order. */
KERNEL spmm_merge(int64 rows, IN(offset, offsets), IN(index, columns), IN(value, values), IN(element, b), int64 b_stride,
                  int64 width, OUT(output, out), int64 out_stride, BATCH_PARAMETERS, real alpha, real beta,
                  int32 each, int32 more, IN(int64, records), IN(float, partials), IN(float, doubts)) {
    MEMBER(partials, scratch_batch_stride);
    MEMBER(doubts, scratch_batch_stride);
    const operands p = {rows, 0, offsets, columns, values, b, b_stride, width, out, out_stride, alpha, beta};
    const panel_parts parts = find_parts((const cell_record *)records, (int)(GROUP_X / (ROWS / MERGED_ROWS)), each, more);
    wait_for_last_launch();
    if (parts.first < 0) return;
    const int here = parts.first, last = parts.last;
    const int64 panel = parts.panel;
    const int row_in = (int)(GROUP_X % (ROWS / MERGED_ROWS)) * MERGED_ROWS + LOCAL_ID * 4 / SPAN;
    const int column_in = LOCAL_ID * 4 % SPAN;
    const int64 row = panel * ROWS + row_in;
    float x[4] = {0, 0, 0, 0}, doubt = 0;
#pragma unroll 1
    for (int g = here; g <= last; g += PARTS) {
        float4 four[PARTS];
        float doubtful[PARTS];
#pragma unroll
        for (int i = 0; i < PARTS; i++) { /* past the end the last part is repeated, but not added */
            const int own = min(g + i, last);
            const int64 part = (int64)(2 * own + (own == here)) * gridDim.y + GROUP_Y;
            four[i] = *(const float4 *)(partials + (part * ROWS + row_in) * SPAN + column_in);
            doubtful[i] = doubts[part * ROWS + row_in];
        }
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
            if (g + i > last) break;
            x[0] += four[i].x;
            x[1] += four[i].y;
            x[2] += four[i].z;
            x[3] += four[i].w;
            doubt += doubtful[i];
        }
    }
    const int64 column = GROUP_Y * SPAN + column_in;
    uint64 again = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (row >= rows || column + i >= width) continue;
        if (is_doubtful(x[i], doubt))
            again |= (uint64)1 << i;
        else
            write_result(p, row, column + i, x[i]);
    }
#pragma unroll 1
    for (asked of = next_asked(again); of.lane >= 0; of = next_asked(again)) {
        const int64 of_row = __shfl_sync(0xffffffffu, row, of.lane);
        const int64 of_column = __shfl_sync(0xffffffffu, column, of.lane) + of.number;
        const float sum = plain_sum(p, of_row, of_column, LOCAL_ID % 32);
        if (LOCAL_ID % 32 != of.lane) continue;
        write_result(p, of_row, of_column, sum);
        again &= again - 1;
    }
}
