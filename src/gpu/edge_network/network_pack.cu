/*
 * Puts matrices of weights into the order of network_layers_kernels.h, and vectors into fp32: all that a call needs, in
 * one launch. The grid's y is the matrix (the way up: W1, W2, W3; the way down, transposed: W3, W2, W1), or the
 * vectors. An output of a way is what a product gives for an edge.
 */
#include "simt.h"

#include "tensor_cores.h"

#include "network_layers_kernels.h"

/* W is outputs x inputs, at these strides: a transposed matrix needs no copy. `plain`: inputs in the order of memory,
   in tiles of 64 outputs */
FUNCTION void pack(int32 outputs, int32 inputs, const element *w, int64 row_stride, int64 column_stride,
                   element *packed, int32 plain) {
#if TOGETHER_64 /* tiles of 64 outputs: a row of 128 bytes for each input, swizzled */
    FOR_EACH(i, (int64)inputs * outputs) {
        const int32 slot = (int32)(i % inputs), n = (int32)(i / inputs); /* in the order of products */
        const int32 step = slot / 16, t = slot % 8 / 2;
        const int32 own = step / 2 * STRIPE + t * PIECE + step % 2 * 4 + slot % 16 / 8 * 2 + slot % 2;
        const int32 column = plain ? slot : own;
        const int32 row = n / STRIPE * STRIPE + n % 8 / 2 * PIECE + n / 8 % (PIECE / 2) * 2 + n % 2;
        const int64 to = (int64)(n / 64) * inputs * 64 + slot * 64 + ((n % 64 / 8 ^ slot % 8) * 8 + n % 8);
        packed[to] = w[row * row_stride + column * column_stride];
    }
#else /* fragments of 8 outputs and a stripe of inputs: a piece for each lane */
    const int32 tiles = outputs / 8;
    FOR_EACH(i, (int64)tiles * (inputs / STRIPE) * 32) {
        const int32 lane = (int32)(i % 32), n = (int32)(i / 32 % tiles), s = (int32)(i / 32 / tiles);
        const int32 group = n / (PIECE / 2), pair = n % (PIECE / 2);
        const int64 row = group * STRIPE + lane / 8 * PIECE + pair * 2 + lane / 4 % 2;
        const int64 column = s * STRIPE + lane % 4 * PIECE;
        UNROLL
        for (int k = 0; k < PIECE; k++) packed[i * PIECE + k] = w[row * row_stride + (column + k) * column_stride];
    }
#endif
}

FUNCTION void widen(float *to, int has_b, const element *b, float absent, int count) {
    FOR_EACH(i, count) to[i] = has_b ? real_of(b[i]) : absent;
}

KERNEL network_pack(IN(element, w1), int64 w1_stride, IN(element, w2), int64 w2_stride, IN(element, w3),
                    int64 w3_stride, IN(element, b1), IN(element, b2), int32 has_b2, IN(element, b3), int32 has_b3,
                    IN(element, gain), int32 has_gain, IN(element, shift), int32 has_shift, int32 plain_first,
                    OUT(element, up), OUT(element, down), OUT(float, vectors)) {
    const int64 second = HIDDEN * INNER, last = second + (LAYERS - 1) * HIDDEN * HIDDEN;
    const int64 down_second = WIDTH * HIDDEN, down_last = down_second + (LAYERS - 1) * HIDDEN * HIDDEN;
    const int what = (int)GROUP_Y;
    if (what == 0) pack(HIDDEN, INNER, w1, w1_stride, 1, up, 0);
    if (what == 1 && LAYERS == 2) pack(HIDDEN, HIDDEN, w2, w2_stride, 1, up + second, 0);
    if (what == 2) pack(WIDTH, HIDDEN, w3, w3_stride, 1, up + last, 0);
    if (what == 4) pack(HIDDEN, WIDTH, w3, 1, w3_stride, down, 0);
    if (what == 5 && LAYERS == 2) pack(HIDDEN, HIDDEN, w2, 1, w2_stride, down + down_second, 0);
    if (what == 6) pack(INNER, HIDDEN, w1, 1, w1_stride, down + down_last, plain_first);
    if (what != 3) return;
    float *to = vectors;
    if (HAS_B1) widen(to, 1, b1, 0, HIDDEN);
    to += HAS_B1 * HIDDEN;
    if (LAYERS == 2) widen(to, has_b2, b2, 0, HIDDEN);
    to += (LAYERS - 1) * HIDDEN;
    widen(to, has_b3, b3, 0, WIDTH);
    widen(to + WIDTH, has_gain, gain, 1, WIDTH);
    widen(to + 2 * WIDTH, has_shift, shift, 0, WIDTH);
}
