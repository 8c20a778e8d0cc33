/*
 * SDDMM by cells on the tensor cores of compute capability 9.0, with the accuracy of fp32: the whole product of a panel
 * of 128 rows of A and 128 rows of B, of which the nonzeros are then taken.
 *
 * A group stays on a multiprocessor and takes a run of cells. Four warps copy: the split rows of B that a cell's list
 * names (split_rows.cu), 32 of K at a time, into a ring in shared memory, those of A when the panel changes, and what
 * describes the cell. Two times four warps multiply 64 rows each: high x low and low x high first, then high x high, both
 * from zero for each 32 of K, added in fp32 registers: tensor cores cut off what they add to a sum, so that a sum kept
 * there errs in proportion to K (Ootomo and Yokota, arXiv 2203.03341). A warp then puts 16 rows of products into shared
 * memory, and its lanes take those that the cell's masks name: 128 bits a row, and where P has the row's first. So P is
 * written in its own order.
 *
 * A product is computed again, plainly, where it is not finite or where it is doubtful: where its row or column has numbers of
 * which fp16 keeps too little, and the product is so small that this could be seen.
 *
 * The right choice where cells are dense enough: about one product in forty is wanted. Shared memory: 64 KiB of A (K to
 * 128; longer rows of A come with those of B), a ring of 16 or 32 KiB each, 36 KiB of products, 4 KiB for each of three
 * cells.
 */
#define GROUPS 1
#include "simt.h"
#include "edges.h"
#include "hopper.h"

#define SIDE 128           /* rows and columns of a cell */
#define TILE (SIDE * 128)  /* bytes: 32 of K of that many rows */
#define CELLS 3            /* that are described at once */
#define PITCH 136          /* floats from row to row of staged products: no bank conflicts */
#define AT_ONCE 8          /* entries of a lane */
#define COPIERS 128        /* threads */
#define MULTIPLIERS 8      /* warps */
#define SLOT_BYTES (RESIDENT ? TILE : 2 * TILE)

/* What the plan says of a cell (cell_entries.cu), and the scales of its rows. */
typedef struct cell_record {
    int64 entries, list, panel, next_panel; /* where its entries and its columns begin; its panel, and the next cell's */
    int32 begins[MULTIPLIERS + 4];          /* of the entries of 16 rows each, counted from `entries`; and the end */
} cell_record;
typedef struct row_note {
    index offset; /* of the row's nonzeros: from an entry's number in the cell to its place in P */
    float scale;
} row_note;
typedef struct cell_notes {
    row_note rows[SIDE];
    float scales[SIDE]; /* of the columns */
    cell_record cell;
} cell_notes;

/* Gates: slots full, slots empty, notes free, the panel's rows of A free. */
#define FULL(i)   (gates + 8 * (i))
#define EMPTY(i)  (gates + 8 * (SLOTS + (i)))
#define NOTED(i)  (gates + 8 * (2 * SLOTS + (i)))
#define A_FREE    (gates + 8 * (2 * SLOTS + CELLS))

/* The place in a ring of `size`, and how often it has been passed, modulo 2. */
typedef struct turn {
    int place;
    uint32 passed;
} turn;
FUNCTION void next_turn(turn &t, int size) {
    if (++t.place == size) {
        t.place = 0;
        t.passed ^= 1;
    }
}

/* ------------------------------------------------------------------------------------------ copying */

/* 32 of K of rows item / 8, item / 8 + 16, .. of a tile. */
FUNCTION void copy_tile(uint32 to, const char *split, const uint32 *rows, int slices, int slice, int item) {
    to += item / 8 * 128 + ((item % 8 ^ item / 8 % 8) << 4);
#pragma unroll
    for (int i = 0; i < 8; i++)
        copy_16(to + i * 16 * 128, split + ((int64)rows[i] * slices + slice) * 128 + item % 8 * 16);
}

/* What a cell's copies begin with, read one cell ahead; `list` two ahead. */
typedef struct cell_ahead {
    int64 panel;
    uint32 column, columns[8]; /* of this thread: to describe, and to copy */
} cell_ahead;
typedef struct list_ahead {
    int64 panel, begin, entries;
    int32 last, count;
} list_ahead;

FUNCTION void look_for_list(list_ahead &list, int64 c, const int64 *cells, const int64 *parts) {
    const longlong2 here = *(const longlong2 *)(cells + 2 * c);
    list.panel = here.x;
    list.begin = here.y;
    list.last = (int)(cells[2 * c + 3] - here.y) - 1;
    list.entries = parts[3 * c + 1];
    list.count = (int)(parts[3 * c + 2] - list.entries);
}

FUNCTION void look_ahead(cell_ahead &cell, const list_ahead &list, const index *lists, int item) {
    cell.panel = list.panel;
    cell.column = (uint32)lists[list.begin + (item < list.last ? item : list.last)];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int r = item / 8 + 16 * i;
        cell.columns[i] = (uint32)lists[list.begin + (r < list.last ? r : list.last)];
    }
}

/* ------------------------------------------------------------------------------------------ multiplying */

/* 64 rows at x and 128 at y of one slice: 16 of K are 32 bytes, the low parts follow after 64. */
FUNCTION void multiply_crossed(float *crossed, uint64 x, uint64 y) {
    products_pin(crossed);
    products_begin();
    multiply_64x128(crossed, x, y + 4, 0);
    multiply_64x128(crossed, x + 4, y, 1);
    multiply_64x128(crossed, x + 2, y + 6, 1);
    multiply_64x128(crossed, x + 6, y + 2, 1);
    products_commit();
}

FUNCTION void multiply_high(float *product, uint64 x, uint64 y) {
    products_pin(product);
    products_begin();
    multiply_64x128(product, x, y, 0);
    multiply_64x128(product, x + 2, y + 2, 1);
    products_commit();
}

FUNCTION float plain_product(const float *x, const float *y, int64 inner) {
    float sum = 0;
    for (int64 i = 0; i < inner; i++) sum += x[i] * y[i];
    return sum;
}

/* The entries k, k + 32, .. of a cell: row of the warp's and column; row 0 beyond `count`. */
FUNCTION void read_entries(uint32 *entry, const ushort *from, int k, int count) {
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) entry[i] = k + 32 * i < count ? from[k + 32 * i] : 0;
}

KERNEL sddmm_wgmma(SDDMM_PARAMETERS, BATCH_PARAMETERS, int64 cell_count, IN(int64, cells), IN(index, lists),
                   IN(int64, parts), IN(int64, records), IN(index, row_offsets), IN(ushort, entries), IN(float, scales), IN(char, split)) {
    extern __shared__ __align__(1024) char memory[];
    SDDMM_MEMBER;
    MEMBER(scales, scratch_apart);
    MEMBER(split, 4 * scratch_apart);
    const uint32 base = shared_address(memory), ring = base + RESIDENT * TILE;
    float *const staged = (float *)(memory + RESIDENT * TILE + SLOTS * SLOT_BYTES);
    cell_notes *const notes = (cell_notes *)(staged + MULTIPLIERS * 16 * PITCH);
    const uint32 gates = shared_address(notes + CELLS);
    const int warp = LOCAL_ID / 32, lane = LOCAL_ID % 32;
    const int slices = RESIDENT ? RESIDENT : (int)((inner + 31) / 32);
    const int64 begin = cell_count * GROUP_X / GROUPS_X, end = cell_count * (GROUP_X + 1) / GROUPS_X;
    if (LOCAL_ID == 0) {
        for (int i = 0; i < SLOTS; i++) {
            gate_make(FULL(i), COPIERS);
            gate_make(EMPTY(i), MULTIPLIERS);
        }
        for (int i = 0; i < CELLS; i++) gate_make(NOTED(i), MULTIPLIERS);
        gate_make(A_FREE, MULTIPLIERS);
    }
    __syncthreads();
    turn slot = {0, 0}, note = {0, 0};
    if (warp >= MULTIPLIERS) { /* copies */
        REGISTERS_LESS(56);
        const int item = LOCAL_ID % COPIERS;
        int64 panel = -1;
        uint32 panels_passed = 0, a_rows[8];
        cell_ahead ahead;
        list_ahead list;
        if (begin < end) {
            look_for_list(list, begin, cells, parts);
            look_ahead(ahead, list, lists, item);
            look_for_list(list, begin + 1 < end ? begin + 1 : begin, cells, parts);
        }
        for (int64 c = begin; c < end; c++) {
            const cell_ahead here = ahead;
            const int changed = here.panel != panel;
            gate_wait(NOTED(note.place), note.passed ^ 1);
            cell_notes *const into = notes + note.place;
            const int64 row = min64(here.panel * SIDE + item, rows - 1);
            const int record = (int)sizeof(cell_record);
            if (item < record / 16)
                copy_16(shared_address(&into->cell) + 16 * item, (const char *)records + c * record + 16 * item);
#pragma unroll
            for (int i = 0; i < (int)sizeof(index) / 4; i++)
                copy_4(shared_address(&into->rows[item].offset) + 4 * i,
                       (const char *)(row_offsets + c * SIDE + item) + 4 * i);
            copy_4(shared_address(&into->rows[item].scale), scales + row);
            copy_4(shared_address(into->scales + item), scales + rows + here.column);
            next_turn(note, CELLS);
            if (c + 1 < end) {
                if (item == 0) prefetch(entries + list.entries, list.count * 2);
                look_ahead(ahead, list, lists, item);
                if (c + 2 < end) look_for_list(list, c + 2, cells, parts);
            }
            if (changed) {
                if (RESIDENT && panel >= 0) {
                    gate_wait(A_FREE, panels_passed);
                    panels_passed ^= 1;
                }
                panel = here.panel;
#pragma unroll
                for (int i = 0; i < 8; i++)
                    a_rows[i] = (uint32)min64(panel * SIDE + item / 8 + 16 * i, rows - 1);
                if (RESIDENT)
                    for (int s = 0; s < RESIDENT; s++) copy_tile(base + s * TILE, split, a_rows, slices, s, item);
            }
            for (int s = 0; s < slices; s++) {
                gate_wait(EMPTY(slot.place), slot.passed ^ 1);
                const uint32 to = ring + slot.place * SLOT_BYTES;
                copy_tile(to, split + rows * slices * 128, here.columns, slices, s, item);
                if (!RESIDENT) copy_tile(to + TILE, split, a_rows, slices, s, item);
                gate_arrive_with_copies(FULL(slot.place));
                next_turn(slot, SLOTS);
            }
        }
        return;
    }
    REGISTERS_MORE(224);
    float *const mine = staged + warp * 16 * PITCH;
    const uint32 a_half = warp / 4 * 64 * 128; /* warps 4 i .. 4 i + 3 have rows 64 i .. 64 i + 63 */
    float sum[64], crossed[64], product[64];
    for (int64 c = begin; c < end; c++) {
        /* While one half of a slice is added the other is multiplied. */
        gate_wait(FULL(slot.place), slot.passed);
        products_see_copies();
        uint64 y = operand_of(ring + slot.place * SLOT_BYTES);
        uint64 x = operand_of((RESIDENT ? base : ring + slot.place * SLOT_BYTES + TILE) + a_half);
        multiply_crossed(crossed, x, y);
        multiply_high(product, x, y);
#pragma unroll
        for (int i = 0; i < 64; i++) sum[i] = 0;
#pragma unroll(RESIDENT ? RESIDENT : 1)
        for (int s = 1; s < slices; s++) {
            turn after = slot;
            next_turn(after, SLOTS);
            y = operand_of(ring + after.place * SLOT_BYTES);
            x = operand_of((RESIDENT ? base + s * TILE : ring + after.place * SLOT_BYTES + TILE) + a_half);
            gate_wait(FULL(after.place), after.passed);
            products_see_copies();
            PRODUCTS_WAIT(1);
            products_pin(crossed);
#pragma unroll
            for (int i = 0; i < 64; i++) sum[i] = fmaf(crossed[i], 0x1p-11f, sum[i]);
            products_pin(sum);
            multiply_crossed(crossed, x, y);
            PRODUCTS_WAIT(1);
            products_pin(product);
            if (lane == 0) gate_arrive(EMPTY(slot.place));
            slot = after;
#pragma unroll
            for (int i = 0; i < 64; i++) sum[i] += product[i];
            products_pin(sum);
            multiply_high(product, x, y);
        }
        PRODUCTS_WAIT(1);
        products_pin(crossed);
#pragma unroll
        for (int i = 0; i < 64; i++) sum[i] = fmaf(crossed[i], 0x1p-11f, sum[i]);
        PRODUCTS_WAIT(0);
        products_pin(product);
        if (lane == 0) gate_arrive(EMPTY(slot.place));
        next_turn(slot, SLOTS);
#pragma unroll
        for (int i = 0; i < 64; i++) sum[i] += product[i];
        const cell_notes *const noted = notes + note.place;
        const cell_record *const cell = &noted->cell;
        if (RESIDENT && cell->panel != cell->next_panel && lane == 0) gate_arrive(A_FREE);
        const int count = cell->begins[warp + 1];
        const ushort *const from = entries + cell->entries;
        uint32 entry[AT_ONCE];
        int k = cell->begins[warp] + lane;
        read_entries(entry, from, k, count);
        const row_note *const my_rows = noted->rows + warp * 16;
        const float4 four = *(const float4 *)(noted->scales + 4 * lane);
        const int tiny = four.x < 0 || four.y < 0 || four.z < 0 || four.w < 0 || my_rows[lane % 16].scale < 0;
        if (__any_sync(0xffffffffu, tiny)) { /* what is doubtful shall be computed again */
#pragma unroll
            for (int i = 0; i < 64; i++) {
                const int column = i / 4 * 8 + lane % 4 * 2 + i % 2, row = lane / 4 + i / 2 % 2 * 8;
                if ((noted->scales[column] < 0 || my_rows[row].scale < 0) && fabsf(sum[i]) < 8 * (float)inner)
                    sum[i] = float_of_bits(0x7fc00000u);
            }
        }
        __syncwarp();
#pragma unroll
        for (int j = 0; j < 16; j++) {
            const float2 by = *(const float2 *)(noted->scales + 8 * j + lane % 4 * 2);
            const float left = fabsf(by.x), right = fabsf(by.y);
            float *const at = mine + lane / 4 * PITCH + 8 * j + lane % 4 * 2;
            *(float2 *)at = make_float2(sum[4 * j] * left, sum[4 * j + 1] * right);
            *(float2 *)(at + 8 * PITCH) = make_float2(sum[4 * j + 2] * left, sum[4 * j + 3] * right);
        }
        __syncwarp();
        for (; k < count; k += 32 * AT_ONCE) {
            uint32 next[AT_ONCE];
            read_entries(next, from, k + 32 * AT_ONCE, count);
            float x[AT_ONCE];
            int64 t[AT_ONCE];
            int all_finite = 1;
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const row_note r = my_rows[entry[i] >> 7];
                x[i] = mine[(entry[i] >> 7) * PITCH + (entry[i] & 127)] * fabsf(r.scale);
                t[i] = (int64)(r.offset + (k + 32 * i));
                all_finite &= fabsf(x[i]) < INFINITY;
            }
            if (!all_finite)
                for (int i = 0; i < AT_ONCE; i++)
                    if (!(fabsf(x[i]) < INFINITY))
                        x[i] = plain_product(a + (cell->panel * SIDE + warp * 16 + (entry[i] >> 7)) * a_stride,
                                             b + (int64)lists[cell->list + (entry[i] & 127)] * b_stride, inner);
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                if (k + 32 * i < count) finish_sample(out, values, t[i], x[i], EDGE_ARGUMENTS);
                entry[i] = next[i];
            }
        }
        __syncwarp();
        if (lane == 0) gate_arrive(NOTED(note.place));
        next_turn(note, CELLS);
    }
}
