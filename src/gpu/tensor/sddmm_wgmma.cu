/*
 * SDDMM by cells on the tensor cores, with the accuracy of fp32: it computes the dense product of SIDE = 128 or 64 rows
 * of A and as many rows of B, and picks the nonzeros from it.
 *
 *   copying warps       tiles of A (per panel), slices of B, notes  -->  ring of SLOTS slots
 *                                                                             |  FULL / EMPTY gates
 *   multiplying warps   A B' by slices of K  <--------------------------------+
 *                       -> scale -> stage 16 rows in shared memory -> pick the cell's entries -> edge -> P
 *
 * A group takes runs of cells. Some of its warps copy: into a ring in shared memory the split rows of B of a cell
 * (split_rows.cu), 32 of K at a time; the rows of A when the panel changes; and the description and the entries of the
 * cell. Sets of four warps multiply 64 rows by COLUMNS columns: high x high, and high x low and low x high. The first
 * begin at zero for each 16 or 32 of K and are added in fp32 registers, because tensor cores truncate when they
 * accumulate, and the error of a sum that stays there grows in proportion to K (Ootomo and Yokota, arXiv 2203.03341).
 * The other two are 2^-11 of these, and so is their error: they stay in the tensor cores' accumulator for all of K if
 * they have registers of their own (SPARE). A warp then writes its 16 rows of products to shared memory, and its lanes
 * take those that the cell's entries name, 16 bits each, in P's own order. If LATE, it does so while the tensor cores
 * multiply its next cell.
 *
 * At any time the groups work on neighbouring runs, so they find each other's rows of B in L2. In a mesh, panels that
 * are far apart in the order of cells need the same row of B; if every group had one contiguous share of the cells, it
 * would come from memory once for each.
 *
 * PRODUCTS: 3 as above; 1 if the highs suffice: for fp16 and bf16, and with math = tf32, which has eleven bits. Then
 * lines have 64 of K, whose products begin at zero.
 *
 * A result is recomputed in fp32 if it is not finite or doubtful: if its row or column has numbers of which fp16 keeps
 * too few bits, and the result is so small that this could be visible.
 *
 * The right choice if cells are dense enough: if about one product in forty or more is wanted. ALIGNED: the columns of
 * a cell are neighbours, for patterns whose panels have nearly all of them; one bulk copy brings a tile, and one thread
 * starts all copies. Cells of 128: a group of twelve warps has the multiprocessor for itself; ACROSS = 2: one of
 * twenty, for short K, where writing takes most of the time. Cells of 64, which meshes fill better: GROUPS groups of
 * five warps share it. Shared memory: RESIDENT tiles of A of 16 or 8 KiB (K to 128; longer rows of A are copied
 * together with those of B), SLOTS slots, 68 or 16 KiB of products, and for each of CELLS cells ENTRIES entries and 1
 * to 3 KiB. The host side chooses these (shape_of in sddmm_wgmma.c); registers are 224 or 232, 112, and 96 to 128.
 */
#include "simt.h"
#include "edges.h"
#include "tensor_cores.h"
#include "cell_kernels.h"

#define COPIERS (SIDE == 128 ? 128 : 32) /* threads */
#define ALONE   (BULK && ALIGNED)        /* one of them starts all copies */
#include "copy_kernels.h"

#define LOWS        (PRODUCTS == 3)         /* lines have highs and lows of 32 of K */
#define MULTIPLIERS (SIDE / 16 * ACROSS)    /* warps */
#define COLUMNS     (SIDE / ACROSS)         /* columns of a set of four warps */
#define SUMS        (COLUMNS / 2)           /* sums of a thread */
#define VALUED      (HAS_VALUES && EDGE != EDGE_MASK)
#define AT_ONCE     (COLUMNS / (LATE && (VALUED || INDEX == 64) ? 32 : 16)) /* entries that a lane writes at once */
#define AHEAD       (SIDE == 128 && !ALIGNED) /* reads entries ahead: more often from memory than from their copy */
#define EACH_TIME   (32 * ACROSS)           /* entries that warps with the same rows write at once */
#define PITCH       (SIDE == 128 ? 136 : 64) /* pitch of staged products, in floats */
#define SLOT_BYTES  (RESIDENT ? TILE : 2 * TILE)
#define CELLS       2                       /* cells whose notes are in shared memory */

/* Notes: the plan's description of a cell, and the scales of its rows. */
typedef struct cell_notes {
    index offsets[SIDE]; /* of a row's nonzeros: from an entry's number in the cell to its place in P */
    float row_scales[SIDE], scales[SIDE];
    cell_record cell;
    ushort entries[ENTRIES]; /* up to ENTRIES; from a multiple of 16 bytes on, as they are copied */
} cell_notes;

/* Gates (mbarriers): slots full and empty, notes full and read, rows of A free. */
#define FULL(i)   (gates + 8 * (i))
#define EMPTY(i)  (gates + 8 * (SLOTS + (i)))
#define NOTED(i)  (gates + 8 * (2 * SLOTS + (i)))
#define READ(i)   (gates + 8 * (2 * SLOTS + CELLS + (i)))
#define A_FREE(i) (gates + 8 * (2 * SLOTS + 2 * CELLS + (i)))

/* Runs of neighbouring cells, equally many per group; concurrent groups work on neighbouring runs. */
typedef struct runs {
    int count, each, more; /* number of runs; cells of each, and number of runs with one more */
} runs;

/* The kernel's operands. */
typedef struct operands {
    const element *values, *a, *b;
    int64 a_stride, b_stride, inner;
    sample *out;
    /* the cells */
    runs of;
    const int64 *records;
    const index *lists, *row_offsets;
    const ushort *entries;
    /* split rows of A, then of B, in slices of K */
    int slices;
    int64 tiled_rows, slice_bytes;
    const float *scales;
    const char *split;
} operands;

/* Layout: tiles of A, the ring of slots, staged products, the notes of CELLS cells, and the gates. */
typedef struct shared_memory {
    uint32 a, ring, gates;
    float *staged;
    cell_notes *notes;
} shared_memory;

/* ------------------------------------------------------------------------------------------ the cells of a group */

typedef struct walk {
    int cell, end, run; /* cell = -1: no more */
} walk;

FUNCTION void next_cell(walk &at, const runs &of) {
    if (++at.cell < at.end) return;
    at.run += (int)GROUPS_X;
    at.cell = at.run < of.count ? first_cell(at.run, of.each, of.more) : -1;
    at.end = at.run < of.count ? first_cell(at.run + 1, of.each, of.more) : 0;
}

FUNCTION walk first_of(const runs &of) {
    const int run = (int)GROUP_X;
    const walk at = {first_cell(run, of.each, of.more), first_cell(run + 1, of.each, of.more), run};
    return at;
}

/* ------------------------------------------------------------------------------------------ copying */

/* Offset of a cell's entries in its notes, and the number copied: whole pieces of 16 bytes. */
FUNCTION int entries_before(int64 entries) { return (int)(entries & 7); }
FUNCTION int entries_copied(int64 entries, int count) { return entries_before(entries) + count + 7 & ~7; }

/* Copies the notes of cell c. */
FUNCTION void copy_notes(cell_notes *into, const operands &p, int64 c, const cell_ahead &cell, uint32 gate, int item) {
    const uint32 to = shared_address(into);
    const uint32 plain = (uint32)(sizeof(index) * SIDE + 4 * SIDE * (1 + ALIGNED) + sizeof(cell_record));
    const uint32 more = 2 * (uint32)min(entries_copied(cell.entries, cell.count), ENTRIES);
    if (BULK && item > 0) return;
    gate_expect(gate, plain + more);
    copy_together(to, p.row_offsets + c * SIDE, sizeof(index) * SIDE, gate, item, COPIERS);
    copy_together(shared_address(into->row_scales), p.scales + cell.panel * SIDE, 4 * SIDE, gate, item, COPIERS);
    if (ALIGNED) copy_together(shared_address(into->scales), p.scales + p.tiled_rows + cell.list, 4 * SIDE, gate, item, COPIERS);
    copy_together(shared_address(&into->cell), p.records + c * (int64)sizeof(cell_record) / 8, sizeof(cell_record), gate, item, COPIERS);
    if (more)
        copy_together(shared_address(into->entries), p.entries + (cell.entries - entries_before(cell.entries)), more, gate, item, COPIERS);
}

/* Copies slice s of a cell into the ring; with the first one the rows of A, if they stay and have changed. */
FUNCTION void copy_slice(const operands &p, const shared_memory &shared, const cell_ahead &here, int s, int changed, uint32 a_to,
                         turn &slot, int item) {
    const uint32 gates = shared.gates, gate = FULL(slot.place), to = shared.ring + slot.place * SLOT_BYTES;
    const char *const columns_split = p.split + p.tiled_rows * p.slices * 128;
    const int tiles_of_a = !RESIDENT ? 1 : changed && s == 0 ? RESIDENT : 0;
    gate_wait(EMPTY(slot.place), slot.passed ^ 1);
    next_turn(slot, SLOTS);
    if (!BULK || item == 0) {
        if (tiles_of_a + ALIGNED > 0) gate_expect(gate, (tiles_of_a + ALIGNED) * TILE);
#pragma unroll 1
        for (int i = 0; i < tiles_of_a; i++)
            copy_together(RESIDENT ? a_to + i * TILE : to + TILE, p.split + ((s + i) * p.tiled_rows * 128 + here.panel * TILE), TILE, gate, item, COPIERS);
    }
    if (ALIGNED)
        copy_together(to, columns_split + s * p.slice_bytes + here.list * 128, TILE, gate, item, COPIERS);
    else
        gather_tile(to, columns_split + s * 128, p.slices * 128, here, item);
    if (!ALONE)
        gate_arrive_with_copies(gate);
    else if (item == 0)
        gate_arrive(gate);
}

/* Copies the group's cells in the order of multiplication; c and `next` are the first ones. ALONE: one thread starts
   all copies. */
FUNCTION void copy_cells(const operands &p, const shared_memory &shared, int c, walk next, int item) {
    const uint32 gates = shared.gates;
    turn slot = {0, 0}, note = {0, 0}, a_place = {0, 0};
    int changed = 1; /* 1: the panel changes from the previous cell to this one */
    cell_ahead here;
    next_record record;
    if (c >= 0) {
        load_record(record, p.records, c);
        load_columns(here, record, ALIGNED ? 0 : p.lists, item);
        load_record(record, p.records, next.cell >= 0 ? next.cell : c);
    }
    while (c >= 0) {
        const uint32 a_to = shared.a + a_place.place * RESIDENT * TILE;
        if (RESIDENT && changed) {
            gate_wait(A_FREE(a_place.place), a_place.passed ^ 1);
            next_turn(a_place, A_BUFFERS);
        }
#pragma unroll 1
        for (int s = 0; s < p.slices; s++) copy_slice(p, shared, here, s, changed, a_to, slot, item);
        gate_wait(READ(note.place), note.passed ^ 1);
        cell_notes *const into = shared.notes + note.place;
        copy_notes(into, p, c, here, NOTED(note.place), item);
        if (!ALIGNED) {
#pragma unroll
            for (int i = 0; i < DESCRIBED; i++)
                copy_4(shared_address(into->scales + item + COPIERS * i), p.scales + p.tiled_rows + here.own[i]);
        }
        if (!ALONE)
            gate_arrive_with_copies(NOTED(note.place));
        else if (item == 0)
            gate_arrive(NOTED(note.place));
        next_turn(note, CELLS);
        changed = next.cell != c + 1 || record.panel != here.panel;
        c = next.cell;
        next_cell(next, p.of);
        if (c >= 0) {
            load_columns(here, record, ALIGNED ? 0 : p.lists, item);
            if (next.cell >= 0) load_record(record, p.records, next.cell);
        }
    }
}

/* ------------------------------------------------------------------------------------------ multiplying */

FUNCTION void multiply(float *d, uint64 x, uint64 y, int add) {
#if COLUMNS == 128
    multiply_64x128(d, x, y, add);
#else
    multiply_64x64(d, x, y, add);
#endif
}

/*
 * Crossed terms of a slice, 64 rows at x and COLUMNS at y: high x low + low x high, scaled by 2^11. 16 of K are 32
 * bytes; the lows follow after 64.
 */
FUNCTION void multiply_crossed(float *d, uint64 x, uint64 y, int add) {
    if (!add) PRODUCTS_PIN(d, SUMS);
    products_begin();
    multiply(d, x, y + 4, add);
    multiply(d, x + 4, y, 1);
    multiply(d, x + 2, y + 6, 1);
    multiply(d, x + 6, y + 2, 1);
    products_commit();
}

/* High x high from zero, in PARTS parts. With short sums, the truncation error of 32 of K at once would be visible:
   they take 16 at once. */
#define PARTS (LOWS && (RESIDENT == 1 || RESIDENT == 2) ? 2 : 1)
FUNCTION void multiply_highs(float *d, uint64 x, uint64 y, int part) {
    PRODUCTS_PIN(d, SUMS);
    products_begin();
#pragma unroll
    for (int k = 0; k < (LOWS ? 2 : 4) / PARTS; k++) multiply(d, x + 2 * (k + part), y + 2 * (k + part), k > 0);
    products_commit();
}

/* The pins keep loads and additions from moving across the neighbouring products. */
FUNCTION void add_products(float *sum, float *d, float factor) {
    PRODUCTS_PIN(d, SUMS);
#pragma unroll
    for (int i = 0; i < SUMS; i++) sum[i] = factor == 1 ? sum[i] + d[i] : fmaf(d[i], factor, sum[i]);
    PRODUCTS_PIN(sum, SUMS);
}

/* A multiplying warp's position in the ring of slots; rows of A at `a`, if they stay. */
typedef struct ring_place {
    uint32 gates, ring, a, a_half, b_half; /* the last two: byte offsets of the set's rows */
    turn slot;
    int last;    /* the previous slot, unless it is free already */
    uint64 x, y; /* operands */
} ring_place;

FUNCTION void take_slot(ring_place &at, int s) {
    const uint32 gates = at.gates, here = at.ring + at.slot.place * SLOT_BYTES;
    gate_wait(FULL(at.slot.place), at.slot.passed);
    if (!ALIGNED) proxies_meet();
    at.x = operand_of((RESIDENT ? at.a + s * TILE : here + TILE) + at.a_half);
    at.y = operand_of(here + at.b_half);
}

FUNCTION void free_last(ring_place &at, int lane) {
    const uint32 gates = at.gates;
    if (lane == 0) gate_arrive(EMPTY(at.last));
}

/*
 * Slice s of a cell in two halves: the first starts the products, the second waits for them and adds them. The first
 * slice initialises the sums. Crossed terms are added after the last slice if they have registers of their own
 * (APART_CROSSED), otherwise after each slice; then they are multiplied while high x high is added, and a slot becomes
 * free when the next slice has begun.
 */
#define APART_CROSSED (LOWS && SPARE)
FUNCTION void begin_slice(float *sum, float (*d)[SUMS], ring_place &at, int s, int begins_sums, int lane) {
    take_slot(at, s);
    if (begins_sums) {
        multiply_highs(sum, at.x, at.y, 0);
        if (PARTS == 2 && SPARE) multiply_highs(d[1], at.x, at.y, 1);
    } else if (SPARE || !LOWS) {
        multiply_highs(d[LOWS], at.x, at.y, 0);
    }
    if (LOWS) multiply_crossed(d[0], at.x, at.y, APART_CROSSED && !begins_sums);
    if (APART_CROSSED && !begins_sums) {
        PRODUCTS_WAIT(2);
        free_last(at, lane);
    }
}

FUNCTION void end_slice(float *sum, float (*d)[SUMS], ring_place &at, int begins_sums, int lane) {
    float *const highs = d[SPARE && LOWS];
    if (LATE) __syncwarp(); /* reconverges the lanes after writing */
    PRODUCTS_WAIT(APART_CROSSED);
    if (begins_sums) PRODUCTS_PIN(sum, SUMS);
    if (LOWS && !SPARE) {
        add_products(sum, d[0], 0x1p-11f);
        if (!begins_sums) {
            multiply_highs(highs, at.x, at.y, 0);
            PRODUCTS_WAIT(0);
        }
    }
    if (PARTS == 2 && !(SPARE && begins_sums)) {
        if (!begins_sums) add_products(sum, highs, 1);
        multiply_highs(highs, at.x, at.y, 1);
        PRODUCTS_WAIT(0);
    }
    at.last = at.slot.place;
    next_turn(at.slot, SLOTS);
    if (!APART_CROSSED) free_last(at, lane);
    if (PARTS == 2 || !begins_sums) add_products(sum, highs, 1);
}

/* Adds the crossed terms after the last slice. */
FUNCTION void end_sums(float *sum, float (*d)[SUMS], ring_place &at, int lane) {
    if (!APART_CROSSED) return;
    PRODUCTS_WAIT(0);
    free_last(at, lane);
    add_products(sum, d[0], 0x1p-11f);
}

FUNCTION float plain_product(const element *x, const element *y, int64 inner) {
    float sum = 0;
#pragma unroll 1
    for (int64 i = 0; i < inner; i++) sum += real_of(x[i]) * real_of(y[i]);
    return sum;
}

/* ------------------------------------------------------------------------------------------ writing */

/* Unpacks an entry of cell_entries.cu. */
FUNCTION int row_of_entry(int entry) { return entry >> 7; }
FUNCTION int column_of_entry(int entry) {
    return SIDE == 128 ? entry & 127 : (entry >> 1 & 63) ^ (entry >> 7 & 7) << 3;
}

/* Where its product is staged, without bank conflicts: rows of 136 floats, or of 64 floats swizzled in groups of eight,
   as entries are. */
FUNCTION int staged_at(int entry) { return SIDE == 128 ? entry + row_of_entry(entry) * (PITCH - SIDE) : entry >> 1; }
FUNCTION int staged_column(int row, int column) { return SIDE == 128 ? column : column ^ (row & 7) << 3; }

/* A lane's remaining entries of a cell: k, k + EACH_TIME, .. of `count`. */
typedef struct writing {
    int k, count, none; /* none: an entry of the warp's own rows, for padding */
    const ushort *entries;
    const cell_notes *noted;
    int next[AT_ONCE]; /* the entries at k, if they are read AHEAD */
} writing;

FUNCTION void read_entries(int *entry, const writing &of, int k) {
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) entry[i] = k + EACH_TIME * i < of.count ? of.entries[k + EACH_TIME * i] : of.none;
}

/* Reads the values of S, if the edge needs them; the first value for missing entries. */
FUNCTION void read_values(element *s, int edge, int has_values, const element *values, const writing &of,
                          const int *entry, int k) {
    if (!has_values || edge == EDGE_MASK) return;
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++)
        s[i] = value_at(
            edge, has_values, values,
            k + EACH_TIME * i < of.count ? of.noted->offsets[row_of_entry(entry[i])] + k + EACH_TIME * i : 0);
}

FUNCTION float staged_product(const float *staged, const writing &of, int entry) {
    return staged[staged_at(entry)] * fabsf(of.noted->row_scales[row_of_entry(entry)]);
}

/* Writes AT_ONCE entries one by one; recomputes non-finite ones. */
FUNCTION void write_again(const operands &p, const float *staged, const writing &of, EDGE_PARAMETERS) {
#pragma unroll 1
    for (int k = of.k; k < of.k + EACH_TIME * AT_ONCE && k < of.count; k += EACH_TIME) {
        const int entry = of.entries[k], row = row_of_entry(entry);
        const int64 t = of.noted->offsets[row] + k;
        float x = staged_product(staged, of, entry);
        if (!(fabsf(x) < INFINITY)) {
            const cell_record *const cell = &of.noted->cell;
            const int64 place = cell->list + column_of_entry(entry), column = ALIGNED ? place : (int64)p.lists[place];
            x = plain_product(p.a + (cell->panel * SIDE + row) * p.a_stride, p.b + column * p.b_stride, p.inner);
        }
        finish_sample(p.out, p.values, t, x, EDGE_ARGUMENTS);
    }
}

/* Reads the inputs of the first step of writing: entries, and values. */
FUNCTION void begin_writing(const operands &p, writing &of, element *s, int edge, int has_values) {
    read_entries(of.next, of, of.k);
    read_values(s, edge, has_values, p.values, of, of.next, of.k);
}

/* Writes the next AT_ONCE entries, whose values are s; reads the values of the ones after them. */
FUNCTION void write_some(const operands &p, const float *staged, writing &of, element *s, EDGE_PARAMETERS) {
    int entry[AT_ONCE];
    float x[AT_ONCE], nothing = 0; /* nothing: 0, or NaN */
    index t[AT_ONCE];
    element next[AT_ONCE];
    if (!AHEAD) read_entries(of.next, of, of.k);
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) entry[i] = of.next[i];
    read_entries(of.next, of, of.k + EACH_TIME * AT_ONCE);
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
        x[i] = staged_product(staged, of, entry[i]);
        t[i] = of.noted->offsets[row_of_entry(entry[i])] + of.k + EACH_TIME * i;
        nothing = fmaf(x[i], 0.0f, nothing);
    }
    read_values(next, EDGE, HAS_VALUES, p.values, of, of.next, of.k + EACH_TIME * AT_ONCE);
    if (nothing != 0) {
        write_again(p, staged, of, EDGE_ARGUMENTS);
    } else if (beta == 0) { /* one test for all */
        sample y[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
            y[i] = sample_of(edge_value(EDGE, HAS_VALUES, x[i], HAS_VALUES ? real_of(s[i]) : 1.0f, edge_scale,
                                        edge_slope, edge_epsilon),
                             alpha);
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            sample *const to = p.out + t[i];
            if (of.k + EACH_TIME * i < of.count) *to = y[i];
        }
    } else {
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
            if (of.k + EACH_TIME * i < of.count) finish_value(p.out, s[i], t[i], x[i], EDGE_ARGUMENTS);
    }
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) s[i] = next[i];
    of.k += EACH_TIME * AT_ONCE;
}

/* Synchronises the warps with the same rows. */
FUNCTION void meet(int strip) {
#if ACROSS > 1
    some_meet(1 + strip, EACH_TIME);
#else
    __syncwarp();
#endif
}

/* Stages the products of a warp's 16 rows in shared memory, once nobody reads there any more; doubtful ones as NaN. */
FUNCTION void stage(float *mine, float *sum, const cell_notes *noted, int strip, int first_column, int lane,
                    int64 inner) {
    const float *const row_scales = noted->row_scales + strip * 16, *const scales = noted->scales + first_column;
    int tiny = row_scales[lane % 16] < 0;
#pragma unroll
    for (int i = 0; i < COLUMNS / 32; i++) tiny |= scales[lane + 32 * i] < 0;
    if (__any_sync(0xffffffffu, tiny)) {
#pragma unroll
        for (int i = 0; i < SUMS; i++) {
            const int column = i / 4 * 8 + lane % 4 * 2 + i % 2, row = lane / 4 + i / 2 % 2 * 8;
            if ((scales[column] < 0 || row_scales[row] < 0) && fabsf(sum[i]) < DOUBT * (float)inner)
                sum[i] = float_of_bits(0x7fc00000u);
        }
    }
    meet(strip);
#pragma unroll
    for (int j = 0; j < COLUMNS / 8; j++) {
        const int column = 8 * j + lane % 4 * 2;
        const float2 by = *(const float2 *)(scales + column);
        const float left = fabsf(by.x), right = fabsf(by.y);
        float *const to = mine + lane / 4 * PITCH + staged_column(lane / 4, first_column + column);
        *(float2 *)to = make_float2(sum[4 * j] * left, sum[4 * j + 1] * right);
        *(float2 *)(to + 8 * PITCH) = make_float2(sum[4 * j + 2] * left, sum[4 * j + 3] * right);
    }
    meet(strip);
}

/* Multiplies the group's cells, 16 rows per warp, and writes their entries. */
FUNCTION void multiply_cells(const operands &p, const shared_memory &shared, int c, walk next, int warp, int lane, EDGE_PARAMETERS) {
    const uint32 gates = shared.gates;
    turn note = {0, 0}, a_place = {0, 0};
    const int across = warp / 4 % ACROSS, down = warp / 4 / ACROSS; /* of this warp's set */
    const int strip = 4 * down + warp % 4;                         /* its 16 rows */
    float *const mine = shared.staged + strip * 16 * PITCH;
    ring_place at = {gates, shared.ring, 0, (uint32)(down * 64 * 128), (uint32)(across * COLUMNS * 128), {0, 0}, 0, 0, 0};
    float sum[SUMS], d[1 + SPARE][SUMS];
    element s[AT_ONCE];
    writing left = {0, 0, strip * 16 << 7, p.entries, shared.notes, {0}};
    int before = -1; /* the place of its notes */
#define WRITE_SOME write_some(p, shared.staged, left, s, EDGE_ARGUMENTS)
    while (c >= 0) { /* multiplies a cell and, if LATE, writes the previous one meanwhile */
        const cell_notes *const noted = shared.notes + note.place;
        at.a = shared.a + a_place.place * RESIDENT * TILE;
        begin_slice(sum, d, at, 0, 1, lane);
        if (LATE && RESIDENT == 1)
            while (left.k < left.count) WRITE_SOME;
        else if (LATE && left.k < left.count)
            WRITE_SOME;
        end_slice(sum, d, at, 1, lane);
#pragma unroll 1
        for (int i = 1; i < (RESIDENT ? RESIDENT : p.slices); i++) {
            begin_slice(sum, d, at, i, 0, lane);
            if (LATE && left.k < left.count) WRITE_SOME;
            end_slice(sum, d, at, 0, lane);
        }
        if (LATE && RESIDENT != 1)
            while (left.k < left.count) WRITE_SOME;
        end_sums(sum, d, at, lane);
        __syncwarp();
        if (LATE && before >= 0 && lane == 0) gate_arrive(READ(before));
        gate_wait(NOTED(note.place), note.passed);
        if (RESIDENT && (next.cell != c + 1 || noted->cell.panel != noted->cell.next_panel)) {
            if (lane == 0) gate_arrive(A_FREE(a_place.place));
            next_turn(a_place, A_BUFFERS);
        }
        left.k = noted->cell.begins[strip] + 32 * across + lane;
        left.count = noted->cell.begins[strip + 1];
        left.noted = noted;
        left.entries = entries_before(noted->cell.entries) + left.count <= ENTRIES
                           ? noted->entries + entries_before(noted->cell.entries)
                           : p.entries + noted->cell.entries;
        begin_writing(p, left, s, EDGE, HAS_VALUES);
        stage(mine, sum, noted, strip, across * COLUMNS, lane, p.inner);
        before = note.place;
        next_turn(note, CELLS);
        if (!LATE) {
            while (left.k < left.count) WRITE_SOME;
            __syncwarp();
            if (lane == 0) gate_arrive(READ(before));
        }
        c = next.cell;
        next_cell(next, p.of);
    }
    while (LATE && left.k < left.count) WRITE_SOME;
}

KERNEL sddmm_wgmma(SDDMM_PARAMETERS, BATCH_PARAMETERS, int32 run_count, int32 each, int32 more, int32 slices,
                   int64 tiled_rows, int64 tiled, IN(index, lists), IN(int64, records), IN(index, row_offsets),
                   IN(ushort, entries), IN(float, scales), IN(char, split)) {
    extern __shared__ __align__(1024) char memory[];
    MEMBER(scales, scratch_batch_stride);
    MEMBER(split, 4 * scratch_batch_stride);
    const operands p = {values, a, b, a_stride, b_stride, inner, out, {run_count, each, more}, records, lists, row_offsets, entries,
                        slices, tiled_rows, (tiled - tiled_rows) * 128, scales, split};
    const uint32 base = shared_address(memory);
    float *const staged = (float *)(memory + A_BUFFERS * RESIDENT * TILE + SLOTS * SLOT_BYTES);
    cell_notes *const notes = (cell_notes *)(staged + SIDE * PITCH);
    const uint32 gates = shared_address(notes + CELLS);
    const shared_memory shared = {base, base + A_BUFFERS * RESIDENT * TILE, gates, staged, notes};
    const int warp = LOCAL_ID / 32, lane = LOCAL_ID % 32;
    if (LOCAL_ID == 0) {
        for (int i = 0; i < SLOTS; i++) {
            gate_make(FULL(i), ALONE ? 1 : COPIERS);
            gate_make(EMPTY(i), MULTIPLIERS);
        }
        for (int i = 0; i < CELLS; i++) {
            gate_make(NOTED(i), ALONE ? 1 : COPIERS);
            gate_make(READ(i), MULTIPLIERS);
        }
        for (int i = 0; i < A_BUFFERS; i++) gate_make(A_FREE(i), MULTIPLIERS);
        proxies_meet(); /* bulk copies use the gates, too */
    }
    __syncthreads();
    wait_for_last_launch();
    walk next = first_of(p.of);
    const int c = next.cell;
    next_cell(next, p.of);
    if (warp >= MULTIPLIERS) {
        const int item = LOCAL_ID - MULTIPLIERS * 32;
#if MORE
        REGISTERS_LESS(LESS);
#endif
        if (ALONE && item >= 32) return;
        copy_cells(p, shared, c, next, item);
        return;
    }
#if MORE
    REGISTERS_MORE(MORE);
#endif
    multiply_cells(p, shared, c, next, warp, lane, EDGE_ARGUMENTS);
}
