/*
 * An edge network, first half of the backward call: computes the layers of a slab of edges again, and the gradient by
 * y, the result before its normalisation.
 *
 *   e_t, p_i, q_j --> W1 -> act -> [W2 -> act] -> W3 -> y --normalise backward--> dY_t
 *                         | h, slopes                          ^ dEdges_t + dOut_i      \-> sums for gain and shift
 *
 * The activations h and dY go to scratch memory of the slab, for the gradients of weights; the slopes of the activation
 * go to where network_descend.cu puts the gradients. Warps walk as in network_forward.cu. Moves per edge, beside the
 * inputs, one vector of dEdges and a row of dOut, and writes three vectors, which the L2 cache holds if the slab is
 * small enough.
 */
#include "simt.h"

#include "tensor_cores.h"

#include "network_layers_kernels.h"

#include "network_rows_kernels.h"

#define RESULTS_STAGED NORMALISE
#include "network_walk_kernels.h"

#include "network_gradients_kernels.h"

/* Adds eight edges to sums of columns: a lane has columns 4 lane .. 4 lane + 3 of each 128. */
FUNCTION void add_columns(float *to, float *stage, const float (*sums)[4], int which) {
    warp_barrier();
    stage_results(stage, sums, which);
    warp_barrier();
    UNROLL
    for (int k = 0; k < 8; k++) add_staged(to, stage, k);
}

/* Puts a warp's sums for gain and shift into its part, 2 WIDTH numbers; with `add` they are added to. */
FUNCTION void store_columns(real *parts, const float *d_gain, const float *d_shift, int32 add) {
    UNROLL
    for (int i = 0; i < 4 * SUM_ROUNDS; i++) {
        if (!has_columns(i / 4)) continue;
        real *const to = parts + (int64)warp_number() * 2 * WIDTH + i / 4 * 128 + 4 * (LOCAL_ID % WARP_LANES) + i % 4;
        to[0] = d_gain[i] + (add ? to[0] : 0);
        to[WIDTH] = d_shift[i] + (add ? to[WIDTH] : 0);
    }
}

/* h: LAYERS matrices of the slab, one after the other; slopes: of the first layer, by entry; slopes_2: of the second
   one, of the slab. parts: 2 WIDTH numbers of each warp, gain's and shift's; with `add` they are added to. */
KERNEL network_recompute(int64 all_rows, int64 first_edge, int64 all_edges, int64 share, INPUT_PARAMETERS,
                         IN(uint4, weights), IN(float, vectors), real epsilon, GRADIENT_PARAMETERS, OUT(element, h),
                         int64 h_count, OUT(element, slopes), int32 slopes_stride, OUT(element, slopes_2),
                         OUT(element, dy), OUT(real, parts), int32 add) {
    SHARED_ARRAY(memory);
    const place rows = (place)all_rows, nnz = (place)all_edges, edges_a_warp = (place)share, first = (place)first_edge;
    uint4 *const own_weights = (uint4 *)memory;
    float *const own_vectors = (float *)(memory + ALL_FRAGMENTS * 512);
    char *const stage = (char *)(own_vectors + VECTORS) + LOCAL_ID / WARP_LANES * STAGE_BYTES;
    const edge_inputs from = EDGE_INPUTS;
    load_shared(own_weights, weights, ALL_FRAGMENTS, own_vectors, vectors, VECTORS);
    edge_walk walk = walk_begin(range_of(offsets, rows, first, nnz, warp_number(), edges_a_warp), &from, stage);
    float d_gain[4 * SUM_ROUNDS], d_shift[4 * SUM_ROUNDS];
    UNROLL
    for (int i = 0; i < 4 * SUM_ROUNDS; i++) d_gain[i] = d_shift[i] = 0;
    ONE_BY_ONE
    for (place done = 0; done < edges_a_warp; done += EDGES) {
        float sums[TILES(LARGEST)][4];
        if (!walk_on(&walk, &from)) break;
        first_layer(sums, &walk, &from, own_weights, own_vectors);
        const uint4 *next = own_weights + FRAGMENTS(HIDDEN, INNER) * WARP_LANES;
        place entry[2], at[2];
        both_of(entry, walk.own.entry);
        at[0] = walk.at - first + LOCAL_ID % WARP_LANES / 4, at[1] = at[0] + 8;
        edge_gradients d;
        if (ELEMENT != 32) load_gradients(&d, &walk, entry, offsets, GRADIENTS_GIVEN); /* fp32 has no registers */
        UNROLL
        for (int layer = 1; layer <= LAYERS; layer++) {
            uint32 x[STRIPES(HIDDEN)][2][4], slope[STRIPES(HIDDEN)][2][4];
            activate_with_slopes(x, slope, sums);
            store_words(h + (layer - 1) * h_count, x, at, HIDDEN, &walk, HIDDEN, 1);
            if (layer == 1)
                store_words(slopes, slope, entry, slopes_stride, &walk, HIDDEN, 1);
            else
                store_words(slopes_2, slope, at, HIDDEN, &walk, HIDDEN, 1);
            next = next_layer(sums, x, next, own_vectors, layer);
        }
        if (!walk.some) continue;
        uint32 words[STRIPES(WIDTH)][2][4];
        if (ELEMENT == 32) load_gradients(&d, &walk, entry, offsets, GRADIENTS_GIVEN);
        UNROLL
        for (int i = 0; i < 2; i++) {
            float dz[TILES(WIDTH)][4], *const own_stage = results_stage(&walk);
            take_gradients(NORMALISE ? dz : sums, &d, i);
            if (HAS_D_GAIN && NORMALISE) add_columns(d_shift, own_stage, dz, i);
            if (NORMALISE) normalise_back(sums, i, dz, own_vectors, epsilon);
            if (HAS_D_GAIN && NORMALISE) add_columns(d_gain, own_stage, dz, i);
        }
        words_of_sums(words, sums, WIDTH);
        store_words(dy, words, at, WIDTH, &walk, WIDTH, 1);
        if (STAGED && walk.more) {
            warp_barrier();
            stage_vectors(&walk, &from);
        }
    }
    if (HAS_D_GAIN && NORMALISE) store_columns(parts, d_gain, d_shift, add);
}
