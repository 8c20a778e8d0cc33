/*
 * SDDMM by cells on the tensor cores of compute capability 9.0, with the accuracy of fp32: it computes the whole
 * product of a panel of 128 rows of A and 128 rows of B, and picks the nonzeros from it.
 *
 * A group stays on a multiprocessor and takes a run of cells. Four of its warps copy into a ring in shared memory: the
 * split rows of B of a cell (split_rows.cu), 32 of K at a time, those of A when the panel changes, and the description
 * of the cell. Two sets of four warps multiply 64 rows each: high x low and low x high first, then high x high. Each
 * product begins at zero for each 16 or 32 of K and is added in fp32 registers, because tensor cores truncate when they
 * accumulate, and the error of a sum that stays there grows in proportion to K (Ootomo and Yokota, arXiv 2203.03341). A
 * warp then writes its 16 rows of products to shared memory, and its lanes take those that the cell's entries name, 16
 * bits each, in P's own order.
 *
 * PRODUCTS: 3 as above; 1 if the highs are everything: for fp16 and bf16, and with math = tf32, which has eleven bits.
 * Then lines have 64 of K, whose products begin at zero.
 *
 * A result is recomputed in fp32 if it is not finite or doubtful: if its row or column has numbers of which fp16 keeps
 * too few bits, and the result is so small that this could be visible.
 *
 * The right choice if cells are dense enough: from about one product in forty on that is needed. ALIGNED: a cell is 128
 * neighbouring columns, for patterns whose panels have nearly all of them; one bulk copy brings a tile, and one thread
 * starts all copies. Shared memory: 64 KiB of A (K to 128; longer rows of A are copied together with those of B), a
 * ring of slots of 16 or 32 KiB, 68 KiB of products, 2 KiB for each of three cells.
 */
#define GROUPS 1
#include "simt.h"
#include "edges.h"
#include "hopper.h"
#include "cell_kernels.h"

#define SIDE 128    /* rows and columns of a cell */
#define COPIERS 128 /* threads */
#include "copy_kernels.h"

#define LOWS (PRODUCTS == 3) /* lines have highs and lows of 32 of K */
#define CELLS 3            /* that are described at once */
#define PITCH 136          /* floats from row to row of staged products: no bank conflicts */
#define MULTIPLIERS 8      /* warps */
#define AT_ONCE 8          /* entries of a lane */
#define A_BUFFERS (RESIDENT > 2 ? 1 : 2)
#define UNROLLED (RESIDENT ? RESIDENT : SLICES_AT_ONCE) /* slices, of which all are a multiple */
#define SLOT_BYTES (RESIDENT ? TILE : 2 * TILE)

/* What the plan says of a cell, and the scales of its rows. */
typedef struct cell_notes {
    index offsets[SIDE]; /* of the nonzeros of a row: from an entry's number in the cell to its place in P */
    float row_scales[SIDE], scales[SIDE];
    cell_record cell;
} cell_notes;

/* Gates: slots full and empty, notes free, rows of A free. */
#define FULL(i)   (gates + 8 * (i))
#define EMPTY(i)  (gates + 8 * (SLOTS + (i)))
#define NOTED(i)  (gates + 8 * (2 * SLOTS + (i)))
#define A_FREE(i) (gates + 8 * (2 * SLOTS + CELLS + (i)))

/* ------------------------------------------------------------------------------------------ copying */

/* What describes a cell; one thread. */
#define NOTE_BYTES (uint32)(sizeof(cell_notes) - (ALIGNED ? 0 : 4 * SIDE))
FUNCTION void copy_notes(cell_notes *into, int64 c, const int64 *records, const index *row_offsets,
                         const float *row_scales, const float *scales, uint32 gate) {
    const uint32 to = shared_address(into);
    copy_bulk(to, row_offsets + c * SIDE, sizeof(index) * SIDE, gate);
    copy_bulk(shared_address(into->row_scales), row_scales, 4 * SIDE, gate);
    if (ALIGNED) copy_bulk(shared_address(into->scales), scales, 4 * SIDE, gate);
    copy_bulk(shared_address(&into->cell), records + c * (int64)sizeof(cell_record) / 8, sizeof(cell_record), gate);
}

/* ------------------------------------------------------------------------------------------ multiplying */

/*
 * What a slice takes, each step from zero: first high x low and low x high, then high x high; or the latter alone. 64
 * rows at x and 128 at y; 16 of K are 32 bytes, the low parts follow after 64. Short sums have no errors of their own
 * beside which those of 32 of K at once could hide: they take 16 at once.
 */
#define STEPS (!LOWS ? 1 : RESIDENT == 1 || RESIDENT == 2 ? 3 : 2)
#define CROSSED(step) (LOWS && (step) == 0)
FUNCTION void multiply_step(float *d, int step, uint64 x, uint64 y) {
    PRODUCTS_PIN(d, 64);
    products_begin();
    if (CROSSED(step)) {
        multiply_64x128(d, x, y + 4, 0);
        multiply_64x128(d, x + 4, y, 1);
        multiply_64x128(d, x + 2, y + 6, 1);
        multiply_64x128(d, x + 6, y + 2, 1);
    } else if (STEPS == 3) {
        multiply_64x128(d, x + 2 * (step - 1), y + 2 * (step - 1), 0);
    } else {
#pragma unroll
        for (int k = 0; k < (LOWS ? 2 : 4); k++) multiply_64x128(d, x + 2 * k, y + 2 * k, k > 0);
    }
    products_commit();
}

/* What has come of it, added. The pins keep reading and adding on their side of the products before and after. */
FUNCTION void add_step(float *sum, int step, float *d) {
    PRODUCTS_PIN(d, 64);
#pragma unroll
    for (int i = 0; i < 64; i++) sum[i] = CROSSED(step) ? fmaf(d[i], 0x1p-11f, sum[i]) : sum[i] + d[i];
    PRODUCTS_PIN(sum, 64);
}

FUNCTION float plain_product(const element *x, const element *y, int64 inner) {
    float sum = 0;
#pragma unroll 1
    for (int64 i = 0; i < inner; i++) sum += real_of(x[i]) * real_of(y[i]);
    return sum;
}

/* ------------------------------------------------------------------------------------------ writing */

/* The entries k, k + 32, .. of a cell; from `count` on the first place of the warp's own rows. */
FUNCTION void read_entries(int *entry, const ushort *from, int k, int count, int warp) {
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) entry[i] = k + 32 * i < count ? from[k + 32 * i] : warp * 16 * SIDE;
}

/* The numbers that S has there, if the edge asks for them; the first one for entries that are not there. */
FUNCTION void read_values(element *s, int edge, int has_values, const element *values, const index *row_offsets,
                          const int *entry, int k, int count) {
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++)
        s[i] = value_at(edge, has_values, values, k + 32 * i < count ? row_offsets[entry[i] >> 7] + k + 32 * i : 0);
}

KERNEL sddmm_wgmma(SDDMM_PARAMETERS, BATCH_PARAMETERS, int64 cell_count, int32 slices, int64 tiled_rows, int64 tiled,
                   IN(index, lists), IN(int64, records), IN(index, row_offsets), IN(ushort, entries), IN(float, scales),
                   IN(char, split)) {
    extern __shared__ __align__(1024) char memory[];
    SDDMM_MEMBER;
    MEMBER(scales, scratch_apart);
    MEMBER(split, 4 * scratch_apart);
    const uint32 base = shared_address(memory), ring = base + A_BUFFERS * RESIDENT * TILE;
    float *const staged = (float *)(memory + A_BUFFERS * RESIDENT * TILE + SLOTS * SLOT_BYTES);
    cell_notes *const notes = (cell_notes *)(staged + MULTIPLIERS * 16 * PITCH);
    const uint32 gates = shared_address(notes + CELLS);
    const int warp = LOCAL_ID / 32, lane = LOCAL_ID % 32;
    const int begin = (int)(cell_count * GROUP_X / GROUPS_X), end = (int)(cell_count * (GROUP_X + 1) / GROUPS_X);
    if (LOCAL_ID == 0) {
        for (int i = 0; i < SLOTS; i++) {
            gate_make(FULL(i), ALIGNED ? 1 : COPIERS);
            gate_make(EMPTY(i), MULTIPLIERS);
        }
        for (int i = 0; i < CELLS; i++) gate_make(NOTED(i), MULTIPLIERS);
        for (int i = 0; i < A_BUFFERS; i++) gate_make(A_FREE(i), MULTIPLIERS);
        proxies_meet(); /* bulk copies use the gates, too */
    }
    __syncthreads();
    wait_for_last_launch();
    turn slot = {0, 0}, note = {0, 0}, a_place = {0, 0};
    if (warp >= MULTIPLIERS) { /* copies */
        REGISTERS_LESS(56);
        const int item = LOCAL_ID - MULTIPLIERS * 32;
        if (ALIGNED && item >= 32) return; /* one thread begins all copies */
        const int64 slice_bytes = (tiled - tiled_rows) * 128;
        const char *const columns_split = split + tiled_rows * slices * 128;
        int64 panel = -1;
        cell_ahead here;
        record_ahead record;
        if (begin < end) {
            look_for_record(record, begin, records);
            look_ahead(here, record, ALIGNED ? 0 : lists, item);
            look_for_record(record, begin + 1 < end ? begin + 1 : begin, records);
        }
        for (int c = begin; c < end; c++) {
            const int changed = here.panel != panel;
            gate_wait(NOTED(note.place), note.passed ^ 1);
            cell_notes *const into = notes + note.place;
            next_turn(note, CELLS);
            const uint32 a_to = base + a_place.place * RESIDENT * TILE;
            if (RESIDENT && changed) {
                gate_wait(A_FREE(a_place.place), a_place.passed ^ 1);
                next_turn(a_place, A_BUFFERS);
            }
            panel = here.panel;
#pragma unroll 1
            for (int s = 0; s < slices; s++) {
                const uint32 gate = FULL(slot.place), to = ring + slot.place * SLOT_BYTES;
                const int tiles_of_a = !RESIDENT ? 1 : changed && s == 0 ? RESIDENT : 0;
                gate_wait(EMPTY(slot.place), slot.passed ^ 1);
                next_turn(slot, SLOTS);
                if (item == 0) {
                    gate_expect(gate, (tiles_of_a + ALIGNED) * TILE + (s == 0 ? NOTE_BYTES : 0));
                    if (s == 0)
                        copy_notes(into, c, records, row_offsets, scales + panel * SIDE,
                                   scales + tiled_rows + here.list, gate);
#pragma unroll 1
                    for (int i = 0; i < tiles_of_a; i++)
                        copy_bulk(RESIDENT ? a_to + i * TILE : to + TILE,
                                  split + ((s + i) * tiled_rows * 128 + panel * TILE), TILE, gate);
                }
                if (s == 0 && !ALIGNED) copy_4(shared_address(into->scales + item), scales + tiled_rows + here.own[0]);
                if (!ALIGNED) {
                    gather_tile(to, columns_split + s * 128, slices * 128, here, item);
                    gate_arrive_with_copies(gate);
                } else if (item == 0) {
                    copy_bulk(to, columns_split + s * slice_bytes + here.list * 128, TILE, gate);
                    gate_arrive(gate);
                }
            }
            if (c + 1 < end) {
                look_ahead(here, record, ALIGNED ? 0 : lists, item);
                if (c + 2 < end) look_for_record(record, c + 2, records);
            }
        }
        return;
    }
    REGISTERS_MORE(224);
    float *const mine = staged + warp * 16 * PITCH;
    const uint32 a_half = warp / 4 * 64 * 128; /* warps 4 i .. 4 i + 3 have rows 64 i .. 64 i + 63 */
    float sum[64], products[2][64];
    for (int c = begin; c < end; c++) {
        gate_wait(FULL(slot.place), slot.passed); /* with which the notes come */
        const cell_notes *const noted = notes + note.place;
        const cell_record *const cell = &noted->cell;
        const ushort *const from = entries + cell->entries;
        const int count = cell->begins[warp + 1];
        int k = cell->begins[warp] + lane, entry[AT_ONCE];
        if (ALIGNED) read_entries(entry, from, k, count, warp);
#pragma unroll
        for (int i = 0; i < 64; i++) sum[i] = 0;
        const uint32 a_at = base + a_place.place * RESIDENT * TILE;
        for (int first = 0; first < slices; first += UNROLLED) {
            uint64 x = 0, y = 0;
            turn last = slot;
#pragma unroll
            for (int g = 0; g < STEPS * UNROLLED; g++) { /* while one step is multiplied the one before is added */
                if (g % STEPS == 0) {
                    const uint32 at = ring + slot.place * SLOT_BYTES;
                    gate_wait(FULL(slot.place), slot.passed);
                    if (!ALIGNED) proxies_meet();
                    x = operand_of((RESIDENT ? a_at + g / STEPS * TILE : at + TILE) + a_half);
                    y = operand_of(at);
                }
                multiply_step(products[g % 2], g % STEPS, x, y);
                if (g > 0) {
                    PRODUCTS_WAIT(1);
                    if (g % STEPS == 0 && lane == 0) gate_arrive(EMPTY(last.place));
                    add_step(sum, (g - 1) % STEPS, products[(g - 1) % 2]);
                }
                if (g % STEPS == 0) {
                    last = slot;
                    next_turn(slot, SLOTS);
                }
            }
            PRODUCTS_WAIT(0);
            if (lane == 0) gate_arrive(EMPTY(last.place));
            add_step(sum, STEPS - 1, products[(STEPS * UNROLLED - 1) % 2]);
        }
        if (RESIDENT && cell->panel != cell->next_panel) {
            if (lane == 0) gate_arrive(A_FREE(a_place.place));
            next_turn(a_place, A_BUFFERS);
        }
        if (!ALIGNED) read_entries(entry, from, k, count, warp); /* not before: proxies_meet waits for what is read */
        element s[AT_ONCE];
        if (ALIGNED) read_values(s, EDGE, HAS_VALUES, values, noted->offsets, entry, k, count);
        const float *const row_scales = noted->row_scales + warp * 16;
        const float4 four = *(const float4 *)(noted->scales + 4 * lane);
        const int tiny = four.x < 0 || four.y < 0 || four.z < 0 || four.w < 0 || row_scales[lane % 16] < 0;
        if (__any_sync(0xffffffffu, tiny)) { /* what is doubtful shall be computed again */
#pragma unroll
            for (int i = 0; i < 64; i++) {
                const int column = i / 4 * 8 + lane % 4 * 2 + i % 2, row = lane / 4 + i / 2 % 2 * 8;
                if ((noted->scales[column] < 0 || row_scales[row] < 0) && fabsf(sum[i]) < DOUBT * (float)inner)
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
        if (!ALIGNED) read_values(s, EDGE, HAS_VALUES, values, noted->offsets, entry, k, count);
        __syncwarp();
        for (; k < count; k += 32 * AT_ONCE) {
            int next[AT_ONCE];
            float x[AT_ONCE], nothing = 0; /* or NaN */
            index t[AT_ONCE];
            element next_s[AT_ONCE];
            read_entries(next, from, k + 32 * AT_ONCE, count, warp);
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const int row = entry[i] >> 7;
                x[i] = staged[entry[i] + row * (PITCH - SIDE)] * fabsf(noted->row_scales[row]);
                t[i] = noted->offsets[row] + k + 32 * i;
                nothing = fmaf(x[i], 0.0f, nothing);
            }
            if (nothing != 0) { /* what is not finite, again */
#pragma unroll
                for (int i = 0; i < AT_ONCE; i++)
                    if (!(fabsf(x[i]) < INFINITY) && k + 32 * i < count) {
                        const int64 at = cell->list + (entry[i] & 127), column = ALIGNED ? at : (int64)lists[at];
                        x[i] = plain_product(a + (cell->panel * SIDE + (entry[i] >> 7)) * a_stride, b + column * b_stride,
                                             inner);
                    }
            }
            if (k + 32 * AT_ONCE < count)
                read_values(next_s, EDGE, HAS_VALUES, values, noted->offsets, next, k + 32 * AT_ONCE, count);
            if (beta == 0) { /* one test for all */
#pragma unroll
                for (int i = 0; i < AT_ONCE; i++)
                    if (k + 32 * i < count)
                        finish_value(out, s[i], t[i], x[i], edge_scale, edge_slope, edge_epsilon, edge_kind, has_values,
                                     alpha, 0);
            } else {
#pragma unroll
                for (int i = 0; i < AT_ONCE; i++)
                    if (k + 32 * i < count) finish_value(out, s[i], t[i], x[i], EDGE_ARGUMENTS);
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) entry[i] = next[i], s[i] = next_s[i];
        }
        __syncwarp();
        if (lane == 0) gate_arrive(NOTED(note.place));
        next_turn(note, CELLS);
    }
}
