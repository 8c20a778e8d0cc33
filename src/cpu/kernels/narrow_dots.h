/*
 * Sampled dot products of rows of up to NARROW_DOTS_MOST elements, four at most: x[t] = <A_row, B_column>, as in
 * dots.h.
 *
 *   1. The row of A is written once for each nonzero of its segment, 16 nonzeros at a time. The next segment overwrites
 *      the surplus copies.
 *   2. Then rows of S no longer matter. Four nonzeros at a time, rows of B (narrow.h) are multiplied with those copies,
 *      and a small transpose-add tree makes the four sums.
 *
 * Moves: a row of B per nonzero, a row of A per segment, and the copies of A in L1.
 */
#ifndef TAMIS_CPU_KERNELS_NARROW_DOTS_H
#define TAMIS_CPU_KERNELS_NARROW_DOTS_H

#include "cpu/kernels/narrow.h"

enum { NARROW_COPIES = 16 };

/* A row of A, repeated to fill a vector. */
INLINE vector narrow_repeat(vector a, int places) {
#if LANES == 16
    if (places == 2) return __builtin_shufflevector(a, a, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1);
    if (places == 4) return __builtin_shufflevector(a, a, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
#elif LANES == 8
    if (places == 2) return __builtin_shufflevector(a, a, 0, 1, 0, 1, 0, 1, 0, 1);
    if (places == 4) return __builtin_shufflevector(a, a, 0, 1, 2, 3, 0, 1, 2, 3);
#elif LANES == 4
    if (places == 2) return __builtin_shufflevector(a, a, 0, 1, 0, 1);
    if (places == 4) return a;
#endif
    (void)places;
    return vector_of(a[0]);
}

/* Fills the buffer with copies of rows of A for consecutive nonzeros of S, as many as fit. Begins at segment *s, after
 *done of its nonzeros, and updates both. Returns the number of nonzeros. */
INLINE int64_t narrow_copy_rows(const dot_arguments *arguments, const segment *segments, int count, int *s,
                                int64_t *done, real *a, tamis_type type, int places) {
    const int64_t most = NARROW_REALS / places, step = places * NARROW_COPIES;
    const int64_t begin = segments[*s].begin + *done;
    int64_t n = 0;
    do {
        const segment *const seg = &segments[*s];
        const vector row = narrow_repeat(
            vector_load_tail(arguments->a + seg->row * arguments->a_stride, type, arguments->tail), places);
        const int64_t left = seg->count - *done, take = left < most - n ? left : most - n;
        real *const end = a + (n + take) * places;
        for (real *to = a + n * places; to < end; to += step) {
#pragma GCC unroll 32
            for (int64_t k = 0; k < step; k += LANES) *(vector_anywhere *)(void *)(to + k) = row;
        }
        n += take;
        *done += take;
        if (*done < seg->count) break;
        *done = 0;
        ++*s;
    } while (*s < count && n < most && segments[*s].begin == begin + n);
    return n;
}

/* Reduces the products of four nonzeros to four sums. */
INLINE quad narrow_reduce(const quad *q, int places) {
    if (places == 1) return q[0];
    if (places == 2)
        return __builtin_shufflevector(q[0], q[1], 0, 2, 4, 6) + __builtin_shufflevector(q[0], q[1], 1, 3, 5, 7);
#if defined(TAMIS_KERNEL_F64) /* within 128 bits first, since shuffles work that way */
    const quad xy = __builtin_shufflevector(q[0], q[1], 0, 4, 2, 6) + __builtin_shufflevector(q[0], q[1], 1, 5, 3, 7);
    const quad zw = __builtin_shufflevector(q[2], q[3], 0, 4, 2, 6) + __builtin_shufflevector(q[2], q[3], 1, 5, 3, 7);
#else
    const quad xy = __builtin_shufflevector(q[0], q[1], 0, 4, 1, 5) + __builtin_shufflevector(q[0], q[1], 2, 6, 3, 7);
    const quad zw = __builtin_shufflevector(q[2], q[3], 0, 4, 1, 5) + __builtin_shufflevector(q[2], q[3], 2, 6, 3, 7);
#endif
    return __builtin_shufflevector(xy, zw, 0, 1, 4, 5) + __builtin_shufflevector(xy, zw, 2, 3, 6, 7);
}

INLINE void narrow_dot_quad(const char *const row[4], const real *a, real *x, tamis_type type, int width) {
    const int places = narrow_places(width);
    quad q[4];
    narrow_rows(q, row, type, width);
#pragma GCC unroll 4
    for (int k = 0; k < places; k++) q[k] *= *(const quad_anywhere *)(const void *)(a + 4 * k);
    *(quad_anywhere *)(void *)x = narrow_reduce(q, places);
}

/* Computes the dot products of n nonzeros whose rows of A are in the buffer. `packed`: rows of B are contiguous. */
INLINE void narrow_dot_run(const dot_arguments *arguments, int64_t begin, int64_t n, const real *a, real *x,
                           tamis_type type, int wide_columns, int width, int packed) {
    const int places = narrow_places(width);
    const char *const b = arguments->b;
    const int64_t b_stride = packed ? width * element_bytes(type) : arguments->b_stride;
    const char *const columns = column_pointer(arguments->columns, begin, wide_columns);
    const int64_t ahead = begin + n + arguments->prefetch <= arguments->nnz ? arguments->prefetch : 0;
    const char *row[4];
    int64_t t = 0;
    for (; t + 4 <= n; t += 4) {
        narrow_addresses(row, b, b_stride, columns, t, n, wide_columns, 1);
        narrow_dot_quad(row, a + t * places, x + t, type, width);
        if (ahead)
            for (int i = 0; i < 4; i++)
                __builtin_prefetch(b + column_at(columns, t + i + ahead, wide_columns) * b_stride);
    }
    if (t < n) {
        narrow_addresses(row, b, b_stride, columns, t, n, wide_columns, 0);
        narrow_dot_quad(row, a + t * places, x + t, type, width);
    }
}

/* Widths up to NARROW_DOTS_MOST; x is written up to three elements past its end. */
INLINE void narrow_dots(const dot_arguments *arguments, const segment *segments, int count, real *x, tamis_type type,
                        int wide_columns) {
    const int width = arguments->tail, packed = arguments->b_stride == width * element_bytes(type);
    real a[NARROW_REALS + 4 * NARROW_COPIES];
    int s = 0;
    int64_t done = 0; /* nonzeros of the current segment */
    while (s < count) {
        const int64_t begin = segments[s].begin + done;
        int64_t n;
        switch (narrow_places(width)) {
        case 1: n = narrow_copy_rows(arguments, segments, count, &s, &done, a, type, 1); break;
#if LANES >= 4
        case 2: n = narrow_copy_rows(arguments, segments, count, &s, &done, a, type, 2); break;
        default: n = narrow_copy_rows(arguments, segments, count, &s, &done, a, type, 4); break;
#else
        default: return;
#endif
        }
        switch (width) {
        case 1:
            if (packed)
                narrow_dot_run(arguments, begin, n, a, x, type, wide_columns, 1, 1);
            else
                narrow_dot_run(arguments, begin, n, a, x, type, wide_columns, 1, 0);
            break;
#if LANES >= 4
        case 2: narrow_dot_run(arguments, begin, n, a, x, type, wide_columns, 2, 0); break;
        case 3: narrow_dot_run(arguments, begin, n, a, x, type, wide_columns, 3, 0); break;
#endif
#if LANES >= 8
        case 4: narrow_dot_run(arguments, begin, n, a, x, type, wide_columns, 4, 0); break;
#endif
        default: return;
        }
        x += n;
    }
}

#endif
