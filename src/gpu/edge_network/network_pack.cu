/*
 * Puts a matrix of weights into the order of network_layers_kernels.h, and vectors into fp32. A task is a piece of 16
 * bytes. Piece (s, n, lane), for s of the stripes of inputs and n of the tiles of 8 outputs, has inputs STRIPE s +
 * PIECE (lane % 4) .. of the output that lane / 4 is in tile n. Outputs and inputs past the matrix are 0.
 */
#include "simt.h"

#define STRIPE (4 * PIECE)

/* W is outputs x inputs, at row_stride and column_stride: a transposed matrix needs no copy. */
KERNEL network_pack(int32 outputs, int32 inputs, IN(element, w), int64 row_stride, int64 column_stride,
                    OUT(element, packed)) {
    const int32 tiles = outputs / 8;
#if TOGETHER_64
    FOR_EACH(i, (int64)inputs * outputs) {
        const int32 slot = (int32)(i % inputs), n = (int32)(i / inputs); /* in the order of products */
        const int32 step = slot / 16, t = slot % 8 / 2;
        const int32 column = step / 2 * STRIPE + t * PIECE + step % 2 * 4 + slot % 16 / 8 * 2 + slot % 2;
        const int32 row = n / STRIPE * STRIPE + n % 8 / 2 * PIECE + n / 8 % (PIECE / 2) * 2 + n % 2;
        const int64 to = (int64)(n / 64) * inputs * 64 + slot * 64 + ((n % 64 / 8 ^ slot % 8) * 8 + n % 8);
        packed[to] = w[row * row_stride + column * column_stride];
    }
#else
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
