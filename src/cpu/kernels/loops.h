/* Loops that many kernels share: over instances, over the vectors of a row, and over tiles of products. */
#ifndef TAMIS_CPU_KERNELS_LOOPS_H
#define TAMIS_CPU_KERNELS_LOOPS_H

#include "cpu/kernels/vector.h"

/* Makes instances: X(1), X(2), ... */
#define COUNTS_4(X) X(1) X(2) X(3) X(4)
#define COUNTS_8(X) COUNTS_4(X) X(5) X(6) X(7) X(8)

/* Vectors of a row of n elements: the statements are compiled for whole vectors, with `tail` = 0, and for the last one,
   which has `tail` elements. `t` is the first element of a vector. */
#define EACH_VECTOR(n, ...)                                                                                            \
    do {                                                                                                               \
        int64_t t = 0;                                                                                                 \
        for (; t + LANES <= (n); t += LANES) {                                                                         \
            const int tail = 0;                                                                                        \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
        if (t < (n)) {                                                                                                 \
            const int tail = (int)((n)-t);                                                                             \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    } while (0)

/* A vector, or its first `tail` elements if that is not 0: loads it, stores it, and sets the other lanes. */
INLINE vector part_load(const char *p, tamis_type type, int tail) {
    return tail ? vector_load_tail(p, type, tail) : vector_load(p, type);
}

INLINE void part_store(char *p, tamis_type type, int tail, vector x) {
    if (tail)
        vector_store_tail(p, type, tail, x);
    else
        vector_store(p, type, x);
}

/* x, but `after` in the lanes past a tail. */
INLINE vector part_or(vector x, int tail, real after) { return tail ? vector_first(x, tail, vector_of(after)) : x; }

/* Blocks of `width` elements: the statements are compiled for `vectors` = `most`, for single vectors, and for the
   last one, if that has only `tail` elements. `i` is the first element of a block. */
#define EACH_BLOCK(most, width, ...)                                                                                   \
    do {                                                                                                               \
        int64_t i = 0;                                                                                                 \
        for (; i + (most)*LANES <= (width); i += (most)*LANES) {                                                       \
            const int vectors = (most), tail = 0;                                                                      \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
        for (; i + LANES <= (width); i += LANES) {                                                                     \
            const int vectors = 1, tail = 0;                                                                           \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
        if (i < (width)) {                                                                                             \
            const int vectors = 1, tail = (int)((width)-i);                                                            \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    } while (0)

/* A tile of products: sums[i][j] += left[i * left_row + n * left_step] * vector j of right[n * right_step], over n.
   `rows`, `vectors` and `masked` are compile-time constants; if `masked`, the vector has `tail` elements. */
INLINE void tile_multiply_add(vector (*sums)[2], const real *left, int64_t left_row, int64_t left_step,
                              const real *right, int64_t right_step, int64_t count, int rows, int vectors, int masked,
                              int tail) {
    for (int64_t n = 0; n < count; n++, left += left_step, right += right_step) {
        vector v[2];
#pragma GCC unroll 2
        for (int j = 0; j < vectors; j++) {
            const char *const p = (const char *)(right + j * LANES);
            v[j] = masked ? vector_load_tail(p, REAL, tail) : vector_load(p, REAL);
        }
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            const vector w = vector_of(left[i * left_row]);
#pragma GCC unroll 2
            for (int j = 0; j < vectors; j++) sums[i][j] += w * v[j];
        }
    }
}

#endif
