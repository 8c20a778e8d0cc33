/*
 * An edge network, forward (tamis/edge_network.h): for each edge t = (i, j) the layers of e_t, p_i and q_j, and the
 * sums of the results by row.
 *
 *   e_t, p_i, q_j --registers--> W1 -> act -> [W2 -> act] -> W3 -> normalise, + e_t -> edges_t
 *                                 weights in shared memory            | 8 edges at a time through shared memory
 *                                                                     v
 *                                       a lane adds its columns in the order of the edges -> out_i, or a part
 *
 * A warp takes a contiguous range of edges, 16 at a time, and shares nothing with other warps but the weights. A row
 * that a range cuts gives a part, which network_join.cu adds in order. Moves the vectors of edges once, the row of q
 * for each edge, and the weights once a group. The right choice where the weights fit into shared memory.
 */
#include "simt.h"

#include "tensor_cores.h"

#include "network_layers_kernels.h"

#include "network_rows_kernels.h"

#define RESULTS_STAGED HAS_OUT
#include "network_walk_kernels.h"

/* Normalises the results of an edge. */
FUNCTION void normalise(float (*sums)[4], int which, const float *vectors, float epsilon) {
    const float factor = centre(sums, which, epsilon);
    UNROLL
    for (int s = 0; s < STRIPES(WIDTH); s++) {
        float gain[PIECE], shift[PIECE];
        load_own_reals(gain, vectors + GAIN, s);
        load_own_reals(shift, vectors + SHIFTS, s);
        UNROLL
        for (int i = 0; i < PIECE; i++)
            SUM_OF(sums, s, which, i) = SUM_OF(sums, s, which, i) * factor * gain[i] + shift[i];
    }
}

/* Adds the results to the sums of rows, eight edges at a time. */
FUNCTION void add_results(row_sums *sum, const edge_walk *w, const float (*sums)[4], element *out, int32 out_stride,
                          real *parts) {
    float *const stage = results_stage(w);
    UNROLL
    for (int i = 0; i < 2; i++) {
        warp_barrier();
        stage_results(stage, sums, i);
        warp_barrier();
        sums_add(sum, &w->range, stage, w->own.row, w->at + 8 * i, 8 * i, out, out_stride, parts);
    }
}

KERNEL network_forward(int64 all_rows, int64 all_edges, int64 share, INPUT_PARAMETERS, IN(uint4, weights),
                       IN(float, vectors), real epsilon, OUT(element, edges), int32 edges_stride, OUT(element, out),
                       int32 out_stride, OUT(real, parts)) {
    SHARED_ARRAY(memory);
    const place rows = (place)all_rows, nnz = (place)all_edges, edges_a_warp = (place)share;
    uint4 *const own_weights = (uint4 *)memory;
    float *const own_vectors = (float *)(memory + ALL_FRAGMENTS * 512);
    char *const stage = (char *)(own_vectors + VECTORS) + LOCAL_ID / WARP_LANES * STAGE_BYTES;
    const edge_inputs from = EDGE_INPUTS;
    load_shared(own_weights, weights, ALL_FRAGMENTS, own_vectors, vectors, VECTORS);
    const edge_range range = range_of(offsets, rows, 0, nnz, warp_number(), edges_a_warp);
    row_sums sum = sums_begin(&range, offsets, warp_number());
    edge_walk walk = walk_begin(range, &from, stage);
    ONE_BY_ONE
    for (place done = 0; done < edges_a_warp; done += EDGES) {
        float sums[TILES(LARGEST)][4];
        if (!walk_on(&walk, &from)) break;
        first_layer(sums, &walk, &from, own_weights, own_vectors);
        const uint4 *next = own_weights + FRAGMENTS(HIDDEN, INNER) * WARP_LANES;
        UNROLL
        for (int layer = 1; layer <= LAYERS; layer++) {
            uint32 x[STRIPES(HIDDEN)][2][4];
            activate_all(x, sums);
            next = next_layer(sums, x, next, own_vectors, layer);
        }
        if (!walk.some) continue;
        if (NORMALISE) {
            normalise(sums, 0, own_vectors, epsilon);
            normalise(sums, 1, own_vectors, epsilon);
        }
        uint32 x[STRIPES(WIDTH)][2][4];
        if (RESIDUAL) { /* before their place in the stage is taken */
            const own_rows of_e = vectors_of_edges(&walk, &from);
            load_rows(x, &of_e, WIDTH);
        }
        if (HAS_OUT && SUM_UPDATE) add_results(&sum, &walk, sums, out, out_stride, parts);
        if (RESIDUAL) UNROLL
        for (int s = 0; s < STRIPES(WIDTH); s++) add_stripe(sums, x[s], s, MIXES);
        if (HAS_EDGES) {
            place entry[2];
            both_of(entry, walk.own.entry);
            words_of_sums(x, sums, WIDTH);
            store_words(edges, x, entry, edges_stride, &walk, WIDTH, WIDE_STORES);
        }
        if (HAS_OUT && !SUM_UPDATE) add_results(&sum, &walk, sums, out, out_stride, parts);
        if (STAGED && walk.more) {
            warp_barrier();
            stage_vectors(&walk, &from);
        }
    }
    if (HAS_OUT) sums_end(&sum, &range, offsets, out, out_stride, parts);
}
