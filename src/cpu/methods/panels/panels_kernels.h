/*
 * Panels: up to eight neighbouring rows of S together, so that a loaded row of B serves several of them (register
 * tiling). This is the idea of Wilkinson, Cheshmi and Mehri Dehnavi's sparse register tiling (Register Tiling for
 * Unstructured Sparsity in Neural Network Inference, PLDI 2023), without generated code.
 *
 *   panel = list of runs       run = one to four rows, and the columns in which exactly these are taken together
 *
 *      SpMM    C_row 0  [ registers ]  += w0 *          the rows' sums are registers for the whole run
 *              C_row 1  [ registers ]  += w1 * B_column
 *      SDDMM   A_row 0, A_row 1 in registers, two rows of a run at a time; the second two find B_column in L1
 *
 * The rows of a run are known before it begins, so no nonzero costs a branch. An entry of a run is a column and, for
 * each row, a place in the panel's nonzeros. Places are relative to the panel, whose nonzeros are contiguous in S, so
 * values, samples and edges keep the order of S. Between runs the sums of a panel's rows are in the thread's scratch,
 * in L1. Moves: a row of B (and D) per entry, each row of A and C once; the index has 4 bytes per entry and 4 per
 * nonzero.
 */
#ifndef TAMIS_CPU_METHODS_PANELS_PANELS_KERNELS_H
#define TAMIS_CPU_METHODS_PANELS_PANELS_KERNELS_H

#include "cpu/kernels/sddmm.h"
#include "cpu/kernels/spmm.h"
#include "cpu/methods/panels/index.h"

/* Vectors of sums in registers for each row of a run of one to four rows, and entries that share a reduction. */
#if VECTOR_BYTES == 64 || defined(__aarch64__)
enum { PANEL_DOTS = 4 };
#define PANEL_SUM_VECTORS(height) ((height) < 4 ? 8 : 4)
#define PANEL_DOT_VECTORS         8
#else
enum { PANEL_DOTS = 2 };
#define PANEL_SUM_VECTORS(height) ((height) < 2 ? 8 : (height) < 3 ? 4 : 2)
#define PANEL_DOT_VECTORS         2
#endif

#define PANEL_PLACE ((1u << TAMIS_CPU_PANEL_PLACE_BITS) - 1)

/* Prefetch distance of entries in bytes: rows of B occupy the hardware prefetcher, which then does not follow the
   index. */
enum { PANEL_INDEX_AHEAD = 512 };

/* Bytes of rows of B in one pass over two of a run's rows of A, so that the next pass finds them in L1. */
enum { PANEL_PASS_BYTES = 16384, PANEL_PASS_LEAST = 8 };

/* Keeps a vector that is used several times in a register; otherwise compilers load it for each multiply-add. */
#if defined(__AVX512F__)
#define PANEL_KEEP(v) __asm__("" : "+v"(v))
#elif defined(__x86_64__)
#define PANEL_KEEP(v) __asm__("" : "+x"(v))
#elif VECTOR_SVE
#define PANEL_KEEP(v)                                                                                                  \
    do {                                                                                                               \
        sizeless_vector y = v; /* clang needs this type here */                                                        \
        __asm__("" : "+w"(y));                                                                                         \
        v = y;                                                                                                         \
    } while (0)
#elif defined(__aarch64__)
#define PANEL_KEEP(v) __asm__("" : "+w"(v))
#else
#define PANEL_KEEP(v) (void)(v)
#endif

/* ------------------------------------------------------------------------------------------ weighted sums */

typedef struct panel_sum {
    const char *b; /* at the block's first element */
    int64_t b_stride;
    const uint32_t *entries;
    int64_t count, ahead; /* entries; prefetch distance of B in entries, 0: none */
    const real *weights;
    real *sums[TAMIS_CPU_PANEL_HEIGHT]; /* of the run's rows, at the block's first element */
    int tail;
    int64_t last; /* first element of the last vector, which overlaps with the previous one if the block is not full */
} panel_sum;

INLINE int64_t panel_element(int k, int count, int64_t last) { return k == count - 1 ? last : k * LANES; }

/* Adds `count` vectors of B's rows to the sums of `height` rows; both are compile-time constants. If `masked`, the
   vector has `tail` elements. Where two vectors overlap, both add the same to the same old sums, and store the same. */
INLINE void panel_sum_block(const panel_sum *x, tamis_type type, int height, int count, int masked) {
    vector sum[TAMIS_CPU_PANEL_HEIGHT][8];
    const char *const b = x->b;
    const int64_t b_stride = x->b_stride, ahead = x->ahead * (height + 1);
    const int64_t lines = (count * LANES * element_bytes(type) + 63) / 64;
    const real *const weights = x->weights;
    const int64_t last = x->last;
    const uint32_t *entry = x->entries, *const end = entry + x->count * (height + 1);
#pragma GCC unroll 4
    for (int i = 0; i < height; i++)
#pragma GCC unroll 8
        for (int k = 0; k < count; k++)
            sum[i][k] = *(const vector_anywhere *)(const void *)(x->sums[i] + panel_element(k, count, last));
    for (; entry < end; entry += height + 1) {
        const char *const row = b + (int64_t)entry[0] * b_stride;
        vector weight[TAMIS_CPU_PANEL_HEIGHT];
        __builtin_prefetch((const char *)entry + PANEL_INDEX_AHEAD);
        if (ahead && entry + ahead < end) prefetch_lines(b + (int64_t)entry[ahead] * b_stride, lines);
#pragma GCC unroll 4
        for (int i = 0; i < height; i++) weight[i] = vector_of(weights[entry[1 + i]]);
#pragma GCC unroll 8
        for (int k = 0; k < count; k++) {
            const char *const p = row + panel_element(k, count, last) * element_bytes(type);
            vector v = masked ? vector_load_tail(p, type, x->tail) : vector_load(p, type);
            if (height > 1) PANEL_KEEP(v);
#pragma GCC unroll 4
            for (int i = 0; i < height; i++) sum[i][k] += weight[i] * v;
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < height; i++)
#pragma GCC unroll 8
        for (int k = 0; k < count; k++)
            *(vector_anywhere *)(void *)(x->sums[i] + panel_element(k, count, last)) = sum[i][k];
}

#define PANEL_SUM(n)                                                                                                   \
    case n:                                                                                                            \
        if (n <= PANEL_SUM_VECTORS(height)) panel_sum_block(x, type, height, n, 0);                                    \
        return;
INLINE void panel_sum_of(const panel_sum *x, tamis_type type, int height, int count) {
    switch (count) {
    case 0:
        panel_sum_block(x, type, height, 1, 1);
        return;
        COUNTS_8(PANEL_SUM)
    default: return;
    }
}
#undef PANEL_SUM

/* Scattered nonzeros: the sums stay in L1. x->sums[0] belongs to the panel's first row; rows are `stride` apart. The
   last of `vectors` vectors has x->tail elements, if that is not 0. */
static __attribute__((noinline)) void panel_scattered(const panel_sum *x, int64_t stride, int64_t vectors) {
    const tamis_type type = TAMIS_KERNEL_TYPE;
    const uint32_t *const end = x->entries + 2 * x->count;
    for (const uint32_t *entry = x->entries; entry < end; entry += 2) {
        const char *p = x->b + (int64_t)entry[0] * x->b_stride;
        __builtin_prefetch((const char *)entry + PANEL_INDEX_AHEAD);
        real *sum = x->sums[0] + (entry[1] >> TAMIS_CPU_PANEL_PLACE_BITS) * stride;
        const vector weight = vector_of(x->weights[entry[1] & PANEL_PLACE]);
        for (int64_t k = 0; k < vectors; k++, p += LANES * element_bytes(type), sum += LANES)
            *(vector_anywhere *)(void *)sum += weight * vector_load(p, type);
        if (x->tail) *(vector_anywhere *)(void *)sum += weight * vector_load_tail(p, type, x->tail);
    }
}

/* Separate functions, so that each has all registers to itself. */
#define PANEL_SUMS(height)                                                                                             \
    static __attribute__((noinline)) void panel_sum_##height(const panel_sum *x, int count) {                          \
        panel_sum_of(x, TAMIS_KERNEL_TYPE, height, count);                                                             \
    }
COUNTS_4(PANEL_SUMS)
#undef PANEL_SUMS
typedef void panel_sum_function(const panel_sum *x, int count);
static panel_sum_function *const panel_sums[5] = {NULL, panel_sum_1, panel_sum_2, panel_sum_3, panel_sum_4};

/* Vectors of the next block, at most `most`; 0: less than one. *last is the last vector's first element. */
INLINE int panel_vectors(int64_t left, int most, int64_t *last) {
    const int64_t elements = left < most * LANES ? left : most * LANES;
    *last = elements > LANES ? elements - LANES : 0;
    return elements < LANES ? 0 : (int)((elements + LANES - 1) / LANES);
}

/* sums += weights * rows of b, for all runs of a panel. */
static void panel_add(const tamis_cpu_job *job, const char *b, int64_t b_stride, const tamis_cpu_run *run,
                      const uint32_t *entries, const real *weights, real *sums) {
    const int64_t stride = partial_reals(job->width);
    panel_sum x = {.b_stride = b_stride, .ahead = job->prefetch, .weights = weights};
    for (; run->count; run++) {
        const int height = run->height;
        x.entries = entries;
        x.count = run->count;
        entries += (int64_t)run->count * (height > 0 ? height + 1 : 2);
        if (height == 0) {
            x.b = b;
            x.tail = (int)(job->width % LANES);
            x.sums[0] = sums;
            panel_scattered(&x, stride, job->width / LANES);
            continue;
        }
        for (int64_t first = 0; first < job->width;) {
            const int64_t left = job->width - first;
            const int vectors = panel_vectors(left, PANEL_SUM_VECTORS(height), &x.last);
            x.b = b + first * element_bytes(TAMIS_KERNEL_TYPE);
            x.tail = vectors ? 0 : (int)left;
            for (int i = 0; i < height; i++) x.sums[i] = sums + run->rows[i] * stride + first;
            panel_sums[height](&x, vectors);
            first += vectors ? x.last + LANES : left;
        }
    }
}

/* ------------------------------------------------------------------------------------------ sampled dot products */

typedef struct panel_dot {
    const char *a[2]; /* rows, at the block's first element */
    const char *b;
    int64_t b_stride;
    const uint32_t *entries;
    int64_t count, step; /* entries; stride between them in words */
    int place[2];        /* position of the rows' places in an entry */
    int tail, more;      /* tail: of the last vector, 0 if it is full; more: adds the products to the earlier ones */
    real *samples;
} panel_dot;

enum { PANEL_DOT_SUMS = PANEL_DOTS * 2 }; /* sums that share a reduction */

/* The products of one row of B with `height` rows of A. */
INLINE void panel_dot_entry(const panel_dot *x, vector *sums, vector a[2][PANEL_DOT_VECTORS], const char *row,
                            tamis_type type, int height, int count, int masked) {
#pragma GCC unroll 2
    for (int i = 0; i < height; i++) sums[i] = vector_zero();
#pragma GCC unroll 8
    for (int k = 0; k < count; k++) {
        const char *const p = row + k * LANES * element_bytes(type);
        vector v = masked && k == count - 1 ? vector_load_tail(p, type, x->tail) : vector_load(p, type);
        if (height > 1) PANEL_KEEP(v);
#pragma GCC unroll 2
        for (int i = 0; i < height; i++) sums[i] += a[i][k] * v;
    }
}

INLINE void panel_dot_reduce(const vector *sums, real *dots) {
    if (PANEL_DOT_SUMS == 8)
        vector_sums_of_8(sums, dots);
    else
        vector_sums_of_4(sums, dots);
}

INLINE void panel_dot_write(const panel_dot *x, const uint32_t *entry, const real *dots, int height) {
#pragma GCC unroll 2
    for (int i = 0; i < height; i++) {
        real *const to = x->samples + entry[x->place[i]];
        *to = x->more ? *to + dots[i] : dots[i];
    }
}

/* `height` rows, 1 or 2, of `count` vectors; both are compile-time constants. If `masked`, the last vector has x->tail
   elements. Past the end, the last entry is repeated. */
INLINE void panel_dot_block(const panel_dot *x, tamis_type type, int height, int count, int masked) {
    const int together = PANEL_DOT_SUMS / height;
    const char *const b = x->b;
    const int64_t b_stride = x->b_stride, step = x->step, n = x->count;
    const uint32_t *const entries = x->entries;
    vector a[2][PANEL_DOT_VECTORS];
    real dots[8];
#pragma GCC unroll 2
    for (int i = 0; i < height; i++)
#pragma GCC unroll 8
        for (int k = 0; k < count; k++) {
            const char *const p = x->a[i] + k * LANES * element_bytes(type);
            a[i][k] = masked && k == count - 1 ? vector_load_tail(p, type, x->tail) : vector_load(p, type);
        }
    int64_t t = 0;
    for (const uint32_t *entry = entries; t + together <= n; t += together, entry += together * step) {
        vector sums[PANEL_DOT_SUMS];
        const uint32_t *at = entry;
#pragma GCC unroll 8
        for (int g = 0; g < together; g++, at += step) {
            if (g % 2 == 0) __builtin_prefetch((const char *)at + PANEL_INDEX_AHEAD);
            panel_dot_entry(x, sums + g * height, a, b + (int64_t)at[0] * b_stride, type, height, count, masked);
        }
        panel_dot_reduce(sums, dots);
        at = entry;
#pragma GCC unroll 8
        for (int g = 0; g < together; g++, at += step) panel_dot_write(x, at, dots + g * height, height);
    }
    if (t < n) {
        vector sums[PANEL_DOT_SUMS];
#pragma GCC unroll 8
        for (int g = 0; g < together; g++) {
            const int64_t at = t + g < n ? t + g : n - 1;
            panel_dot_entry(x, sums + g * height, a, b + (int64_t)entries[at * step] * b_stride, type, height, count,
                            masked);
        }
        panel_dot_reduce(sums, dots);
        for (int64_t g = 0; t + g < n; g++) panel_dot_write(x, entries + (t + g) * step, dots + g * height, height);
    }
}

#define PANEL_DOT(n)                                                                                                   \
    case 2 * n: panel_dot_block(x, type, height, n, 0); return;                                                        \
    case 2 * n + 1: panel_dot_block(x, type, height, n, 1); return;
INLINE void panel_dot_of(const panel_dot *x, tamis_type type, int height, int count) {
    switch (2 * count + (x->tail > 0)) {
#if PANEL_DOT_VECTORS == 8
        COUNTS_8(PANEL_DOT)
#else
        PANEL_DOT(1)
        PANEL_DOT(2)
#endif
    default: return;
    }
}
#undef PANEL_DOT

static __attribute__((noinline)) void panel_dot_1(const panel_dot *x, int count) {
    panel_dot_of(x, TAMIS_KERNEL_TYPE, 1, count);
}
static __attribute__((noinline)) void panel_dot_2(const panel_dot *x, int count) {
    panel_dot_of(x, TAMIS_KERNEL_TYPE, 2, count);
}

/* Scattered nonzeros, eight at a time, reading rows of A and B directly. */
static void panel_scattered_dots(const tamis_cpu_job *job, int64_t row, const uint32_t *entries, int64_t n,
                                 real *samples) {
    const tamis_type type = TAMIS_KERNEL_TYPE;
    const int64_t size = element_bytes(type), vectors = job->inner / LANES;
    const int tail = (int)(job->inner % LANES);
    for (int64_t t = 0; t < n; t += 8) {
        const int64_t together = n - t < 8 ? n - t : 8;
        vector sums[8];
        real dots[8];
        for (int64_t g = 0; g < 8; g++) {
            const uint32_t *const entry = entries + 2 * (g < together ? t + g : n - 1);
            const char *a = job->a + (row + (entry[1] >> TAMIS_CPU_PANEL_PLACE_BITS)) * job->a_stride;
            const char *b = job->b + (int64_t)entry[0] * job->b_stride;
            vector sum = vector_zero();
            for (int64_t k = 0; k < vectors; k++, a += LANES * size, b += LANES * size)
                sum += vector_load(a, type) * vector_load(b, type);
            if (tail) sum += vector_load_tail(a, type, tail) * vector_load_tail(b, type, tail);
            sums[g] = sum;
        }
        vector_sums_of_8(sums, dots);
        for (int64_t g = 0; g < together; g++) samples[entries[2 * (t + g) + 1] & PANEL_PLACE] = dots[g];
    }
}

/* Computes all samples of a panel whose first row is `row`. */
static void panel_dots(const tamis_cpu_job *job, int64_t row, const tamis_cpu_run *run, const uint32_t *entries,
                       real *samples) {
    const int64_t size = element_bytes(TAMIS_KERNEL_TYPE), row_bytes = job->inner * size;
    const int64_t fits = row_bytes ? PANEL_PASS_BYTES / row_bytes : INT32_MAX;
    const int64_t pass = fits < PANEL_PASS_LEAST ? PANEL_PASS_LEAST : fits;
    panel_dot x = {.b_stride = job->b_stride, .samples = samples};
    for (; run->count; run++) {
        const int height = run->height;
        x.step = height + 1;
        if (height == 0) {
            panel_scattered_dots(job, row, entries, run->count, samples);
            entries += 2 * (int64_t)run->count;
            continue;
        }
        for (int64_t t = 0; t < run->count; t += x.count) {
            x.entries = entries + t * x.step;
            x.count = height <= 2 || run->count - t < pass ? run->count - t : pass;
            for (int i = 0; i < height; i += 2) {
                const int rows = height - i < 2 ? 1 : 2;
                for (int64_t first = 0; first < job->inner; first += PANEL_DOT_VECTORS * LANES) {
                    const int64_t left = job->inner - first, most = PANEL_DOT_VECTORS * LANES;
                    const int64_t elements = left < most ? left : most;
                    const int vectors = (int)((elements + LANES - 1) / LANES);
                    x.b = job->b + first * size;
                    x.tail = (int)(elements % LANES);
                    x.more = first > 0;
                    for (int r = 0; r < rows; r++) {
                        x.a[r] = job->a + (row + run->rows[i + r]) * job->a_stride + first * size;
                        x.place[r] = 1 + i + r;
                    }
                    if (rows == 2)
                        panel_dot_2(&x, vectors);
                    else
                        panel_dot_1(&x, vectors);
                }
            }
        }
        entries += (int64_t)run->count * x.step;
    }
}

/* ------------------------------------------------------------------------------------------ the three operations */

/* A panel's values of S as weights: in place if they are reals; else widened, or ones, in the thread's chunk. */
INLINE const real *panel_weights(const tamis_cpu_job *job, tamis_type type, int64_t begin, int64_t n, real *chunk) {
    if (job->values && (type == REAL || job->real_values)) return (const real *)(const void *)job->values + begin;
    if (job->values) {
        const segment all = {.begin = begin, .count = n};
        widen_values(job->values, &all, 1, chunk, type);
    } else {
        for (int64_t t = 0; t < n; t++) chunk[t] = 1;
    }
    return chunk;
}

/* Softmax of one whole row: turns the scores into weights; returns the factor of its sums. */
static real panel_softmax(const tamis_cpu_job *job, int64_t row, real *x, int64_t n) {
    softmax_state state = softmax_begin();
    softmax_piece(&state, x, x, n);
    return softmax_finish(job, row, state);
}

/* Prefetches what the panel from `row` on reads in an order that the hardware prefetcher does not predict: values, and
   rows of A. */
static void panel_prefetch(const tamis_cpu_job *job, int64_t row, int64_t rows, int dots) {
    const int64_t size = element_bytes(TAMIS_KERNEL_TYPE);
    const int64_t end_row = row + rows < job->rows ? row + rows : job->rows;
    if (row >= end_row) return;
    if (dots) {
        for (int64_t r = row; r < end_row; r++)
            prefetch_lines(job->a + r * job->a_stride, (job->inner * size + 63) / 64);
    } else if (job->values) {
        const int64_t bytes = job->real_values ? (int64_t)sizeof(real) : size, begin = offset_at(job, row);
        prefetch_lines(job->values + begin * bytes, ((offset_at(job, end_row) - begin) * bytes + 63) / 64);
    }
}

/* dots: SDDMM and fused; sum: SpMM and fused. */
INLINE void panels_range(const tamis_cpu_job *job, const tamis_cpu_range *range, int dots, int sum) {
    const tamis_type type = TAMIS_KERNEL_TYPE;
    const tamis_cpu_panel_index *const panels = job->state;
    const int64_t stride = partial_reals(job->width);
    const edge_arguments edge = edge_arguments_of(job);
    real *const chunk = range->chunk, *const sums = range->block;
    for (int64_t row = range->row_begin; row < range->row_end; row += panels->rows) {
        const int64_t panel = row / panels->rows;
        const int64_t end_row = row + panels->rows < job->rows ? row + panels->rows : job->rows;
        const int64_t begin = offset_at(job, row), n = offset_at(job, end_row) - begin;
        const tamis_cpu_run *const runs = panels->runs + panels->starts[panel].run;
        const uint32_t *const entries = panels->entries + panels->starts[panel].entry;
        const real *weights = chunk;
        panel_prefetch(job, end_row, panels->rows, dots);
        if (dots) {
            if (job->inner > 0)
                panel_dots(job, row, runs, entries, chunk);
            else
                memset(chunk, 0, (size_t)n * sizeof(real));
            edge_run(&edge, type, chunk, begin, n);
            if (!sum) {
                if (job->edge == TAMIS_EDGE_SOFTMAX)
                    memcpy((real *)job->samples + begin, chunk, (size_t)n * sizeof(real));
                else
                    store_samples(job, type, begin, chunk, n);
                continue;
            }
        } else {
            weights = panel_weights(job, type, begin, n, chunk);
        }
        real scale[TAMIS_CPU_PANEL_ROWS];
        for (int64_t r = row; r < end_row; r++) {
            const int64_t at = offset_at(job, r) - begin, count = offset_at(job, r + 1) - begin - at;
            scale[r - row] =
                dots && job->edge == TAMIS_EDGE_SOFTMAX ? panel_softmax(job, r, chunk + at, count) : (real)job->alpha;
        }
        memset(sums, 0, (size_t)((end_row - row) * stride) * sizeof(real));
        panel_add(job, dots ? job->d : job->b, dots ? job->d_stride : job->b_stride, runs, entries, weights, sums);
        for (int64_t r = row; r < end_row; r++) finish_output(job, r, sums + (r - row) * stride, scale[r - row]);
    }
}

static void panels_sddmm(const tamis_cpu_job *job, const tamis_cpu_range *range) { panels_range(job, range, 1, 0); }
static void panels_spmm(const tamis_cpu_job *job, const tamis_cpu_range *range) { panels_range(job, range, 0, 1); }
static void panels_fused(const tamis_cpu_job *job, const tamis_cpu_range *range) { panels_range(job, range, 1, 1); }

static tamis_cpu_kernel *const panels_kernels[] = {
    [TAMIS_OP_SDDMM] = panels_sddmm, [TAMIS_OP_SPMM] = panels_spmm, [TAMIS_OP_FUSED] = panels_fused};

#endif
