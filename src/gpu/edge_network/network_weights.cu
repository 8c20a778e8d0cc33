/*
 * The gradient of a layer's weights: G = X^T Y for X and Y with a row for each edge, X the gradients by the layer's
 * sums, Y its inputs; and the sums of X's columns, the gradient of its bias.
 *
 *   rows of X, Y --cp.async--> three stages of shared memory --> mma.sync, 8 warps of 32 x 64 sums --> parts[split]
 *
 * A group has a tile of 128 x 128 of G and a share of the edges; parts of the shares are added in order by
 * network_add.cu. Moves X once for each 128 columns of Y, and Y once for each 128 columns of X. Numbers of 16 bits are
 * turned by ldmatrix; in fp32 products are split into three, as in network_layers_kernels.h.
 */
#include "simt.h"

#include "tensor_cores.h"

#include "network_layers_kernels.h"

#define TILE        128
#define ROWS        (ELEMENT == 32 ? 16 : 64) /* edges of a stage */
#define ROW_NUMBERS (TILE + (ELEMENT == 32 ? 8 : 0))
#define STAGE_SIZE  (ROWS * ROW_NUMBERS) /* elements of a matrix */
#define STAGES      3
#define STEP        (ELEMENT == 32 ? 8 : 16)
#define ONES        (ELEMENT == 32 ? 0x3f800000u : ONE_WORD * 0x10001u)

/* Begins to copy ROWS rows from `row` on, columns from `column` on; what is outside is 0. Pieces of rows of 16 bits are
   swizzled. */
FUNCTION void stage_tile(element *to, const element *from, int64 stride, int64 row, int64 end, int column,
                         int columns) {
    UNROLL
    for (int i = LOCAL_ID; i < ROWS * (TILE / PIECE); i += GROUP) {
        const int r = i / (TILE / PIECE), piece = i % (TILE / PIECE), c = column + piece * PIECE;
        const int there = row + r < end && c < columns;
        const int at = ELEMENT == 32 ? piece : piece ^ r % 8;
        copy_16_or_less(shared_address(to + r * ROW_NUMBERS + at * PIECE), there ? from + (row + r) * stride + c : from,
                        there ? 16 : 0);
    }
}

#if ELEMENT == 32
/* Four numbers of X^T (16 x 8), and two of Y (8 x 8) */
FUNCTION void load_x(uint32 *a, const element *stage, int step, int column) {
    const int g = LOCAL_ID % 32 / 4, t = LOCAL_ID % 4;
    UNROLL
    for (int i = 0; i < 4; i++)
        a[i] = bits_of_float(stage[(step * STEP + t + i / 2 * 4) * ROW_NUMBERS + column + g + i % 2 * 8]);
}
FUNCTION void load_y(uint32 *b, const element *stage, int step, int column) {
    const int g = LOCAL_ID % 32 / 4, t = LOCAL_ID % 4;
    UNROLL
    for (int i = 0; i < 2; i++) b[i] = bits_of_float(stage[(step * STEP + t + i * 4) * ROW_NUMBERS + column + g]);
}
#else
FUNCTION uint32 turned_at(const element *stage, int row, int column) {
    return shared_address(stage + row * ROW_NUMBERS + ((column / PIECE) ^ row % 8) * PIECE);
}
FUNCTION void load_x(uint32 *a, const element *stage, int step, int column) {
    const int lane = LOCAL_ID % 32;
    load_matrices_turned(a, turned_at(stage, step * STEP + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8));
}
FUNCTION void load_y_pair(uint32 *b, const element *stage, int step, int column) {
    const int lane = LOCAL_ID % 32;
    load_matrices_turned(b, turned_at(stage, step * STEP + lane % 16, column + lane / 16 * 8));
}
#endif

/* Adds the products of a stage: 32 rows of G from `across` on and 64 columns from `along` on; and with `bias` sums of
   X's columns, which are products with ones. */
FUNCTION void multiply_tile(float (*sums)[8][4], float (*columns)[4], const element *x, const element *y, int across,
                            int along, bool bias) {
    const uint32 ones[2] = {ONES, ONES};
    UNROLL
    for (int step = 0; step < ROWS / STEP; step++) {
        uint32 a[2][4];
        UNROLL
        for (int m = 0; m < 2; m++) {
            load_x(a[m], x, step, across + 16 * m);
            if (!bias) continue;
#if ELEMENT == 32
            uint32 highs[4], lows[4];
            split_words(highs, lows, a[m], 4);
            multiply_words(columns[m], lows, ones);
            multiply_words(columns[m], highs, ones);
#else
            multiply_words(columns[m], a[m], ones);
#endif
        }
        UNROLL
        for (int n = 0; n < 8; n += 2) {
            uint32 b[4];
#if ELEMENT == 32
            load_y(b, y, step, along + 8 * n);
            load_y(b + 2, y, step, along + 8 * n + 8);
#else
            load_y_pair(b, y, step, along + 8 * n);
#endif
            UNROLL
            for (int m = 0; m < 2; m++) UNROLL
            for (int k = 0; k < 2; k++) {
#if ELEMENT == 32 && !TF32
                uint32 highs[4], lows[4], b_highs[2], b_lows[2];
                split_words(highs, lows, a[m], 4);
                split_words(b_highs, b_lows, b + 2 * k, 2);
                multiply_words(sums[m][n + k], highs, b_lows);
                multiply_words(sums[m][n + k], lows, b_highs);
                multiply_words(sums[m][n + k], highs, b_highs);
#else
                multiply_words(sums[m][n + k], a[m], b + 2 * k);
#endif
            }
        }
    }
}

/* parts: for each share m x n sums, then m sums of columns. `add`: they are added to. */
KERNEL network_weights(int64 edges, int64 edges_a_share, int32 m, int32 n, IN(element, x), int64 x_stride,
                       IN(element, y), int64 y_stride, OUT(real, parts), int32 add) {
    SHARED_ARRAY(memory);
    element *const stages = (element *)memory; /* of x, y; x, y */
    const int lane = LOCAL_ID % 32, warp = LOCAL_ID / 32;
    const int across = warp / 2 * 32, along = warp % 2 * 64;
    const int tiles = (n + TILE - 1) / TILE, row = (int)GROUP_Y / tiles * TILE, column = (int)GROUP_Y % tiles * TILE;
    const int64 begin = min64(GROUP_X * edges_a_share, edges), end = min64(begin + edges_a_share, edges);
    const bool bias = column == 0 && along == 0;
    float sums[2][8][4], columns[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
    UNROLL
    for (int i = 0; i < 64; i++) sums[i / 32][i / 4 % 8][i % 4] = 0;
    ONE_BY_ONE
    for (int i = 0; i < STAGES - 1; i++) {
        stage_tile(stages + i * 2 * STAGE_SIZE, x, x_stride, begin + i * ROWS, end, row, m);
        stage_tile(stages + (2 * i + 1) * STAGE_SIZE, y, y_stride, begin + i * ROWS, end, column, n);
        copies_commit();
    }
    int turn = 0;
    ONE_BY_ONE
    for (int64 at = begin; at < end; at += ROWS, turn = (turn + 1) % STAGES) {
        element *const now = stages + turn * 2 * STAGE_SIZE;
        element *const next = stages + (turn + STAGES - 1) % STAGES * 2 * STAGE_SIZE;
        COPIES_WAIT(STAGES - 2);
        group_barrier(); /* all have finished with `next` */
        if (at + (STAGES - 1) * ROWS < end) {
            stage_tile(next, x, x_stride, at + (STAGES - 1) * ROWS, end, row, m);
            stage_tile(next + STAGE_SIZE, y, y_stride, at + (STAGES - 1) * ROWS, end, column, n);
        }
        copies_commit();
        multiply_tile(sums, columns, now, now + STAGE_SIZE, across, along, bias);
    }
    real *const to = parts + GROUP_X * ((int64)m * n + m);
    UNROLL
    for (int i = 0; i < 64; i++) {
        const int r = row + across + i / 32 * 16 + i / 2 % 2 * 8 + lane / 4;
        const int c = column + along + i / 4 % 8 * 8 + lane % 4 * 2 + i % 2;
        if (r < m && c < n) to[(int64)r * n + c] = sums[i / 32][i / 4 % 8][i % 4] + (add ? to[(int64)r * n + c] : 0);
    }
    if (!bias || lane % 4) return;
    UNROLL
    for (int i = 0; i < 4; i++) {
        const int r = row + across + i / 2 * 16 + i % 2 * 8 + lane / 4;
        real *const sum = to + (int64)m * n + r;
        if (r < m) *sum = columns[i / 2][i % 2 * 2] + (add ? *sum : 0);
    }
}
