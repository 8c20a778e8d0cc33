/*
 * Weighted sums of rows of up to NARROW_SUMS_MOST elements, four at most, as in accumulate.h.
 *
 *   1. weight[t] * B_column(t) is written to the buffer (narrow.h), four nonzeros at a time, independent of row ends.
 *   2. Each segment's part of the buffer is added up in vectors, the last one masked. At width 1, eight segments share
 *      one reduction, as eight dot products do; otherwise the vector is folded to the width.
 *
 * For a segment longer than the buffer, the two steps alternate. The order of the additions depends only on the
 * segment, not on its neighbours. Moves: a row of B per nonzero, each output row once, and the products through L1.
 */
#ifndef TAMIS_CPU_KERNELS_NARROW_SUMS_H
#define TAMIS_CPU_KERNELS_NARROW_SUMS_H

#include "cpu/kernels/narrow.h"

/* The weights of four nonzeros that belong to quad k. */
INLINE quad narrow_weights(const real *weights, int places, int k) {
    const quad w = *(const quad_anywhere *)(const void *)weights;
    if (places == 1) return w;
    if (places == 2 && k == 0) return __builtin_shufflevector(w, w, 0, 0, 1, 1);
    if (places == 2) return __builtin_shufflevector(w, w, 2, 2, 3, 3);
    return weights[k] - (quad){0};
}

INLINE void narrow_product_quad(const char *const row[4], const real *weights, real *to, tamis_type type, int width) {
    const int places = narrow_places(width);
    quad q[4];
    narrow_rows(q, row, type, width);
#pragma GCC unroll 4
    for (int k = 0; k < places; k++) *(quad_anywhere *)(void *)(to + 4 * k) = q[k] * narrow_weights(weights, places, k);
}

/* Computes the products of n nonzeros. `packed`: rows of B are contiguous. */
INLINE void narrow_product_run(const sum_arguments *arguments, int64_t begin, int64_t n, const real *weights, real *to,
                               tamis_type type, int wide_columns, int width, int packed) {
    static const real ones[4] = {1, 1, 1, 1};
    const int places = narrow_places(width);
    const char *const b = arguments->b;
    const int64_t b_stride = packed ? width * element_bytes(type) : arguments->b_stride;
    const char *const columns = column_pointer(arguments->columns, begin, wide_columns);
    const int64_t ahead = begin + n + arguments->prefetch <= arguments->nnz ? arguments->prefetch : 0;
    const real *w = arguments->ones ? ones : weights; /* the ones are read again and again */
    const int64_t w_step = arguments->ones ? 0 : 4;
    const char *row[4];
    int64_t t = 0;
    for (; t + 4 <= n; t += 4, w += w_step) {
        narrow_addresses(row, b, b_stride, columns, t, n, wide_columns, 1);
        narrow_product_quad(row, w, to + t * places, type, width);
        if (ahead)
            for (int i = 0; i < 4; i++)
                __builtin_prefetch(b + column_at(columns, t + i + ahead, wide_columns) * b_stride);
    }
    if (t < n) {
        real last[4] = {1, 1, 1, 1};
        for (int i = 0; t + i < n; i++) last[i] = w[i];
        narrow_addresses(row, b, b_stride, columns, t, n, wide_columns, 0);
        narrow_product_quad(row, last, to + t * places, type, width);
    }
}

INLINE void narrow_products(const sum_arguments *arguments, int64_t begin, int64_t n, const real *weights, real *to,
                            tamis_type type, int wide_columns) {
    switch (arguments->width) {
    case 1:
        if (arguments->b_stride == element_bytes(type))
            narrow_product_run(arguments, begin, n, weights, to, type, wide_columns, 1, 1);
        else
            narrow_product_run(arguments, begin, n, weights, to, type, wide_columns, 1, 0);
        return;
#if LANES >= 4
    case 2: narrow_product_run(arguments, begin, n, weights, to, type, wide_columns, 2, 0); return;
#endif
#if LANES == 16
    case 3: narrow_product_run(arguments, begin, n, weights, to, type, wide_columns, 3, 0); return;
    case 4: narrow_product_run(arguments, begin, n, weights, to, type, wide_columns, 4, 0); return;
#endif
    default: return;
    }
}

/* Sums n reals of the buffer lane by lane, LANES nonzeros at a time, so that all rows of up to LANES nonzeros take the
   same branches. */
INLINE vector narrow_add_up(const real *p, int64_t n, int places) {
    vector sum[4];
#pragma GCC unroll 4
    for (int k = 0; k < places; k++) sum[k] = vector_zero();
    for (; n > places * LANES; n -= places * LANES, p += places * LANES) {
#pragma GCC unroll 4
        for (int k = 0; k < places; k++) sum[k] += vector_load((const char *)(p + k * LANES), REAL);
    }
#pragma GCC unroll 4
    for (int k = 0; k < places; k++) sum[k] += narrow_first(p + k * LANES, n - k * LANES);
    if (places == 1) return sum[0];
    if (places == 2) return sum[0] + sum[1];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Folds a vector to the sums of its first `places` lanes: adds halves until only these are left. */
INLINE vector narrow_fold(vector x, int places) {
    (void)places;
#if LANES == 16
    x += __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    if (places == 2) x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
#elif LANES == 8
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    if (places == 2) x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
#elif LANES == 4
    if (places == 2) x += __builtin_shufflevector(x, x, 2, 3, 0, 1);
#endif
    return x;
}

/* Finishes a segment whose sum is in the first lanes of `sum`. */
INLINE void narrow_finish(const sum_arguments *arguments, const segment *seg, vector sum, tamis_type type, int width) {
    if (seg->flags & SEGMENT_CONTINUE)
        sum += seg->load_scale * *(const vector_anywhere *)(const void *)seg->accumulator;
    if (seg->flags & SEGMENT_KEEP) {
        *(vector_anywhere *)(void *)seg->accumulator = sum; /* accumulator rows are padded to whole vectors */
        return;
    }
    char *const out = arguments->out + seg->row * arguments->out_stride;
    const tamis_type to = arguments->real_out ? REAL : type;
    vector y = seg->final_scale * sum;
    if (arguments->beta != 0) y += arguments->beta * vector_load_tail(out, to, width);
    vector_store_tail(out, to, width, y);
}

/* The same at width 1, where the sum is a scalar. */
INLINE void narrow_finish_one(const sum_arguments *arguments, const segment *seg, real sum, tamis_type type) {
    if (type != REAL || seg->flags) { /* rare, or converted in vectors */
        narrow_finish(arguments, seg, vector_of(sum), type, 1);
        return;
    }
    char *const out = arguments->out + seg->row * arguments->out_stride;
    real y = seg->final_scale * sum;
    if (arguments->beta != 0) y += arguments->beta * element_load(out, type);
    element_store(out, type, y);
}

/* Finishes consecutive segments whose products are in the buffer. */
INLINE void narrow_segments(const sum_arguments *arguments, const segment *segments, int count, const real *products,
                            tamis_type type, int places) {
    if (places > 1) {
        for (int s = 0; s < count; s++) {
            const int64_t n = segments[s].count * places;
            narrow_finish(arguments, &segments[s], narrow_fold(narrow_add_up(products, n, places), places), type,
                          (int)arguments->width);
            products += n;
        }
        return;
    }
    for (int s = 0; s < count; s += 8) {
        const int together = count - s < 8 ? count - s : 8;
        vector x[8];
        real sums[8];
        if (together == 8) {
#pragma GCC unroll 8
            for (int g = 0; g < 8; g++) {
                x[g] = narrow_add_up(products, segments[s + g].count, 1);
                products += segments[s + g].count;
            }
        } else {
            for (int g = 0; g < 8; g++) {
                const int64_t n = g < together ? segments[s + g].count : 0;
                x[g] = narrow_add_up(products, n, 1);
                products += n;
            }
        }
        vector_sums_of_8(x, sums);
        for (int g = 0; g < together; g++) narrow_finish_one(arguments, &segments[s + g], sums[g], type);
    }
}

/* Adds a piece of a long segment to `sum`, which is kept across its pieces. */
static void narrow_piece(vector *sum, const real *products, int64_t n, int places, bool last) {
    *sum += narrow_add_up(products, n * places, 4);
    if (!last) return;
    if (places == 1) {
        real sums[4];
        const vector x[4] = {*sum};
        vector_sums_of_4(x, sums);
        *sum = vector_of(sums[0]);
    } else {
        *sum = narrow_fold(*sum, places);
    }
}

/* Widths up to NARROW_SUMS_MOST. */
INLINE void narrow_sums(const sum_arguments *arguments, const segment *segments, int count, const real *weights,
                        tamis_type type, int wide_columns) {
    const int width = (int)arguments->width, places = narrow_places(width);
    const int64_t most = NARROW_REALS / places;
    real products[NARROW_REALS + 4 * LANES]; /* read in whole vectors */
    vector sum = vector_zero();
    int64_t done = 0; /* nonzeros done of a segment longer than the buffer */
    for (int s = 0; s < count;) {
        const segment *const seg = &segments[s];
        const bool whole = seg->count <= most;
        int64_t n = whole ? seg->count : seg->count - done < most ? seg->count - done : most;
        int e = s + 1;
        for (; whole && e < count && segments[e].begin == seg->begin + n && n + segments[e].count <= most; e++)
            n += segments[e].count;
        narrow_products(arguments, seg->begin + done, n, weights, products, type, wide_columns);
        if (!arguments->ones) weights += n;
        if (!whole) {
            done += n;
            narrow_piece(&sum, products, n, places, done == seg->count);
            if (done < seg->count) continue;
            narrow_finish(arguments, seg, sum, type, width);
            sum = vector_zero();
            done = 0;
        } else if (places == 1) {
            narrow_segments(arguments, seg, e - s, products, type, 1);
#if NARROW_SUMS_MOST >= 2
        } else if (places == 2) {
            narrow_segments(arguments, seg, e - s, products, type, 2);
#endif
#if NARROW_SUMS_MOST >= 4
        } else {
            narrow_segments(arguments, seg, e - s, products, type, 4);
#endif
        }
        s = e;
    }
}

#endif
