/* Sizes stated by a caller or a file: their limit, and saturating products. */
#ifndef TAMIS_BASE_SIZES_H
#define TAMIS_BASE_SIZES_H

#include <stddef.h>
#include <stdint.h>

/* The largest size that a view, an option or a file may state. It is far beyond any memory, but a few of them can be
   added, and one can be multiplied by an element's bytes, without overflow. */
#define TAMIS_SIZE_MOST (INT64_MAX >> 8)

/* Saturation value of products: allocations refuse it, and a few of them can be added without overflow. */
#define TAMIS_TOO_MANY (INT64_MAX >> 4)

/* Returns a * b of non-negative numbers, saturated at TAMIS_TOO_MANY. */
static inline int64_t tamis_times(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) || product > TAMIS_TOO_MANY ? TAMIS_TOO_MANY : product;
}

/* Returns the bytes of `count` elements, saturated likewise. */
static inline size_t tamis_bytes(int64_t count, size_t size) {
    return (size_t)tamis_times(count, size > TAMIS_TOO_MANY ? TAMIS_TOO_MANY : (int64_t)size);
}

#endif
