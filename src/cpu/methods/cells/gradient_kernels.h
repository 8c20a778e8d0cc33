/*
 * The gradients of softmax attention by cells, in one pass over the blocks of rows (see cells_kernels.h):
 *
 *   T = scale A B^T, G = alpha dE D^T        of all columns of a block; P = softmax(T) goes down the columns
 *   dS = scale P (G - sum over the row of P G)
 *   dA = dS B                                a block's own rows
 *   dB += dS^T A, dD += alpha P^T dE         rows of the columns, in sums of the thread's own
 *
 * Threads take members of the batch or, where these are fewer, shares of the blocks; then their sums are added in the
 * order of the shares. So the result depends on the number of threads, but not on their timing. Scratch: T and G, 256
 * bytes per column of a block. It computes five products per pair, as many as dense attention that has kept its result.
 */
#ifndef TAMIS_CPU_METHODS_CELLS_GRADIENT_KERNELS_H
#define TAMIS_CPU_METHODS_CELLS_GRADIENT_KERNELS_H

#include "cpu/methods/cells/cells_kernels.h"
#include "cpu/methods/cells/table.h"

typedef struct cell_gradient_scratch {
    real *a, *a_turned, *e, *e_turned; /* the block's rows of A and alpha dE, and their transposes */
    real *b, *d;                       /* rows of the current columns */
    real *da, *unused;
    real *scores, *slopes; /* T, then P; G, then dS */
} cell_gradient_scratch;

INLINE int64_t cell_gradient_scratch_of(int64_t inner, int64_t width, int64_t most, real *at,
                                        cell_gradient_scratch *s) {
    const int64_t k = cell_padded(inner), l = cell_padded(width);
    const int64_t sizes[] = {k * CELL_ROWS,    k * CELL_ROWS, l * CELL_ROWS, l * CELL_ROWS,    k * CELL_COLUMNS,
                             l * CELL_COLUMNS, k * CELL_ROWS, k > l ? k : l, most * CELL_ROWS, most * CELL_ROWS};
    real **const parts[] = {&s->a, &s->a_turned, &s->e,      &s->e_turned, &s->b,
                            &s->d, &s->da,       &s->unused, &s->scores,   &s->slopes};
    int64_t all = 0;
    for (int i = 0; i < 10; i++) {
        if (at) *parts[i] = at + all;
        all += sizes[i];
    }
    return all * (int64_t)sizeof(real);
}

static int64_t cell_gradient_bytes(int64_t inner, int64_t width, int64_t most) {
    cell_gradient_scratch s;
    return cell_gradient_scratch_of(inner, width, most, NULL, &s);
}

static int64_t cell_fused_bytes(int64_t inner, int64_t width, int64_t most) {
    return cell_scratch_of(inner, width, most, NULL, NULL);
}

static int64_t cell_sums_bytes(int64_t inner, int64_t width, int64_t columns) {
    return (cell_padded(inner) + cell_padded(width)) * columns * (int64_t)sizeof(real);
}

/* Computes P without its division, the inverse sums, and the mean of G weighted by P. */
INLINE void cell_softmax(const cell_gradient_scratch *s, int64_t count, const vector *most, vector *inverse,
                         vector *mean) {
    for (int v = 0; v < CELL_VECTORS; v++) {
        const vector shift = softmax_shifts(most[v]);
        vector sum = vector_zero(), weighted = vector_zero();
        real *t = s->scores + v * LANES, *g = s->slopes + v * LANES;
        for (int64_t c = 0; c < count; c++, t += CELL_ROWS, g += CELL_ROWS) {
            const vector p = vector_exp(cell_load(t) - shift);
            sum += p;
            weighted += p * cell_load(g);
            cell_store(t, p);
        }
        inverse[v] = 1 / softmax_divisors(sum);
        mean[v] = weighted * inverse[v];
    }
}

/* Computes P and dS of some columns. */
INLINE void cell_slopes(real *p, real *g, const tamis_cpu_cell *cells, int64_t count, real scale, const vector *inverse,
                        const vector *mean) {
    for (int64_t c = 0; c < count; c++, p += CELL_ROWS, g += CELL_ROWS)
#pragma GCC unroll 16
        for (int v = 0; v < CELL_VECTORS; v++) {
            vector share = cell_load(p + v * LANES) * inverse[v];
            vector slope = scale * share * (cell_load(g + v * LANES) - mean[v]);
            if (cells[c].rows != UINT32_MAX) { /* the sum and the mean of a row may be NaN */
                const vector_bits kept = cell_kept(cells[c].rows, v);
                share = vector_select(kept, share, vector_zero());
                slope = vector_select(kept, slope, vector_zero());
            }
            cell_store(p + v * LANES, share);
            cell_store(g + v * LANES, slope);
        }
}

/* Adds weights[column][row] * (a row of the block) to the sums of the columns' rows. */
INLINE void cell_column_sums(const real *weights, const real *rows, int64_t width, const tamis_cpu_cell *cells,
                             int64_t columns, int finite, const tamis_cpu_cell_part *part, real *sums, real *unused) {
    const cell_product x = {.left = weights,
                            .left_row = CELL_ROWS,
                            .left_step = 1,
                            .right = rows,
                            .right_step = cell_padded(width),
                            .count = CELL_ROWS,
                            .out = sums,
                            .out_row = cell_padded(width),
                            .places = cells,
                            .first = part->first,
                            .unused = unused};
    if (finite)
        cell_add(&x, columns, cell_padded(width));
    else
        cell_add_kept(&x, cells, columns, cell_padded(width), 1);
}

static void cell_gradient_block(const tamis_cpu_cell_gradient *x, const tamis_cpu_cell_part *part,
                                const cell_gradient_scratch *s, int64_t block) {
    const tamis_cpu_cell *const cells = x->index->cells + x->index->starts[block];
    const int64_t count = x->index->starts[block + 1] - x->index->starts[block], row = block * CELL_ROWS;
    const int64_t rows = x->rows - row < CELL_ROWS ? x->rows - row : CELL_ROWS;
    const int64_t inner = cell_padded(x->inner);
    real *const db = part->sums, *const dd = db + part->columns * inner;
    vector most[CELL_VECTORS], inverse[CELL_VECTORS], mean[CELL_VECTORS];
    const int a_finite =
        cell_copy_block(s->a, s->a_turned, x->a.at + row * x->a.stride, x->a.stride, x->inner, rows, 1);
    const int e_finite =
        cell_copy_block(s->e, s->e_turned, x->e.at + row * x->e.stride, x->e.stride, x->width, rows, (real)x->alpha);
    for (int v = 0; v < CELL_VECTORS; v++) most[v] = vector_of(SOFTMAX_NONE);
    for (int64_t c = 0; c < count; c += CELL_COLUMNS) {
        const int64_t together = count - c < CELL_COLUMNS ? count - c : CELL_COLUMNS;
        real *const scores = s->scores + c * CELL_ROWS, *const slopes = s->slopes + c * CELL_ROWS;
        cell_copy(s->b, x->b.at, x->b.stride, x->inner, cells + c, together);
        cell_scores(s->b, s->a_turned, x->inner, together, scores);
        cell_mask(scores, cells + c, together, (real)x->scale, SOFTMAX_NONE, most);
        cell_copy(s->d, x->d.at, x->d.stride, x->width, cells + c, together);
        cell_scores(s->d, s->e_turned, x->width, together, slopes);
        cell_mask(slopes, cells + c, together, 1, 0, NULL);
    }
    cell_softmax(s, count, most, inverse, mean);
    memset(s->da, 0, (size_t)(CELL_ROWS * inner) * sizeof(real));
    for (int64_t c = 0; c < count; c += CELL_COLUMNS) {
        const int64_t together = count - c < CELL_COLUMNS ? count - c : CELL_COLUMNS;
        real *const p = s->scores + c * CELL_ROWS, *const slopes = s->slopes + c * CELL_ROWS;
        cell_slopes(p, slopes, cells + c, together, (real)x->scale, inverse, mean);
        if (x->da.at) {
            const int finite = cell_copy(s->b, x->b.at, x->b.stride, x->inner, cells + c, together);
            cell_sums(slopes, s->b, x->inner, cells + c, together, finite, s->da);
        }
        if (x->db.at) cell_column_sums(slopes, s->a, x->inner, cells + c, together, a_finite, part, db, s->unused);
        if (x->dd.at) cell_column_sums(p, s->e, x->width, cells + c, together, e_finite, part, dd, s->unused);
    }
    for (int64_t r = 0; x->da.at && r < rows; r++)
        finish_row(x->da.at + (row + r) * x->da.stride, TAMIS_KERNEL_TYPE, s->da + r * inner, x->inner, 1,
                   (real)x->beta);
}

static void cell_gradient(const tamis_cpu_cell_gradient *x, const tamis_cpu_cell_part *part) {
    cell_gradient_scratch s;
    cell_gradient_scratch_of(x->inner, x->width, x->index->most, part->scratch, &s);
    memset(part->sums, 0, (size_t)cell_sums_bytes(x->inner, x->width, part->columns));
    for (int64_t block = part->begin; block < part->end; block++) cell_gradient_block(x, part, &s, block);
}

/* Writes row `column` of one output: the sum over all parts that have it. */
INLINE void cell_finish_column(const tamis_cpu_cell_rows *to, const tamis_cpu_cell_part *parts, int count,
                               int64_t column, int64_t width, int64_t before, real beta) {
    const int64_t padded = cell_padded(width);
    for (int64_t k = 0; k < width; k += LANES) {
        vector sum = vector_zero();
        for (int i = 0; i < count; i++) {
            const tamis_cpu_cell_part *const part = &parts[i];
            if (column < part->first || column >= part->first + part->columns) continue;
            const real *const sums = (const real *)part->sums + part->columns * before;
            sum += cell_load(sums + (column - part->first) * padded + k);
        }
        real lanes[LANES];
        cell_store(lanes, sum);
        finish_row(to->at + column * to->stride + k * element_bytes(TAMIS_KERNEL_TYPE), TAMIS_KERNEL_TYPE, lanes,
                   width - k < LANES ? width - k : LANES, 1, beta);
    }
}

static void cell_gradient_finish(const tamis_cpu_cell_gradient *x, const tamis_cpu_cell_part *parts, int count,
                                 int64_t first, int64_t last) {
    for (int64_t column = first; x->db.at && column < last; column++)
        cell_finish_column(&x->db, parts, count, column, x->inner, 0, (real)x->beta);
    for (int64_t column = first; x->dd.at && column < last; column++)
        cell_finish_column(&x->dd, parts, count, column, x->width, cell_padded(x->inner), (real)x->beta);
}

static const tamis_cpu_cell_kernels cell_kernels = {.fused_bytes = cell_fused_bytes,
                                                    .gradient_bytes = cell_gradient_bytes,
                                                    .sums_bytes = cell_sums_bytes,
                                                    .gradient = cell_gradient,
                                                    .finish = cell_gradient_finish};

#endif
