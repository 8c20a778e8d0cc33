/*
 * The vectors of one kernel variant: GCC vector extensions as wide as the instruction set's registers, with masked
 * tails. This header is compiled several times, once for each instruction set and type:
 *   TAMIS_KERNEL_F64      defined: storage and accumulation in double; else storage fp32, fp16 or bf16, accumulation in
 *                         fp32. The storage type is an argument that is constant after inlining.
 *   TAMIS_KERNEL_CALLS    defined: functions are called, not inlined, and constants become arguments. This gives slow
 *                         kernels for tests that compile in a sixth of the time.
 * Intrinsics are used only if the compiler generates bad code otherwise: masked loads and stores, fp16 conversion.
 * SVE is compiled once for each length of its registers (-msve-vector-bits), and runs where they have that length: only
 * then does gcc 12 let vectors be in arrays and structures, have operators, and be constant in size.
 */
#ifndef TAMIS_CPU_KERNELS_VECTOR_H
#define TAMIS_CPU_KERNELS_VECTOR_H

#include <stdint.h>
#include <string.h>
#include <tamis/types.h>

#include "base/half.h"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif
#if defined(__aarch64__)
#include <arm_neon.h>
#endif
#if defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS > 0
#include <arm_sve.h>
#define VECTOR_SVE 1
#else
#define VECTOR_SVE 0
#endif

#if defined(TAMIS_KERNEL_CALLS)
#define INLINE static inline __attribute__((unused))
#else
#define INLINE static inline __attribute__((always_inline, unused))
#endif

/* AVX_BYTES is VECTOR_BYTES with AVX2 and AVX-512, and 0 elsewhere. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define AVX_BYTES 64
#elif defined(__AVX2__)
#define AVX_BYTES 32
#else
#define AVX_BYTES 0
#endif
#if AVX_BYTES
#define VECTOR_BYTES AVX_BYTES
#elif VECTOR_SVE
#define VECTOR_BYTES (__ARM_FEATURE_SVE_BITS / 8)
#else
#define VECTOR_BYTES 16
#endif

#if defined(TAMIS_KERNEL_F64)
typedef double real; /* the type of sums */
typedef int64_t real_bits;
#define LANES (VECTOR_BYTES / 8)
#define REAL  TAMIS_F64
#else
typedef float real;
typedef int32_t real_bits;
#define LANES (VECTOR_BYTES / 4)
#define REAL  TAMIS_F32
#endif

typedef real vector __attribute__((vector_size(VECTOR_BYTES)));
typedef real vector_anywhere __attribute__((vector_size(VECTOR_BYTES), aligned(2), may_alias));
typedef real_bits vector_bits __attribute__((vector_size(VECTOR_BYTES)));

INLINE vector vector_zero(void) { return (vector){0}; }
INLINE vector vector_of(real x) { return x - (vector){0}; }

/* ------------------------------------------------------------------------------------------ element <-> real */

INLINE real element_load(const char *p, tamis_type type) {
#if defined(TAMIS_KERNEL_F64)
    (void)type;
    real x;
    memcpy(&x, p, sizeof x);
    return x;
#else
    if (type == TAMIS_F32) {
        real x;
        memcpy(&x, p, sizeof x);
        return x;
    }
    uint16_t bits;
    memcpy(&bits, p, sizeof bits);
    return type == TAMIS_BF16 ? tamis_bf16_load(bits) : tamis_f16_load(bits);
#endif
}

INLINE void element_store(char *p, tamis_type type, real x) {
#if defined(TAMIS_KERNEL_F64)
    (void)type;
    memcpy(p, &x, sizeof x);
#else
    if (type == TAMIS_F32) {
        memcpy(p, &x, sizeof x);
        return;
    }
    const uint16_t bits = type == TAMIS_BF16 ? tamis_bf16_store(x) : tamis_f16_store(x);
    memcpy(p, &bits, sizeof bits);
#endif
}

INLINE int64_t element_bytes(tamis_type type) {
#if defined(TAMIS_KERNEL_F64)
    (void)type;
    return 8;
#else
    return type == TAMIS_F32 ? 4 : 2;
#endif
}

#if !defined(TAMIS_KERNEL_F64)
typedef uint32_t vector_words __attribute__((vector_size(VECTOR_BYTES)));

/* Rounds x to bf16 in the upper halves, to nearest; NaN stays NaN. */
INLINE vector_words bf16_of_vector(vector x) {
    const vector_words bits = (vector_words)x;
    const vector_words rounded = bits + 0x7fffu + ((bits >> 16) & 1u), quiet = bits | 0x400000u;
    const vector_words is_nan = (vector_words)((bits & 0x7fffffffu) > 0x7f800000u);
    return (quiet & is_nan) | (rounded & ~is_nan);
}

#endif

/* ------------------------------------------------------------------------------------------ SVE: some of the lanes */

#if VECTOR_SVE
#if defined(TAMIS_KERNEL_F64)
typedef svfloat64_t sizeless_vector;
INLINE svbool_t lanes_all(void) { return svptrue_b64(); }
INLINE svbool_t lanes_first(int n) { return svwhilelt_b64(0, n); }
#else
typedef svfloat32_t sizeless_vector;
INLINE svbool_t lanes_all(void) { return svptrue_b32(); }
INLINE svbool_t lanes_first(int n) { return svwhilelt_b32(0, n); }
#endif

/* Loads the elements of these lanes, zeros in the others, which are not read. */
INLINE vector lanes_load(svbool_t lanes, const char *p, tamis_type type) {
    const void *const from = p;
#if defined(TAMIS_KERNEL_F64)
    (void)type;
    return svld1_f64(lanes, from);
#else
    if (type == TAMIS_F32) return svld1_f32(lanes, from);
    const vector_words words = svld1uh_u32(lanes, from);
    if (type == TAMIS_BF16) return (vector)(words << 16);
    return svcvt_f32_f16_x(lanes_all(), svreinterpret_f16_u32(words));
#endif
}

INLINE void lanes_store(svbool_t lanes, char *p, tamis_type type, vector x) {
    void *const to = p;
#if defined(TAMIS_KERNEL_F64)
    (void)type;
    svst1_f64(lanes, to, x);
#else
    if (type == TAMIS_F32)
        svst1_f32(lanes, to, x);
    else if (type == TAMIS_BF16)
        svst1h_u32(lanes, to, bf16_of_vector(x) >> 16);
    else
        svst1h_u32(lanes, to, svreinterpret_u32_f16(svcvt_f16_f32_x(lanes_all(), x)));
#endif
}
#endif

/* ------------------------------------------------------------------------------------------ halves of one vector */

#if !defined(TAMIS_KERNEL_F64) && !VECTOR_SVE
typedef uint16_t halves __attribute__((vector_size(LANES * 2)));
typedef uint16_t halves_anywhere __attribute__((vector_size(LANES * 2), aligned(2), may_alias));

INLINE vector vector_of_halves(halves h, tamis_type type) {
    if (type == TAMIS_BF16) return (vector)(__builtin_convertvector(h, vector_words) << 16);
#if AVX_BYTES == 64
    return (vector)_mm512_cvtph_ps((__m256i)h);
#elif AVX_BYTES == 32
    return (vector)_mm256_cvtph_ps((__m128i)h);
#elif defined(__aarch64__)
    return (vector)vcvt_f32_f16((float16x4_t)h);
#else
    const vector_words w = __builtin_convertvector(h, vector_words);
    const vector_words sign = (w & 0x8000u) << 16, magnitude = w & 0x7fffu;
    const vector_words normal = (magnitude << 13) + 0x38000000u;
    const vector_words special = 0x7f800000u | ((magnitude & 0x3ffu) << 13);
    /* a subnormal's bits as a mantissa of 2^-14; subtracting 2^-14 gives its exact value */
    const vector_words subnormal = (vector_words)((vector)((magnitude << 13) + 0x38800000u) - 0x1p-14f);
    const vector_words is_special = (vector_words)(magnitude >= 0x7c00u);
    const vector_words is_subnormal = (vector_words)(magnitude < 0x0400u);
    return (vector)(sign | (special & is_special) | (subnormal & is_subnormal) |
                    (normal & ~is_special & ~is_subnormal));
#endif
}

INLINE halves halves_of_vector(vector x, tamis_type type) {
    if (type == TAMIS_BF16) return __builtin_convertvector(bf16_of_vector(x) >> 16, halves);
#if AVX_BYTES == 64
    return (halves)_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT);
#elif AVX_BYTES == 32
    return (halves)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__aarch64__)
    return (halves)vcvt_f16_f32((float32x4_t)x);
#else
    halves h;
    for (int i = 0; i < LANES; i++) h[i] = tamis_f16_store(x[i]);
    return h;
#endif
}

/* loads n < LANES halves, zero-padded, reading no byte past them */
INLINE halves halves_load_tail(const char *p, int n) {
#if AVX_BYTES == 64
    return (halves)_mm256_maskz_loadu_epi16((__mmask16)((1u << n) - 1u), p);
#else
    union {
        halves all;
        uint64_t eight[LANES / 4];
        uint32_t four[LANES / 2];
        uint16_t two[LANES];
    } part = {.all = {0}};
    int i = 0;
#if AVX_BYTES == 32
    if (n & 4) {
        memcpy(&part.eight[0], p, 8);
        i = 4;
    }
#endif
    if (n & 2) {
        memcpy(&part.four[i / 2], p + 2 * i, 4);
        i += 2;
    }
    if (n & 1) memcpy(&part.two[i], p + 2 * i, 2);
    return part.all;
#endif
}
#endif

/* ------------------------------------------------------------------------------------------ whole vectors */

INLINE vector vector_load(const char *p, tamis_type type) {
#if VECTOR_SVE
    if (type != REAL) return lanes_load(lanes_all(), p, type);
#elif !defined(TAMIS_KERNEL_F64)
    if (type != TAMIS_F32) return vector_of_halves(*(const halves_anywhere *)(const void *)p, type);
#endif
    (void)type;
    return *(const vector_anywhere *)(const void *)p;
}

INLINE void vector_store(char *p, tamis_type type, vector x) {
#if VECTOR_SVE
    if (type != REAL) {
        lanes_store(lanes_all(), p, type, x);
        return;
    }
#elif !defined(TAMIS_KERNEL_F64)
    if (type != TAMIS_F32) {
        *(halves_anywhere *)(void *)p = halves_of_vector(x, type);
        return;
    }
#endif
    (void)type;
    *(vector_anywhere *)(void *)p = x;
}

/* ------------------------------------------------------------------------------------------ runs of whole vectors */

/*
 * A run is `count` whole vectors of a row. With bf16, one register holds two vectors, and widening it in order takes a
 * shuffle for each. Instead, the first vector gets the even elements (a shift) and the second the odd ones (a mask). So
 * the lanes of a run are not in the order of columns. The order is the same for all runs of that count, so products of
 * two rows and sums of rows are still right. run_store restores the order of columns.
 */
INLINE int run_has_pair(tamis_type type, int k, int count) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return type == TAMIS_BF16 && (k | 1) < count;
#else
    return (void)type, (void)k, (void)count, 0;
#endif
}

/* Vector k of a run; p is where it would begin in the order of columns. */
INLINE vector run_load(const char *p, tamis_type type, int k, int count) {
#if !defined(TAMIS_KERNEL_F64)
    if (run_has_pair(type, k, count)) {
        const char *const both = p - k % 2 * LANES * 2;
        const vector_words pair = (vector_words) * (const vector_anywhere *)(const void *)both;
        return (vector)(k % 2 == 0 ? pair << 16 : pair & 0xffff0000u);
    }
#endif
    (void)k, (void)count;
    return vector_load(p, type);
}

/* Stores vector k at p, and k + 1 after it if the two are a pair. Call it for each k that begins a pair or is
   unpaired. */
INLINE void run_store(char *p, tamis_type type, int k, int count, const vector *x) {
#if !defined(TAMIS_KERNEL_F64)
    if (run_has_pair(type, k, count)) {
        const vector_words pair = (bf16_of_vector(x[0]) >> 16) | (bf16_of_vector(x[1]) & 0xffff0000u);
        *(vector_anywhere *)(void *)p = (vector)pair;
        return;
    }
#endif
    (void)k, (void)count;
    vector_store(p, type, x[0]);
}

/* ------------------------------------------------------------------------------------------ tails of n < LANES */

#if AVX_BYTES == 32
/* _mm256_maskload takes its mask as a vector; a window over this array starts n lanes before the zeros */
static const int32_t tail_mask_source[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
INLINE __m256i tail_mask(int n) {
    return _mm256_loadu_si256((const __m256i *)(const void *)(tail_mask_source + 8 - n * (8 / LANES)));
}
#endif

/* Loads the first n elements of p, 0 to LANES - 1, zero-padded; reads no byte past them. */
INLINE vector vector_load_tail(const char *p, tamis_type type, int n) {
#if VECTOR_SVE
    return lanes_load(lanes_first(n), p, type);
#else
#if !defined(TAMIS_KERNEL_F64)
    if (type != TAMIS_F32) return vector_of_halves(halves_load_tail(p, n), type);
#endif
    (void)type;
#if AVX_BYTES == 64 && defined(TAMIS_KERNEL_F64)
    return (vector)_mm512_maskz_loadu_pd((__mmask8)((1u << n) - 1u), p);
#elif AVX_BYTES == 64
    return (vector)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1u), p);
#elif AVX_BYTES == 32 && defined(TAMIS_KERNEL_F64)
    return (vector)_mm256_maskload_pd((const double *)(const void *)p, tail_mask(n));
#elif AVX_BYTES == 32
    return (vector)_mm256_maskload_ps((const float *)(const void *)p, tail_mask(n));
#else
    vector x = {0};
    for (int i = 0; i < LANES - 1; i++)
        if (i < n) x[i] = element_load(p + (size_t)i * sizeof(real), sizeof(real) == 8 ? TAMIS_F64 : TAMIS_F32);
    return x;
#endif
#endif
}

/* Stores the first n lanes, 0 to LANES - 1, and nothing else. */
INLINE void vector_store_tail(char *p, tamis_type type, int n, vector x) {
#if VECTOR_SVE
    lanes_store(lanes_first(n), p, type, x);
#else
#if !defined(TAMIS_KERNEL_F64)
    if (type != TAMIS_F32) {
        const halves h = halves_of_vector(x, type);
#if AVX_BYTES == 64
        _mm256_mask_storeu_epi16(p, (__mmask16)((1u << n) - 1u), (__m256i)h);
#else
        memcpy(p, &h, (size_t)(n & (LANES - 1)) * 2);
#endif
        return;
    }
#endif
    (void)type;
#if AVX_BYTES == 64 && defined(TAMIS_KERNEL_F64)
    _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1u), (__m512d)x);
#elif AVX_BYTES == 64
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1u), (__m512)x);
#elif AVX_BYTES == 32 && defined(TAMIS_KERNEL_F64)
    _mm256_maskstore_pd((double *)(void *)p, tail_mask(n), (__m256d)x);
#elif AVX_BYTES == 32
    _mm256_maskstore_ps((float *)(void *)p, tail_mask(n), (__m256)x);
#else
    memcpy(p, &x, (size_t)(n & (LANES - 1)) * sizeof(real));
#endif
#endif
}

/* ------------------------------------------------------------------------------------------ reductions */

/*
 * Transpose-add tree. It turns eight (or four) vectors of partial sums into eight (four) consecutive sums, with two
 * shuffles and one addition for each pair of vectors. Reducing each vector by itself takes log2(LANES) of them:
 *
 *   step 1, within 128 bits   x0 x1 x2 x3 , y0 y1 y2 y3  ->  x0+x2 y0+y2 x1+x3 y1+y3
 *   step 2, within 128 bits   (xy)(xy), (zw)(zw)         ->  x y z w
 *   step 3, across            the 128-bit parts of two vectors are added in pairs
 */
#if defined(TAMIS_KERNEL_F64)
#if LANES == 8
#define SHUFFLE_STEP1(x, y)                                                                                            \
    (__builtin_shufflevector(x, y, 0, 8, 2, 10, 4, 12, 6, 14) +                                                        \
     __builtin_shufflevector(x, y, 1, 9, 3, 11, 5, 13, 7, 15))
#define SHUFFLE_STEP3(x, y)                                                                                            \
    (__builtin_shufflevector(x, y, 0, 1, 4, 5, 8, 9, 12, 13) +                                                         \
     __builtin_shufflevector(x, y, 2, 3, 6, 7, 10, 11, 14, 15))
#elif LANES == 4
#define SHUFFLE_STEP1(x, y) (__builtin_shufflevector(x, y, 0, 4, 2, 6) + __builtin_shufflevector(x, y, 1, 5, 3, 7))
#define SHUFFLE_STEP3(x, y) (__builtin_shufflevector(x, y, 0, 1, 4, 5) + __builtin_shufflevector(x, y, 2, 3, 6, 7))
#else
#define SHUFFLE_STEP1(x, y) (__builtin_shufflevector(x, y, 0, 2) + __builtin_shufflevector(x, y, 1, 3))
#endif
#else
#if LANES == 16
#define SHUFFLE_STEP1(x, y)                                                                                            \
    (__builtin_shufflevector(x, y, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) +                         \
     __builtin_shufflevector(x, y, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31))
#define SHUFFLE_STEP2(x, y)                                                                                            \
    (__builtin_shufflevector(x, y, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +                         \
     __builtin_shufflevector(x, y, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
#define SHUFFLE_STEP3(x, y)                                                                                            \
    (__builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +                         \
     __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31))
#elif LANES == 8
#define SHUFFLE_STEP1(x, y)                                                                                            \
    (__builtin_shufflevector(x, y, 0, 8, 1, 9, 4, 12, 5, 13) +                                                         \
     __builtin_shufflevector(x, y, 2, 10, 3, 11, 6, 14, 7, 15))
#define SHUFFLE_STEP2(x, y)                                                                                            \
    (__builtin_shufflevector(x, y, 0, 1, 8, 9, 4, 5, 12, 13) +                                                         \
     __builtin_shufflevector(x, y, 2, 3, 10, 11, 6, 7, 14, 15))
#define SHUFFLE_STEP3(x, y)                                                                                            \
    (__builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11) +                                                         \
     __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15))
#else
#define SHUFFLE_STEP1(x, y) (__builtin_shufflevector(x, y, 0, 4, 1, 5) + __builtin_shufflevector(x, y, 2, 6, 3, 7))
#define SHUFFLE_STEP2(x, y) (__builtin_shufflevector(x, y, 0, 1, 4, 5) + __builtin_shufflevector(x, y, 2, 3, 6, 7))
#endif
#endif

#if VECTOR_SVE && VECTOR_BYTES > 16
/* The same steps in fewer instructions: gcc 12 uses index tables for the shuffles above. */
#if !defined(TAMIS_KERNEL_F64)
#undef SHUFFLE_STEP2
INLINE vector shuffle_step2(vector x, vector y) {
    const svfloat64_t pairs_x = svreinterpret_f64_f32(x), pairs_y = svreinterpret_f64_f32(y);
    const vector even = svreinterpret_f32_f64(svtrn1_f64(pairs_x, pairs_y));
    const vector odd = svreinterpret_f32_f64(svtrn2_f64(pairs_x, pairs_y));
    return even + odd;
}
#define SHUFFLE_STEP2(x, y) shuffle_step2(x, y)
#endif
#if VECTOR_BYTES == 32
#undef SHUFFLE_STEP3
#if defined(TAMIS_KERNEL_F64)
#define SHUFFLE_STEP3(x, y) (__builtin_shufflevector(x, y, 0, 1, 6, 7) + __builtin_shufflevector(x, y, 2, 3, 4, 5))
#else
#define SHUFFLE_STEP3(x, y)                                                                                            \
    (__builtin_shufflevector(x, y, 0, 1, 2, 3, 12, 13, 14, 15) +                                                       \
     __builtin_shufflevector(x, y, 4, 5, 6, 7, 8, 9, 10, 11))
#endif
#endif
#endif

/* Reduces four vectors into sums[0 .. 3]. */
INLINE void vector_sums_of_4(const vector x[4], real *sums) {
#if defined(TAMIS_KERNEL_F64)
    const vector a = SHUFFLE_STEP1(x[0], x[1]), b = SHUFFLE_STEP1(x[2], x[3]);
#if LANES == 2
    memcpy(sums, &a, sizeof a);
    memcpy(sums + 2, &b, sizeof b);
#else
    vector c = SHUFFLE_STEP3(a, b);
#if LANES == 8
    c = SHUFFLE_STEP3(c, c);
#endif
    memcpy(sums, &c, 4 * sizeof(real));
#endif
#else
    const vector a = SHUFFLE_STEP1(x[0], x[1]), b = SHUFFLE_STEP1(x[2], x[3]);
    vector c = SHUFFLE_STEP2(a, b);
#if LANES >= 8
    c = SHUFFLE_STEP3(c, c);
#endif
#if LANES == 16
    c = SHUFFLE_STEP3(c, c);
#endif
    memcpy(sums, &c, 4 * sizeof(real));
#endif
}

/* Reduces eight vectors into sums[0 .. 7]. */
INLINE void vector_sums_of_8(const vector x[8], real *sums) {
#if VECTOR_BYTES == 16 || (defined(TAMIS_KERNEL_F64) && LANES == 4)
    vector_sums_of_4(x, sums);
    vector_sums_of_4(x + 4, sums + 4);
#elif defined(TAMIS_KERNEL_F64)
    const vector a = SHUFFLE_STEP1(x[0], x[1]), b = SHUFFLE_STEP1(x[2], x[3]);
    const vector c = SHUFFLE_STEP1(x[4], x[5]), d = SHUFFLE_STEP1(x[6], x[7]);
    const vector e = SHUFFLE_STEP3(a, b), f = SHUFFLE_STEP3(c, d);
    const vector g = SHUFFLE_STEP3(e, f);
    memcpy(sums, &g, sizeof g);
#else
    const vector a = SHUFFLE_STEP1(x[0], x[1]), b = SHUFFLE_STEP1(x[2], x[3]);
    const vector c = SHUFFLE_STEP1(x[4], x[5]), d = SHUFFLE_STEP1(x[6], x[7]);
    const vector e = SHUFFLE_STEP2(a, b), f = SHUFFLE_STEP2(c, d);
    vector g = SHUFFLE_STEP3(e, f);
#if LANES == 16
    g = SHUFFLE_STEP3(g, g);
#endif
    memcpy(sums, &g, 8 * sizeof(real));
#endif
}

#if VECTOR_BYTES < 64 && !VECTOR_SVE
/* x with its halves, quarters, ... exchanged: lane i is lane i ^ distance of x. */
INLINE vector vector_exchange(vector x, int distance) {
#if LANES == 8
    if (distance == 4) return __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    if (distance == 2) return __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
    return __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
#elif LANES == 4
    if (distance == 2) return __builtin_shufflevector(x, x, 2, 3, 0, 1);
    return __builtin_shufflevector(x, x, 1, 0, 3, 2);
#else
    (void)distance;
    return __builtin_shufflevector(x, x, 1, 0);
#endif
}
#endif

/* The sum of a vector's lanes, by adding halves. */
INLINE real vector_sum(vector x) {
#if AVX_BYTES == 64 && !defined(TAMIS_KERNEL_F64)
    return _mm512_reduce_add_ps((__m512)x);
#elif AVX_BYTES == 64
    return _mm512_reduce_add_pd((__m512d)x);
#elif VECTOR_SVE && defined(TAMIS_KERNEL_F64)
    return svaddv_f64(lanes_all(), x);
#elif VECTOR_SVE
    return svaddv_f32(lanes_all(), x);
#else
#pragma GCC unroll 4
    for (int distance = LANES / 2; distance > 0; distance /= 2) x += vector_exchange(x, distance);
    return x[0];
#endif
}

INLINE vector vector_max(vector x, vector y) {
    const vector_bits take_x = (vector_bits)(x > y);
    return (vector)(((vector_bits)x & take_x) | ((vector_bits)y & ~take_x));
}

/* The largest lane of a vector without NaN. */
INLINE real vector_largest(vector x) {
#if AVX_BYTES == 64 && !defined(TAMIS_KERNEL_F64)
    return _mm512_reduce_max_ps((__m512)x);
#elif AVX_BYTES == 64
    return _mm512_reduce_max_pd((__m512d)x);
#elif VECTOR_SVE && defined(TAMIS_KERNEL_F64)
    return svmaxv_f64(lanes_all(), x);
#elif VECTOR_SVE
    return svmaxv_f32(lanes_all(), x);
#else
#pragma GCC unroll 4
    for (int distance = LANES / 2; distance > 0; distance /= 2) x = vector_max(vector_exchange(x, distance), x);
    return x[0];
#endif
}

INLINE vector vector_select(vector_bits mask, vector where_set, vector otherwise) {
    return (vector)(((vector_bits)where_set & mask) | ((vector_bits)otherwise & ~mask));
}

/* Lane i is lane from[i] of x. */
INLINE vector vector_from(vector x, vector_bits from) {
#if AVX_BYTES == 64 && defined(TAMIS_KERNEL_F64)
    return (vector)_mm512_permutexvar_pd((__m512i)from, (__m512d)x);
#elif AVX_BYTES == 64
    return (vector)_mm512_permutexvar_ps((__m512i)from, (__m512)x);
#elif AVX_BYTES == 32 && !defined(TAMIS_KERNEL_F64)
    return (vector)_mm256_permutevar8x32_ps((__m256)x, (__m256i)from);
#else
    vector moved;
    for (int i = 0; i < LANES; i++) moved[i] = x[from[i]];
    return moved;
#endif
}

/* The first n lanes of x, the others of `after`. */
INLINE vector vector_first(vector x, int n, vector after) {
    static const real numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return vector_select((vector_bits)(*(const vector_anywhere *)(const void *)numbers < (real)n), x, after);
}

#endif
