/*
 * cpu-amx: SDDMM and SpMM of bf16 by AMX tile products, for matrices with a density of a tenth or more.
 *
 *   panel = 32 rows of S       cell = 32 columns of a panel, with a bit per place that S has
 *
 *      SDDMM   32 rows of A (tiles in L1) times the 32 rows of B of a cell, slice by slice: 32 x 32 products in four
 *              tiles. The products of a few cells stay in L1 until each row gathers the ones that S has.
 *      SpMM    the values of a row are moved apart (expand), zeros between them: 32 x 32 numbers in two tiles, times 32
 *              rows of B. The sums of 32 elements of C are four tiles, through a few cells.
 *
 * B is packed once per execution (pack.h). A panel of few nonzeros goes row by row, and so does all of SpMM if B has a
 * non-finite number, which a tile product would spread to rows without that column. Moves: two tiles of B per cell and
 * 32 elements; the index has 4 bytes per cell, 132 for SpMM. Numbers below 2^-126 count as 0, as in dots.h.
 */
#ifndef TAMIS_CPU_METHODS_AMX_PRODUCTS_H
#define TAMIS_CPU_METHODS_AMX_PRODUCTS_H

#include "cpu/kernels/edges.h"
#include "cpu/kernels/spmm.h"
#include "cpu/methods/amx/index.h"
#include "cpu/methods/amx/pack.h"
#include "cpu/methods/amx/tiles.h"

enum { AMX_ROWS = TAMIS_CPU_AMX_ROWS };

/* Adds the products of `count` pairs of tiles of A and B to 32 x 32 sums, or with `begin` initialises the sums. Strides
   are in bytes. */
INLINE void amx_multiply(tile_registers *t, const char *a, const char *b, const uint32_t *cells, int64_t count,
                         char *sums, int64_t stride, int begin) {
    if (begin) {
        TILE_ZERO(t, 0);
        TILE_ZERO(t, 1);
        TILE_ZERO(t, 2);
        TILE_ZERO(t, 3);
    } else {
        TILE_LOAD(t, 0, sums, stride);
        TILE_LOAD(t, 1, sums + 64, stride);
        TILE_LOAD(t, 2, sums + 16 * stride, stride);
        TILE_LOAD(t, 3, sums + 16 * stride + 64, stride);
    }
    for (int64_t i = 0; i < count; i++, a += AMX_TILES) {
        const char *const right = b + (cells ? (int64_t)cells[i] : i) * AMX_TILES;
        TILE_LOAD(t, 4, a, 64);
        TILE_LOAD(t, 6, right, 64);
        TILE_MULTIPLY(t, 0, 4, 6);
        TILE_LOAD(t, 7, right + 1024, 64);
        TILE_MULTIPLY(t, 1, 4, 7);
        TILE_LOAD(t, 5, a + 1024, 64);
        TILE_MULTIPLY(t, 2, 5, 6);
        TILE_MULTIPLY(t, 3, 5, 7);
    }
    TILE_STORE(t, 0, sums, stride);
    TILE_STORE(t, 1, sums + 64, stride);
    TILE_STORE(t, 2, sums + 16 * stride, stride);
    TILE_STORE(t, 3, sums + 16 * stride + 64, stride);
}

/* Expands 16-bit numbers to the places of 32 whose mask bits are set, with zeros between; ones if there are no values.
   `whole`: 32 values may be read. */
INLINE void amx_expand(char *to, const char *values, uint32_t mask, int whole) {
#if defined(__AVX512VBMI2__)
    if (!values)
        _mm512_storeu_si512(to, _mm512_maskz_set1_epi16(mask, 0x3f80));
    else if (whole)
        _mm512_storeu_si512(to, _mm512_maskz_expand_epi16(mask, _mm512_loadu_si512(values)));
    else
        _mm512_storeu_si512(to, _mm512_maskz_expandloadu_epi16(mask, values));
#else
    static const uint16_t one = 0x3f80;
    (void)whole;
    memset(to, 0, 64);
    for (; mask; mask &= mask - 1) {
        memcpy(to + 2 * __builtin_ctz(mask), values ? values : (const char *)&one, 2);
        if (values) values += 2;
    }
#endif
}

/* Stages the panel's rows of A in slices of two tiles, zero-padded. */
static void amx_stage(const tamis_cpu_job *job, int64_t row, char *to) {
    const int64_t bytes = 2 * job->inner, rows = job->rows - row < AMX_ROWS ? job->rows - row : AMX_ROWS;
    if (rows < AMX_ROWS || bytes % 64) memset(to, 0, (size_t)(tamis_cpu_amx_parts(job->inner) * AMX_TILES));
    for (int64_t r = 0; r < rows; r++) {
        const char *const a = job->a + (row + r) * job->a_stride;
        char *tile = to + r * 64;
        int64_t at = 0;
        for (; at + 64 <= bytes; at += 64, tile += AMX_TILES) memcpy(tile, a + at, 64);
        memcpy(tile, a + at, (size_t)(bytes - at));
    }
}

/* Neighbouring panels that use B together, block by block, so that a block comes from L3 once. */
typedef struct amx_group {
    const tamis_cpu_job *job;
    const tamis_cpu_amx_index *index;
    int64_t row, end_row, panel;
    int panels;
    int64_t at[TAMIS_CPU_AMX_PANELS]; /* the next cell of each panel */
} amx_group;

/* Returns the first cell of panel `g` beyond the block that ends at `block_end`. */
INLINE int64_t amx_block_end(const amx_group *x, int g, int64_t block_end) {
    int64_t at = x->at[g];
    while (at < x->index->starts[x->panel + g + 1] && x->index->columns[at] < block_end) at++;
    return at;
}

/* Picks a row's samples at its nonzeros from t on, before `end`, in columns first .. limit - 1, from a row of products
   of those columns. Returns the next nonzero. */
INLINE int64_t amx_take(const tamis_cpu_job *job, const real *products, int64_t first, int64_t limit, int64_t t,
                        int64_t end, real *samples) {
#if defined(__AVX512F__)
    if (!job->wide_columns) {
        const __m512i begin = _mm512_set1_epi32((int)first), behind = _mm512_set1_epi32((int)limit);
        for (int count = 16; count == 16; t += count, samples += count) {
            const __mmask16 left = end - t < 16 ? (__mmask16)((1u << (end - t)) - 1) : 0xffff;
            const __m512i columns = _mm512_maskz_loadu_epi32(left, (const int32_t *)job->columns + t);
            const __mmask16 in = _mm512_mask_cmplt_epu32_mask(left, columns, behind);
            const __m512 x =
                _mm512_mask_i32gather_ps(_mm512_setzero_ps(), in, _mm512_sub_epi32(columns, begin), products, 4);
            _mm512_mask_storeu_ps(samples, in, x);
            count = __builtin_popcount(in);
        }
        return t;
    }
#endif
    for (int64_t column; t < end && (column = column_at(job->columns, t, job->wide_columns)) < limit; t++)
        *samples++ = products[column - first];
    return t;
}

/* Multiplies a panel with its cells of a block, then picks the samples that S has there. */
static void amx_block_sddmm(tile_registers *t, amx_group *x, int g, int64_t block, const char *a, real *products,
                            int64_t *at, real *samples) {
    const tamis_cpu_job *const job = x->job;
    const tamis_cpu_amx_index *const index = x->index;
    const int64_t slices = tamis_cpu_amx_parts(job->inner), stride = tamis_cpu_amx_stride(index->block);
    const int64_t end = amx_block_end(x, g, block + index->block), row = x->row + g * AMX_ROWS;
    const int64_t begin = offset_at(job, x->row), end_row = x->end_row - row < AMX_ROWS ? x->end_row : row + AMX_ROWS;
    if (x->at[g] == end) return;
    for (; x->at[g] < end; x->at[g]++) {
        const int64_t cell = index->columns[x->at[g]];
        amx_multiply(t, a, amx_tiles(job) + cell * slices * AMX_TILES, NULL, slices,
                     (char *)(products + (cell - block) * AMX_SIDE), stride * (int64_t)sizeof(real), 1);
    }
    for (int64_t r = row; r < end_row; r++, products += stride)
        at[r - row] = amx_take(job, products, block * AMX_SIDE, (block + index->block) * AMX_SIDE, at[r - row],
                               offset_at(job, r + 1), samples + at[r - row] - begin);
}

static void amx_group_sddmm(tile_registers *t, amx_group *x, const tamis_cpu_range *range) {
    const tamis_cpu_job *const job = x->job;
    const tamis_cpu_amx_index *const index = x->index;
    const int64_t begin = offset_at(job, x->row), n = offset_at(job, x->end_row) - begin;
    const int64_t a_bytes = tamis_cpu_amx_parts(job->inner) * AMX_TILES;
    const edge_arguments edge = edge_arguments_of(job);
    char *const a = (char *)range->chunk;
    real *const products = (real *)(void *)(a + x->panels * a_bytes);
    real *const samples = products + AMX_ROWS * tamis_cpu_amx_stride(index->block);
    int64_t at[TAMIS_CPU_AMX_PANELS * AMX_ROWS];
    for (int64_t r = x->row; r < x->end_row; r++) at[r - x->row] = offset_at(job, r);
    for (int g = 0; g < x->panels; g++) amx_stage(job, x->row + g * AMX_ROWS, a + g * a_bytes);
    for (int64_t block = 0; block < index->cells; block += index->block)
        for (int g = 0; g < x->panels; g++)
            amx_block_sddmm(t, x, g, block, a + g * a_bytes, products, at + g * AMX_ROWS, samples);
    edge_run(&edge, TAMIS_KERNEL_TYPE, samples, begin, n);
    if (job->edge == TAMIS_EDGE_SOFTMAX)
        memcpy((real *)job->samples + begin, samples, (size_t)n * sizeof(real));
    else
        store_samples(job, TAMIS_KERNEL_TYPE, begin, samples, n);
}

/* Makes `count` cells of S dense, as two tiles each; from[] are the next values of each row. */
INLINE void amx_make_dense_of(char *dense, const uint32_t *masks, int64_t count, const char **from, int whole) {
    for (int64_t i = 0; i < count; i++, masks += AMX_ROWS)
        for (int r = 0; r < AMX_ROWS; r++, dense += 64) {
            amx_expand(dense, from[r], masks[r], whole);
            if (from[r]) from[r] += 2 * __builtin_popcount(masks[r]);
        }
}
static __attribute__((noinline)) void amx_make_dense(char *dense, const uint32_t *masks, int64_t count,
                                                     const char **from, bool whole) {
    if (whole)
        amx_make_dense_of(dense, masks, count, from, 1);
    else
        amx_make_dense_of(dense, masks, count, from, 0);
}

static void amx_group_spmm(tile_registers *t, amx_group *x, const tamis_cpu_range *range) {
    const tamis_cpu_job *const job = x->job;
    const tamis_cpu_amx_index *const index = x->index;
    const int64_t slices = tamis_cpu_amx_parts(job->width), stride = slices * AMX_SIDE;
    const bool whole = offset_at(job, x->end_row) + AMX_SIDE <= job->nnz;
    char *const dense = (char *)range->chunk;
    real *const sums = (real *)(void *)(dense + index->block * AMX_TILES);
    const char *from[TAMIS_CPU_AMX_PANELS * AMX_ROWS];
    for (int64_t r = 0; r < x->panels * AMX_ROWS; r++)
        from[r] =
            job->values ? job->values + 2 * offset_at(job, x->row + r < x->end_row ? x->row + r : x->end_row) : NULL;
    for (int64_t block = 0; block < index->cells; block += index->block)
        for (int g = 0; g < x->panels; g++) {
            const int64_t at = x->at[g], count = amx_block_end(x, g, block + index->block) - at;
            const int begin = at == index->starts[x->panel + g];
            if (count == 0) continue;
            amx_make_dense(dense, index->masks + at * AMX_ROWS, count, from + g * AMX_ROWS, whole);
            for (int64_t s = 0; s < slices; s++)
                amx_multiply(t, dense, amx_tiles(job) + s * index->cells * AMX_TILES, index->columns + at, count,
                             (char *)(sums + g * AMX_ROWS * stride + s * AMX_SIDE), stride * (int64_t)sizeof(real),
                             begin);
            x->at[g] += count;
        }
    for (int64_t r = x->row; r < x->end_row; r++) finish_output(job, r, sums + (r - x->row) * stride, (real)job->alpha);
}

typedef void amx_group_function(tile_registers *t, amx_group *x, const tamis_cpu_range *range);

/* Runs groups of consecutive panels with cells by `tiles`, and runs of panels without cells by rows. */
INLINE void amx_range(const tamis_cpu_job *job, const tamis_cpu_range *range, amx_group_function *tiles) {
    const tamis_cpu_amx_index *const index = job->state;
    const int64_t *const starts = index->starts, end = tamis_cpu_amx_parts(range->row_end);
    tile_registers t;
    tiles_begin(&t);
    for (int64_t panel = tamis_cpu_amx_parts(range->row_begin), next; panel < end; panel = next) {
        const bool cells = starts[panel + 1] > starts[panel];
        for (next = panel + 1; next < end && (starts[next + 1] > starts[next]) == cells; next++)
            if (cells && next == panel + index->together) break;
        tamis_cpu_range part = *range;
        part.row_begin = panel * AMX_ROWS;
        part.row_end = next < end ? next * AMX_ROWS : range->row_end;
        part.nonzero_begin = offset_at(job, part.row_begin);
        part.nonzero_end = offset_at(job, part.row_end);
        if (cells) {
            amx_group x = {job, index, part.row_begin, part.row_end, panel, (int)(next - panel), {0}};
            for (int g = 0; g < x.panels; g++) x.at[g] = starts[panel + g];
            tiles(&t, &x, range);
        } else {
            index->by_rows(job, &part);
        }
    }
    tiles_end(&t);
}

static void amx_sddmm(const tamis_cpu_job *job, const tamis_cpu_range *range) {
    amx_range(job, range, amx_group_sddmm);
}

static void amx_spmm(const tamis_cpu_job *job, const tamis_cpu_range *range) {
    const tamis_cpu_amx_index *const index = job->state;
    bool finite = true;
    for (int i = 0; i < index->threads && job->packed; i++) finite &= ((const int *)(const void *)job->packed)[i] == 0;
    if (finite)
        amx_range(job, range, amx_group_spmm);
    else
        index->by_rows(job, range);
}

#endif
