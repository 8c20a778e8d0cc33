/*
 * Rows narrower than a vector; shared by the narrow dot products (narrow_dots.h) and sums (narrow_sums.h).
 *
 * The nonzeros of a row of S often take less time than a mispredicted branch, and a row of B does not fill a vector. So
 * the work on nonzeros runs over stretches of S, four nonzeros at a time, independent of row ends. The work on rows
 * uses only a buffer in L1, whose ends may be overrun. In the buffer, a nonzero has `places` elements: the width,
 * rounded up to a power of two.
 *
 *      width 1   [ a b c d ] ...              a quad holds the rows of four nonzeros
 *      width 2   [ a0 a1 b0 b1 ] ...          of two
 *      width 3   [ a0 a1 a2 .. ] ...          of one
 *
 * Quads are combined from one load per row. On the measured machine this takes half the time of a gather
 * (lab/notes/cpu.md), and it reads no byte outside the rows.
 */
#ifndef TAMIS_CPU_KERNELS_NARROW_H
#define TAMIS_CPU_KERNELS_NARROW_H

#include "cpu/kernels/segment.h"

enum { NARROW_REALS = 2048 }; /* of a stretch: 8 or 16 KiB, which leaves L1 room for rows of B */

/* The widest rows that gain (lab/notes/cpu.md); a full vector never does. */
#define NARROW_DOTS_MOST (LANES - 1 < 4 ? LANES - 1 : 4)
#if LANES == 16
#define NARROW_SUMS_MOST 4
#else
#define NARROW_SUMS_MOST (LANES - 1 < 2 ? LANES - 1 : 2)
#endif

/* quads of doubles are wider than some registers; all functions that take them are inlined, so no ABI is involved */
#pragma GCC diagnostic ignored "-Wpsabi"

typedef real quad __attribute__((vector_size(4 * sizeof(real))));
typedef real quad_anywhere __attribute__((vector_size(4 * sizeof(real)), aligned(2), may_alias));
typedef double double_pair __attribute__((vector_size(16)));
typedef double double_pair_anywhere __attribute__((vector_size(16), aligned(2), may_alias));

INLINE int narrow_places(int width) { return width <= 2 ? width : 4; }

/* ------------------------------------------------------------------------------------------ quads */

#if defined(TAMIS_KERNEL_F64)
typedef double_pair half_quad; /* two elements at any alignment */
INLINE half_quad half_quad_load(const char *p) { return *(const double_pair_anywhere *)(const void *)p; }
INLINE half_quad half_quad_of(real x) { return (half_quad){x, 0}; }
INLINE quad quad_of_pairs(half_quad x, half_quad y) { return __builtin_shufflevector(x, y, 0, 1, 2, 3); }
#else
typedef double half_quad; /* two floats, moved as one */
INLINE half_quad half_quad_load(const char *p) {
    double x;
    memcpy(&x, p, sizeof x);
    return x;
}
INLINE half_quad half_quad_of(real x) { return ((double_pair)(quad){x, 0, 0, 0})[0]; }
INLINE quad quad_of_pairs(half_quad x, half_quad y) { return (quad)(double_pair){x, y}; }

/* Converts four halves in memory order. */
INLINE quad quad_of_halves(uint64_t bits, tamis_type type) {
    typedef uint16_t four_halves __attribute__((vector_size(8)));
    typedef uint32_t four_words __attribute__((vector_size(16)));
    four_halves h;
    memcpy(&h, &bits, sizeof h);
    if (type == TAMIS_BF16) return (quad)(__builtin_convertvector(h, four_words) << 16);
#if defined(__aarch64__)
    return (quad)vcvt_f32_f16((float16x4_t)h);
#elif VECTOR_BYTES == 16
    return vector_of_halves(h, type);
#else
    return (quad)_mm_cvtph_ps(_mm_cvtsi64_si128((int64_t)bits));
#endif
}

/* The same halves, shifted up by `places`. */
INLINE uint64_t halves_moved(uint64_t bits, int places) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return bits >> (16 * places);
#else
    return bits << (16 * places);
#endif
}

/* Loads n halves at p, 1 to 4, zero-padded. */
INLINE uint64_t halves_bits(const char *p, int n) {
    uint64_t bits = 0, last = 0;
    if (n >= 2) memcpy(&bits, p, n == 4 ? 8 : 4);
    if (n & 1) memcpy(&last, p + 2 * (n - 1), 2);
    return bits | halves_moved(last, n - 1);
}
#endif

/* Loads the first n elements of a row, 1 to 4, zero-padded; reads no byte past them. */
INLINE quad quad_load(const char *p, tamis_type type, int n) {
#if !defined(TAMIS_KERNEL_F64)
    if (type != TAMIS_F32) return quad_of_halves(halves_bits(p, n), type);
#endif
    if (n == 4) return *(const quad_anywhere *)(const void *)p;
    if (n == 1) return (quad){element_load(p, type), 0, 0, 0};
#if AVX_BYTES
    if (n == 3) { /* one load; the masked fourth lane is not read */
#if defined(TAMIS_KERNEL_F64)
        return (quad)_mm256_maskload_pd((const double *)(const void *)p, _mm256_setr_epi64x(-1, -1, -1, 0));
#else
        return (quad)_mm_maskload_ps((const float *)(const void *)p, _mm_setr_epi32(-1, -1, -1, 0));
#endif
    }
#endif
    const half_quad last = n == 3 ? half_quad_of(element_load(p + 2 * element_bytes(type), type)) : half_quad_of(0);
    return quad_of_pairs(half_quad_load(p), last);
}

/* Arranges the rows of four nonzeros in the order of the buffer: narrow_places(width) quads. */
INLINE void narrow_rows(quad *q, const char *const row[4], tamis_type type, int width) {
#if !defined(TAMIS_KERNEL_F64)
    if (width <= 2 && type != TAMIS_F32) {
        uint64_t bits[4];
        for (int i = 0; i < 4; i++) bits[i] = halves_bits(row[i], width);
        if (width == 1) {
            q[0] = quad_of_halves(
                bits[0] | halves_moved(bits[1], 1) | halves_moved(bits[2], 2) | halves_moved(bits[3], 3), type);
        } else {
            q[0] = quad_of_halves(bits[0] | halves_moved(bits[1], 2), type);
            q[1] = quad_of_halves(bits[2] | halves_moved(bits[3], 2), type);
        }
        return;
    }
#endif
    if (width == 1) {
        q[0] = (quad){element_load(row[0], type), element_load(row[1], type), element_load(row[2], type),
                      element_load(row[3], type)};
        return;
    }
    if (width == 2) {
        q[0] = quad_of_pairs(half_quad_load(row[0]), half_quad_load(row[1]));
        q[1] = quad_of_pairs(half_quad_load(row[2]), half_quad_load(row[3]));
        return;
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) q[i] = quad_load(row[i], type, width);
}

/* Row addresses of nonzeros t .. t + 3. Past the last of n nonzeros the last address is repeated; those results are not
   used. */
INLINE void narrow_addresses(const char *row[4], const char *b, int64_t b_stride, const char *columns, int64_t t,
                             int64_t n, int wide_columns, int whole) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        int64_t column = column_at(columns, whole || t + i < n ? t + i : n - 1, wide_columns);
        /* keeps the compiler from building a vector of four of them and taking it apart again */
        __asm__("" : "+r"(column));
        row[i] = b + column * b_stride;
    }
}

/* ------------------------------------------------------------------------------------------ parts of the buffer */

/* The first n of the reals at p, at most a vector's lanes, zero-padded; whole vectors are read. */
INLINE vector narrow_first(const real *p, int64_t n) {
    const int64_t above = n & ~(n >> 63), lanes = above < LANES ? above : LANES; /* a branch would be mispredicted */
#if AVX_BYTES == 64 || VECTOR_SVE
    return vector_load_tail((const char *)p, REAL, (int)lanes); /* there LANES counts as a tail too */
#else
    static const real_bits mask[2 * LANES] = {
        -1,
        -1,
#if LANES >= 4
        -1,
        -1,
#endif
#if LANES >= 8
        -1,
        -1,
        -1,
        -1,
#endif
    };
    vector_bits window;
    memcpy(&window, mask + LANES - lanes, sizeof window);
    return (vector)((vector_bits) * (const vector_anywhere *)(const void *)p & window);
#endif
}

#endif
