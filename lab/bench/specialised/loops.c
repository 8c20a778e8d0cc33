/* See loops.h. Vectors, their tails and the tree that adds lanes are as in the library's kernels. */
#include "loops.h"

#include "cpu/kernels/exp.h"

enum { MOST = 128 / LANES };
#define VECTORS(width) (((width) + LANES - 1) / LANES)
#define TAIL(width)    ((width) % LANES)

INLINE vector load(const float *row, int k, int width) {
    const char *const p = (const char *)(row + k * LANES);
    return (k + 1) * LANES > width ? vector_load_tail(p, TAMIS_F32, TAIL(width)) : vector_load(p, TAMIS_F32);
}

INLINE void store(float *row, int k, int width, vector x) {
    char *const p = (char *)(row + k * LANES);
    if ((k + 1) * LANES > width)
        vector_store_tail(p, TAMIS_F32, TAIL(width), x);
    else
        vector_store(p, TAMIS_F32, x);
}

INLINE void load_row(vector *to, const float *row, int width) {
#pragma GCC unroll 32
    for (int k = 0; k < VECTORS(width); k++) to[k] = load(row, k, width);
}

INLINE void store_row(float *row, const vector *x, int width) {
#pragma GCC unroll 32
    for (int k = 0; k < VECTORS(width); k++) store(row, k, width, x[k]);
}

INLINE void clear(vector *x, int width) {
#pragma GCC unroll 32
    for (int k = 0; k < VECTORS(width); k++) x[k] = vector_zero();
}

INLINE void axpy(vector *sum, const float *row, real weight, int width) {
    const vector w = vector_of(weight);
#pragma GCC unroll 32
    for (int k = 0; k < VECTORS(width); k++) sum[k] += w * load(row, k, width);
}

INLINE vector dot(const vector *a, const float *row, int width) {
    vector sum = vector_zero();
#pragma GCC unroll 32
    for (int k = 0; k < VECTORS(width); k++) sum += a[k] * load(row, k, width);
    return sum;
}

/* Dots of the nonzeros t .. end - 1 with the row of A in registers, times `values` unless it is NULL: eight, four and
   one at a time. */
INLINE void dots(const product *x, const vector *a, int32_t t, int32_t end, float *to, const float *values, int width) {
    const float *const b = x->b;
    for (; t + 8 <= end; t += 8, to += 8) {
        vector sums[8];
#pragma GCC unroll 8
        for (int g = 0; g < 8; g++) sums[g] = dot(a, b + (int64_t)x->columns[t + g] * width, width);
        vector_sums_of_8(sums, to);
        if (values)
            for (int g = 0; g < 8; g++) to[g] *= values[t + g];
    }
    if (t + 4 <= end) {
        vector sums[4];
#pragma GCC unroll 4
        for (int g = 0; g < 4; g++) sums[g] = dot(a, b + (int64_t)x->columns[t + g] * width, width);
        vector_sums_of_4(sums, to);
        if (values)
            for (int g = 0; g < 4; g++) to[g] *= values[t + g];
        t += 4, to += 4;
    }
    for (; t < end; t++, to++) {
        const real sum = vector_sum(dot(a, b + (int64_t)x->columns[t] * width, width));
        *to = values ? values[t] * sum : sum;
    }
}

INLINE void sddmm(const product *x, int64_t begin, int64_t end, float *to, int scale, int width) {
    for (int64_t row = begin; row < end; row++) {
        vector a[MOST];
        load_row(a, (const float *)x->a + row * width, width);
        dots(x, a, x->offsets[row], x->offsets[row + 1], to + x->offsets[row], scale ? x->values : NULL, width);
    }
}

INLINE void spmm(const product *x, int64_t begin, int64_t end, const float *b, const float *weights, int width) {
    for (int64_t row = begin; row < end; row++) {
        vector sum[MOST];
        clear(sum, width);
        for (int32_t t = x->offsets[row]; t < x->offsets[row + 1]; t++)
            axpy(sum, b + (int64_t)x->columns[t] * width, weights[t], width);
        store_row((float *)x->out + row * width, sum, width);
    }
}

INLINE void fused_once(const product *x, int64_t begin, int64_t end, const float *d, int width) {
    const float *const values = x->values;
    for (int64_t row = begin; row < end; row++) {
        vector a[MOST], sum[MOST];
        load_row(a, (const float *)x->a + row * width, width);
        clear(sum, width);
        for (int32_t t = x->offsets[row]; t < x->offsets[row + 1]; t++) {
            const int64_t at = (int64_t)x->columns[t] * width;
            axpy(sum, d + at, values[t] * vector_sum(dot(a, (const float *)x->b + at, width)), width);
        }
        store_row((float *)x->out + row * width, sum, width);
    }
}

INLINE void softmax(const product *x, int64_t begin, int64_t end, int width) {
    for (int64_t row = begin; row < end; row++) {
        const int32_t first = x->offsets[row], last = x->offsets[row + 1];
        float *const to = x->samples + first;
        const int32_t n = last - first, whole = n / LANES * LANES, rest = n - whole;
        const char *const after = (const char *)(to + whole);
        vector a[MOST], sum[MOST], most = vector_of(-__builtin_inff()), total = vector_zero();
        load_row(a, (const float *)x->a + row * width, width);
        dots(x, a, first, last, to, NULL, width);
        for (int32_t t = 0; t < whole; t += LANES) most = vector_max(vector_load((const char *)(to + t), REAL), most);
        real largest = vector_largest(most);
        for (int32_t t = whole; t < n; t++) largest = to[t] > largest ? to[t] : largest;
        for (int32_t t = 0; t < whole; t += LANES) {
            const vector e = vector_exp(vector_load((const char *)(to + t), REAL) - largest);
            vector_store((char *)(to + t), REAL, e);
            total += e;
        }
        real sum_of_row = vector_sum(total);
        if (rest > 0) {
            vector_store_tail((char *)(to + whole), REAL, rest,
                              vector_exp(vector_load_tail(after, REAL, rest) - largest));
            sum_of_row += vector_sum(vector_load_tail(after, REAL, rest));
        }
        clear(sum, width);
        for (int32_t t = first; t < last; t++)
            axpy(sum, (const float *)x->d + (int64_t)x->columns[t] * width, to[t - first], width);
        const real scale = n > 0 ? 1 / sum_of_row : 0;
#pragma GCC unroll 32
        for (int k = 0; k < VECTORS(width); k++) sum[k] *= scale;
        store_row((float *)x->out + row * width, sum, width);
    }
}

/* bf16: a register of two vectors is widened by a shift and a mask; a rest of less than that in order. */
#define BOTH    (2 * LANES)
#define WIDENED (2 * (128 / BOTH) + 1)

INLINE void spmm_bf16(const product *x, int64_t begin, int64_t end, int width) {
    const uint16_t *const b = x->b, *const values = x->values;
    const int vectors = width / BOTH * 2, rest = width % BOTH;
    for (int64_t row = begin; row < end; row++) {
        vector sum[WIDENED];
#pragma GCC unroll 32
        for (int k = 0; k < WIDENED; k++) sum[k] = vector_zero();
        for (int32_t t = x->offsets[row]; t < x->offsets[row + 1]; t++) {
            const char *const from = (const char *)(b + (int64_t)x->columns[t] * width);
            const vector w = vector_of(tamis_bf16_load(values[t]));
#pragma GCC unroll 32
            for (int k = 0; k < vectors; k++) sum[k] += w * run_load(from + 2 * k * LANES, TAMIS_BF16, k, vectors);
            if (rest) sum[vectors] += w * vector_load_tail(from + 2 * vectors * LANES, TAMIS_BF16, rest);
        }
        char *const to = (char *)((uint16_t *)x->out + row * width);
#pragma GCC unroll 32
        for (int k = 0; k < vectors; k += 2) run_store(to + 2 * k * LANES, TAMIS_BF16, k, vectors, sum + k);
        if (rest) vector_store_tail(to + 2 * vectors * LANES, TAMIS_BF16, rest, sum[vectors]);
    }
}

/* One dot product a nonzero, by pairs where the processor has them. */
#if defined(__AVX512BF16__)
#define HOLDS BOTH
INLINE vector bf16_load(const char *p, int part) {
    return part ? (vector)_mm512_maskz_loadu_epi16((__mmask32)((1u << part) - 1u), p)
                : (vector) * (const vector_anywhere *)(const void *)p;
}
INLINE vector bf16_add(vector sum, vector a, vector b) {
    return (vector)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
}
INLINE void bf16_round_8(uint16_t *to, const float *x) {
    const __m128bh eight = _mm256_cvtneps_pbh(_mm256_loadu_ps(x));
    memcpy(to, &eight, sizeof eight);
}
#else
#define HOLDS LANES
INLINE vector bf16_load(const char *p, int part) {
    return part ? vector_load_tail(p, TAMIS_BF16, part) : vector_load(p, TAMIS_BF16);
}
INLINE vector bf16_add(vector sum, vector a, vector b) { return sum + a * b; }
INLINE void bf16_round_8(uint16_t *to, const float *x) {
    for (int g = 0; g < 8; g++) to[g] = tamis_bf16_store(x[g]);
}
#endif

INLINE vector bf16_dot(const vector *a, const char *row, int width) {
    vector sum = vector_zero();
#pragma GCC unroll 32
    for (int k = 0; k * HOLDS < width; k++)
        sum = bf16_add(sum, a[k], bf16_load(row + 2 * k * HOLDS, (k + 1) * HOLDS > width ? width % HOLDS : 0));
    return sum;
}

INLINE void sddmm_bf16(const product *x, int64_t begin, int64_t end, int width) {
    const uint16_t *const b = x->b;
    uint16_t *const p = x->out;
    for (int64_t row = begin; row < end; row++) {
        const char *const from = (const char *)((const uint16_t *)x->a + row * width);
        vector a[128 / HOLDS];
#pragma GCC unroll 32
        for (int k = 0; k * HOLDS < width; k++)
            a[k] = bf16_load(from + 2 * k * HOLDS, (k + 1) * HOLDS > width ? width % HOLDS : 0);
        int32_t t = x->offsets[row];
        const int32_t last = x->offsets[row + 1];
        for (; t + 8 <= last; t += 8) {
            vector sums[8];
            float eight[8];
#pragma GCC unroll 8
            for (int g = 0; g < 8; g++)
                sums[g] = bf16_dot(a, (const char *)(b + (int64_t)x->columns[t + g] * width), width);
            vector_sums_of_8(sums, eight);
            bf16_round_8(p + t, eight);
        }
        if (t + 4 <= last) {
            vector sums[4];
            float four[4];
#pragma GCC unroll 4
            for (int g = 0; g < 4; g++)
                sums[g] = bf16_dot(a, (const char *)(b + (int64_t)x->columns[t + g] * width), width);
            vector_sums_of_4(sums, four);
            for (int g = 0; g < 4; g++) p[t + g] = tamis_bf16_store(four[g]);
            t += 4;
        }
        for (; t < last; t++)
            p[t] = tamis_bf16_store(vector_sum(bf16_dot(a, (const char *)(b + (int64_t)x->columns[t] * width), width)));
    }
}

/* ------------------------------------------------------------------------------------------ a function for each K */

#define LOOP(name, width, ...)                                                                                         \
    static __attribute__((noinline)) void name##_##width(const product *x, int64_t begin, int64_t end) {               \
        const int K = width;                                                                                           \
        __VA_ARGS__;                                                                                                   \
    }
#define EACH_K(name, ...) LOOP(name, 32, __VA_ARGS__) LOOP(name, 100, __VA_ARGS__) LOOP(name, 128, __VA_ARGS__)

EACH_K(spmm, spmm(x, begin, end, x->b, x->values, K))
EACH_K(sddmm_mask, sddmm(x, begin, end, x->out, 0, K))
EACH_K(sddmm_scale, sddmm(x, begin, end, x->out, 1, K))
EACH_K(sample, sddmm(x, begin, end, x->samples, 1, K))
EACH_K(sum, spmm(x, begin, end, x->d, x->samples, K))
EACH_K(fused_once, fused_once(x, begin, end, x->d, K))
EACH_K(fused_same, fused_once(x, begin, end, x->b, K))
EACH_K(softmax, softmax(x, begin, end, K))
EACH_K(spmm_bf16, spmm_bf16(x, begin, end, K))
EACH_K(sddmm_bf16, sddmm_bf16(x, begin, end, K))

range_loop *specialised_loop(operation_kind operation, int width, int pass) {
    static range_loop *const loops[OPERATIONS][2][3] = {
#define OF(name) {name##_32, name##_100, name##_128}
        [SPMM] = {OF(spmm)},
        [SDDMM_MASK] = {OF(sddmm_mask)},
        [SDDMM_SCALE] = {OF(sddmm_scale)},
        [FUSED] = {OF(sample), OF(sum)},
        [FUSED_ONCE] = {OF(fused_once)},
        [FUSED_SAME] = {OF(fused_same)},
        [SOFTMAX] = {OF(softmax)},
        [SPMM_BF16] = {OF(spmm_bf16)},
        [SDDMM_BF16] = {OF(sddmm_bf16)},
    };
    return pass < 2 ? loops[operation][pass][width == 32 ? 0 : width == 100 ? 1 : 2] : NULL;
}
