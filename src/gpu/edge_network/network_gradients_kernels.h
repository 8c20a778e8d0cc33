/* The gradient by the results z of edges: dEdges and the rows of dOut. It is loaded before it is needed, as words;
   edges past the end of a range have 0. Definitions: HAS_D_EDGES, HAS_D_OUT, MEAN. */
typedef struct edge_gradients {
    uint32 edges[STRIPES(WIDTH)][2][4], out[STRIPES(WIDTH)][2][4];
    float factor[2]; /* of `out` */
} edge_gradients;

#define GRADIENT_PARAMETERS IN(element, d_edges), int32 d_edges_stride, IN(element, d_out), int32 d_out_stride
#define GRADIENTS_GIVEN     d_edges, d_edges_stride, d_out, d_out_stride

/* x = this thread's pieces of rows of edges, 0 past the end: of edge g (which = 0) or g + 8, or of both */
FUNCTION void load_words_of(uint32 (*x)[2][4], const element *base, place row, int32 stride, const edge_walk *w,
                            int width, int which) {
    const bool there = w->at + LOCAL_ID % WARP_LANES / 4 + 8 * which < w->range.end;
    const element *const from = base + (int64)row * stride + LOCAL_ID % 4 * PIECE;
    UNROLL
    for (int s = 0; s < STRIPES(width); s++) {
        UNROLL
        for (int k = 0; k < 4; k++) x[s][which][k] = 0;
        if (there) load_words_16(x[s][which], from + s * STRIPE);
    }
}

FUNCTION void load_words(uint32 (*x)[2][4], const element *base, const place *row, int32 stride, const edge_walk *w,
                         int width) {
    UNROLL
    for (int i = 0; i < 2; i++) load_words_of(x, base, row[i], stride, w, width, i);
}

/* The row of dOut of one of the edges */
FUNCTION void load_out(edge_gradients *d, const edge_walk *w, int which, const offset *offsets, const element *d_out,
                       int32 d_out_stride) {
    place row[2];
    both_of(row, w->own.row);
    if (HAS_D_OUT) load_words_of(d->out, d_out, row[which], d_out_stride, w, WIDTH, which);
    d->factor[which] = MEAN && HAS_D_OUT ? 1.f / (float)(offsets[row[which] + 1] - offsets[row[which]]) : 1.f;
}

FUNCTION void load_gradients(edge_gradients *d, const edge_walk *w, const place *entry, const offset *offsets,
                             const element *d_edges, int32 d_edges_stride, const element *d_out, int32 d_out_stride) {
    if (HAS_D_EDGES) load_words(d->edges, d_edges, entry, d_edges_stride, w, WIDTH);
    UNROLL
    for (int i = 0; i < 2; i++) load_out(d, w, i, offsets, d_out, d_out_stride);
}

/* sums = the gradient by the results of edge g (which = 0) or g + 8 */
FUNCTION void take_gradients(float (*sums)[4], const edge_gradients *d, int which) {
    UNROLL
    for (int s = 0; s < STRIPES(WIDTH); s++) {
        float out[PIECE], edges[PIECE];
        if (HAS_D_OUT) reals_of(out, d->out[s][which]);
        if (HAS_D_EDGES) reals_of(edges, d->edges[s][which]);
        UNROLL
        for (int k = 0; k < PIECE; k++) {
            const float by_out = HAS_D_OUT ? (MEAN ? d->factor[which] * out[k] : out[k]) : 0;
            SUM_OF(sums, s, which, k) = HAS_D_EDGES ? (HAS_D_OUT ? edges[k] + by_out : edges[k]) : by_out;
        }
    }
}

/* Turns the results y of an edge, in sums, and the gradient dz, which is that of the shift, into the gradient by y and
   into that of the gain. With r = 1 / deviation and g = dz gain: dy = r (g - mean(g) - r^2 y mean(g y)). */
FUNCTION void normalise_back(float (*sums)[4], int which, float (*dz)[4], const float *vectors, float epsilon) {
    const float factor = centre(sums, which, epsilon);
    float mean = 0, along = 0;
    UNROLL
    for (int s = 0; s < STRIPES(WIDTH); s++) {
        float gain[PIECE];
        load_own_reals(gain, vectors + GAIN, s);
        UNROLL
        for (int k = 0; k < PIECE; k++) {
            const float g = SUM_OF(dz, s, which, k) * gain[k];
            mean += g;
            along += g * SUM_OF(sums, s, which, k);
        }
    }
    mean = factor * quad_sum(mean) / WIDTH;
    along = factor * (factor * (factor * quad_sum(along) / WIDTH)); /* its cube may be too large */
    UNROLL
    for (int s = 0; s < STRIPES(WIDTH); s++) {
        float gain[PIECE];
        load_own_reals(gain, vectors + GAIN, s);
        UNROLL
        for (int k = 0; k < PIECE; k++) {
            const float z = SUM_OF(dz, s, which, k) * factor, y = SUM_OF(sums, s, which, k);
            SUM_OF(dz, s, which, k) = z * y;
            SUM_OF(sums, s, which, k) = z * gain[k] - (along * y + mean);
        }
    }
}

/* The activations of sums as inputs of the next layer, and their slopes */
FUNCTION void activate_with_slopes(uint32 (*x)[2][4], uint32 (*slopes)[2][4], const float (*sums)[4]) {
    UNROLL
    for (int s = 0; s < STRIPES(HIDDEN); s++) UNROLL
    for (int i = 0; i < 2; i++) {
        real piece[PIECE], slope[PIECE];
        UNROLL
        for (int k = 0; k < PIECE; k++) piece[k] = activate_with_slope(SUM_OF(sums, s, i, k), slope + k);
        words_of(x[s][i], piece);
        words_of(slopes[s][i], slope);
    }
}

/* sums *= the slopes, and their words replace the slopes in memory. */
FUNCTION void pass_activation(uint32 (*x)[2][4], float (*sums)[4], const uint32 (*slope)[2][4], element *slopes,
                              const place *row, int32 stride, const edge_walk *w) {
    UNROLL
    for (int s = 0; s < STRIPES(HIDDEN); s++) {
        float factor[PIECE / 2][4];
        UNROLL
        for (int n = 0; n < PIECE / 2; n++) factor[n][0] = factor[n][1] = factor[n][2] = factor[n][3] = 0;
        add_stripe(factor, slope[s], 0, 1);
        UNROLL
        for (int n = 0; n < PIECE / 2; n++) UNROLL
        for (int i = 0; i < 4; i++) sums[s * (PIECE / 2) + n][i] *= factor[n][i];
    }
    words_of_sums(x, sums, HIDDEN);
    store_words(slopes, x, row, stride, w, HIDDEN, 1);
}
