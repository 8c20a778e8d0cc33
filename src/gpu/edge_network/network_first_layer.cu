/*
 * An edge network, the end of the backward call: from dA, the gradient by the first layer's sums, to those by the
 * edges' vectors and by the layer's weights.
 *
 *   128 edges: dA, E, dEdges --bulk copies, two stages--> dA_t W1 + dEdges_t + dOut_i --> dE_t
 *                                                     \-> += dA^T E, sums of dA's columns --> parts[share]
 *
 * dE_t may lie where dA_t was.
 *
 * Two warpgroups multiply from shared memory (wgmma) and a warp copies. With 128 hidden numbers each warpgroup has half
 * of the rows of dA^T E, else half of the edges. Moves four vectors for each edge, and rows of dOut. Groups take tiles
 * of edges in turns, in the order of entries, so a permuted pattern costs nothing.
 */
#include "simt.h"

#include "tensor_cores.h"

#include "network_layers_kernels.h"

#include "network_rows_kernels.h"

#define TILE_EDGES   128
#define PART         (TILE_EDGES * 128) /* bytes of 64 columns */
#define BYTES(width) ((width) / 64 * PART)
#define STAGES       2
#define HAS_TILE     (HAS_DE && RESIDUAL && HAS_D_EDGES)
#define HAS_ROWS     (HAS_DE && RESIDUAL && HAS_D_OUT)
#define STAGE_BYTES  (BYTES(HIDDEN) + HAS_DW * BYTES(INNER) + HAS_TILE * BYTES(INNER))
#define SPLIT        (HIDDEN == 64) /* each warpgroup has its own edges */

#define ONES_AT  (HIDDEN * INNER * 2 + STAGES * STAGE_BYTES)
#define GATES_AT (ONES_AT + 1024)

typedef struct shared_places {
    uint32 weights, stages, ones, gates;
} shared_places;
#define FULL(s, i)  ((s).gates + 8 * (i))
#define EMPTY(s, i) ((s).gates + 8 * (STAGES + (i)))
#define DA_AT(s, i) ((s).stages + (i)*STAGE_BYTES)
#define E_AT(s, i)  (DA_AT(s, i) + BYTES(HIDDEN))
#define D_AT(s, i)  (E_AT(s, i) + HAS_DW * BYTES(INNER))

FUNCTION void copy_columns(uint32 to, const tile_map *map, int width, int row, uint32 gate) {
    UNROLL
    for (int i = 0; i < width / 64; i++) copy_tile(to + i * PART, map, 64 * i, row, 0, gate);
}

/* The rows of dOut of this thread's edges, r and r + 8 of the tile, loaded ahead */
typedef struct own_gradients {
    uint32 out[STRIPES(INNER)][2][4];
    float factor[2];
} own_gradients;

FUNCTION void load_out(own_gradients *d, place first, place edges, const place *row_of, const offset *offsets,
                       const element *d_out, int32 d_out_stride) {
    UNROLL
    for (int i = 0; i < 2; i++) {
        const place edge = place_min(first + 8 * i, edges - 1), row = row_of[edge];
        const element *const from = d_out + (int64)row * d_out_stride + LOCAL_ID % 4 * PIECE;
        d->factor[i] = MEAN ? 1.f / (float)(offsets[row + 1] - offsets[row]) : 1.f;
        UNROLL
        for (int s = 0; s < STRIPES(INNER); s++) load_words_16(d->out[s][i], from + s * STRIPE);
    }
}

FUNCTION void add_words(float *to, const uint32 *x, float factor) {
    float piece[PIECE];
    reals_of(piece, x);
    UNROLL
    for (int i = 0; i < PIECE; i++) to[i] += factor * piece[i];
}

/* Stores the gradients of edges `first` and first + 8, row and row + 8 of the tile: sums and what the residual gives */
FUNCTION void store_edges(element *de, int32 de_stride, const float (*sums)[4], const own_gradients *d,
                          const char *gradients, int row, place first, place edges) {
    UNROLL
    for (int i = 0; i < 2; i++) {
        const int r = row + 8 * i, t = LOCAL_ID % 4;
        element *const to = de + (int64)(first + 8 * i) * de_stride + t * PIECE;
        if (first + 8 * i >= edges) continue;
        UNROLL
        for (int s = 0; s < STRIPES(INNER); s++) {
            float x[PIECE];
            uint32 words[4];
            UNROLL
            for (int k = 0; k < PIECE; k++) x[k] = SUM_OF(sums, s, i, k);
            if (HAS_ROWS) add_words(x, d->out[s][i], MEAN ? d->factor[i] : 1);
            if (HAS_TILE) {
                load_words_16(words, gradients + s / 2 * PART + r * 128 + ((s % 2 * 4 + t) ^ r % 8) * 16);
                add_words(x, words, 1);
            }
            words_of(words, x);
            if (WIDE_STORES) *(uint4 *)(to + s * STRIPE) = make_uint4(words[0], words[1], words[2], words[3]);
            UNROLL
            for (int k = 0; k < 4 && !WIDE_STORES; k++) store_word(to + s * STRIPE + 2 * k, words[k]);
        }
    }
}

/* sums = dA W1 of 64 edges */
FUNCTION void multiply_edges(float (*sums)[4], uint32 da, uint32 weights) {
    UNROLL
    for (int k = 0; k < HIDDEN / 16; k++) {
        const uint64 a = operand_of(da + k / 4 * PART + k % 4 * 32),
                     b = operand_across(weights + k * 2048, HIDDEN * 128);
        if (INNER == 128)
            multiply_64x128_across(sums[0], a, b, k > 0);
        else
            multiply_64x64_across(sums[0], a, b, k > 0);
    }
}

/* sums += dA^T E, columns += the sums of dA's columns: 64 columns of dA */
FUNCTION void multiply_weights(float (*sums)[4], float *columns, uint32 da, uint32 e, uint32 ones, int edges) {
    UNROLL
    for (int k = 0; k < edges / 16; k++) {
        const uint64 a = operand_across(da + k * 2048, PART), b = operand_across(e + k * 2048, PART);
        if (INNER == 128)
            multiply_64x128_turned(sums[0], a, b, 1);
        else
            multiply_64x64_turned(sums[0], a, b, 1);
        if (HAS_B1) add_columns_64(columns, a, operand_of(ones));
    }
}

FUNCTION void store_parts(real *parts, const float (*sums)[4], const float *columns) {
    const int team = LOCAL_ID / 128, lane = LOCAL_ID % 32;
    real *const to = parts + (GROUP_X * (1 + SPLIT) + SPLIT * team) * (HIDDEN * INNER + HIDDEN);
    UNROLL
    for (int i = 0; i < 2; i++) {
        const int row = (1 - SPLIT) * 64 * team + LOCAL_ID % 128 / 32 * 16 + lane / 4 + 8 * i;
        UNROLL
        for (int n = 0; n < INNER / 8; n++)
            *(float2 *)(to + row * INNER + 8 * n + 2 * (lane % 4)) = make_float2(sums[n][2 * i], sums[n][2 * i + 1]);
        if (lane % 4 == 0) to[HIDDEN * INNER + row] = HAS_B1 ? columns[2 * i] : 0;
    }
}

FUNCTION void copy_all(const shared_places *s, const tile_map *da, const tile_map *e, const tile_map *d_edges,
                       place edges) {
    turn stage = {0, 0};
    ONE_BY_ONE
    for (int64 at = GROUP_X * TILE_EDGES; at < edges; at += GROUPS_X * TILE_EDGES, next_turn(stage, STAGES)) {
        const uint32 gate = FULL(*s, stage.place);
        gate_wait(EMPTY(*s, stage.place), stage.passed ^ 1);
        gate_expect(gate, STAGE_BYTES);
        copy_columns(DA_AT(*s, stage.place), da, HIDDEN, (int)at, gate);
        if (HAS_DW) copy_columns(E_AT(*s, stage.place), e, INNER, (int)at, gate);
        if (HAS_TILE) copy_columns(D_AT(*s, stage.place), d_edges, INNER, (int)at, gate);
        gate_arrive(gate);
    }
}

FUNCTION void multiply(const shared_places *s, const char *memory, place edges, const offset *offsets,
                       const place *row_of, const element *d_out, int32 d_out_stride, element *de, int32 de_stride,
                       real *parts) {
    const int team = LOCAL_ID / 128, row = LOCAL_ID / 32 * 16 + LOCAL_ID % 32 / 4;
    float products[INNER / 8][4], columns[4] = {0, 0, 0, 0};
    UNROLL
    for (int i = 0; i < INNER / 2; i++) products[i / 4][i % 4] = 0;
    turn stage = {0, 0};
    ONE_BY_ONE
    for (int64 at = GROUP_X * TILE_EDGES; at < edges; at += GROUPS_X * TILE_EDGES, next_turn(stage, STAGES)) {
        const uint32 da = DA_AT(*s, stage.place), e = E_AT(*s, stage.place);
        const place first = (place)at + row;
        float sums[INNER / 8][4];
        own_gradients d;
        if (HAS_ROWS) load_out(&d, first, edges, row_of, offsets, d_out, d_out_stride);
        gate_wait(FULL(*s, stage.place), stage.passed);
        products_begin();
        if (HAS_DE) multiply_edges(sums, da + team * 64 * 128, s->weights);
        products_commit();
        if (HAS_DW && SPLIT)
            multiply_weights(products, columns, da + team * 64 * 128, e + team * 64 * 128, s->ones, 64);
        if (HAS_DW && !SPLIT) multiply_weights(products, columns, da + team * PART, e, s->ones, TILE_EDGES);
        products_commit();
        if (HAS_DE) {
            PRODUCTS_WAIT(1);
            PRODUCTS_PIN(sums[0], INNER / 2);
            store_edges(de, de_stride, sums, &d, memory + (D_AT(*s, stage.place) - s->weights), row, first, edges);
        }
        PRODUCTS_WAIT(0);
        warp_barrier();
        if (LOCAL_ID % 32 == 0) gate_arrive(EMPTY(*s, stage.place));
    }
    PRODUCTS_PIN(products[0], INNER / 2);
    PRODUCTS_PIN(columns, 4);
    if (HAS_DW) store_parts(parts, products, columns);
}

/* parts: for each share HIDDEN x INNER sums, then HIDDEN sums of columns */
KERNEL network_first_layer(int64 all_edges, MAP(da_tiles), MAP(e_tiles), MAP(d_edges_tiles), IN(offset, offsets),
                           IN(place, row_of), IN(element, d_out), int32 d_out_stride, IN(uint4, weights),
                           OUT(element, de), int32 de_stride, OUT(real, parts)) {
    SHARED_ARRAY(memory);
    const uint32 base = shared_address(memory);
    const shared_places s = {base, base + HIDDEN * INNER * 2, base + ONES_AT, base + GATES_AT};
    const place edges = (place)all_edges;
    if (LOCAL_ID == 0) {
        UNROLL
        for (int i = 0; i < STAGES; i++) {
            gate_make(FULL(s, i), 1);
            gate_make(EMPTY(s, i), 8);
        }
    }
    for (int i = LOCAL_ID; i < HIDDEN * INNER / 8 && HAS_DE; i += GROUP) ((uint4 *)memory)[i] = weights[i];
    for (int i = LOCAL_ID; i < 256; i += GROUP) ((uint32 *)(memory + ONES_AT))[i] = ONE_WORD * 0x10001u;
    proxies_meet();
    group_barrier();
    if (LOCAL_ID >= 256) {
        REGISTERS_LESS(24);
        if (LOCAL_ID == 256) copy_all(&s, &da_tiles, &e_tiles, &d_edges_tiles, edges);
    } else {
        REGISTERS_MORE(240);
        multiply(&s, memory, edges, offsets, row_of, d_out, d_out_stride, de, de_stride, parts);
    }
}
