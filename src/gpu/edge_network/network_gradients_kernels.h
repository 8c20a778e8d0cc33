/* The gradient by the results z of edges: dEdges and the rows of dOut. It is loaded before it is needed, as words;
   edges past the end of a range have 0. Definitions: HAS_D_EDGES, HAS_D_OUT, MEAN. */
typedef struct edge_gradients {
    uint32 edges[STRIPES(WIDTH)][2][4], out[STRIPES(WIDTH)][2][4];
    float factor[2]; /* of `out` */
} edge_gradients;

#define GRADIENT_PARAMETERS IN(element, d_edges), int32 d_edges_stride, IN(element, d_out), int32 d_out_stride
#define GRADIENTS_GIVEN     d_edges, d_edges_stride, d_out, d_out_stride

/* x = this thread's pieces of rows of edges, 0 past the end */
FUNCTION void load_words(uint32 (*x)[2][4], const element *base, const place *row, int32 stride, const edge_walk *w,
                         int width) {
    UNROLL
    for (int i = 0; i < 2; i++) {
        const bool there = w->at + LOCAL_ID % WARP_LANES / 4 + 8 * i < w->range.end;
        const element *const from = base + (int64)row[i] * stride + LOCAL_ID % 4 * PIECE;
        UNROLL
        for (int s = 0; s < STRIPES(width); s++) {
            UNROLL
            for (int k = 0; k < 4; k++) x[s][i][k] = 0;
            if (there) load_words_16(x[s][i], from + s * STRIPE);
        }
    }
}

FUNCTION void load_gradients(edge_gradients *d, const edge_walk *w, const place *entry, const offset *offsets,
                             const element *d_edges, int32 d_edges_stride, const element *d_out, int32 d_out_stride) {
    place row[2];
    both_of(row, w->own.row);
    if (HAS_D_EDGES) load_words(d->edges, d_edges, entry, d_edges_stride, w, WIDTH);
    if (HAS_D_OUT) load_words(d->out, d_out, row, d_out_stride, w, WIDTH);
    UNROLL
    for (int i = 0; i < 2; i++)
        d->factor[i] = MEAN && HAS_D_OUT ? 1.f / (float)(offsets[row[i] + 1] - offsets[row[i]]) : 1.f;
}

/* sums += the gradient */
FUNCTION void add_gradients(float (*sums)[4], const edge_gradients *d) {
    UNROLL
    for (int s = 0; s < STRIPES(WIDTH); s++) {
        if (HAS_D_OUT && !MEAN) add_stripe(sums, d->out[s], s, 0);
        if (HAS_D_OUT && MEAN) {
            float x[PIECE / 2][4];
            UNROLL
            for (int n = 0; n < PIECE / 2; n++) x[n][0] = x[n][1] = x[n][2] = x[n][3] = 0;
            add_stripe(x, d->out[s], 0, 0);
            UNROLL
            for (int i = 0; i < 2; i++) UNROLL
            for (int k = 0; k < PIECE; k++) SUM_OF(sums, s, i, k) += d->factor[i] * SUM_OF(x, 0, i, k);
        }
        if (HAS_D_EDGES) add_stripe(sums, d->edges[s], s, 0);
    }
}
