/*
 * SpMM of bf16 where the processor multiplies pairs (dots.h, DOT_PAIRS): two nonzeros of a row of S at a time.
 *
 *   B_column(t)      [ b0 b1 b2 b3 ... ]   interleaved within    lane k += s(t + 1) c_k, then += s(t) b_k
 *   B_column(t + 1)  [ c0 c1 c2 c3 ... ]   128 bits
 *
 * That is two shuffles and two products for 64 elements, instead of four conversions and four products; and the two
 * bf16 values of S are one 32-bit word that is broadcast from memory. So values are not widened in advance, and rows of
 * S need no list of segments. A block of up to 256 columns of the output row stays in registers. Moves: a row of B per
 * nonzero, each row of C once.
 *
 * Rows shared by threads, tiles, fp32 values and narrow rows use spmm.h. Subnormal numbers count as 0, as in dots.h.
 */
#ifndef TAMIS_CPU_KERNELS_SPMM_PAIRS_H
#define TAMIS_CPU_KERNELS_SPMM_PAIRS_H

#include "cpu/kernels/spmm.h"

#if DOT_PAIRS

/* Registers of B per block, with two registers of sums each; below PAIRS_LEAST columns, half of a register would be
   empty. */
enum { PAIRS_BLOCK = 8, PAIRS_COLUMNS = 32, PAIRS_LEAST = 17 };

/* Rows are short if they have fewer nonzeros than this on average. */
enum { PAIRS_SHORT = 16 };

typedef struct pairs_call {
    const tamis_cpu_job *job;
    int64_t row, row_end;
    int64_t first;      /* first column */
    __mmask32 last;     /* mask of the last register's columns */
    const char *values; /* of S, value_step bytes apart; step 0: all are the pair at `values` */
    int64_t value_step;
} pairs_call;

INLINE __m512i pairs_load(const char *row, int k, int count, int full, __mmask32 last) {
    if (k == count - 1 && !full) return _mm512_maskz_loadu_epi16(last, row + 64 * k);
    return _mm512_loadu_si512(row + 64 * k);
}

/* Adds the nonzero at `columns` and the next one; with `single` only the first. */
INLINE void pairs_add(vector *sum, const pairs_call *call, const char *b, const char *columns, const char *values,
                      int count, int full, int single, int wide_columns) {
    const int64_t b_stride = call->job->b_stride;
    const char *const row = b + column_at(columns, 0, wide_columns) * b_stride;
    const char *const next = single ? row : b + column_at(columns, 1, wide_columns) * b_stride;
    int32_t two = 0;
    memcpy(&two, values, single ? 2 : 4);
    const __m512bh weights = (__m512bh)_mm512_set1_epi32(two);
#pragma GCC unroll 8
    for (int k = 0; k < count; k++) {
        __m512i x = pairs_load(row, k, count, full, call->last);
        __m512i y = single ? _mm512_setzero_si512() : pairs_load(next, k, count, full, call->last);
        __asm__("" : "+v"(x), "+v"(y)); /* otherwise gcc 12 loads both from memory for each half */
        sum[2 * k] = (vector)_mm512_dpbf16_ps((__m512)sum[2 * k], weights, (__m512bh)_mm512_unpacklo_epi16(x, y));
        sum[2 * k + 1] =
            (vector)_mm512_dpbf16_ps((__m512)sum[2 * k + 1], weights, (__m512bh)_mm512_unpackhi_epi16(x, y));
    }
}

/* The cases that pairs_store leaves out. Not inlined, since it runs once per row. */
static __attribute__((noinline)) void pairs_store_any(const pairs_call *call, int64_t row, const vector *sum,
                                                      int count) {
    const tamis_cpu_job *const job = call->job;
    const tamis_type type = job->real_out ? REAL : TAMIS_BF16;
    const int64_t left = job->width - call->first, most = 2 * LANES * (int64_t)count;
    vector sums[2 * PAIRS_BLOCK];
    for (int k = 0; k < 2 * count; k += 2) {
        const vector low = sum[k], high = sum[k + 1];
        sums[k] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
        sums[k + 1] = __builtin_shufflevector(low, high, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
    }
    finish_row(job->out + row * job->out_stride + call->first * element_bytes(type), type,
               (const real *)(const void *)sums, left < most ? left : most, (real)job->alpha, (real)job->beta);
}

INLINE void pairs_store(const pairs_call *call, int64_t row, const vector *sum, int count, int full) {
    const tamis_cpu_job *const job = call->job;
    const vector alpha = vector_of((real)job->alpha);
    const __m512i order =
        _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7); /* interleaves four columns of one register with four of the other */
    char *const out = job->out + row * job->out_stride + call->first * 2;
#pragma GCC unroll 8
    for (int k = 0; k < count; k++) {
        const __m512 low = (__m512)(sum[2 * k] * alpha), high = (__m512)(sum[2 * k + 1] * alpha);
        const __m512i both = _mm512_permutexvar_epi64(order, (__m512i)_mm512_cvtne2ps_pbh(high, low));
        if (k == count - 1 && !full)
            _mm512_mask_storeu_epi16(out + 64 * k, call->last, both);
        else
            _mm512_storeu_si512(out + 64 * k, both);
    }
}

INLINE void pairs_rows(const pairs_call *call, int count, int full, int wide_columns) {
    const tamis_cpu_job *const job = call->job;
    const char *const b = job->b + call->first * 2;
    const int sets = count <= 2 ? 2 : 1; /* two sets hide the latency of products */
    const int64_t lines = count, index_bytes = wide_columns ? 8 : 4;
    /* the conversion of pairs_store flushes subnormal numbers, which a small alpha would produce */
    const bool plain = !job->real_out && job->beta == 0 && (job->alpha >= 1 || job->alpha <= -1);
    int64_t begin = offset_at(job, call->row);
    /* few nonzeros per row: one by one, testing only for the end of the row, since each further test is mispredicted */
    const bool few = sets == 2 && offset_at(job, call->row_end) - begin < PAIRS_SHORT * (call->row_end - call->row);
    for (int64_t row = call->row; row < call->row_end; row++) {
        const int64_t end = offset_at(job, row + 1), n = end - begin;
        const int64_t ahead = job->prefetch && end + job->prefetch <= job->nnz ? job->prefetch : 0;
        const char *columns = column_pointer(job->columns, begin, wide_columns);
        const char *values = call->values + begin * call->value_step;
        vector sum[2 * PAIRS_BLOCK], more[4];
#pragma GCC unroll 16
        for (int k = 0; k < 2 * count; k++) sum[k] = vector_zero();
        int64_t t = 0;
#define ADD(to, at, pair)                                                                                              \
    pairs_add(to, call, b, columns + (at)*index_bytes, values + (at)*call->value_step, count, full, !(pair),           \
              wide_columns)
#define NEXT(count) t += (count), columns += (count)*index_bytes, values += (count)*call->value_step
#define AHEAD(count)                                                                                                   \
    for (int i = 0; ahead && i < (count); i++)                                                                         \
    prefetch_lines(b + column_at(columns, ahead + i, wide_columns) * job->b_stride, lines)
        for (; few && t < n; NEXT(1)) {
            AHEAD(1);
            ADD(sum, 0, 0);
        }
        if (sets == 2 && !few) {
#pragma GCC unroll 4
            for (int k = 0; k < 2 * count; k++) more[k] = vector_zero();
            for (; t + 4 <= n; NEXT(4)) {
                AHEAD(4);
                ADD(sum, 0, 1);
                ADD(more, 2, 1);
            }
#pragma GCC unroll 4
            for (int k = 0; k < 2 * count; k++) sum[k] += more[k];
        }
        for (; t + 2 <= n; NEXT(2)) {
            AHEAD(2);
            ADD(sum, 0, 1);
        }
        if (t < n) {
            AHEAD(1);
            ADD(sum, 0, 0);
        }
#undef ADD
#undef NEXT
#undef AHEAD
        if (plain)
            pairs_store(call, row, sum, count, full);
        else {
            vector kept[2 * PAIRS_BLOCK]; /* a copy, so that `sum` itself stays in registers */
#pragma GCC unroll 16
            for (int k = 0; k < 2 * count; k++) kept[k] = sum[k];
            pairs_store_any(call, row, kept, count);
        }
        begin = end;
    }
}

typedef void pairs_instance(const pairs_call *call);

/* The instances, by the registers of a block: 32-bit columns with a full last register, the same with a mask, and
   64-bit columns. */
#define PAIRS(count)                                                                                                   \
    static void pairs_32_##count(const pairs_call *call) { pairs_rows(call, count, 1, 0); }                            \
    static void pairs_32_##count##_part(const pairs_call *call) { pairs_rows(call, count, 0, 0); }                     \
    static void pairs_64_##count(const pairs_call *call) { pairs_rows(call, count, 0, 1); }
COUNTS_8(PAIRS)
#undef PAIRS
#define FULL(count) pairs_32_##count,
#define PART(count) pairs_32_##count##_part,
#define WIDE(count) pairs_64_##count,
static pairs_instance *const pairs_instances[3][PAIRS_BLOCK] = {{COUNTS_8(FULL)}, {COUNTS_8(PART)}, {COUNTS_8(WIDE)}};
#undef FULL
#undef PART
#undef WIDE

static bool pairs_take(const tamis_cpu_job *job) {
    return !job->tiles && !job->real_values && job->width >= PAIRS_LEAST;
}

/* Whole rows; rows of several blocks one by one, so that the second block finds columns and rows of B in L1. */
static void pairs_whole_rows(pairs_call call, int64_t row, int64_t row_end) {
    static const uint16_t ones[2] = {0x3f80, 0x3f80};
    const tamis_cpu_job *const job = call.job;
    const int64_t block = (int64_t)PAIRS_BLOCK * PAIRS_COLUMNS, rows = job->width <= block ? row_end - row : 1;
    call.values = job->values ? job->values : (const char *)ones;
    call.value_step = job->values ? 2 : 0;
    for (; row < row_end; row += rows) {
        call.row = row;
        call.row_end = row + rows;
        for (call.first = 0; call.first < job->width; call.first += block) {
            const int64_t left = job->width - call.first < block ? job->width - call.first : block;
            const int64_t count = (left + PAIRS_COLUMNS - 1) / PAIRS_COLUMNS;
            call.last = (__mmask32)(UINT32_MAX >> (count * PAIRS_COLUMNS - left));
            pairs_instances[job->wide_columns ? 2 : call.last != UINT32_MAX][count - 1](&call);
        }
    }
}

/* `any` computes cut rows: their partial sums have the layout of spmm.h, which merges them. */
static void spmm_pairs_range(const tamis_cpu_job *job, const tamis_cpu_range *range,
                             void (*any)(const tamis_cpu_job *job, const tamis_cpu_range *range)) {
    int64_t row = range->row_begin, row_end = range->row_end;
    if (row == row_end) return;
    if (row + 1 == row_end && (range->head_cut || range->tail_cut)) {
        any(job, range);
        return;
    }
    if (range->head_cut) {
        tamis_cpu_range head = *range;
        head.row_end = ++row;
        head.nonzero_end = offset_at(job, row);
        head.tail_cut = false;
        any(job, &head);
    }
    if (range->tail_cut) {
        tamis_cpu_range tail = *range;
        tail.row_begin = --row_end;
        tail.nonzero_begin = offset_at(job, row_end);
        tail.head_cut = false;
        any(job, &tail);
    }
    pairs_whole_rows((pairs_call){.job = job}, row, row_end);
}

#else
static bool pairs_take(const tamis_cpu_job *job) { return (void)job, false; }
static void spmm_pairs_range(const tamis_cpu_job *job, const tamis_cpu_range *range,
                             void (*any)(const tamis_cpu_job *job, const tamis_cpu_range *range)) {
    any(job, range);
}
#endif

#endif
