/*
 * E = softmax(scale <A, B>) D by large cells on Hopper's tensor cores, for operands of 16 bits: attention whose mask
 * has whole blocks, such as windows and documents, without values of S. The same arithmetic as fused_narrow.cu.
 *
 *   copying warps        rows of A (per panel), B and D of the next cells  ------------->  ring of STAGES cells
 *                                                                                              | FULL / EMPTY gates
 *   two teams, 64 rows   cell c:      A B' <--------------------------------------------------+
 *   each, of four warps  cell c - 1:  sums += exponentials times D     at the same time
 *                        cell c:      mask -> online softmax -> exponentials, rounded to 16 bits
 *                        end of a panel: (merge the groups' partial sums) -> divide by the sum of exponentials -> E
 *
 * A group, alone on its multiprocessor, takes a run of cells of a member. A panel has ROWS = 128 rows, a cell SIDE
 * columns of it: 128, or 64 if K or L exceeds 128. So each byte of B and D that is copied serves 128 rows, and tensor
 * cores read a byte of shared memory for 64 or 128 of them. A team adds a cell's products with D while it takes the
 * next cell's exponentials; and the teams take turns, so that one uses the tensor cores while the other does not. If
 * several groups share a panel, each stores partial sums, and the last one merges them in order. Non-finite results are
 * recomputed in fp32, since a cell's products outside the mask may be infinite.
 *
 * Rows of A, and neighbouring rows of B and D, are copied as tiles by one thread (cp.async.bulk.tensor), if the operand
 * is aligned to 16 bytes; other rows in pieces of 16 bytes by all threads that copy (cp.async).
 *
 * Moves, for each cell, SIDE rows of B and of D and SIDE / 8 bytes of masks a row; and for each panel its rows of A and
 * of the result. The right choice for attention in 16 bits unless cells of 64 x 64 are so much fuller that they save a
 * third of the products: blocks of 64 at random.
 *
 * A text (score_kernels.h) takes the place of the scale.
 *
 * INNER_STEPS, WIDTH_STEPS: K and L in steps of 16 numbers. STAGES: cells in shared memory.
 */
#include "simt.h"
#include "rounded_score_kernels.h"
#include "edges.h"
#define FACTORS_BF16 (ELEMENT == 116)
#include "tensor_cores.h"
#include "cell_kernels.h"
#define PAIRED 1
#include "narrow_kernels.h"

#define ROWS        128 /* of a panel */
#define MULTIPLYING 256 /* threads that multiply; THREADS more copy */
#include "fused_narrow_kernels.h"

#define OWN_BYTES (ROWS * 128 * INNER_TILES)
#define MORE      216 /* registers of a thread that multiplies */
#define LESS      72  /* and of one that copies: together not more than the 168 of all at first */

/* Layout: rows of A, SIDE after SIDE; rows of B of STAGES cells; their rows of D; the gates. */
typedef struct shared_memory {
    uint32 own, ring, gates;
} shared_memory;

#define B_FULL(i)  (shared.gates + 16 * (i))
#define B_EMPTY(i) (shared.gates + 16 * (i) + 8)
#define D_FULL(i)  (shared.gates + 16 * (STAGES + (i)))
#define D_EMPTY(i) (shared.gates + 16 * (STAGES + (i)) + 8)
#define OWN_EMPTY  (shared.gates + 32 * STAGES)

/* One thread initialises the gates; all wait for it. */
FUNCTION void make_gates(const shared_memory &shared) {
    if (LOCAL_ID == 0) {
        for (int i = 0; i < STAGES; i++) {
            gate_make(B_FULL(i), THREADS);
            gate_make(B_EMPTY(i), MULTIPLYING / 32);
            gate_make(D_FULL(i), THREADS);
            gate_make(D_EMPTY(i), MULTIPLYING / 32);
        }
        gate_make(OWN_EMPTY, MULTIPLYING / 32);
        proxies_meet(); /* copies of tiles use the gates, too */
    }
    __syncthreads();
}

/* A group's cells. */
typedef struct cell_run {
    int begin, end, each, more;
    const cell_record *all;
} cell_run;

/* ------------------------------------------------------------------------------------------ the warps that copy */

/* Opens the gate of the copies before the last ones, which have arrived by then. */
FUNCTION void open_before(uint32 &before, uint32 gate) {
    copies_commit();
    if (before) {
        COPIES_WAIT(1);
        proxies_meet();
        gate_arrive(before);
    }
    before = gate;
}
FUNCTION void open_last(uint32 &before) {
    if (!before) return;
    COPIES_WAIT(0);
    proxies_meet();
    gate_arrive(before);
    before = 0;
}

/* Opens a gate: later, if this thread's own copies belong to it; else at once, since tiles open it when they arrive. */
FUNCTION void open(uint32 &before, uint32 gate, int copies) {
    if (copies) {
        open_before(before, gate);
    } else {
        open_last(before);
        gate_arrive(gate);
    }
}

/* The operands as tiles; `tiled` says which can be copied so: 1 A, 2 B, 4 D. */
typedef struct tiled_operands {
    const tile_map *a, *b, *d;
    int a_member, b_member, d_member; /* the group's */
    int tiled;
} tiled_operands;

/* One thread begins to copy `count` tiles of a line each, from `row` on, to places TILE bytes apart. */
FUNCTION void copy_tiles(uint32 to, const tile_map *map, int count, int row, int member, uint32 gate) {
    gate_expect(gate, count * TILE);
    for (int i = 0; i < count; i++) copy_tile(to + i * TILE, map, i * LINE, row, member, gate);
}

/* Copies the group's cells in the order of multiplication. A panel's rows of A come with its first cell's of B. */
FUNCTION void copy_cells(const problem &p, const cell_run &run, const shared_memory &shared, const tiled_operands &tiles, const int64 *records,
                         const int32 *together, const index *lists, int item) {
    const source a = source_of(p.a, p.a_stride, p.inner, INNER_TILES, item), b = source_of(p.b, p.b_stride, p.inner, INNER_TILES, item),
                 d = source_of(p.d, p.d_stride, p.width, WIDTH_TILES, item);
    int64 panel = -1;
    uint32 before = 0, own_passed = 1, rows[LINES];
    turn stage = {0, 0};
    next_record record;
    load_mixed_record(record, records, together, run.begin);
#pragma unroll 1
    for (int c = run.begin; c < run.end; c++) {
        const int new_panel = record.panel != panel;
        if (new_panel) {
            open_last(before); /* the multiplying warps may need it before they release the rows of A */
            panel = record.panel;
            gate_wait(OWN_EMPTY, own_passed);
            own_passed ^= 1;
            if (tiles.tiled & 1) {
                gate_wait(B_EMPTY(stage.place), stage.passed ^ 1);
                for (int i = 0; item == 0 && i < ROWS / SIDE; i++)
                    copy_tiles(shared.own + i * (INNER_TILES * TILE), tiles.a, INNER_TILES, (int)panel * ROWS + i * SIDE, tiles.a_member, B_FULL(stage.place));
            }
#pragma unroll 1
            for (int i = 0; !(tiles.tiled & 1) && i < ROWS / SIDE; i++) {
                own_rows(rows, panel * ROWS + i * SIDE, p.rows, item);
                copy_rows(shared.own + i * (INNER_TILES * TILE), a, INNER_TILES, INNER_WHOLE, rows, item);
            }
        }
        const int start = record.start, b_tiled = tiles.tiled & 2 && start >= 0, d_tiled = tiles.tiled & 4 && start >= 0;
        const uint32 b_place = shared.ring + stage.place * (INNER_TILES * TILE);
        const uint32 d_place = shared.ring + (STAGES * INNER_TILES + stage.place * WIDTH_TILES) * TILE;
        if (!b_tiled || !d_tiled) load_rows(rows, record, lists, p.others, item);
        load_mixed_record(record, records, together, min(c + 1, run.end - 1));
        gate_wait(B_EMPTY(stage.place), stage.passed ^ 1);
        if (b_tiled && item == 0) copy_tiles(b_place, tiles.b, INNER_TILES, start, tiles.b_member, B_FULL(stage.place));
        if (!b_tiled) copy_rows(b_place, b, INNER_TILES, INNER_WHOLE, rows, item);
        open(before, B_FULL(stage.place), !b_tiled || new_panel & !(tiles.tiled & 1));
        gate_wait(D_EMPTY(stage.place), stage.passed ^ 1);
        if (d_tiled && item == 0) copy_tiles(d_place, tiles.d, WIDTH_TILES, start, tiles.d_member, D_FULL(stage.place));
        if (!d_tiled) copy_rows(d_place, d, WIDTH_TILES, WIDTH_WHOLE, rows, item);
        open(before, D_FULL(stage.place), !d_tiled);
        next_turn(stage, STAGES);
    }
    open_last(before);
}

/* ------------------------------------------------------------------------------------------ the warps that multiply */

/* Releases a part of a stage: one arrival of each warp. */
FUNCTION void release(uint32 gate, int lane) {
    if (lane == 0) gate_arrive(gate);
}

FUNCTION void load_mask(uint32 *wanted, const uint32 *masks, int64 number, int item) {
#if WORDS == 2
    const uint2 both = *(const uint2 *)(masks + (number * MULTIPLYING + item) * 2);
    wanted[0] = both.x;
    wanted[1] = both.y;
#else
    wanted[0] = masks[number * MULTIPLYING + item];
#endif
}

/* The teams take turns to issue products, so that one's run while the other takes exponentials. */
FUNCTION void await_turn(int team) { some_meet(1 + team, MULTIPLYING); }
FUNCTION void pass_turn(int team) { some_pass(2 - team, MULTIPLYING); }

/* A team's places in shared memory, and the operands there. */
typedef struct team_view {
    uint64 own, b, d;
    turn next, before; /* cells of the ring: of B the one that comes next, of D the one before */
} team_view;

/* Begins the scores of the next cell, in x. */
FUNCTION void begin_scores(float *x, const team_view &view, const shared_memory &shared) {
    gate_wait(B_FULL(view.next.place), view.next.passed);
    begin_dots(x, view.own, tile_of(view.b, view.next.place * INNER_TILES), INNER_STEPS);
}

/* Begins the sums of the cell before. */
FUNCTION void begin_products(float *sums, const uint32 *factors, const team_view &view, const shared_memory &shared) {
    gate_wait(D_FULL(view.before.place), view.before.passed);
    begin_sums(sums, factors, tile_of(view.d, view.before.place * WIDTH_TILES), WIDTH_TILES);
}

/* Releases what the scores of a cell were made of; with the panel's last one, the rows of A. */
FUNCTION void release_scores(team_view &view, const shared_memory &shared, int last, int lane) {
    release(B_EMPTY(view.next.place), lane);
    if (last) release(OWN_EMPTY, lane);
    next_turn(view.next, STAGES);
}
FUNCTION void release_products(team_view &view, const shared_memory &shared, int lane) {
    release(D_EMPTY(view.before.place), lane);
    next_turn(view.before, STAGES);
}

/* Multiplies the group's cells and writes the rows of panels that end here. */
FUNCTION void multiply_cells(const problem &p, const cell_run &run, const shared_memory &shared, const uint32 *masks, const int32 *together,
                             const index *lists, float *partials, int32 *arrived, int item) {
    const int lane = item % 32, team = item / 128, last = run.end - 1;
    const int rises = p.in_log2 > 0; /* scores rise with the product */
    const float in_log2 = rises ? p.in_log2 : 1;
    const cell_record *const all = run.all;
    team_view view = {operand_of(shared.own + team * 64 / SIDE * (INNER_TILES * TILE) + team * 64 % SIDE * 128), operand_of(shared.ring),
                      operand_across(shared.ring + STAGES * INNER_TILES * TILE, TILE)};
    uint32 wanted[WORDS], factors[SCORES / 2];
    float x[SCORES], sums[OUTS], factor[2];
    row_state state;
    int stop = run.begin;                                    /* of the panel's cells */
    int number = (int)all[min(run.begin + 1, last)].entries; /* of the next cell's masks */
    const auto take_scores = [&](int c) { /* turns a cell's scores, which are there, into exponentials */
        PRODUCTS_PIN(x, SCORES);
        release_scores(view, shared, c + 1 == stop, lane);
#if SCORES_ARE_TEXTS
        text_scores(x, 0, 0, p.text, columns_of(all + c, together[c], lists), all[c].panel * ROWS + item / 32 * 16 + lane / 4, p.rows, lane);
#endif
        finish_scores(x, p.in_log2, !rises, wanted);
        load_mask(wanted, masks, number, item);
        number = (int)all[min(c + 2, last)].entries;
        return exponentials(state, factor, x, in_log2);
    };
    if (team == 1) pass_turn(team);
    load_mask(wanted, masks, all[run.begin].entries, item);
#pragma unroll 1
    for (int c = run.begin; c < run.end;) {
        const int first = c;
        stop = min(all[c].end_cell, run.end);
        begin_rows(state, sums);
        await_turn(team);
        begin_scores(x, view, shared);
        pass_turn(team);
        PRODUCTS_WAIT(0);
        take_scores(c);
        round_pairs(factors, x);
#pragma unroll 1
        for (c++; c < stop; c++) {
            await_turn(team);
            begin_scores(x, view, shared);
            begin_products(sums, factors, view, shared);
            pass_turn(team);
            PRODUCTS_WAIT(1); /* the scores */
            const int changed = take_scores(c);
            PRODUCTS_WAIT(0);
            PRODUCTS_PIN(sums, OUTS);
            release_products(view, shared, lane);
            if (changed) rescale(sums, factor);
            round_pairs(factors, x);
        }
        begin_products(sums, factors, view, shared);
        PRODUCTS_WAIT(0);
        PRODUCTS_PIN(sums, OUTS);
        release_products(view, shared, lane);
        const int64 panel = all[first].panel, next_panel = all[stop - 1].next_panel;
        finish_panel(p, sums, state, partials, arrived, all, first, stop, panel * ROWS + item / 32 * 16 + lane / 4, run.each, run.more, item);
        if (next_panel != panel) write_empty(p, panel + 1, next_panel, item);
    }
    if (team == 0) await_turn(team); /* the other's last pass */
}

KERNEL fused_large(FUSED_PARAMETERS, int32 tiled, MAP(a_tiles), MAP(b_tiles), MAP(d_tiles)) {
    extern __shared__ __align__(1024) char memory[];
    MEMBER(partials, scratch_batch_stride);
    MEMBER(arrived, scratch_batch_stride);
    const cell_record *const all = (const cell_record *)records;
    const cell_run run = {begin_of(all, (int)GROUP_X, each, more), begin_of(all, (int)GROUP_X + 1, each, more), each, more, all};
    TAKE_SCORES
    const problem p = PROBLEM;
    const uint32 own = shared_address(memory);
    const shared_memory shared = {own, own + OWN_BYTES, own + OWN_BYTES + STAGES * TILES * TILE};
    make_gates(shared);
    if (LOCAL_ID >= MULTIPLYING) {
        REGISTERS_LESS(LESS);
        wait_for_last_launch();
        const int member = (int)GROUP_Z;
        const tiled_operands tiles = {&a_tiles, &b_tiles, &d_tiles, a_batch_stride ? member : 0, b_batch_stride ? member : 0, d_batch_stride ? member : 0, tiled};
        if (run.begin < run.end) copy_cells(p, run, shared, tiles, records, together, lists, LOCAL_ID - MULTIPLYING);
    } else {
        REGISTERS_MORE(MORE);
        wait_for_last_launch();
        if (GROUP_X == 0) write_empty(p, 0, all[0].panel, LOCAL_ID);
        if (run.begin < run.end) multiply_cells(p, run, shared, masks, together, lists, partials, arrived, LOCAL_ID);
    }
}
