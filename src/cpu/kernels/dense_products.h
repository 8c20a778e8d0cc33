/*
 * Products with a small matrix, in vectors. The accumulators are four rows by two vectors. Each step of a row is one
 * broadcast and two multiply-adds. This hides the latency of multiply-adds, and does not spill on any instruction set.
 * With few columns, as when a service scores one user, each row and column is a dot product.
 */
#ifndef TAMIS_CPU_KERNELS_DENSE_PRODUCTS_H
#define TAMIS_CPU_KERNELS_DENSE_PRODUCTS_H

#include "cpu/kernels/dense_elements.h"

enum { PRODUCT_ROWS = 4, PRODUCT_BLOCK = 64, NARROW_ROWS = 8, NARROW_INNER = 1040 };

INLINE vector load_part(const real *p, int masked, int tail) {
    return masked ? vector_load_tail((const char *)p, REAL, tail) : vector_load((const char *)p, REAL);
}

INLINE void store_part(real *p, int masked, int tail, vector x) {
    if (masked)
        vector_store_tail((char *)p, REAL, tail, x);
    else
        vector_store((char *)p, REAL, x);
}

/* ------------------------------------------------------------------------------------------ X G */

typedef struct product {
    const real *x, *g;
    real *y;
    int64_t x_stride, g_stride, y_stride, inner;
    real alpha, beta;
} product;

/* A product that is rounded before it is added to. Without it compilers fuse one of two products with their sum,
   another one in each instance of a tile, and a row's bits would depend on its place. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_assoc_barrier)
#define ROUNDED(product) __builtin_assoc_barrier(product)
#endif
#endif
#ifndef ROUNDED
#define ROUNDED(product) (product)
#endif

/* A tile of `rows` x `vectors` of Y; if `masked`, the last vector has `tail` elements. */
INLINE void multiply_tile(const product *m, int rows, int vectors, int masked, int tail) {
    vector sums[PRODUCT_ROWS][2];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) sums[r][v] = vector_zero();
    tile_multiply_add(sums, m->x, m->x_stride, 1, m->g, m->g_stride, m->inner, rows, vectors, masked, tail);
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            real *const y = m->y + r * m->y_stride + v * LANES;
            vector result = ROUNDED(m->alpha * sums[r][v]);
            if (m->beta != 0) result += m->beta * load_part(y, masked, tail);
            store_part(y, masked, tail, result);
        }
}

/* All rows of a block, for one strip of `vectors` vectors of columns. */
INLINE void multiply_strip(product m, int64_t rows, int vectors, int masked, int tail) {
    int64_t r = 0;
    for (; r + PRODUCT_ROWS <= rows; r += PRODUCT_ROWS) {
        multiply_tile(&m, PRODUCT_ROWS, vectors, masked, tail);
        m.x += PRODUCT_ROWS * m.x_stride;
        m.y += PRODUCT_ROWS * m.y_stride;
    }
    for (; r < rows; r++) {
        multiply_tile(&m, 1, vectors, masked, tail);
        m.x += m.x_stride;
        m.y += m.y_stride;
    }
}

/* Dot product of one row and one column, with two sums to hide the latency of additions. */
INLINE vector narrow_dot(const real *x, const real *g, int64_t n) {
    vector even = vector_zero(), odd = vector_zero();
    int64_t k = 0;
    for (; k + 2 * LANES <= n; k += 2 * LANES) {
        even += load_part(x + k, 0, 0) * load_part(g + k, 0, 0);
        odd += load_part(x + k + LANES, 0, 0) * load_part(g + k + LANES, 0, 0);
    }
    if (k + LANES <= n) {
        even += load_part(x + k, 0, 0) * load_part(g + k, 0, 0);
        k += LANES;
    }
    if (k < n) odd += load_part(x + k, 1, (int)(n - k)) * load_part(g + k, 1, (int)(n - k));
    return even + odd;
}

/* Few columns would leave most lanes empty: so vectors run along rows of X, which are read once, front to back.
   Remainder rows are summed in the same order, so that a row's bits do not depend on its place. */
static void multiply_narrow(const tamis_dense_job *job, int64_t begin, int64_t end) {
    real g[LANES / 2][NARROW_INNER];
    const int64_t inner = job->inner;
    for (int64_t j = 0; j < job->cols; j++)
        for (int64_t k = 0; k < inner; k++) g[j][k] = row_of_operand(&job->y, k)[j];
    for (int64_t i = begin; i < end; i += NARROW_ROWS) {
        const int rows = end - i < NARROW_ROWS ? (int)(end - i) : NARROW_ROWS;
        for (int64_t j = 0; j < job->cols; j++) {
            vector sums[NARROW_ROWS];
            real dots[NARROW_ROWS];
            for (int r = 0; r < NARROW_ROWS; r++)
                sums[r] = r < rows ? narrow_dot(row_of_operand(&job->x, i + r), g[j], inner) : vector_zero();
            vector_sums_of_8(sums, dots);
            for (int r = 0; r < rows; r++) {
                real *const y = row_of_operand(&job->z, i + r) + j;
                *y = ROUNDED((real)job->c * dots[r]) + (job->d != 0 ? (real)job->d * *y : 0);
            }
        }
    }
}

static void multiply_rows(const tamis_dense_job *job, int64_t begin, int64_t end) {
    if (job->cols <= LANES / 2 && job->inner <= NARROW_INNER) {
        multiply_narrow(job, begin, end);
        return;
    }
    for (int64_t i = begin; i < end; i += PRODUCT_BLOCK) { /* a block of rows keeps columns of G in cache */
        const int64_t rows = end - i < PRODUCT_BLOCK ? end - i : PRODUCT_BLOCK;
        product m = {.x = row_of_operand(&job->x, i),
                     .g = row_of_operand(&job->y, 0),
                     .y = row_of_operand(&job->z, i),
                     .x_stride = job->x.stride,
                     .g_stride = job->y.stride,
                     .y_stride = job->z.stride,
                     .inner = job->inner,
                     .alpha = (real)job->c,
                     .beta = (real)job->d};
        int64_t j = 0;
        for (; j + 2 * LANES <= job->cols; j += 2 * LANES, m.g += 2 * LANES, m.y += 2 * LANES)
            multiply_strip(m, rows, 2, 0, 0);
        for (; j + LANES <= job->cols; j += LANES, m.g += LANES, m.y += LANES) multiply_strip(m, rows, 1, 0, 0);
        if (j < job->cols) multiply_strip(m, rows, 1, 1, (int)(job->cols - j));
    }
}

/* ------------------------------------------------------------------------------------------ X^T X */

/* sums[i][j] += x_i y_j over at most PRODUCT_BLOCK rows: a tile of `count` columns i of X by `vectors` vectors of
   columns j of Y. */
INLINE void gram_tile(const real *x, int64_t x_stride, const real *y, int64_t y_stride, int64_t rows, int count,
                      int vectors, int masked, int tail, double *sums, int64_t cols) {
    vector block[PRODUCT_ROWS][2];
#pragma GCC unroll 4
    for (int r = 0; r < count; r++)
        for (int v = 0; v < vectors; v++) block[r][v] = vector_zero();
    tile_multiply_add(block, x, 1, x_stride, y, y_stride, rows, count, vectors, masked, tail);
    for (int r = 0; r < count; r++)
        for (int v = 0; v < vectors; v++) {
            real lanes[LANES];
            memcpy(lanes, &block[r][v], sizeof lanes);
            double *const to = sums + r * cols + v * LANES;
            const int n = masked ? tail : LANES;
            for (int l = 0; l < n; l++) to[l] += (double)lanes[l];
        }
}

/* `count` columns of X with all columns j >= `first` of Y. */
INLINE void gram_strip(const real *x, int64_t x_stride, const real *y, int64_t y_stride, int64_t rows, int count,
                       int64_t first, double *sums, int64_t cols) {
    int64_t j = first;
    for (; j + 2 * LANES <= cols; j += 2 * LANES)
        gram_tile(x, x_stride, y + j, y_stride, rows, count, 2, 0, 0, sums + j, cols);
    for (; j + LANES <= cols; j += LANES) gram_tile(x, x_stride, y + j, y_stride, rows, count, 1, 0, 0, sums + j, cols);
    if (j < cols) gram_tile(x, x_stride, y + j, y_stride, rows, count, 1, 1, (int)(cols - j), sums + j, cols);
}

/* sums += X^T Y over at most PRODUCT_BLOCK rows. */
static void cross_block(const tamis_dense_job *job, double *sums) {
    const real *const x = row_of_operand(&job->x, 0), *const y = row_of_operand(&job->y, 0);
    const int64_t cols = job->cols;
    int64_t i = 0;
    for (; i + PRODUCT_ROWS <= job->inner; i += PRODUCT_ROWS)
        gram_strip(x + i, job->x.stride, y, job->y.stride, job->rows, PRODUCT_ROWS, 0, sums + i * cols, cols);
    for (; i < job->inner; i++)
        gram_strip(x + i, job->x.stride, y, job->y.stride, job->rows, 1, 0, sums + i * cols, cols);
}

static void gram_range(const tamis_dense_job *job, int64_t begin, int64_t end, int64_t first, int64_t last,
                       double *sums) {
    const int64_t cols = job->cols, stride = job->x.stride;
    for (int64_t i = first; i < last; i++)
        for (int64_t j = i; j < cols; j++) sums[i * cols + j] = 0;
    for (int64_t k = begin; k < end; k += PRODUCT_BLOCK) { /* the block of rows stays in cache for all tiles */
        const real *const x = row_of_operand(&job->x, k);
        const int64_t rows = end - k < PRODUCT_BLOCK ? end - k : PRODUCT_BLOCK;
        int64_t i = first;
        for (; i + PRODUCT_ROWS <= last; i += PRODUCT_ROWS)
            gram_strip(x + i, stride, x, stride, rows, PRODUCT_ROWS, i, sums + i * cols, cols);
        for (; i < last; i++) gram_strip(x + i, stride, x, stride, rows, 1, i, sums + i * cols, cols);
    }
}

static void gram_finish(const tamis_dense_job *job, int64_t first, int64_t last, const double *sums) {
    const int64_t cols = job->cols;
    double row[TAMIS_DENSE_GRAM_MOST];
    for (int64_t i = first; i < last; i++) {
        real *const g = row_of_operand(&job->y, i);
        for (int64_t j = i; j < cols; j++) row[j] = 0;
        for (int64_t chunk = 0; chunk < job->chunks; chunk++) {
            const double *const part = sums + (chunk * cols + i) * cols;
            for (int64_t j = i; j < cols; j++) row[j] += part[j];
        }
        for (int64_t j = i; j < cols; j++) {
            g[j] = (real)(job->c * row[j] + (i == j ? job->d : 0));
            row_of_operand(&job->y, j)[i] = g[j];
        }
    }
}

#endif
