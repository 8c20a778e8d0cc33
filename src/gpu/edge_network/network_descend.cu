/*
 * An edge network, second half of the backward call: from the gradient by y of a slab of edges to those by the sums of
 * the hidden layers, and by the edges' vectors.
 *
 *   dY_t --> W3^T -> * slopes -> [dA2, W2^T -> * slopes ->] dA_t --> W1^T, + dEdges_t + dOut_i -> dE_t
 *
 * dA takes the place of the slopes. A warp has 16 edges, as in network_forward.cu. Moves per edge three vectors in (two
 * of them from the L2 cache, if the slab is small enough) and two out.
 */
#include "simt.h"

#include "tensor_cores.h"

#include "network_layers_kernels.h"

#include "network_rows_kernels.h"

#define RESULTS_STAGED 0
#include "network_walk_kernels.h"

#include "network_gradients_kernels.h"

#define DOWN_FRAGMENTS                                                                                                 \
    (FRAGMENTS(HIDDEN, WIDTH) + (LAYERS - 1) * FRAGMENTS(HIDDEN, HIDDEN) + HAS_DE * FRAGMENTS(INNER, HIDDEN))

/* weights: transposed, the last layer's first. */
KERNEL network_descend(int64 all_rows, int64 first_edge, int64 all_edges, int64 share, IN(offset, offsets),
                       IN(int64, entries), IN(uint4, weights), GRADIENT_PARAMETERS, OUT(element, slopes),
                       int32 slopes_stride, OUT(element, slopes_2), IN(element, dy), OUT(element, de),
                       int32 de_stride) {
    SHARED_ARRAY(memory);
    const place rows = (place)all_rows, nnz = (place)all_edges, edges_a_warp = (place)share, first = (place)first_edge;
    uint4 *const own_weights = (uint4 *)memory;
    load_shared(own_weights, weights, DOWN_FRAGMENTS, 0, 0, 0);
    edge_walk walk;
    walk.range = range_of(offsets, rows, first, nnz, warp_number(), edges_a_warp);
    walk.own.row = 0;
    ONE_BY_ONE
    for (place done = 0; done < edges_a_warp; done += EDGES) {
        enum { MOST = HIDDEN > INNER ? HIDDEN : INNER };
        float sums[TILES(MOST)][4];
        uint32 x[STRIPES(LARGEST)][2][4];
        walk.at = walk.range.begin + done;
        walk.some = walk.at < walk.range.end;
        if (!TOGETHER_64 && !walk.some) break;
        const uint4 *next = own_weights;
        place entry[2], at[2];
        UNROLL
        for (int i = 0; i < 2; i++) {
            const place last = place_min(walk.at + LOCAL_ID % WARP_LANES / 4 + 8 * i, walk.range.end - 1);
            const place position = last > first ? last : first;
            at[i] = position - first;
            entry[i] = PERMUTED ? (place)entries[position] : position;
        }
        uint32 slope[STRIPES(HIDDEN)][2][4], slope_2[STRIPES(HIDDEN)][2][4];
        edge_gradients d;
        load_words(x, dy, at, WIDTH, &walk, WIDTH);
        load_words(slope, slopes, entry, slopes_stride, &walk, HIDDEN);
        if (LAYERS == 2) load_words(slope_2, slopes_2, at, HIDDEN, &walk, HIDDEN);
        if (HAS_DE && RESIDUAL) {
            if (HAS_D_OUT && walk.some) {
                const place end = offsets[place_min(walk.range.row + 1 + LOCAL_ID % WARP_LANES, rows)];
                walk.own.row = rows_of_edges(&walk.range, offsets, rows, walk.at, end);
            }
            load_gradients(&d, &walk, entry, offsets, GRADIENTS_GIVEN);
        }
        begin_with(sums, 0, HIDDEN, 0);
        multiply_all(sums, x, next, WIDTH, HIDDEN);
        next += FRAGMENTS(HIDDEN, WIDTH) * WARP_LANES;
        if (LAYERS == 2) {
            pass_activation(x, sums, slope_2, slopes_2, at, HIDDEN, &walk);
            begin_with(sums, 0, HIDDEN, 0);
            multiply_all(sums, x, next, HIDDEN, HIDDEN);
            next += FRAGMENTS(HIDDEN, HIDDEN) * WARP_LANES;
        }
        pass_activation(x, sums, slope, slopes, entry, slopes_stride, &walk);
        if (!HAS_DE) continue;
        begin_with(sums, 0, INNER, 0);
        if (RESIDUAL) UNROLL
        for (int i = 0; i < 2; i++) take_gradients(sums, &d, i);
        multiply_all(sums, x, next, HIDDEN, INNER);
        uint32 words[STRIPES(INNER)][2][4];
        words_of_sums(words, sums, INNER);
        store_words(de, words, entry, de_stride, &walk, INNER, WIDE_STORES);
    }
}
