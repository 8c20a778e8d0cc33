/*
 * Cells: 32 neighbouring rows, with each column that any of them has, form a dense block: small matrix products in
 * registers, with the pairs that S does not have masked.
 *
 *   scores  T[column][row] = sum over k of B[column][k] A[row][k]       A is transposed per block: lanes are rows
 *   sums    E[row][l]     += sum over columns of P[column][row] D[column][l]
 *
 * So softmax's maxima and sums go down the columns, lane by lane, and no vector is reduced. The scores of a block stay
 * in the thread's scratch until its softmax is known: 128 bytes per column. Rows of B and D are copied 64 at a time,
 * zero-padded and widened from 16 bits. Moves: a row of B and of D per column of a block, each row of A and E once.
 *
 * Masked pairs are multiplied by 0. That is right unless a number is not finite; the copies detect that, and such a
 * block is multiplied pair by pair. The right choice if about a third of the pairs are kept: attention with windows,
 * causal masks or blocks, and layers that are half full.
 */
#ifndef TAMIS_CPU_METHODS_CELLS_CELLS_KERNELS_H
#define TAMIS_CPU_METHODS_CELLS_CELLS_KERNELS_H

#include "base/sizes.h"
#include "cpu/kernels/sddmm.h"
#include "cpu/kernels/spmm.h"
#include "cpu/methods/cells/index.h"

#define CELL_ROWS    TAMIS_CPU_CELL_ROWS
#define CELL_VECTORS (CELL_ROWS / LANES)

enum {
    CELL_COLUMNS = 64, /* columns that are copied together */
#if VECTOR_BYTES == 64 || defined(__aarch64__)
    CELL_HEIGHT = 8, /* rows of a product's tile; its width is two vectors; all stay in registers */
#else
    CELL_HEIGHT = 4,
#endif
};

INLINE int64_t cell_padded(int64_t width) { return (width + LANES - 1) / LANES * LANES; }

INLINE vector cell_load(const real *p) { return *(const vector_anywhere *)(const void *)p; }
INLINE void cell_store(real *p, vector x) { *(vector_anywhere *)(void *)p = x; }

/* ------------------------------------------------------------------------------------------ products */

/* out[i][j] = (more: +=) sum over n < count of left[i * left_row + n * left_step] right[n * right_step + j]. Rows of
   `out` are out_row apart, or at `places`. */
typedef struct cell_product {
    const real *left, *right;
    int64_t left_row, left_step, right_step, count;
    real *out;
    int64_t out_row;
    const tamis_cpu_cell *places; /* NULL: consecutive rows */
    int64_t first;                /* with places: the column of out's first row */
    real *unused;                 /* with places: the row for padding columns */
} cell_product;

INLINE real *cell_out(const cell_product *x, int64_t row) {
    if (!x->places) return x->out + row * x->out_row;
    if (x->places[row].rows == 0) return x->unused;
    return x->out + ((int64_t)x->places[row].column - x->first) * x->out_row;
}

/* A tile: rows row .. row + CELL_HEIGHT - 1, `vectors` vectors from `at` on; `vectors` and `more` are compile-time
   constants. */
INLINE void cell_tile(const cell_product *x, int64_t row, int64_t at, int vectors, int more) {
    vector sum[CELL_HEIGHT][2];
#pragma GCC unroll 8
    for (int i = 0; i < CELL_HEIGHT; i++)
#pragma GCC unroll 2
        for (int j = 0; j < vectors; j++)
            sum[i][j] = more ? cell_load(cell_out(x, row + i) + at + j * LANES) : vector_zero();
    tile_multiply_add(sum, x->left + row * x->left_row, x->left_row, x->left_step, x->right + at, x->right_step,
                      x->count, CELL_HEIGHT, vectors, 0, 0);
#pragma GCC unroll 8
    for (int i = 0; i < CELL_HEIGHT; i++)
#pragma GCC unroll 2
        for (int j = 0; j < vectors; j++) cell_store(cell_out(x, row + i) + at + j * LANES, sum[i][j]);
}

/* rows: a multiple of CELL_HEIGHT; width: of LANES. Separate functions, so that a tile has all registers. */
INLINE void cell_multiply(const cell_product *x, int64_t rows, int64_t width, int more) {
    for (int64_t at = 0; at < width; at += 2 * LANES)
        for (int64_t row = 0; row < rows; row += CELL_HEIGHT) {
            if (width - at > LANES)
                cell_tile(x, row, at, 2, more);
            else
                cell_tile(x, row, at, 1, more);
        }
}
static __attribute__((noinline)) void cell_set(const cell_product *x, int64_t rows, int64_t width) {
    cell_multiply(x, rows, width, 0);
}
static __attribute__((noinline)) void cell_add(const cell_product *x, int64_t rows, int64_t width) {
    cell_multiply(x, rows, width, 1);
}

/* As cell_multiply with `more`, but only for pairs that S keeps. by_columns: rows of `out` are columns of S. */
static __attribute__((noinline)) void cell_add_kept(const cell_product *x, const tamis_cpu_cell *cells, int64_t rows,
                                                    int64_t width, int by_columns) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t n = 0; n < x->count; n++) {
            const uint32_t kept = by_columns ? cells[i].rows >> n : cells[n].rows >> i;
            if (!(kept & 1)) continue;
            real *const out = cell_out(x, i);
            const vector w = vector_of(x->left[i * x->left_row + n * x->left_step]);
            for (int64_t k = 0; k < width; k += LANES)
                cell_store(out + k, cell_load(out + k) + w * cell_load(x->right + n * x->right_step + k));
        }
}

/* ------------------------------------------------------------------------------------------ copies */

/* Copies a row as reals, zero-padded. Adds 0 * row to *check, which becomes NaN if the row is not finite. */
INLINE void cell_copy_row(real *to, const char *from, tamis_type type, int64_t width, real factor, vector *check) {
    EACH_VECTOR(width, {
        const vector v = part_load(from + t * element_bytes(type), type, tail);
        *check += v * vector_zero();
        cell_store(to + t, v * factor);
    });
}

INLINE int cell_is_finite(vector check) {
    const real sum = vector_sum(check);
    return sum == sum;
}

/* Copies the rows of a matrix that the cells name; returns true if all are finite. */
static int cell_copy(real *to, const char *from, int64_t stride, int64_t width, const tamis_cpu_cell *cells,
                     int64_t count) {
    vector check = vector_zero();
    const int64_t padded = cell_padded(width);
    for (int64_t c = 0; c < count; c++)
        cell_copy_row(to + c * padded, from + (int64_t)cells[c].column * stride, TAMIS_KERNEL_TYPE, width, 1, &check);
    return cell_is_finite(check);
}

/* Copies the `rows` rows of a block, zero-padded; `turned` gets their transpose, with lanes of rows. */
static int cell_copy_block(real *to, real *turned, const char *from, int64_t stride, int64_t width, int64_t rows,
                           real factor) {
    vector check = vector_zero();
    const int64_t padded = cell_padded(width);
    for (int64_t r = 0; r < rows; r++)
        cell_copy_row(to + r * padded, from + r * stride, TAMIS_KERNEL_TYPE, width, factor, &check);
    memset(to + rows * padded, 0, (size_t)((CELL_ROWS - rows) * padded) * sizeof(real));
    for (int64_t k = 0; k < width; k++)
        for (int64_t r = 0; r < CELL_ROWS; r++) turned[k * CELL_ROWS + r] = to[r * padded + k];
    return cell_is_finite(check);
}

/* ------------------------------------------------------------------------------------------ scores */

/* Lane mask of the rows of vector v that have the column. */
INLINE vector_bits cell_kept(uint32_t rows, int v) {
    vector_bits lane;
    for (int i = 0; i < LANES; i++) lane[i] = (real_bits)1 << i;
    const vector_bits bits =
        (vector_bits){0} + (real_bits)(rows >> (v * LANES) & ((UINT32_C(1) << (LANES - 1) << 1) - 1));
    return (vector_bits)((bits & lane) != 0);
}

/* scores = factor * scores, or `otherwise` outside S; updates *most, the largest score of each row. */
INLINE void cell_mask(real *scores, const tamis_cpu_cell *cells, int64_t count, real factor, real otherwise,
                      vector *most) {
    for (int64_t c = 0; c < count; c++, scores += CELL_ROWS)
#pragma GCC unroll 16
        for (int v = 0; v < CELL_VECTORS; v++) {
            vector x = factor * cell_load(scores + v * LANES);
            if (cells[c].rows != UINT32_MAX) x = vector_select(cell_kept(cells[c].rows, v), x, vector_of(otherwise));
            if (most) most[v] = vector_max(x, most[v]);
            cell_store(scores + v * LANES, x);
        }
}

/* ------------------------------------------------------------------------------------------ fused */

typedef struct cell_scratch {
    real *a, *turned, *rows, *sums, *scores; /* rows of A, and their transpose; rows of B or D; sums of E; scores */
} cell_scratch;

/* Returns the bytes of the scratch, and lays out its parts in *s, if s is not NULL. */
INLINE int64_t cell_scratch_of(int64_t inner, int64_t width, int64_t most, real *at, cell_scratch *s) {
    const int64_t k = cell_padded(inner), l = cell_padded(width);
    const int64_t rows = tamis_times(CELL_COLUMNS, k > l ? k : l), block = tamis_times(CELL_ROWS, 2 * k + l + most);
    const int64_t bytes = (int64_t)tamis_bytes(rows + block, sizeof(real));
    if (!at) return bytes;
    s->a = at;
    s->turned = s->a + k * CELL_ROWS;
    s->rows = s->turned + k * CELL_ROWS;
    s->sums = s->rows + rows;
    s->scores = s->sums + l * CELL_ROWS;
    return bytes;
}

/* scores[column][row] = <the column's row of a matrix, a row of the block>, for columns copied into `rows`. */
INLINE void cell_scores(const real *rows, const real *turned, int64_t inner, int64_t columns, real *scores) {
    const cell_product x = {.left = rows,
                            .left_row = cell_padded(inner),
                            .left_step = 1,
                            .right = turned,
                            .right_step = CELL_ROWS,
                            .count = inner,
                            .out = scores,
                            .out_row = CELL_ROWS};
    cell_set(&x, columns, CELL_ROWS);
}

/* sums[row][k] += weights[column][row] * the column's row of a matrix, copied into `rows`. */
INLINE void cell_sums(const real *weights, const real *rows, int64_t width, const tamis_cpu_cell *cells,
                      int64_t columns, int finite, real *sums) {
    const cell_product x = {.left = weights,
                            .left_row = 1,
                            .left_step = CELL_ROWS,
                            .right = rows,
                            .right_step = cell_padded(width),
                            .count = columns,
                            .out = sums,
                            .out_row = cell_padded(width)};
    if (finite)
        cell_add(&x, CELL_ROWS, cell_padded(width));
    else
        cell_add_kept(&x, cells, CELL_ROWS, cell_padded(width), 0);
}

static void cells_block(const tamis_cpu_job *job, const cell_scratch *s, int64_t block) {
    const tamis_cpu_cell_index *const index = job->state;
    const tamis_cpu_cell *const cells = index->cells + index->starts[block];
    const int64_t count = index->starts[block + 1] - index->starts[block], row = block * CELL_ROWS;
    const int64_t rows = job->rows - row < CELL_ROWS ? job->rows - row : CELL_ROWS;
    const int64_t width = cell_padded(job->width);
    const bool softmax = job->edge == TAMIS_EDGE_SOFTMAX;
    const edge_arguments edge = edge_arguments_of(job);
    const bool scales = softmax && edge.edge == TAMIS_EDGE_SOFTMAX; /* its scores are scaled products, not a text's */
    vector most[CELL_VECTORS], sum[CELL_VECTORS];
    for (int v = 0; v < CELL_VECTORS; v++) {
        most[v] = vector_of(SOFTMAX_NONE);
        sum[v] = vector_zero();
    }
    cell_copy_block(s->a, s->turned, job->a + row * job->a_stride, job->a_stride, job->inner, rows, 1);
    for (int64_t c = 0; c < count; c += CELL_COLUMNS) {
        const int64_t together = count - c < CELL_COLUMNS ? count - c : CELL_COLUMNS;
        real *const scores = s->scores + c * CELL_ROWS;
        cell_copy(s->rows, job->b, job->b_stride, job->inner, cells + c, together);
        cell_scores(s->rows, s->turned, job->inner, together, scores);
        if (scales) {
            cell_mask(scores, cells + c, together, edge.scale, SOFTMAX_NONE, most);
        } else {
            edge_run(&edge, TAMIS_KERNEL_TYPE, scores, 0, together * CELL_ROWS); /* S has no values */
            cell_mask(scores, cells + c, together, 1, softmax ? SOFTMAX_NONE : 0, softmax ? most : NULL);
        }
    }
    memset(s->sums, 0, (size_t)(CELL_ROWS * width) * sizeof(real));
    for (int64_t c = 0; c < count; c += CELL_COLUMNS) {
        const int64_t together = count - c < CELL_COLUMNS ? count - c : CELL_COLUMNS;
        real *const scores = s->scores + c * CELL_ROWS;
        for (int64_t t = 0; softmax && t < together; t++)
#pragma GCC unroll 16
            for (int v = 0; v < CELL_VECTORS; v++) {
                const vector p = vector_exp(cell_load(scores + t * CELL_ROWS + v * LANES) - softmax_shifts(most[v]));
                sum[v] += p;
                cell_store(scores + t * CELL_ROWS + v * LANES, p);
            }
        const int finite = cell_copy(s->rows, job->d, job->d_stride, job->width, cells + c, together);
        cell_sums(scores, s->rows, job->width, cells + c, together, finite, s->sums);
    }
    for (int64_t r = 0; r < rows; r++) {
        const softmax_state state = {most[r / LANES][r % LANES], sum[r / LANES][r % LANES]};
        const real factor = softmax ? softmax_finish(job, row + r, state) : (real)job->alpha;
        finish_output(job, row + r, s->sums + r * width, factor);
    }
}

static void cells_fused(const tamis_cpu_job *job, const tamis_cpu_range *range) {
    const tamis_cpu_cell_index *const index = job->state;
    cell_scratch s = {0};
    cell_scratch_of(job->inner, job->width, index->most, range->chunk, &s);
    for (int64_t row = range->row_begin; row < range->row_end; row += CELL_ROWS) cells_block(job, &s, row / CELL_ROWS);
}

static tamis_cpu_kernel *const cells_kernels[] = {[TAMIS_OP_FUSED] = cells_fused};

#endif
