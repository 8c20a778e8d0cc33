/*
 * An edge network with one hidden layer, the backward call up to the first layer's sums: computes the layers of edges
 * again, and dA, the gradient by the sums, and that of the last layer's weights.
 *
 *   e_t, p_i, q_j --> W1 -> act -> W3 -> y --normalise backward--> dY_t --> W3^T -> * slopes --> dA_t
 *                         | slopes: where dA_t will be   ^ dEdges_t + dOut_i
 *                         h, dY of 64 edges --shared memory--> third warpgroup: += dY^T h, sums of dY's columns
 *
 * Warps of two warpgroups walk as in network_forward.cu. The third one has the sums of dY^T h in registers, and
 * multiplies when the others have put 64 edges into shared memory (wgmma); dEdges_t waits where dY_t will be. Moves
 * three vectors for each edge, and the row of q. The right choice on Hopper, for 16-bit types.
 */
#include "simt.h"

#include "tensor_cores.h"

#include "network_layers_kernels.h"

#include "network_rows_kernels.h"

#define RESULTS_STAGED 0
#define NODES_STAGED   0
#define WALKERS        8 /* warps */
#include "network_walk_kernels.h"

#include "network_gradients_kernels.h"

#define HALF         2048 /* bytes of 16 edges and 64 columns */
#define OWN(width)   ((width) / 64 * HALF)
#define ALL_BYTES    (WALKERS * (OWN(HIDDEN) + OWN(WIDTH)))
#define LAST_WEIGHTS (FRAGMENTS(HIDDEN, INNER) * WARP_LANES) /* of uint4 */
#define TILES_AT     (ALL_FRAGMENTS * 512)
#define ONES_AT      (TILES_AT + ALL_BYTES)
#define GATES_AT     (ONES_AT + 1024)
#define VECTORS_AT   (GATES_AT + 64)
#define COLUMNS_AT   (VECTORS_AT + 4 * SHIFTS)             /* the shift is not needed */
#define COLUMNS      (NORMALISE * HAS_D_GAIN * 64 * WIDTH) /* bytes of a warp */
#define STAGES_AT    (COLUMNS_AT + WALKERS * COLUMNS)

/* Gates of a walking warpgroup: its tiles are full; they may be written again */
#define FULL(gates, team)  ((gates) + 8 * (team))
#define EMPTY(gates, team) ((gates) + 8 * (2 + (team)))

/* The same number: what follows from it is computed where it is needed, not kept in registers. */
FUNCTION int again(int x) {
    asm volatile("" : "+r"(x));
    return x;
}

/* A warp's 16 edges in the tiles of its warpgroup: for each 64 columns 16 rows of 128 bytes. The pieces of a row are in
   an order that avoids conflicts of banks. own: the place of this thread's first piece in the group's memory */
FUNCTION int first_piece(int tile) {
    const int lane = LOCAL_ID % WARP_LANES;
    return tile + lane / 4 * 128 + (lane % 4 * 2 ^ lane / 4) * 16;
}
FUNCTION char *piece_at(char *memory, int own, int stripe, int which) {
    return memory + (own ^ stripe % 2 * 16) + stripe / 2 * HALF + which * 1024;
}
FUNCTION int column_at(int place) {
    return place / 64 * 64 + place / 8 % 2 * STRIPE + place % 64 / 16 * PIECE + place % 8;
}

FUNCTION bool is_there(const edge_walk *w, int which) {
    return w->at + LOCAL_ID % WARP_LANES / 4 + 8 * which < w->range.end;
}

/* Puts a piece of an edge into a tile, 0 past the end of the range. */
FUNCTION void put_piece(char *memory, int own, const uint32 *x, int stripe, int which, bool there) {
    *(uint4 *)piece_at(memory, own, stripe, which) =
        there ? make_uint4(x[0], x[1], x[2], x[3]) : make_uint4(0, 0, 0, 0);
}

/* x = the activations of sums, which go into the tile as well; slopes to `da` */
FUNCTION void activate_edges(uint32 (*x)[2][4], const float (*sums)[4], char *memory, int own, element *da,
                             int32 da_stride, const place *entry, const edge_walk *w) {
    UNROLL
    for (int i = 0; i < 2; i++) {
        element *const to = da + (int64)entry[i] * da_stride + LOCAL_ID % 4 * PIECE;
        const bool there = is_there(w, i);
        UNROLL
        for (int s = 0; s < STRIPES(HIDDEN); s++) {
            real piece[PIECE], slope[PIECE];
            uint32 words[4];
            UNROLL
            for (int k = 0; k < PIECE; k++) piece[k] = activate_with_slope(SUM_OF(sums, s, i, k), slope + k);
            words_of(x[s][i], piece);
            words_of(words, slope);
            if (HAS_DW) put_piece(memory, own, x[s][i], s, i, there);
            if (there) *(uint4 *)(to + s * STRIPE) = make_uint4(words[0], words[1], words[2], words[3]);
        }
    }
}

/* Begins to copy dEdges of this thread's pieces to where its pieces of dY will be. */
FUNCTION void stage_gradients(char *memory, int own, const element *d_edges, const place *entry, int32 stride,
                              const edge_walk *w) {
    UNROLL
    for (int i = 0; i < 2; i++) {
        const element *const from = d_edges + (int64)entry[i] * stride + LOCAL_ID % 4 * PIECE;
        UNROLL
        for (int s = 0; s < STRIPES(WIDTH); s++)
            copy_16_or_less(shared_address(piece_at(memory, own, s, i)), from + s * STRIPE, is_there(w, i) ? 16 : 0);
    }
}

/* sums = W3^T dY: the weights as the way up has them, with outputs along K */
FUNCTION void multiply_down(float (*sums)[4], const uint32 (*x)[2][4], const uint4 *weights) {
    const uint32 first = shared_address(weights);
    uint32 a[STRIPES(WIDTH)][2][4];
    begin_with(sums, 0, HIDDEN, 0);
    UNROLL
    for (int s = 0; s < STRIPES(WIDTH); s++) take_factors(a[s], x[s]);
    FACTORS_PIN(a[0][0], WIDTH / 4);
    PRODUCTS_PIN(sums[0], HIDDEN / 2);
    products_begin();
    UNROLL
    for (int k = 0; k < WIDTH / 16; k++) {
        const uint64 b = operand_of(first + k / 4 * (HIDDEN * 128) + k % 4 * 32);
        if (HIDDEN == 128)
            multiply_64x128_held(sums[0], a[k / 2][k % 2], b, 1);
        else
            multiply_64x64_held(sums[0], a[k / 2][k % 2], b, 1);
    }
    products_commit();
    PRODUCTS_WAIT(0);
    PRODUCTS_PIN(sums[0], HIDDEN / 2);
}

/* Sums of columns: a thread adds its pieces of edges to numbers of its own, so that no warp waits. */
FUNCTION void add_own(char *memory, int own, const float (*sums)[4], int which) {
    UNROLL
    for (int k = 0; k < WIDTH / 16; k++) {
        float4 *const to = (float4 *)(memory + own + k * 512);
        float4 x = *to;
        x.x += SUM_OF(sums, k / 2, which, k % 2 * 4), x.y += SUM_OF(sums, k / 2, which, k % 2 * 4 + 1);
        x.z += SUM_OF(sums, k / 2, which, k % 2 * 4 + 2), x.w += SUM_OF(sums, k / 2, which, k % 2 * 4 + 3);
        *to = x;
    }
}

/* Adds up what the threads of a warp have: a lane has columns 4 lane .. 4 lane + 3. */
FUNCTION void store_columns(real *to, const char *columns) {
    const int lane = LOCAL_ID % WARP_LANES, piece = lane / 2 % 4 * 16 + (lane / 8 * 2 + lane % 2) * 512;
    float4 sum = make_float4(0, 0, 0, 0);
    if (4 * lane >= WIDTH) return;
    UNROLL
    for (int g = 0; g < 8; g++) {
        const float4 x = *(const float4 *)(columns + piece + g * 64);
        sum.x += x.x, sum.y += x.y, sum.z += x.z, sum.w += x.w;
    }
    *(float4 *)(to + 4 * lane) = sum;
}

FUNCTION void walk_all(edge_walk walk, const edge_inputs *from, place edges_a_warp, char *memory, uint32 gates,
                       real epsilon, GRADIENT_PARAMETERS, OUT(element, da), int32 da_stride, OUT(place, row_of),
                       OUT(real, parts)) {
    const int team = LOCAL_ID / 128, warp = LOCAL_ID / WARP_LANES;
    const uint4 *const weights = (const uint4 *)memory;
    const float *const vectors = (const float *)(memory + VECTORS_AT);
    const int h = first_piece(TILES_AT + team * (ALL_BYTES / 2) + warp % 4 * OWN(HIDDEN));
    const int dy = h + 4 * OWN(HIDDEN) + warp % 4 * (OWN(WIDTH) - OWN(HIDDEN));
    const int columns = COLUMNS_AT + warp * COLUMNS + LOCAL_ID % WARP_LANES * 16;
    uint32 passed = 1;
    UNROLL
    for (int k = 0; k < COLUMNS / 512; k++) *(float4 *)(memory + columns + k * 512) = make_float4(0, 0, 0, 0);
    ONE_BY_ONE
    for (place done = 0; done < edges_a_warp; done += EDGES, passed ^= 1) {
        float sums[TILES(LARGEST)][4];
        uint32 x[STRIPES(LARGEST)][2][4], slope[STRIPES(HIDDEN)][2][4];
        edge_gradients d;
        place entry[2];
        walk_on(&walk, from);
        first_layer(sums, &walk, from, weights, vectors);
        both_of(entry, walk.own.entry);
        if (HAS_DW) gate_wait(EMPTY(gates, team), passed);
        if (HAS_D_EDGES) stage_gradients(memory, again(dy), d_edges, entry, d_edges_stride, &walk);
        copies_commit();
        warp_barrier();
        if (walk.more)
            stage_vectors(&walk, from);
        else
            copies_commit();
        if (LOCAL_ID % WARP_LANES < EDGES && walk.at + LOCAL_ID % WARP_LANES < walk.range.end)
            row_of[walk.own.entry] = walk.own.row;
        activate_edges(x, sums, memory, again(h), da, da_stride, entry, &walk);
        load_out(&d, &walk, 0, from->offsets, d_out, d_out_stride);
        next_layer(sums, x, weights + LAST_WEIGHTS, vectors, 1);
        COPIES_WAIT(1);
        UNROLL
        for (int i = 0; i < 2; i++) {
            const int own = again(dy);
            float dz[TILES(WIDTH)][4];
            UNROLL
            for (int s = 0; s < STRIPES(WIDTH) && HAS_D_EDGES; s++)
                load_words_16(d.edges[s][i], piece_at(memory, own, s, i));
            take_gradients(NORMALISE ? dz : sums, &d, i);
            if (i == 0) load_out(&d, &walk, 1, from->offsets, d_out, d_out_stride);
            if (COLUMNS && walk.some) add_own(memory, again(columns), dz, i);
            if (NORMALISE) normalise_back(sums, i, dz, vectors, epsilon);
            if (COLUMNS && walk.some) add_own(memory, again(columns) + COLUMNS / 2, dz, i);
            UNROLL
            for (int s = 0; s < STRIPES(WIDTH); s++) {
                real piece[PIECE];
                UNROLL
                for (int k = 0; k < PIECE; k++) piece[k] = SUM_OF(sums, s, i, k);
                words_of(x[s][i], piece);
                if (HAS_DW) put_piece(memory, own, x[s][i], s, i, is_there(&walk, i));
            }
        }
        if (HAS_DW) {
            proxies_meet();
            warp_barrier();
            if (LOCAL_ID % WARP_LANES == 0) gate_arrive(FULL(gates, team));
        }
        load_words(slope, da, entry, da_stride, &walk, HIDDEN);
        multiply_down(sums, x, weights + LAST_WEIGHTS);
        pass_activation(x, sums, slope, da, entry, da_stride, &walk);
    }
    if (!COLUMNS) return;
    warp_barrier();
    char *const own_columns = memory + COLUMNS_AT + warp * COLUMNS;
    store_columns(parts + (int64)warp_number() * 2 * WIDTH, own_columns + COLUMNS / 2);
    store_columns(parts + (int64)warp_number() * 2 * WIDTH + WIDTH, own_columns);
}

/* Sums of dY^T h and of dY's columns, of all edges of the group: parts as network_weights.cu has them. */
FUNCTION void multiply_tiles(const char *memory, uint32 gates, place edges_a_warp, OUT(real, parts)) {
    const int warp = LOCAL_ID / WARP_LANES % 4, lane = LOCAL_ID % WARP_LANES;
    const uint32 tiles = shared_address(memory + TILES_AT), ones = shared_address(memory + ONES_AT);
    float sums[WIDTH / 64][HIDDEN / 8][4], columns[WIDTH / 64][4];
    uint32 passed = 0;
    UNROLL
    for (int m = 0; m < WIDTH / 64; m++) {
        begin_with(sums[m], 0, HIDDEN, 0);
        UNROLL
        for (int i = 0; i < 4; i++) columns[m][i] = 0;
    }
    ONE_BY_ONE
    for (place done = 0; done < edges_a_warp; done += EDGES, passed ^= 1) {
        ONE_BY_ONE
        for (int team = 0; team < 2; team++) {
            const uint32 h = tiles + team * (ALL_BYTES / 2), dy = h + 4 * OWN(HIDDEN);
            gate_wait(FULL(gates, team), passed);
            products_begin();
            UNROLL
            for (int k = 0; k < 4; k++) UNROLL
            for (int m = 0; m < WIDTH / 64; m++) {
                const uint64 a = operand_across(dy + k * OWN(WIDTH) + m * HALF, HALF);
                if (HIDDEN == 128)
                    multiply_64x128_turned(sums[m][0], a, operand_across(h + k * OWN(HIDDEN), HALF), 1);
                else
                    multiply_64x64_turned(sums[m][0], a, operand_across(h + k * OWN(HIDDEN), HALF), 1);
                add_columns_64(columns[m], a, operand_of(ones));
            }
            products_commit();
            PRODUCTS_WAIT(0);
            if (lane == 0) gate_arrive(EMPTY(gates, team));
        }
    }
    real *const to = parts + GROUP_X * (WIDTH * HIDDEN + WIDTH);
    UNROLL
    for (int m = 0; m < WIDTH / 64; m++) {
        PRODUCTS_PIN(sums[m][0], HIDDEN / 2);
        PRODUCTS_PIN(columns[m], 4);
        UNROLL
        for (int i = 0; i < 2; i++) {
            const int row = column_at(64 * m + 16 * warp + lane / 4 + 8 * i);
            UNROLL
            for (int n = 0; n < HIDDEN / 8; n++)
                *(float2 *)(to + row * HIDDEN + column_at(8 * n + 2 * (lane % 4))) =
                    make_float2(sums[m][n][2 * i], sums[m][n][2 * i + 1]);
            if (lane % 4 == 0) to[WIDTH * HIDDEN + row] = columns[m][2 * i];
        }
    }
}

/* slopes are kept in da. gain_parts: 2 WIDTH numbers of each warp that walks, gain's and shift's; weight_parts: for
   each group WIDTH x HIDDEN sums, then WIDTH sums of columns. */
KERNEL network_back(int64 all_rows, int64 all_edges, int64 share, INPUT_PARAMETERS, IN(uint4, weights),
                    IN(float, vectors), real epsilon, GRADIENT_PARAMETERS, OUT(element, da), int32 da_stride,
                    OUT(place, row_of), OUT(real, gain_parts), OUT(real, weight_parts)) {
    SHARED_ARRAY(memory);
    const place rows = (place)all_rows, nnz = (place)all_edges, edges_a_warp = (place)share;
    const uint32 gates = shared_address(memory + GATES_AT);
    const edge_inputs from = EDGE_INPUTS;
    if (LOCAL_ID < 2) {
        gate_make(FULL(gates, LOCAL_ID), 4);
        gate_make(EMPTY(gates, LOCAL_ID), 4);
    }
    for (int i = LOCAL_ID; i < 256; i += GROUP) ((uint32 *)(memory + ONES_AT))[i] = ONE_WORD * 0x10001u;
    load_shared((uint4 *)memory, weights, ALL_FRAGMENTS, (float *)(memory + VECTORS_AT), vectors, SHIFTS);
    if (LOCAL_ID < WALKERS * WARP_LANES) {
        REGISTERS_MORE(168);
        char *const stage = memory + STAGES_AT + LOCAL_ID / WARP_LANES * STAGE_BYTES;
        walk_all(walk_begin(range_of(offsets, rows, 0, nnz, warp_number(), edges_a_warp), &from, stage), &from,
                 edges_a_warp, memory, gates, epsilon, GRADIENTS_GIVEN, da, da_stride, row_of, gain_parts);
    } else {
        REGISTERS_LESS(168);
        if (HAS_DW) multiply_tiles(memory, gates, edges_a_warp, weight_parts);
    }
}
