/* Sizes that a caller or a file states: their limit, and products that do not overflow. */
#ifndef TAMIS_BASE_SIZES_H
#define TAMIS_BASE_SIZES_H

#include <stddef.h>
#include <stdint.h>

/* The largest size that a view, an option or a file may state: far beyond memory, and so far below overflow that a few
   can be added, and that one can be multiplied by the bytes of an element. */
#define TAMIS_SIZE_MOST (INT64_MAX >> 8)

/* No memory holds so many: products end here, so that a few of them can be added, and allocations refuse it. */
#define TAMIS_TOO_MANY (INT64_MAX >> 4)

/* Returns a * b of numbers that are not negative, but at most TAMIS_TOO_MANY. */
static inline int64_t tamis_times(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) || product > TAMIS_TOO_MANY ? TAMIS_TOO_MANY : product;
}

/* Returns the bytes of `count` elements, in the same way. */
static inline size_t tamis_bytes(int64_t count, size_t size) {
    return (size_t)tamis_times(count, size > TAMIS_TOO_MANY ? TAMIS_TOO_MANY : (int64_t)size);
}

#endif
