/*
 * Sampled dot products: x[t] = <A_row, B_column> for the nonzeros t of a list of segments.
 *
 *   segment = (row, first nonzero, count)        x runs through all segments without gaps
 *
 *      A_row        [ v0 | v1 | ... ]            held in registers for the whole segment
 *      B_column     [ v0 | v1 | ... ]  x 8       read once, front to back: the hardware prefetcher follows
 *      8 accumulators -> transpose-add tree -> 8 neighbouring x
 *                                                the rest of a row: four, then one at a time
 *
 * Each width of up to DOT_BLOCK vectors has its own instance. The number of vectors and the presence of a masked tail
 * are constants there, so only loads and multiply-adds are left. Wider rows are processed in blocks of that size, and
 * the accumulators are kept across blocks. Rows of up to NARROW_DOTS_MOST elements have their own loops
 * (narrow_dots.h). Moves: a row of B per nonzero, and a row of A per segment.
 */
#ifndef TAMIS_CPU_KERNELS_DOTS_H
#define TAMIS_CPU_KERNELS_DOTS_H

#include "cpu/kernels/narrow_dots.h"

/*
 * bf16 where the processor multiplies pairs (vdpbf16ps): rows are not widened, a register holds two elements per lane,
 * and a lane's sum becomes (sum + its odd product) + its even product, each rounded to nearest even. Subnormal numbers
 * count as 0 there, among inputs and results alike: docs/manual/numerics.md.
 */
#if defined(__AVX512BF16__) && !defined(TAMIS_KERNEL_F64)
#define DOT_PAIRS 1
#else
#define DOT_PAIRS 0
#endif
#define DOT_LANES (DOT_PAIRS ? 2 * LANES : LANES) /* elements of a row in a register */

/* Vectors of A that registers hold in addition to eight accumulators. */
#if VECTOR_BYTES == 64 || defined(__aarch64__)
#define DOT_BLOCK     8
#define DOT_COUNTS(X) COUNTS_8(X)
#else
#define DOT_BLOCK     4
#define DOT_COUNTS(X) COUNTS_4(X)
#endif

/* Size of A from which its rows are prefetched: they come once per row of S, too rarely for the hardware prefetcher. */
enum { DOT_FAR_A = 16 << 20 };

INLINE void prefetch_lines(const char *p, int64_t lines) {
    for (int64_t i = 0; i < lines; i++) __builtin_prefetch(p + 64 * i, 0, 3);
}

/* Loads vector k of a row of `whole` whole vectors; p is where it begins. */
INLINE vector dot_load(const char *p, tamis_type type, int k, int whole) {
#if DOT_PAIRS
    (void)type, (void)k, (void)whole;
    return *(const vector_anywhere *)(const void *)p;
#else
    return run_load(p, type, k, whole);
#endif
}

/* Loads the first n elements, 0 to DOT_LANES - 1, zero-padded. */
INLINE vector dot_load_tail(const char *p, tamis_type type, int n) {
#if DOT_PAIRS
    (void)type;
    return (vector)_mm512_maskz_loadu_epi16((__mmask32)((1u << n) - 1u), p);
#else
    return vector_load_tail(p, type, n);
#endif
}

INLINE vector dot_multiply_add(vector sum, vector a, vector b) {
#if DOT_PAIRS
    return (vector)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
#else
    return sum + a * b;
#endif
}

INLINE int64_t dot_lines(int count, tamis_type type) { return (count * DOT_LANES * element_bytes(type) + 63) / 64; }

/* Adds the products of one row of B with `count` vectors of A into one vector. */
INLINE vector dot_vectors(vector sum, const vector *a, const char *b, int count, int masked, int tail,
                          tamis_type type) {
#pragma GCC unroll 8
    for (int k = 0; k < count; k++) {
        const char *p = b + k * DOT_LANES * element_bytes(type);
        sum = dot_multiply_add(
            sum, a[k], masked && k == count - 1 ? dot_load_tail(p, type, tail) : dot_load(p, type, k, count - masked));
    }
    return sum;
}

INLINE void dot_load_row(vector *a, const char *p, int count, int masked, int tail, tamis_type type) {
#pragma GCC unroll 8
    for (int k = 0; k < count; k++, p += DOT_LANES * element_bytes(type))
        a[k] = masked && k == count - 1 ? dot_load_tail(p, type, tail) : dot_load(p, type, k, count - masked);
}

/*
 * Pairs, and rows of one register: its halves, `parts` of them, are multiplied one after the other, so that a sum has
 * half the lanes. Then shuffles, the bottleneck of such short rows, take half the time. The halves of A, and the sums,
 * are in the lower halves of vectors. Elsewhere `parts` is 0.
 */
#if DOT_PAIRS
typedef real half_vector __attribute__((vector_size(VECTOR_BYTES / 2)));

#define HALF_STEP1(x, y)                                                                                               \
    (__builtin_shufflevector(x, y, 0, 8, 1, 9, 4, 12, 5, 13) +                                                         \
     __builtin_shufflevector(x, y, 2, 10, 3, 11, 6, 14, 7, 15))
#define HALF_STEP2(x, y)                                                                                               \
    (__builtin_shufflevector(x, y, 0, 1, 8, 9, 4, 5, 12, 13) +                                                         \
     __builtin_shufflevector(x, y, 2, 3, 10, 11, 6, 7, 14, 15))
#define HALF_STEP3(x, y)                                                                                               \
    (__builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11) +                                                         \
     __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15))

INLINE half_vector half_of(vector x) { return (half_vector)_mm512_castps512_ps256((__m512)x); }

INLINE __m256i half_load(const char *p, int half, int masked, int tail) {
    if (!masked) return _mm256_loadu_si256((const __m256i *)(const void *)(p + 32 * half));
    return _mm256_maskz_loadu_epi16((__mmask16)(((1u << tail) - 1u) >> (16 * half)), p + 32 * half);
}

/* Reduces eight half vectors into sums[0 .. 7]. */
INLINE void half_sums_of_8(const vector x[8], real *sums) {
    const half_vector a = HALF_STEP1(half_of(x[0]), half_of(x[1])), b = HALF_STEP1(half_of(x[2]), half_of(x[3]));
    const half_vector c = HALF_STEP1(half_of(x[4]), half_of(x[5])), d = HALF_STEP1(half_of(x[6]), half_of(x[7]));
    const half_vector e = HALF_STEP2(a, b), f = HALF_STEP2(c, d), g = HALF_STEP3(e, f);
    memcpy(sums, &g, sizeof g);
}

/* Reduces four half vectors into sums[0 .. 3]. */
INLINE void half_sums_of_4(const vector x[4], real *sums) {
    const half_vector a = HALF_STEP1(half_of(x[0]), half_of(x[1])), b = HALF_STEP1(half_of(x[2]), half_of(x[3]));
    const half_vector c = HALF_STEP2(a, b), d = HALF_STEP3(c, c);
    memcpy(sums, &d, 4 * sizeof(real));
}

INLINE real half_sum(vector x) {
    const __m256 half = (__m256)half_of(x);
    const __m128 four = _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1);
    const __m128 two = four + _mm_movehl_ps(four, four);
    return _mm_cvtss_f32(two + _mm_movehdup_ps(two));
}
#else
#define half_sums_of_8 vector_sums_of_8
#define half_sums_of_4 vector_sums_of_4
#define half_sum       vector_sum
#endif

/* The row of A that dot_of multiplies. */
INLINE void dot_keep_row(vector *a, const char *p, int count, int masked, int tail, tamis_type type, int parts) {
#if DOT_PAIRS
#pragma GCC unroll 2
    for (int h = 0; h < parts; h++) a[h] = (vector)_mm512_castsi256_si512(half_load(p, h, masked, tail));
#endif
    if (!parts) dot_load_row(a, p, count, masked, tail, type);
}

/* Products of a row of B, to be summed. */
INLINE vector dot_of(const vector *a, const char *row, int count, int masked, int tail, tamis_type type, int parts) {
#if DOT_PAIRS
    __m256 sum = _mm256_setzero_ps();
#pragma GCC unroll 2
    for (int h = 0; h < parts; h++)
        sum = _mm256_dpbf16_ps(sum, (__m256bh)_mm512_castsi512_si256((__m512i)a[h]),
                               (__m256bh)half_load(row, h, masked, tail));
    if (parts) return (vector)_mm512_castps256_ps512(sum);
#endif
    (void)parts;
    return dot_vectors(vector_zero(), a, row, count, masked, tail, type);
}

/* Computes the samples x[0 .. n) of one row of S; a[] holds the row of A. Eight, four, then one at a time, so that
   accumulators stay in registers and nothing is written past the row. */
INLINE void dots_row(const dot_arguments *arguments, const vector *a, const char *columns, int64_t n, int64_t ahead,
                     real *x, tamis_type type, int wide_columns, int count, int masked, int parts) {
    const char *const b = arguments->b;
    const int64_t b_stride = arguments->b_stride, lines = dot_lines(count, type);
    const int tail = arguments->tail;
    int64_t t = 0;
#define DOT(at) dot_of(a, b + column_at(columns, at, wide_columns) * b_stride, count, masked, tail, type, parts)
#define AHEAD(at)                                                                                                      \
    if (ahead) prefetch_lines(b + column_at(columns, (at) + ahead, wide_columns) * b_stride, lines)
    for (; t + 8 <= n; t += 8) {
        vector sums[8];
#pragma GCC unroll 8
        for (int g = 0; g < 8; g++) {
            AHEAD(t + g);
            sums[g] = DOT(t + g);
        }
        if (parts)
            half_sums_of_8(sums, x + t);
        else
            vector_sums_of_8(sums, x + t);
    }
    if (t + 4 <= n) {
        vector sums[4];
#pragma GCC unroll 4
        for (int g = 0; g < 4; g++) {
            AHEAD(t + g);
            sums[g] = DOT(t + g);
        }
        if (parts)
            half_sums_of_4(sums, x + t);
        else
            vector_sums_of_4(sums, x + t);
        t += 4;
    }
    for (; t < n; t++) {
        AHEAD(t);
        x[t] = parts ? half_sum(DOT(t)) : vector_sum(DOT(t));
    }
#undef DOT
#undef AHEAD
}

/* Rows of `count` vectors, at most DOT_BLOCK; if `masked`, the last one is masked. */
INLINE void dots_kept(const dot_arguments *arguments, const segment *segments, int segment_count, real *x,
                      tamis_type type, int wide_columns, int count, int masked, int parts) {
    const int64_t prefetch = arguments->prefetch, lines = dot_lines(count, type);
    for (int s = 0; s < segment_count; s++) {
        const segment *const seg = &segments[s];
        if (s + 3 < segment_count) prefetch_lines(arguments->a + segments[s + 3].row * arguments->a_stride, lines);
        vector a[DOT_BLOCK];
        dot_keep_row(a, arguments->a + seg->row * arguments->a_stride, count, masked, arguments->tail, type, parts);
        const int64_t ahead = prefetch && seg->begin + seg->count + prefetch <= arguments->nnz ? prefetch : 0;
        dots_row(arguments, a, column_pointer(arguments->columns, seg->begin, wide_columns), seg->count, ahead, x, type,
                 wide_columns, count, masked, parts);
        x += seg->count;
    }
}

/* The end of row `row` of S, clipped to the nonzeros `last`. */
INLINE int64_t dots_row_end(const dot_arguments *arguments, int64_t row, int64_t last) {
    const int64_t end = column_at(arguments->offsets, row + 1, arguments->wide_offsets);
    return end < last ? end : last;
}

/* The same without a list: the samples of `nonzeros` nonzeros from arguments->begin on, which is in arguments->row or a
   later row. Returns the row of the last one. */
INLINE int64_t dots_rows(const dot_arguments *arguments, int64_t nonzeros, real *x, tamis_type type, int count,
                         int masked, int parts) {
    const int64_t a_stride = arguments->a_stride, lines = dot_lines(count, type), prefetch = arguments->prefetch;
    const int64_t last = arguments->begin + nonzeros;
    int64_t row = arguments->row, t = arguments->begin;
    for (;; row++) {
        const int64_t end = dots_row_end(arguments, row, last);
        const char *const a_row = arguments->a + row * a_stride;
        if (arguments->far_a) prefetch_lines(a_row + 3 * a_stride, lines);
        if (end <= t) continue;
        vector a[DOT_BLOCK];
        dot_keep_row(a, a_row, count, masked, arguments->tail, type, parts);
        const int64_t ahead = prefetch && end + prefetch <= arguments->nnz ? prefetch : 0;
        dots_row(arguments, a, column_pointer(arguments->columns, t, 0), end - t, ahead, x, type, 0, count, masked,
                 parts);
        if (end == last) return row;
        x += end - t;
        t = end;
    }
}

/* Any width: blocks of DOT_BLOCK vectors, then single vectors, then the tail, for `group` rows of B at once. */
INLINE void dots_wide_group(const dot_arguments *arguments, const char *a_row, const char *const *rows, int group,
                            vector *sums, tamis_type type) {
    const int64_t step = DOT_LANES * element_bytes(type);
    for (int g = 0; g < group; g++) sums[g] = vector_zero();
    int64_t k = 0;
    for (; k + DOT_BLOCK <= arguments->vectors; k += DOT_BLOCK) {
        vector a[DOT_BLOCK];
        dot_load_row(a, a_row + k * step, DOT_BLOCK, 0, 0, type);
#pragma GCC unroll 8
        for (int g = 0; g < group; g++) sums[g] = dot_vectors(sums[g], a, rows[g] + k * step, DOT_BLOCK, 0, 0, type);
    }
    for (; k < arguments->vectors; k++) {
        const vector a = dot_load(a_row + k * step, type, 0, 1);
#pragma GCC unroll 8
        for (int g = 0; g < group; g++)
            sums[g] = dot_multiply_add(sums[g], a, dot_load(rows[g] + k * step, type, 0, 1));
    }
    if (arguments->tail) {
        const vector a = dot_load_tail(a_row + k * step, type, arguments->tail);
#pragma GCC unroll 8
        for (int g = 0; g < group; g++)
            sums[g] = dot_multiply_add(sums[g], a, dot_load_tail(rows[g] + k * step, type, arguments->tail));
    }
}

INLINE void dots_wide(const dot_arguments *arguments, const segment *segments, int segment_count, real *x,
                      tamis_type type, int wide_columns) {
    const char *const b = arguments->b;
    const int64_t b_stride = arguments->b_stride, prefetch = arguments->prefetch;
    for (int s = 0; s < segment_count; s++) {
        const segment *const seg = &segments[s];
        if (s + 2 < segment_count)
            prefetch_lines(arguments->a + segments[s + 2].row * arguments->a_stride, arguments->lines);
        const char *const a_row = arguments->a + seg->row * arguments->a_stride;
        const char *const columns = column_pointer(arguments->columns, seg->begin, wide_columns);
        const int64_t ahead = prefetch && seg->begin + seg->count + prefetch <= arguments->nnz ? prefetch : 0;
        for (int64_t t = 0; t < seg->count; t += 8) {
            const char *rows[8]; /* past the end, the last row is read again, from L1 */
            const int rest = seg->count - t < 8 ? (int)(seg->count - t) : 8;
            for (int g = 0; g < 8; g++) {
                const int64_t at = t + (g < rest ? g : rest - 1);
                rows[g] = b + column_at(columns, at, wide_columns) * b_stride;
                if (ahead && g < rest)
                    prefetch_lines(b + column_at(columns, at + ahead, wide_columns) * b_stride, arguments->lines);
            }
            vector sums[8];
            if (rest > 4) {
                dots_wide_group(arguments, a_row, rows, 8, sums, type);
                vector_sums_of_8(sums, x + t);
            } else if (rest > 2) {
                dots_wide_group(arguments, a_row, rows, 4, sums, type);
                vector_sums_of_4(sums, x + t);
            } else {
                dots_wide_group(arguments, a_row, rows, 2, sums, type);
                sums[2] = sums[3] = vector_zero();
                vector_sums_of_4(sums, x + t);
            }
        }
        x += seg->count;
    }
}

INLINE void dots_of_type(const dot_arguments *arguments, const segment *segments, int segment_count, real *x,
                         tamis_type type, int wide_columns) {
    if (arguments->vectors == 0 && arguments->tail > 0 && arguments->tail <= NARROW_DOTS_MOST) {
        narrow_dots(arguments, segments, segment_count, x, type, wide_columns);
        return;
    }
    const int kept = arguments->vectors + (arguments->tail > 0) <= DOT_BLOCK;
    if (!kept) {
        dots_wide(arguments, segments, segment_count, x, type, wide_columns);
        return;
    }
    const int masked = arguments->tail > 0, vectors = (int)arguments->vectors + masked;
#define DOTS(count, part, parts)                                                                                       \
    dots_kept(arguments, segments, segment_count, x, type, wide_columns, count, part, parts)
#define KEPT(count)                                                                                                    \
    case 2 * (count): DOTS(count, 0, 0); return;                                                                       \
    case 2 * (count) + 1: DOTS(count, 1, 0); return;
    if (DOT_PAIRS && vectors == 1) {
        if (!masked)
            DOTS(1, 0, 2);
        else if (arguments->tail <= 16)
            DOTS(1, 1, 1);
        else
            DOTS(1, 1, 2);
        return;
    }
    switch (2 * vectors + masked) {
    case 0:
        DOTS(0, 0, 0);
        return;
        DOT_COUNTS(KEPT)
    default: return;
    }
#undef DOTS
#undef KEPT
}

/* Separate functions, so that each has all registers to itself: dots_rows_VECTORS, then the same with the last vector
   masked. */
typedef int64_t dot_rows_function(const dot_arguments *arguments, int64_t nonzeros, real *x);
#define DOT_ROWS(count)                                                                                                \
    static int64_t dots_rows_##count(const dot_arguments *arguments, int64_t nonzeros, real *x) {                      \
        return dots_rows(arguments, nonzeros, x, TAMIS_KERNEL_TYPE, count, 0, DOT_PAIRS && (count) == 1 ? 2 : 0);      \
    }                                                                                                                  \
    static int64_t dots_rows_##count##_part(const dot_arguments *arguments, int64_t nonzeros, real *x) {               \
        if (DOT_PAIRS && (count) == 1 && arguments->tail <= 16)                                                        \
            return dots_rows(arguments, nonzeros, x, TAMIS_KERNEL_TYPE, count, 1, 1);                                  \
        return dots_rows(arguments, nonzeros, x, TAMIS_KERNEL_TYPE, count, 1, DOT_PAIRS && (count) == 1 ? 2 : 0);      \
    }
DOT_COUNTS(DOT_ROWS)
#undef DOT_ROWS

/* The function for rows without a list; NULL if rows of A do not stay in registers, or are narrow. */
static dot_rows_function *dot_rows_function_of(const dot_arguments *arguments) {
#define WHOLE(count) dots_rows_##count,
#define PART(count)  dots_rows_##count##_part,
    static dot_rows_function *const functions[2][DOT_BLOCK] = {{DOT_COUNTS(WHOLE)}, {DOT_COUNTS(PART)}};
#undef WHOLE
#undef PART
    const int64_t vectors = arguments->vectors + (arguments->tail > 0);
    const bool narrow = arguments->vectors == 0 && arguments->tail <= NARROW_DOTS_MOST;
    return narrow || vectors > DOT_BLOCK ? NULL : functions[arguments->tail > 0][vectors - 1];
}

/* The instances, by the width of column indices. */
static void dots_columns_32(const dot_arguments *arguments, const segment *segments, int count, real *x) {
    dots_of_type(arguments, segments, count, x, TAMIS_KERNEL_TYPE, 0);
}
static void dots_columns_64(const dot_arguments *arguments, const segment *segments, int count, real *x) {
    dots_of_type(arguments, segments, count, x, TAMIS_KERNEL_TYPE, 1);
}

static dot_function *dot_function_for(bool wide_columns) { return wide_columns ? dots_columns_64 : dots_columns_32; }

#endif
