/*
 * Weighted sums of rows: for each segment, sum = start + sum over its nonzeros t of weight[t] * B_column(t).
 *
 *   start    0, or load_scale * accumulator        (SEGMENT_CONTINUE)
 *   finish   accumulator = sum                     (SEGMENT_KEEP)
 *            or out_row = final_scale * sum + beta * out_row
 *
 * Accumulators hold lanes in the order of runs (vector.h), not of columns. Only this file uses them.
 *
 * A block of up to SUM_BLOCK vectors of the output row stays in registers for the whole segment; wider rows are
 * computed block by block. Blocks of up to three vectors keep several sets of sums, to hide the latency of
 * multiply-adds. Rows of up to NARROW_SUMS_MOST elements have their own loops (narrow_sums.h). Moves: a row of B per
 * nonzero, and at most one output row per segment.
 */
#ifndef TAMIS_CPU_KERNELS_ACCUMULATE_H
#define TAMIS_CPU_KERNELS_ACCUMULATE_H

#include "cpu/kernels/dots.h"
#include "cpu/kernels/narrow_sums.h"

#if VECTOR_BYTES == 64 || defined(__aarch64__)
#define SUM_BLOCK 16
#else
#define SUM_BLOCK 8
#endif

/* Rows of several blocks are computed in groups of neighbours, whose rows of B have about this many bytes: the next
   block finds them in L1. */
enum { SUM_GROUP_BYTES = 8192 };

/* Prefetch distance of columns and weights, in bytes, if rows of B are prefetched: those occupy the hardware
   prefetcher, which then does not follow columns and weights. */
enum { SUM_INDEX_AHEAD = 512 };

/* Mean nonzeros per row from which several sets of sums pay off, as far as registers suffice. */
enum { SUM_LONG_ROW = 24 };

/*
 * A block of `count` vectors, from element `first` on. With `over`, the last vector does not follow the previous one
 * but begins at byte `last`, so that it ends with the row: a few columns are in both. Rows shorter than a vector have
 * `tail`.
 */
typedef struct sum_shape {
    int64_t first, last;
    int count, over, tail; /* count and over are compile-time constants */
    int in_order;          /* one set of sums, however few vectors */
} sum_shape;

INLINE const char *sum_place(const char *row, const sum_shape *shape, tamis_type type, int k) {
    return row + (shape->over && k == shape->count - 1 ? shape->last : k * LANES * element_bytes(type));
}

/* Loads vector k of a row. The vectors before an overlapping one are a run. */
INLINE vector sum_load(const char *row, const sum_shape *shape, tamis_type type, int k) {
    const char *const p = sum_place(row, shape, type, k);
    if (shape->tail) return vector_load_tail(p, type, shape->tail);
    return shape->over && k == shape->count - 1 ? vector_load(p, type)
                                                : run_load(p, type, k, shape->count - shape->over);
}

/* Stores a row, or its part in the block. Loads everything before it stores, since vectors may overlap. */
INLINE void sum_store(char *out, const sum_shape *shape, tamis_type type, vector *sum, real scale, real beta) {
    const int whole = shape->count - shape->over;
#pragma GCC unroll 16
    for (int k = 0; k < shape->count; k++) {
        sum[k] *= scale;
        if (beta != 0) sum[k] += beta * sum_load(out, shape, type, k);
    }
    if (shape->tail) {
        vector_store_tail(out, type, shape->tail, sum[0]);
        return;
    }
#pragma GCC unroll 16
    for (int k = 0; k < whole; k++)
        if (k % 2 == 0 || !run_has_pair(type, k, whole))
            run_store(out + k * LANES * element_bytes(type), type, k, whole, sum + k);
    if (shape->over) vector_store(out + shape->last, type, sum[whole]);
}

/* Stores past the caches (non-temporal), for rows that no cache keeps: a normal store would first read the line from
   memory. All vectors are whole lines (sum_streams), and sum_fence precedes the first reader. */
INLINE void sum_stream(char *out, const sum_shape *shape, tamis_type type, vector *sum, real scale) {
#if AVX_BYTES == 64
#pragma GCC unroll 16
    for (int k = 0; k < shape->count; k++)
        _mm512_stream_si512((void *)(out + (sum_place(out, shape, type, k) - out)), (__m512i)(sum[k] * scale));
#else
    sum_store(out, shape, type, sum, scale, 0);
#endif
}

static void sum_fence(const sum_arguments *arguments) {
#if AVX_BYTES == 64
    if (arguments->stream) _mm_sfence();
#else
    (void)arguments;
#endif
}

#if !defined(TAMIS_KERNEL_F64)
/* The same into a row of reals from 16-bit inputs, in column order. Not inlined, since it runs once per row and blocks
   have many instances. */
static __attribute__((noinline)) void sum_store_reals(char *out, sum_shape shape, tamis_type type, vector *sum,
                                                      real scale, real beta) {
    const int whole = shape.count - shape.over;
    for (int k = 0; k < whole; k += 2) {
        if (!run_has_pair(type, k, whole)) continue;
        const vector even = sum[k], odd = sum[k + 1];
        for (int i = 0; i < LANES; i++) {
            sum[k + 2 * i / LANES][2 * i % LANES] = even[i];
            sum[k + 2 * i / LANES][2 * i % LANES + 1] = odd[i];
        }
    }
    shape.last *= (int64_t)sizeof(real) / 2;
    for (int k = 0; k < shape.count; k++) {
        sum[k] *= scale;
        const char *const from = sum_place(out, &shape, REAL, k);
        if (beta != 0)
            sum[k] += beta * (shape.tail ? vector_load_tail(from, REAL, shape.tail) : vector_load(from, REAL));
    }
    for (int k = 0; k < shape.count; k++) {
        char *const to = out + (sum_place(out, &shape, REAL, k) - out);
        if (shape.tail)
            vector_store_tail(to, REAL, shape.tail, sum[k]);
        else
            vector_store(to, REAL, sum[k]);
    }
}
#endif

INLINE void sum_clear(vector *sum, int count) {
#pragma GCC unroll 16
    for (int k = 0; k < count; k++) sum[k] = vector_zero();
}

/* Sums from an accumulator, times `scale`, and back. Accumulator rows are padded to whole vectors. */
INLINE void sum_resume(vector *sum, int count, const char *from, real scale) {
#pragma GCC unroll 16
    for (int k = 0; k < count; k++) sum[k] = scale * *(const vector_anywhere *)(const void *)(from + k * VECTOR_BYTES);
}

INLINE void sum_keep(const vector *sum, int count, char *to) {
#pragma GCC unroll 16
    for (int k = 0; k < count; k++) *(vector_anywhere *)(void *)(to + k * VECTOR_BYTES) = sum[k];
}

/* Stores a block of an output row that begins at `row`, in the output's type. */
INLINE void sum_finish(char *row, int real_out, const sum_shape *shape, tamis_type type, vector *sum, real scale,
                       real beta) {
#if !defined(TAMIS_KERNEL_F64)
    if (type != REAL && real_out) {
        vector kept[SUM_BLOCK]; /* a copy, so that `sum` itself stays in registers */
#pragma GCC unroll 16
        for (int k = 0; k < shape->count; k++) kept[k] = sum[k];
        sum_store_reals(row + shape->first * (int64_t)sizeof(real), *shape, type, kept, scale, beta);
        return;
    }
#endif
    (void)real_out;
    sum_store(row + shape->first * element_bytes(type), shape, type, sum, scale, beta);
}

/* Prefetches the row of B of nonzero t + ahead; and columns, and weights if any, still farther ahead. */
INLINE void sum_prefetch(const char *b, int64_t b_stride, const char *columns, int64_t t, const real *w, int64_t ahead,
                         int64_t lines, int wide_columns) {
    __builtin_prefetch(column_pointer(columns, t, wide_columns) + SUM_INDEX_AHEAD);
    if (w) __builtin_prefetch((const char *)(w + t) + SUM_INDEX_AHEAD);
    prefetch_lines(b + column_at(columns, t + ahead, wide_columns) * b_stride, lines);
}

/* Adds the products of `n` nonzeros to `sum`. `step` is the weights' stride: 0 if all are the one at w. */
INLINE void sum_nonzeros(vector *sum, const char *b, int64_t b_stride, const char *columns, int64_t n, const real *w,
                         int64_t step, int64_t ahead, tamis_type type, int wide_columns, const sum_shape *shape) {
    const int count = shape->count, sets = count == 1 ? 4 : count <= 3 ? 2 : 1;
    const int64_t lines = (count * LANES * element_bytes(type) + 63) / 64;
    int64_t t = 0;
    if (sets > 1 && n >= 8 && !shape->in_order) {
        vector more[3][4];
        for (int q = 1; q < sets; q++)
#pragma GCC unroll 4
            for (int k = 0; k < count; k++) more[q - 1][k] = vector_zero();
        for (; t <= n - sets; t += sets) {
            if (ahead)
                for (int q = 0; q < sets; q++)
                    sum_prefetch(b, b_stride, columns, t + q, step ? w : NULL, ahead, lines, wide_columns);
#pragma GCC unroll 4
            for (int q = 0; q < sets; q++) {
                const char *const row = b + column_at(columns, t + q, wide_columns) * b_stride;
                const vector weight = vector_of(w[(t + q) * step]);
#pragma GCC unroll 4
                for (int k = 0; k < count; k++) {
                    if (q == 0)
                        sum[k] += weight * sum_load(row, shape, type, k);
                    else
                        more[q - 1][k] += weight * sum_load(row, shape, type, k);
                }
            }
        }
#pragma GCC unroll 4
        for (int k = 0; k < count; k++) {
            if (sets == 4)
                sum[k] = (sum[k] + more[0][k]) + (more[1][k] + more[2][k]);
            else
                sum[k] += more[0][k];
        }
    }
    for (; t < n; t++) {
        const char *const row = b + column_at(columns, t, wide_columns) * b_stride;
        const vector weight = vector_of(w[t * step]);
        if (ahead) sum_prefetch(b, b_stride, columns, t, step ? w : NULL, ahead, lines, wide_columns);
#pragma GCC unroll 16
        for (int k = 0; k < count; k++) sum[k] += weight * sum_load(row, shape, type, k);
    }
}

/* One block of the rows or segments of a call. */
typedef struct sum_call {
    const sum_arguments *arguments;
    const segment *segments; /* NULL: whole rows from `row` on */
    int64_t row, count;
    const real *weights;
    int64_t first, last; /* see sum_shape */
    int tail;
    int64_t blocks; /* consecutive blocks of SUM_BLOCK vectors, for sum_rows; else 1 */
} sum_call;

/* Computes the rows up to `end_row` of one block, one nonzero after another, testing only for the end of the row: a row
   of a few nonzeros costs as much as a mispredicted branch. Returns the nonzero after them. */
INLINE int64_t sum_short_rows(const sum_call *call, int64_t row, int64_t end_row, int64_t t, tamis_type type,
                              int wide_columns, int wide_offsets, int ones, int stream, int64_t ahead,
                              const sum_shape *shape) {
    const sum_arguments *const arguments = call->arguments;
    const int64_t b_stride = arguments->b_stride, out_stride = arguments->out_stride;
    const int64_t first = call->first * element_bytes(type), count = shape->count;
    const int64_t lines = (count * LANES * element_bytes(type) + 63) / 64;
    const char *const b = arguments->b + first, *const columns = arguments->columns,
                      *const offsets = arguments->offsets;
    const real *const w = ones ? NULL : call->weights - column_at(offsets, call->row, wide_offsets);
    const real alpha = arguments->alpha;
    char *out = arguments->out + row * out_stride + first;
    for (; row < end_row; row++, out += out_stride) {
        const int64_t end = column_at(offsets, row + 1, wide_offsets);
        vector sum[SUM_BLOCK];
        sum_clear(sum, shape->count);
        for (; t < end; t++) {
            const char *const from = b + column_at(columns, t, wide_columns) * b_stride;
            const vector weight = vector_of(ones ? 1 : w[t]);
            if (ahead) sum_prefetch(b, b_stride, columns, t, ones ? NULL : w, ahead, lines, wide_columns);
#pragma GCC unroll 16
            for (int k = 0; k < count; k++)
                sum[k] += ones ? sum_load(from, shape, type, k) : weight * sum_load(from, shape, type, k);
        }
        if (stream)
            sum_stream(out, shape, type, sum, alpha);
        else
            sum_store(out, shape, type, sum, alpha, 0);
    }
    return t;
}

/* The same with and without prefetching: the last rows have nothing left to prefetch. */
INLINE void sum_rows_short(const sum_call *call, tamis_type type, int wide_columns, int wide_offsets, int ones,
                           int stream, const sum_shape *shape) {
    const sum_arguments *const arguments = call->arguments;
    int64_t t = column_at(arguments->offsets, call->row, wide_offsets);
    const int64_t end = call->row + call->count;
    int64_t ahead_end = call->row;
    if (arguments->prefetch) {
        ahead_end = end;
        while (ahead_end > call->row &&
               column_at(arguments->offsets, ahead_end, wide_offsets) > arguments->prefetch_end)
            ahead_end--;
        t = sum_short_rows(call, call->row, ahead_end, t, type, wide_columns, wide_offsets, ones, stream,
                           arguments->prefetch, shape);
    }
    sum_short_rows(call, ahead_end, end, t, type, wide_columns, wide_offsets, ones, stream, 0, shape);
}

/* Several sets of sums, or blocks, for rows with so many nonzeros that the cost per row is negligible. If a row takes
   several whole blocks, the second finds the row's columns, and often its rows of B, in L1. */
INLINE void sum_rows_long(const sum_call *call, tamis_type type, int wide_columns, int ones, int stream,
                          const sum_shape *shape) {
    const sum_arguments *const arguments = call->arguments;
    const int64_t b_stride = arguments->b_stride, out_stride = arguments->out_stride;
    const int64_t block_bytes = shape->count * LANES * element_bytes(type), first = call->first * element_bytes(type);
    const int64_t blocks_end = first + (shape->count == SUM_BLOCK ? call->blocks * block_bytes : block_bytes);
    const char *const offsets = arguments->offsets;
    int64_t begin = column_at(offsets, call->row, arguments->wide_offsets);
    const char *columns = column_pointer(arguments->columns, begin, wide_columns);
    static const real one = 1;
    const int64_t step = ones ? 0 : 1; /* a compile-time constant */
    const real *w = ones ? &one : call->weights;
    char *out = arguments->out + call->row * out_stride;
    for (int64_t row = call->row + 1; row <= call->row + call->count; row++, out += out_stride) {
        const int64_t end = column_at(offsets, row, arguments->wide_offsets), n = end - begin;
        const int64_t ahead = end <= arguments->prefetch_end ? arguments->prefetch : 0;
        int64_t at = first;
        do {
            vector sum[SUM_BLOCK];
            sum_clear(sum, shape->count);
            if (ahead)
                sum_nonzeros(sum, arguments->b + at, b_stride, columns, n, w, step, ahead, type, wide_columns, shape);
            else
                sum_nonzeros(sum, arguments->b + at, b_stride, columns, n, w, step, 0, type, wide_columns, shape);
            if (stream)
                sum_stream(out + at, shape, type, sum, arguments->alpha);
            else
                sum_store(out + at, shape, type, sum, arguments->alpha, 0);
            at += block_bytes;
        } while (shape->count == SUM_BLOCK && at < blocks_end);
        columns = column_pointer(columns, n, wide_columns);
        w += n * step;
        begin = end;
    }
}

/* Whole rows that are stored in the type of the inputs and overwrite the output: nearly all calls. */
INLINE void sum_rows_of(const sum_call *call, tamis_type type, int wide_columns, int ones, int stream,
                        const sum_shape *shape) {
    const sum_arguments *const arguments = call->arguments;
    const int64_t nonzeros = column_at(arguments->offsets, call->row + call->count, arguments->wide_offsets) -
                             column_at(arguments->offsets, call->row, arguments->wide_offsets);
    const int several = shape->count <= 3 && !arguments->in_order;
    if (shape->count == SUM_BLOCK || (several && nonzeros >= SUM_LONG_ROW * call->count))
        sum_rows_long(call, type, wide_columns, ones, stream, shape);
    else if (arguments->wide_offsets)
        sum_rows_short(call, type, wide_columns, 1, ones, stream, shape);
    else
        sum_rows_short(call, type, wide_columns, 0, ones, stream, shape);
}

INLINE void sum_rows(const sum_call *call, tamis_type type, int wide_columns, int stream, const sum_shape *shape) {
    if (call->arguments->ones)
        sum_rows_of(call, type, wide_columns, 1, stream, shape);
    else
        sum_rows_of(call, type, wide_columns, 0, stream, shape);
}

INLINE int sum_takes_rows(const sum_arguments *arguments, const segment *segments) {
    return !segments && !arguments->real_out && arguments->beta == 0;
}

INLINE segment sum_whole_row(const sum_arguments *arguments, int64_t row) {
    const int64_t begin = column_at(arguments->offsets, row, arguments->wide_offsets);
    const int64_t end = column_at(arguments->offsets, row + 1, arguments->wide_offsets);
    return (segment){.row = row, .begin = begin, .count = end - begin, .final_scale = arguments->alpha};
}

/* Segments, or whole rows that sum_rows leaves out. */
INLINE void sum_segments(const sum_call *call, tamis_type type, int wide_columns, const sum_shape *shape) {
    static const real one = 1;
    const sum_arguments *const arguments = call->arguments;
    const int64_t step = arguments->ones ? 0 : 1;
    const char *const b = arguments->b + shape->first * element_bytes(type);
    const real *w = arguments->ones ? &one : call->weights;
    for (int64_t s = 0; s < call->count; s++) {
        const segment seg = call->segments ? call->segments[s] : sum_whole_row(arguments, call->row + s);
        vector sum[SUM_BLOCK];
        if (seg.flags & SEGMENT_CONTINUE)
            sum_resume(sum, shape->count, (const char *)(seg.accumulator + shape->first), seg.load_scale);
        else
            sum_clear(sum, shape->count);
        sum_nonzeros(sum, b, arguments->b_stride, column_pointer(arguments->columns, seg.begin, wide_columns),
                     seg.count, w, step, seg.begin + seg.count <= arguments->prefetch_end ? arguments->prefetch : 0,
                     type, wide_columns, shape);
        w += seg.count * step;
        if (seg.flags & SEGMENT_KEEP)
            sum_keep(sum, shape->count, (char *)(seg.accumulator + shape->first));
        else
            sum_finish(arguments->out + seg.row * arguments->out_stride, arguments->real_out, shape, type, sum,
                       seg.final_scale, arguments->beta);
    }
}

/* Body of an instance, with constant count and wide_columns. bf16's vectors come in pairs, so an even number of them
   has no overlapping vector. */
INLINE void sum_block(const sum_call *call, int wide_columns, int count, int tail) {
    const int over = count > 1 && (TAMIS_KERNEL_TYPE != TAMIS_BF16 || count % 2);
    const sum_shape shape = {call->first, call->last, count, over, tail, call->arguments->in_order};
    if (sum_takes_rows(call->arguments, call->segments))
        sum_rows(call, TAMIS_KERNEL_TYPE, wide_columns, 0, &shape);
    else
        sum_segments(call, TAMIS_KERNEL_TYPE, wide_columns, &shape);
}

/* The instances, by the width of column indices and the number of vectors; 0: less than one. Separate functions, so
   that each has all registers to itself. */
typedef void sum_instance(const sum_call *call);

static void sum_32_0(const sum_call *call) { sum_block(call, 0, 1, call->tail); }
static void sum_64_0(const sum_call *call) { sum_block(call, 1, 1, call->tail); }
#define SUM(count)                                                                                                     \
    static void sum_32_##count(const sum_call *call) { sum_block(call, 0, count, 0); }                                 \
    static void sum_64_##count(const sum_call *call) { sum_block(call, 1, count, 0); }
COUNTS_8(SUM)
#if SUM_BLOCK == 16
SUM(16)
#else
#define sum_32_16 NULL
#define sum_64_16 NULL
#endif
#undef SUM

#define NARROW(count) sum_32_##count,
#define WIDE(count)   sum_64_##count,
static sum_instance *const sum_instances[2][10] = {{sum_32_0, COUNTS_8(NARROW) sum_32_16},
                                                   {sum_64_0, COUNTS_8(WIDE) sum_64_16}};
#undef NARROW
#undef WIDE

/* Non-temporal stores of whole rows have their own instances: in one instance with normal stores, rows that stay in a
   cache took up to 7 % longer. Blocks of other sizes are stored normally. */
#if AVX_BYTES == 64
INLINE void sum_past(const sum_call *call, int wide_columns, int count) {
    const sum_shape shape = {call->first, call->last, count, count > 1, 0, 0};
    if (TAMIS_KERNEL_TYPE == REAL) sum_rows(call, REAL, wide_columns, 1, &shape); /* other types do not stream */
}
#define PAST(count)                                                                                                    \
    static void sum_past_32_##count(const sum_call *call) { sum_past(call, 0, count); }                                \
    static void sum_past_64_##count(const sum_call *call) { sum_past(call, 1, count); }
PAST(2)
PAST(4)
PAST(8)
PAST(16)
#undef PAST
static sum_instance *const sum_past_instances[2][10] = {
    {[2] = sum_past_32_2, [4] = sum_past_32_4, [8] = sum_past_32_8, [9] = sum_past_32_16},
    {[2] = sum_past_64_2, [4] = sum_past_64_4, [8] = sum_past_64_8, [9] = sum_past_64_16}};
#else
static sum_instance *const sum_past_instances[2][10] = {{NULL}};
#endif

/* Number of vectors of the next block, if `left` elements of the row are left; 0: less than one. A block shorter than a
   vector would overlap with one that is already stored, so the block before it is made smaller. */
static int64_t sum_block_vectors(int64_t left) {
    const int64_t vectors = (left + LANES - 1) / LANES;
    if (left < LANES) return 0;
    int64_t now = vectors >= SUM_BLOCK ? SUM_BLOCK : vectors > 8 ? 8 : vectors;
    if (TAMIS_KERNEL_TYPE == TAMIS_BF16) {
        if (now % 2 != 0 || left >= now * LANES) return now;
        return now == 16 ? 8 : now - 1; /* there is no instance of 15 */
    }
    if (left > now * LANES && left < (now + 1) * LANES) now = now == 16 ? 8 : now - 1;
    return now;
}

/* Computes a row of several blocks for a few segments at a time, unless sum_rows does all its blocks. */
static void sum_of_type(const sum_arguments *arguments, const segment *segments, int64_t count, const real *weights,
                        int wide_columns) {
    const int64_t size = element_bytes(TAMIS_KERNEL_TYPE), row_bytes = arguments->width * size;
    const int rows = sum_takes_rows(arguments, segments);
    /* one call does all blocks of all segments */
    const int together = arguments->width <= LANES || sum_block_vectors(arguments->width) * LANES >= arguments->width ||
                         (rows && arguments->width % (SUM_BLOCK * LANES) == 0);
    sum_call call = {.arguments = arguments, .weights = weights};
    for (int64_t s = 0; s < count;) {
        int64_t nonzeros = 0;
        call.segments = segments ? segments + s : NULL;
        call.row = arguments->row + s;
        call.count = together ? count : 0;
        while (s + call.count < count && nonzeros * row_bytes < SUM_GROUP_BYTES) {
            const int64_t row = call.row + call.count;
            nonzeros += segments ? call.segments[call.count].count
                                 : column_at(arguments->offsets, row + 1, arguments->wide_offsets) -
                                       column_at(arguments->offsets, row, arguments->wide_offsets);
            call.count++;
        }
        for (call.first = 0; call.first < arguments->width;) {
            const int64_t left = arguments->width - call.first, vectors = sum_block_vectors(left);
            const int64_t whole = left / (SUM_BLOCK * LANES), rest = left % (SUM_BLOCK * LANES);
            call.blocks = !rows || vectors < SUM_BLOCK || whole < 2 ? 1 : rest > 0 && rest < LANES ? whole - 1 : whole;
            call.last = (left < vectors * LANES ? left - LANES : (vectors - 1) * LANES) * size;
            call.tail = vectors ? 0 : (int)left;
            const int64_t place = vectors == 16 ? 9 : vectors;
            sum_instance *const past = rows && arguments->stream ? sum_past_instances[wide_columns][place] : NULL;
            (past ? past : sum_instances[wide_columns][place])(&call);
            call.first += vectors ? call.blocks * vectors * LANES : LANES;
        }
        s += call.count;
        if (!arguments->ones) call.weights += nonzeros;
    }
}

/* By the width of column indices. Narrow rows have their own loops. */
static void sum_columns_32(const sum_arguments *arguments, const segment *segments, int64_t count,
                           const real *weights) {
    if (arguments->width > 0 && arguments->width <= NARROW_SUMS_MOST && !arguments->in_order)
        narrow_sums(arguments, segments, (int)count, weights, TAMIS_KERNEL_TYPE, 0);
    else
        sum_of_type(arguments, segments, count, weights, 0);
}
static void sum_columns_64(const sum_arguments *arguments, const segment *segments, int64_t count,
                           const real *weights) {
    if (arguments->width > 0 && arguments->width <= NARROW_SUMS_MOST && !arguments->in_order)
        narrow_sums(arguments, segments, (int)count, weights, TAMIS_KERNEL_TYPE, 1);
    else
        sum_of_type(arguments, segments, count, weights, 1);
}

static sum_function *sum_function_for(bool wide_columns) { return wide_columns ? sum_columns_64 : sum_columns_32; }

#endif
