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
#include "narrow_kernels.h"

#define ROWS        SIDE    /* of a panel */
#define MULTIPLYING THREADS /* threads that multiply: all */
#include "fused_narrow_kernels.h"

/* ------------------------------------------------------------------------------------------ the kernels */

/* Starts to copy a cell into its stage; and the rows of A of a panel. */
FUNCTION void copy_cell(uint32 to, const source &b, const source &d, const uint32 *rows, int item) {
    copy_rows(to, b, INNER_TILES, INNER_WHOLE, rows, item);
    copy_rows(to + INNER_TILES * TILE, d, WIDTH_TILES, WIDTH_WHOLE, rows, item);
}
FUNCTION void copy_own(uint32 to, const source &a, int64 panel, int64 count, int item) {
    uint32 rows[LINES];
    own_rows(rows, panel * SIDE, count, item);
    copy_rows(to, a, INNER_TILES, INNER_WHOLE, rows, item);
}

KERNEL fused_narrow(FUSED_PARAMETERS) {
    extern __shared__ __align__(1024) char memory[];
    MEMBER(partials, scratch_batch_stride);
    MEMBER(arrived, scratch_batch_stride);
    const int item = LOCAL_ID, warp = item / 32, lane = item % 32, row_in = warp * 16 + lane / 4;
    const cell_record *const all = (const cell_record *)records;
    const int begin = begin_of(all, (int)GROUP_X, each, more), end = begin_of(all, (int)GROUP_X + 1, each, more);
    const uint32 own = shared_address(memory), first_stage = own + INNER_TILES * TILE;
    TAKE_SCORES
    const problem p = PROBLEM;
    wait_for_last_launch();
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
    int stage = 0, fresh; /* fresh: a panel begins next */
    uint32 next_wanted = masks[all[begin].entries * THREADS + item];
    int64 panel = all[begin].panel, next_panel = all[begin].next_panel;
    int first = begin; /* the panel's first cell here */
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
        float x[SCORES], factor[2];
        begin_dots(x, own_first, tile_of(stage_first, tile), INNER_STEPS);
        if (c + STAGES - 1 < end) { /* while the products run */
            copy_to(stage == 0 ? STAGES - 1 : stage - 1);
            load_rows(coming, record, lists, others, item);
            load_mixed_record(record, records, together, min(c + STAGES + 1, end - 1));
        }
        copies_commit();
        int64 after = next_panel;
        if (c + 1 < end) {
            next_wanted = masks[all[c + 1].entries * THREADS + item];
            after = all[c + 1].next_panel;
        }
        fresh = panel != next_panel;
        PRODUCTS_WAIT(0);
        PRODUCTS_PIN(x, SCORES);
        if (fresh && c + 1 < end) {
            __syncthreads(); /* the own rows are no longer needed */
            copy_own(own, from_a, next_panel, rows, item);
            copies_commit();
        }
#if SCORES_ARE_TEXTS
        text_scores(x, 0, 0, p.text, columns_of(all + c, together[c], lists), panel * ROWS + row_in, rows, lane);
#endif
        finish_scores(x, p.in_log2, !rises, &wanted);
        uint32 factors[SCORES / 2];
        if (exponentials(state, factor, x, in_log2)) rescale(sums, factor);
        round_pairs(factors, x);
        begin_sums(sums, factors, tile_of(stage_across, tile + INNER_TILES), WIDTH_TILES);
        PRODUCTS_WAIT(0);
        PRODUCTS_PIN(sums, OUTS);

        const int64 ended = panel, following = next_panel;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        panel = next_panel;
        next_panel = after;
        if (!fresh && c + 1 < end) continue;
        finish_panel(p, sums, state, partials, arrived, all, first, c + 1, ended * ROWS + row_in, each, more, item);
        begin_rows(state, sums);
        first = c + 1;
        if (fresh) write_empty(p, ended + 1, following, item);
        COPIES_WAIT(0); /* the next panel's own rows */
    }
}
