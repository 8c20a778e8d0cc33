/*
 * Fused where D is B: E_row = alpha * sum over the row's nonzeros of edge(s, <A_row, B_column>) * B_column + beta *
 * E_row, in one pass over S.
 *
 *   piece of a row     up to SAME_PIECE nonzeros whose rows of B fill three quarters of 32 KiB at most
 *     dots             8 rows of B against the row of A in registers
 *     edge             in place
 *     sums             the same rows, which L1 still has, times their samples, onto sums in registers
 *
 * The edges `scale` and `mask` use pieces only for long rows of few vectors; otherwise each sample weighs its row of B
 * at once (same_rows_once).
 *
 * There is no list of segments, and rows are prefetched once, by the dots. A multiply-add reads a row from L1 as fast
 * as from a register, so rows need not stay in registers; it only matters that the second read hits L1. Rows of up to
 * DOT_BLOCK vectors have an instance each; narrower and wider ones, and 64-bit columns, use the chunks of fused.h.
 * Moves: a row of B per nonzero, each row of A and E once.
 *
 * softmax is online as in fused.h: the sums are scaled when a piece has a larger maximum.
 */
#ifndef TAMIS_CPU_KERNELS_FUSED_SAME_H
#define TAMIS_CPU_KERNELS_FUSED_SAME_H

#include "cpu/kernels/sddmm.h"
#include "cpu/kernels/spmm.h"

enum { SAME_PIECE = 64, SAME_PIECE_BYTES = 24576, SAME_PIECE_LEAST = 16 };

/* Nonzeros from which a row is long, and the most vectors of a row of B for which that matters. It depends on the row's
   own length, whichever thread or device has a part of it, so that a row is always rounded alike. */
enum { SAME_LONG = 32, SAME_LONG_VECTORS = 2 };

typedef struct same_arguments {
    const tamis_cpu_job *job;
    const tamis_cpu_range *range;
    dot_arguments dot;
    edge_arguments edge;
    int64_t piece; /* nonzeros */
} same_arguments;

/* Computes the samples of n nonzeros, stored in multiples of 4; `count` and `masked` as in dots.h. Past the end, the
   last row is read again, from L1. */
INLINE void same_dots(const same_arguments *arguments, const vector *a, const char *columns, int64_t n, int64_t ahead,
                      real *x, tamis_type type, int wide_columns, int count, int masked) {
    const char *const b = arguments->dot.b;
    const int64_t b_stride = arguments->dot.b_stride;
    const int tail = arguments->dot.tail;
    const int64_t lines = dot_lines(count, type);
    int64_t t = 0;
    for (; t + 4 < n; t += 8) {
        vector sums[8];
#pragma GCC unroll 8
        for (int g = 0; g < 8; g++) {
            const int64_t at = g < 5 || t + g < n ? t + g : n - 1;
            if (ahead) prefetch_lines(b + column_at(columns, at + ahead, wide_columns) * b_stride, lines);
            sums[g] = dot_vectors(vector_zero(), a, b + column_at(columns, at, wide_columns) * b_stride, count, masked,
                                  tail, type);
        }
        vector_sums_of_8(sums, x + t);
    }
    if (t < n) {
        vector sums[4];
#pragma GCC unroll 4
        for (int g = 0; g < 4; g++) {
            const int64_t at = t + g < n ? t + g : n - 1;
            if (ahead) prefetch_lines(b + column_at(columns, at + ahead, wide_columns) * b_stride, lines);
            sums[g] = dot_vectors(vector_zero(), a, b + column_at(columns, at, wide_columns) * b_stride, count, masked,
                                  tail, type);
        }
        vector_sums_of_4(sums, x + t);
    }
}

/* Stores a row, or leaves it for the thread that merges it, as sum_segments does. */
INLINE void same_store(const same_arguments *arguments, int64_t row, const sum_shape *shape, tamis_type type,
                       vector *sum, softmax_state state) {
    const tamis_cpu_job *const job = arguments->job;
    real *const partial = cut_row_partial(arguments->range, row);
    if (partial) {
        sum_keep(sum, shape->count, (char *)partial);
        *partial_state(partial, job->width) = state;
        return;
    }
    const real scale = job->edge == TAMIS_EDGE_SOFTMAX ? softmax_finish(job, row, state) : (real)job->alpha;
    sum_finish(job->out + row * job->out_stride, job->real_out, shape, type, sum, scale, (real)job->beta);
}

/* Consecutive rows with the next `total` nonzeros; or one piece of a row, and whether it has nonzeros `before` and
   `after` it. */
typedef struct same_group {
    int64_t row, row_end, begin, total;
    bool before, after;
} same_group;

INLINE int64_t same_end(const same_arguments *arguments, int64_t row) {
    const int64_t after = offset_at(arguments->job, row + 1), end = arguments->range->nonzero_end;
    return after < end ? after : end;
}

/* The next group, from nonzero `begin` on. */
INLINE same_group same_next(const same_arguments *arguments, int64_t row, int64_t begin, bool before) {
    const int64_t row_end = arguments->range->row_end, end = same_end(arguments, row), piece = arguments->piece;
    same_group group = {.row = row, .row_end = row + 1, .begin = begin, .before = before};
    if (end - begin > piece) {
        group.total = piece;
        group.after = true;
        return group;
    }
    group.total = end > begin ? end - begin : 0;
    while (!before && group.row_end < row_end) {
        const int64_t last = same_end(arguments, group.row_end);
        if (last - begin > piece) break;
        group.total = last > begin ? last - begin : 0;
        group.row_end++;
    }
    return group;
}

/* Vectors of a row in units of DOT_LANES. */
INLINE int same_dot_vectors(int count) { return (count * LANES + DOT_LANES - 1) / DOT_LANES; }

INLINE void same_samples(const same_arguments *arguments, const same_group *group, real *x, tamis_type type,
                         int wide_columns, int count, int masked) {
    const dot_arguments *const dot = &arguments->dot;
    const int vectors = same_dot_vectors(count);
    const int part = masked || count * LANES % DOT_LANES != 0;
    const int64_t last = group->begin + group->total;
    const int64_t ahead = dot->prefetch && last + dot->prefetch <= dot->nnz ? dot->prefetch : 0;
    real *to = x;
    int64_t begin = group->begin;
    for (int64_t row = group->row; row < group->row_end; row++) {
        const int64_t row_end = same_end(arguments, row), end = row_end < last ? row_end : last, n = end - begin;
        if (row + 3 < arguments->range->row_end) prefetch_lines(dot->a + (row + 3) * dot->a_stride, dot->lines);
        if (n <= 0) continue;
        vector a[DOT_BLOCK];
        dot_load_row(a, dot->a + row * dot->a_stride, vectors, part, dot->tail, type);
        same_dots(arguments, a, column_pointer(dot->columns, begin, wide_columns), n, ahead, to, type, wide_columns,
                  vectors, part);
        to += n;
        begin = end;
    }
    if (group->total > 0) edge_run(&arguments->edge, type, x, group->begin, group->total);
}

INLINE sum_shape same_shape(const same_arguments *arguments, tamis_type type, int count, int masked) {
    return (sum_shape){.last = (arguments->job->width - LANES) * element_bytes(type),
                       .count = count,
                       .over = masked && count > 1,
                       .tail = masked && count == 1 ? arguments->dot.tail : 0};
}

/* Rows of `count` vectors, at most DOT_BLOCK; if `masked`, the last one is not full. */
INLINE void same_rows(const same_arguments *arguments, tamis_type type, int wide_columns, int count, int masked) {
    const tamis_cpu_job *const job = arguments->job;
    const dot_arguments *const dot = &arguments->dot;
    const sum_shape shape = same_shape(arguments, type, count, masked);
    const bool softmax = job->edge == TAMIS_EDGE_SOFTMAX;
    real x[SAME_PIECE + 2 * LANES + 8] = {0};
    char *const carry = arguments->range->carry;
    softmax_state state = softmax_begin();
    same_group group = {.begin = arguments->range->nonzero_begin};
    int64_t next = arguments->range->row_begin;
    while (next < arguments->range->row_end) {
        group = same_next(arguments, next, group.begin, group.after);
        same_samples(arguments, &group, x, type, wide_columns, count, masked);
        real *w = x;
        const int64_t last = group.begin + group.total;
        for (int64_t row = group.row; row < group.row_end; row++) {
            const int64_t row_end = same_end(arguments, row), end = row_end < last ? row_end : last;
            const int64_t n = end > group.begin ? end - group.begin : 0;
            real factor = 1;
            vector sum[SUM_BLOCK];
            if (!group.before) state = softmax_begin();
            if (softmax && n > 0) factor = softmax_piece(&state, w, w, n);
            sum_clear(sum, count);
            if (group.before) sum_resume(sum, count, carry, factor);
            sum_nonzeros(sum, dot->b, dot->b_stride, column_pointer(dot->columns, group.begin, wide_columns), n, w, 1,
                         0, type, wide_columns, &shape);
            w += n;
            group.begin += n;
            if (group.after)
                sum_keep(sum, count, carry);
            else
                same_store(arguments, row, &shape, type, sum, state);
        }
        next = group.after ? group.row : group.row_end;
    }
}

/* Adds nonzeros begin .. end - 1 of one row to its sums, piece by piece. */
INLINE void same_pieces(const same_arguments *arguments, const vector *a, vector *sum, const sum_shape *shape,
                        int64_t begin, int64_t end, tamis_type type, int count, int masked) {
    const dot_arguments *const dot = &arguments->dot;
    const int vectors = same_dot_vectors(count), part = masked || count * LANES % DOT_LANES != 0;
    real x[SAME_PIECE + 2 * LANES + 8];
    for (int64_t n; begin < end; begin += n) {
        n = end - begin < arguments->piece ? end - begin : arguments->piece;
        const int64_t ahead = dot->prefetch && begin + n + dot->prefetch <= dot->nnz ? dot->prefetch : 0;
        const char *const columns = column_pointer(dot->columns, begin, 0);
        same_dots(arguments, a, columns, n, ahead, x, type, 0, vectors, part);
        edge_run(&arguments->edge, type, x, begin, n);
        sum_nonzeros(sum, dot->b, dot->b_stride, columns, n, x, 1, 0, type, 0, shape);
    }
}

/* Edges that are linear in the sample, `scale` and `mask`: a sample weighs its row of B at once, while registers hold
   it. Long rows of few vectors go piece by piece, since the dots of several nonzeros share their reductions. */
INLINE void same_rows_once(const same_arguments *arguments, tamis_type type, int count, int masked) {
    const tamis_cpu_job *const job = arguments->job;
    const tamis_cpu_range *const range = arguments->range;
    const dot_arguments dot = arguments->dot; /* a local copy, which stores to the output cannot alias */
    const sum_shape shape = same_shape(arguments, type, count, masked);
    const int vectors = same_dot_vectors(count), part = masked || count * LANES % DOT_LANES != 0;
    const int64_t size = element_bytes(type), out_stride = job->out_stride, row_end = range->row_end;
    const bool weighted = job->edge == TAMIS_EDGE_SCALE && job->values, plain = job->beta == 0 && !job->real_out;
    const int64_t step = weighted ? size : 0;
    const int64_t whole_begin = range->row_begin + range->head_cut, whole_end = row_end - range->tail_cut;
    const real alpha = (real)job->alpha;
    char *const out = job->out;
    char one[sizeof(real)];
    element_store(one, type, 1);
    int64_t t = range->nonzero_begin;
    const char *value = weighted ? job->values + t * size : one;
    for (int64_t row = range->row_begin; row < row_end; row++) {
        const int64_t end = same_end(arguments, row);
        const int64_t ahead = dot.prefetch && end + dot.prefetch <= dot.nnz ? dot.prefetch : 0;
        const char *const a_row = dot.a + row * dot.a_stride;
        if (dot.far_a) prefetch_lines(a_row + 3 * dot.a_stride, dot.lines);
        vector a[DOT_BLOCK], sum[SUM_BLOCK];
        dot_load_row(a, a_row, vectors, part, dot.tail, type);
        sum_clear(sum, count);
        if (count <= SAME_LONG_VECTORS && end - t > 0 && offset_at(job, row + 1) - offset_at(job, row) >= SAME_LONG) {
            same_pieces(arguments, a, sum, &shape, t, end, type, count, masked);
            value += (end - t) * step;
            t = end;
        }
        for (; t < end; t++, value += step) {
            const char *const from = dot.b + column_at(dot.columns, t, 0) * dot.b_stride;
            if (ahead) prefetch_lines(dot.b + column_at(dot.columns, t + ahead, 0) * dot.b_stride, dot.lines);
            const real x = vector_sum(dot_vectors(vector_zero(), a, from, vectors, part, dot.tail, type));
            const vector weight = vector_of(element_load(value, type) * x);
#pragma GCC unroll 16
            for (int k = 0; k < count; k++) sum[k] += weight * sum_load(from, &shape, type, k);
        }
        if (plain && row >= whole_begin && row < whole_end)
            sum_store(out + row * out_stride, &shape, type, sum, alpha, 0);
        else
            same_store(arguments, row, &shape, type, sum, softmax_begin());
    }
}

typedef void same_instance(const same_arguments *arguments);

/* Separate functions, so that each has all registers to itself: same_VECTORS, then the same with a partial last vector;
   in pieces, and at once. */
#define SAME(count)                                                                                                    \
    static void same_##count(const same_arguments *x) { same_rows(x, TAMIS_KERNEL_TYPE, 0, count, 0); }                \
    static void same_##count##_part(const same_arguments *x) { same_rows(x, TAMIS_KERNEL_TYPE, 0, count, 1); }         \
    static void same_once_##count(const same_arguments *x) { same_rows_once(x, TAMIS_KERNEL_TYPE, count, 0); }         \
    static void same_once_##count##_part(const same_arguments *x) { same_rows_once(x, TAMIS_KERNEL_TYPE, count, 1); }
DOT_COUNTS(SAME)
#undef SAME

/* By mode (pieces, or at once), and by whether the last vector is partial. */
#define PIECES(count)      same_##count,
#define PIECES_PART(count) same_##count##_part,
#define ONCE(count)        same_once_##count,
#define ONCE_PART(count)   same_once_##count##_part,
static same_instance *const same_instances[2][2][DOT_BLOCK] = {{{DOT_COUNTS(PIECES)}, {DOT_COUNTS(PIECES_PART)}},
                                                               {{DOT_COUNTS(ONCE)}, {DOT_COUNTS(ONCE_PART)}}};
#undef PIECES
#undef PIECES_PART
#undef ONCE
#undef ONCE_PART

/* True if rows of that width have an instance. bf16 reads two vectors at a time, and a partial last one cannot overlap
   with a pair. */
static bool same_takes(const tamis_cpu_job *job) {
    const int64_t vectors = (job->width + LANES - 1) / LANES;
    const bool pairs = TAMIS_KERNEL_TYPE == TAMIS_BF16 && job->width % LANES != 0 && vectors % 2 == 0;
    return job->d_is_b && !job->tiles && !job->wide_columns && job->width > NARROW_DOTS_MOST && vectors <= DOT_BLOCK &&
           !pairs;
}

static void same_range(const tamis_cpu_job *job, const tamis_cpu_range *range) {
    const int64_t row_bytes = job->width * element_bytes(TAMIS_KERNEL_TYPE);
    const int64_t vectors = (job->width + LANES - 1) / LANES, fits = SAME_PIECE_BYTES / row_bytes;
    same_arguments arguments = {.job = job,
                                .range = range,
                                .dot = dot_arguments_of(job, TAMIS_KERNEL_TYPE),
                                .edge = edge_arguments_of(job),
                                .piece = fits > SAME_PIECE         ? SAME_PIECE
                                         : fits < SAME_PIECE_LEAST ? SAME_PIECE_LEAST
                                                                   : fits};
    if (arguments.piece > job->chunk) arguments.piece = job->chunk;
    /* converting a single fp16 element costs several times as much as a vector */
    const bool once = (job->edge == TAMIS_EDGE_SCALE || job->edge == TAMIS_EDGE_MASK) && TAMIS_KERNEL_TYPE != TAMIS_F16;
    same_instances[once][job->width % LANES != 0][vectors - 1](&arguments);
}

#endif
