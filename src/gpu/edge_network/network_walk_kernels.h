/*
 * How warps walk over the edges, and the first layers, which the forward kernel and the backward ones have in common.
 * With STAGED the rows of the next 16 edges are copied into shared memory while those at hand are computed: rows of p
 * and q after the first layer, vectors of edges after the last use of their place.
 *
 * Definitions: PERMUTED, HAS_P, HAS_Q, HAS_B1, STAGED, WIDE_STORES (results begin at multiples of 16 bytes),
 * RESULTS_STAGED (8 results of fp32 are exchanged within a warp).
 */

/* The vectors of a group, in fp32: for hidden layers, then for the result */
#define BIAS_3  (HIDDEN * (HAS_B1 + LAYERS - 1))
#define GAIN    (BIAS_3 + WIDTH)
#define SHIFTS  (GAIN + WIDTH)
#define VECTORS (SHIFTS + WIDTH)

#define ALL_FRAGMENTS (FRAGMENTS(HIDDEN, INNER) + (LAYERS - 1) * FRAGMENTS(HIDDEN, HIDDEN) + FRAGMENTS(WIDTH, HIDDEN))

/* The stage of a warp. The results of eight edges take the place of the vectors of 16, if these are long enough.
   NODES_STAGED = 0, by a kernel: rows of p and q come when they are needed, and are added after the product. */
#ifndef NODES_STAGED
#define NODES_STAGED STAGED
#endif
#define STAGE_P    0
#define STAGE_Q    (STAGE_P + HAS_P * NODES_STAGED * ROW_BYTES(HIDDEN))
#define STAGE_E    (STAGE_Q + HAS_Q * NODES_STAGED * ROW_BYTES(HIDDEN))
#define STAGE_ROWS (STAGE_E + ROW_BYTES(INNER))
#ifndef RESULTS
#define RESULTS (RESULTS_STAGED && !(STAGED && ROW_BYTES(INNER) >= 2 * WIDTH))
#endif
#define STAGE_BYTES (EDGES * STAGE_ROWS * STAGED + 32 * WIDTH * RESULTS)

#define LARGEST (HIDDEN > WIDTH ? HIDDEN : WIDTH)

/* ------------------------------------------------------------------------------------------ rows of 16 edges */

/* to[0 .. PIECE) = the piece of a stripe that this thread has of a vector in fp32 */
FUNCTION void load_own_reals(float *to, const float *vector, int stripe) {
    UNROLL
    for (int i = 0; i < PIECE; i += 4) {
        const float4 x = *(const float4 *)(vector + stripe * STRIPE + LOCAL_ID % 4 * PIECE + i);
        to[i] = x.x, to[i + 1] = x.y, to[i + 2] = x.z, to[i + 3] = x.w;
    }
}

/* sums = bias, or 0 */
FUNCTION void begin_with(float (*sums)[4], const float *bias, int outputs, int has_bias) {
    UNROLL
    for (int s = 0; s < STRIPES(outputs); s++) {
        float x[PIECE];
        if (has_bias) load_own_reals(x, bias, s);
        UNROLL
        for (int i = 0; i < PIECE; i++) SUM_OF(sums, s, 0, i) = SUM_OF(sums, s, 1, i) = has_bias ? x[i] : 0;
    }
}

/* Rows of the edges at hand: in memory, or 16 of them in shared memory, where the halves of each 128 bytes of odd rows
   are exchanged if that avoids conflicts of banks. */
typedef struct own_rows {
    const char *at[2][2]; /* of both rows this thread's pieces of even and of odd stripes */
} own_rows;

#define ROW_BYTES(width) ((width) * (int)sizeof(element))
#define TURNS(width)     (ROW_BYTES(width) % 128 == 0)

FUNCTION own_rows rows_in_memory(const element *base, const place *row, int32 stride) {
    own_rows r;
    UNROLL
    for (int i = 0; i < 2; i++) {
        r.at[i][0] = (const char *)(base + (int64)row[i] * stride + LOCAL_ID % 4 * PIECE);
        r.at[i][1] = r.at[i][0] + 64;
    }
    return r;
}

FUNCTION own_rows rows_staged(const char *stage, int width) {
    const int lane = LOCAL_ID % WARP_LANES, turned = TURNS(width) && lane / 4 % 2 ? 64 : 0;
    const char *const own = stage + lane / 4 * ROW_BYTES(width) + lane % 4 * 16;
    own_rows r;
    UNROLL
    for (int i = 0; i < 2; i++) {
        r.at[i][0] = own + turned + i * 8 * ROW_BYTES(width);
        r.at[i][1] = own + (64 - turned) + i * 8 * ROW_BYTES(width);
    }
    return r;
}

FUNCTION void load_stripe(uint32 (*x)[4], const own_rows *r, int stripe) {
    UNROLL
    for (int i = 0; i < 2; i++) load_words_16(x[i], r->at[i][stripe % 2] + stripe / 2 * 128);
}

FUNCTION void load_rows(uint32 (*x)[2][4], const own_rows *r, int width) {
    UNROLL
    for (int s = 0; s < STRIPES(width); s++) load_stripe(x[s], r, s);
}

FUNCTION void add_rows(float (*sums)[4], const own_rows *r, int width) {
    UNROLL
    for (int s = 0; s < STRIPES(width); s++) {
        uint32 x[2][4];
        load_stripe(x, r, s);
        add_stripe(sums, x, s, MIXES);
    }
}

/* Begins to copy the rows of 16 edges; lane k has the number of row k % 16. */
FUNCTION void stage_rows(char *stage, const element *base, place row, int32 stride, int width) {
    const int lane = LOCAL_ID % WARP_LANES, pieces = ROW_BYTES(width) / 16;
    if (WARP_LANES % pieces == 0) { /* places of successive copies differ by a constant */
        const int rows = WARP_LANES / pieces, r = lane / pieces, piece = lane % pieces;
        const int place_in_row = piece * 16 ^ (TURNS(width) && r % 2 ? 64 : 0);
        const uint32 to = shared_address(stage) + (uint32)(r * ROW_BYTES(width) + place_in_row);
        UNROLL
        for (int i = 0; i < EDGES / rows; i++) {
            const place from = __shfl_sync(0xffffffffu, row, r + i * rows);
            const uint32 turned = TURNS(width) && rows == 1 && i % 2 ? 64 : 0;
            copy_16((to ^ turned) + i * 512, base + (int64)from * stride + piece * PIECE);
        }
        return;
    }
    UNROLL
    for (int i = 0; i < EDGES * pieces / WARP_LANES; i++) {
        const int task = i * WARP_LANES + lane, r = task / pieces, piece = task % pieces;
        const place from = __shfl_sync(0xffffffffu, row, r);
        copy_16(shared_address(stage + r * ROW_BYTES(width) + (piece * 16 ^ (TURNS(width) && r % 2 ? 64 : 0))),
                base + (int64)from * stride + piece * PIECE);
    }
}

/* The activations of sums, as inputs of the next layer */
FUNCTION void activate_all(uint32 (*x)[2][4], const float (*sums)[4]) {
    UNROLL
    for (int s = 0; s < STRIPES(HIDDEN); s++) UNROLL
    for (int which = 0; which < 2; which++) {
        real piece[PIECE];
        UNROLL
        for (int i = 0; i < PIECE; i++) piece[i] = activate(SUM_OF(sums, s, which, i));
        words_of(x[s][which], piece);
    }
}

/* ------------------------------------------------------------------------------------------ the walk */

/* The places of edge lane % 16 */
typedef struct own_edges {
    place row, column, entry;
    place end; /* of the row that is lane rows after the first one's; rows_of_edges turns it into `row` */
} own_edges;

/* Begins to load the next edges. */
FUNCTION own_edges edges_at(const edge_range *range, const offset *offsets, place rows, const index *columns,
                            const int64 *entries, place at) {
    const place last = place_min(at + LOCAL_ID % EDGES, range->end - 1), position = last > 0 ? last : 0;
    own_edges own;
    own.column = (place)columns[position];
    own.entry = PERMUTED ? (place)entries[position] : position;
    own.end = (place)offsets[place_min(range->row + 1 + LOCAL_ID % WARP_LANES, rows)];
    own.row = 0;
    return own;
}

/* Takes a number of edges g and g + 8. */
FUNCTION void both_of(place *to, place x) {
    UNROLL
    for (int i = 0; i < 2; i++) to[i] = __shfl_sync(0xffffffffu, x, LOCAL_ID % WARP_LANES / 4 + 8 * i);
}

/* The operands of the first layer */
typedef struct edge_inputs {
    place rows;
    const offset *offsets;
    const index *columns;
    const int64 *entries;
    const element *e, *p, *q;
    int32 e_stride, p_stride, q_stride;
} edge_inputs;
#define INPUT_PARAMETERS                                                                                               \
    IN(offset, offsets), IN(index, columns), IN(int64, entries), IN(element, e), int32 e_stride, IN(element, p),       \
        int32 p_stride, IN(element, q), int32 q_stride
#define EDGE_INPUTS                                                                                                    \
    { rows, offsets, columns, entries, e, p, q, e_stride, p_stride, q_stride }

typedef struct edge_walk {
    edge_range range;
    own_edges own, coming;
    place at;
    bool some, more; /* edges are at hand; edges are coming */
    char *stage;
} edge_walk;

FUNCTION void stage_nodes(const edge_walk *w, const edge_inputs *from) {
    if (HAS_P) stage_rows(w->stage + EDGES * STAGE_P, from->p, w->coming.row, from->p_stride, HIDDEN);
    if (HAS_Q) stage_rows(w->stage + EDGES * STAGE_Q, from->q, w->coming.column, from->q_stride, HIDDEN);
    copies_commit();
}

FUNCTION void stage_vectors(const edge_walk *w, const edge_inputs *from) {
    if (INNER) stage_rows(w->stage + EDGES * STAGE_E, from->e, w->coming.entry, from->e_stride, INNER);
    copies_commit();
}

FUNCTION edge_walk walk_begin(edge_range range, const edge_inputs *from, char *stage) {
    edge_walk w;
    w.range = range;
    w.stage = stage;
    w.own.row = w.own.column = w.own.entry = w.own.end = 0;
    w.coming = w.own;
    w.at = range.begin - EDGES;
    if (range.begin == range.end) return w;
    w.coming = edges_at(&w.range, from->offsets, from->rows, from->columns, from->entries, range.begin);
    w.coming.row = rows_of_edges(&w.range, from->offsets, from->rows, range.begin, w.coming.end);
    if (NODES_STAGED) stage_nodes(&w, from);
    if (STAGED) stage_vectors(&w, from);
    return w;
}

/* Goes on to the next 16 edges; false if there are none, and this warp need not wait for others. */
FUNCTION bool walk_on(edge_walk *w, const edge_inputs *from) {
    w->at += EDGES;
    w->some = w->at < w->range.end;
    w->more = w->at + EDGES < w->range.end;
    w->own = w->coming;
    w->coming = edges_at(&w->range, from->offsets, from->rows, from->columns, from->entries, w->at + EDGES);
    return w->some || TOGETHER_64;
}

FUNCTION own_rows vectors_of_edges(const edge_walk *w, const edge_inputs *from) {
    if (STAGED) return rows_staged(w->stage + EDGES * STAGE_E, INNER);
    place entry[2];
    both_of(entry, w->own.entry);
    return rows_in_memory(from->e, entry, from->e_stride);
}

FUNCTION void stage_meets(bool all) {
    if (all)
        COPIES_WAIT(0);
    else
        COPIES_WAIT(1);
    warp_barrier();
}

/* sums = W1 e + p + q + b1; then the rows of the next edges are found, and begin to come. */
FUNCTION void first_layer(float (*sums)[4], edge_walk *w, const edge_inputs *from, const uint4 *weights,
                          const float *vectors) {
    own_rows of_p, of_q;
    uint32 x[STRIPES(INNER) > 0 ? STRIPES(INNER) : 1][2][4];
    if (NODES_STAGED) {
        of_p = rows_staged(w->stage + EDGES * STAGE_P, HIDDEN);
        of_q = rows_staged(w->stage + EDGES * STAGE_Q, HIDDEN);
        stage_meets(false);
    } else {
        place row[2], column[2];
        both_of(row, w->own.row);
        both_of(column, w->own.column);
        of_p = rows_in_memory(from->p, row, from->p_stride);
        of_q = rows_in_memory(from->q, column, from->q_stride);
    }
    begin_with(sums, vectors, HIDDEN, HAS_B1);
    if (HAS_P && NODES_STAGED == STAGED) add_rows(sums, &of_p, HIDDEN);
    if (HAS_Q && NODES_STAGED == STAGED) add_rows(sums, &of_q, HIDDEN);
    uint32 q[STRIPES(HIDDEN)][2][4];
    if (HAS_Q && NODES_STAGED != STAGED) load_rows(q, &of_q, HIDDEN);
    if (STAGED) stage_meets(true);
    if (INNER) {
        const own_rows of_e = vectors_of_edges(w, from);
        load_rows(x, &of_e, INNER);
        multiply_all(sums, x, weights, INNER, HIDDEN);
    }
    if (HAS_Q && NODES_STAGED != STAGED) UNROLL
    for (int s = 0; s < STRIPES(HIDDEN); s++) add_stripe(sums, q[s], s, MIXES);
    if (HAS_P && NODES_STAGED != STAGED) add_rows(sums, &of_p, HIDDEN);
    if (!w->more) return;
    w->coming.row = rows_of_edges(&w->range, from->offsets, from->rows, w->at + EDGES, w->coming.end);
    if (!NODES_STAGED) return;
    warp_barrier();
    stage_nodes(w, from);
}

/* sums = the weights' product with the activations x, and the bias, behind hidden layer `layer`; returns the weights of
   the next one. */
FUNCTION const uint4 *next_layer(float (*sums)[4], const uint32 (*x)[2][4], const uint4 *weights, const float *vectors,
                                 int layer) {
    const int outputs = layer == LAYERS ? WIDTH : HIDDEN;
    begin_with(sums, vectors + (layer == LAYERS ? BIAS_3 : BIAS_3 - HIDDEN), outputs, 1);
    multiply_all(sums, x, weights, HIDDEN, outputs);
    return weights + FRAGMENTS(outputs, HIDDEN) * WARP_LANES;
}

/* Copies the weights and vectors into the group's memory. */
FUNCTION void load_shared(uint4 *own_weights, const uint4 *weights, int fragments, float *own_vectors,
                          const float *vectors, int count) {
    for (int i = LOCAL_ID; i < fragments * WARP_LANES; i += GROUP) own_weights[i] = weights[i];
    for (int i = LOCAL_ID; i < count; i += GROUP) own_vectors[i] = vectors[i];
    if (TOGETHER_64) proxies_meet();
    group_barrier();
}

/* The number of this warp in the grid, among warps that walk */
#ifndef WALKERS
#define WALKERS (GROUP / WARP_LANES)
#endif
FUNCTION place warp_number(void) { return (place)GROUP_X * WALKERS + LOCAL_ID / WARP_LANES; }

/* Stores what the thread has of its edges: rows[edge] of `to`, or nothing past the end. `wide`: 16 bytes at once. */
FUNCTION void store_words(element *to, const uint32 (*x)[2][4], const place *row, int32 stride, const edge_walk *w,
                          int width, int wide) {
    UNROLL
    for (int i = 0; i < 2; i++) {
        element *const at = to + (int64)row[i] * stride + LOCAL_ID % 4 * PIECE;
        if (w->at + LOCAL_ID % WARP_LANES / 4 + 8 * i >= w->range.end) continue;
        UNROLL
        for (int s = 0; s < STRIPES(width); s++) {
            if (wide) {
                *(uint4 *)(at + s * STRIPE) = make_uint4(x[s][i][0], x[s][i][1], x[s][i][2], x[s][i][3]);
                continue;
            }
            UNROLL
            for (int k = 0; k < 4; k++) store_word(at + s * STRIPE + k * (PIECE / 4), x[s][i][k]);
        }
    }
}

/* Sums as words of the type */
FUNCTION void words_of_sums(uint32 (*x)[2][4], const float (*sums)[4], int width) {
    UNROLL
    for (int s = 0; s < STRIPES(width); s++) UNROLL
    for (int i = 0; i < 2; i++) {
        real piece[PIECE];
        UNROLL
        for (int k = 0; k < PIECE; k++) piece[k] = SUM_OF(sums, s, i, k);
        words_of(x[s][i], piece);
    }
}

/* ------------------------------------------------------------------------------------------ results of 16 edges */

/* Puts sums of eight edges (g, or g + 8 with which = 1) into the warp's stage of results. */
FUNCTION void stage_results(float *stage, const float (*sums)[4], int which) {
    const int lane = LOCAL_ID % WARP_LANES, turned = lane / 4 % 2 ? STAGE_TURN : 0;
    float *const own = stage + lane / 4 * WIDTH + lane % 4 * PIECE;
    float *const halves[2] = {own + turned, own + (STAGE_TURN - turned)}; /* of what is exchanged */
    UNROLL
    for (int s = 0; s < STRIPES(WIDTH); s++) UNROLL
    for (int k = 0; k < PIECE; k += 4) {
        const int at = s * STRIPE + k, half = STAGE_TURN && (at & STAGE_TURN) ? 1 : 0;
        *(float4 *)(halves[half] + at - half * STAGE_TURN) =
            make_float4(SUM_OF(sums, s, which, k), SUM_OF(sums, s, which, k + 1), SUM_OF(sums, s, which, k + 2),
                        SUM_OF(sums, s, which, k + 3));
    }
}

FUNCTION float *results_stage(const edge_walk *w) {
    return (float *)(w->stage + EDGES * (RESULTS ? STAGE_ROWS : STAGE_E) * STAGED);
}

FUNCTION float quad_sum(float x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/* Subtracts the mean of an edge's results; returns 1 / sqrt(variance + epsilon). */
FUNCTION float centre(float (*sums)[4], int which, float epsilon) {
    float mean = 0, variance = 0;
    UNROLL
    for (int n = 0; n < TILES(WIDTH); n++) mean += sums[n][2 * which] + sums[n][2 * which + 1];
    mean = quad_sum(mean) / WIDTH;
    UNROLL
    for (int n = 0; n < TILES(WIDTH); n++) UNROLL
    for (int i = 2 * which; i < 2 * which + 2; i++) {
        sums[n][i] -= mean;
        variance += sums[n][i] * sums[n][i];
    }
    return rsqrtf(quad_sum(variance) / WIDTH + epsilon);
}
