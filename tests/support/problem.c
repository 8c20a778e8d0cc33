/* Random problems for tests. */
#include "support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sparse/element.h"

double test_load(const void *array, tamis_type type, int64_t i) { return tamis_element_load(array, type, i); }
void test_store(void *array, tamis_type type, int64_t i, double value) { tamis_element_store(array, type, i, value); }

int64_t test_position(const tamis_dense *X, int64_t member, int64_t i, int64_t j) {
    return member * X->batch_stride + (X->layout == TAMIS_ROW_MAJOR ? i * X->stride + j : j * X->stride + i);
}

tamis_dense test_rows_of(const tamis_dense *X, int64_t first, int64_t rows) {
    tamis_dense view = *X;
    const int64_t skip = X->layout == TAMIS_ROW_MAJOR ? first * X->stride : first;
    view.rows = rows;
    view.data = (char *)X->data + skip * (int64_t)tamis_type_size(X->type);
    return view;
}

static double draw(const problem_options *o, tamis_random *random) {
    if (o->special != 0 && tamis_random_below(random, 150) == 0) return o->special;
    return 2 * tamis_random_uniform(random) - 1;
}

static int64_t draw_row(const problem_options *o, tamis_random *random) {
    switch (o->shape) {
    case SHAPE_HUB: return tamis_random_below(random, 5) ? o->rows / 2 : tamis_random_below(random, o->rows);
    case SHAPE_LAST_ROW: return o->rows - 1;
    case SHAPE_SPARSE_ENDS: return o->rows / 3 + tamis_random_below(random, o->rows - 2 * (o->rows / 3));
    case SHAPE_RAGGED: return tamis_random_below(random, 1 + tamis_random_below(random, o->rows));
    case SHAPE_BAND:
    case SHAPE_UNIFORM: break;
    }
    return tamis_random_below(random, o->rows);
}

static int64_t draw_column(const problem_options *o, int64_t row, tamis_random *random) {
    if (o->shape != SHAPE_BAND) return tamis_random_below(random, o->cols);
    const int64_t column = row * o->cols / o->rows + tamis_random_below(random, 5) - 2;
    return column < 0 ? 0 : column < o->cols ? column : o->cols - 1;
}

typedef struct entry {
    int64_t row, column, order;
} entry;

static int by_row(const void *x, const void *y) {
    const entry *const a = x, *const b = y;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int by_row_and_column(const void *x, const void *y) {
    const entry *const a = x, *const b = y;
    if (a->row == b->row && a->column != b->column) return a->column < b->column ? -1 : 1;
    return by_row(x, y);
}

/* malloc(0) may be NULL; a block of one byte more than nothing keeps pointers valid */
static void *block(problem *p, int at, int64_t elements, size_t size) {
    p->blocks[at] = malloc((size_t)elements * size + (elements == 0));
    if (!p->blocks[at]) abort();
    return p->blocks[at];
}

/* What is left when the first entry of each place stays. */
static int64_t without_repeats(const problem_options *o, entry *entries) {
    int64_t left = 0;
    bool *const taken = calloc((size_t)(o->rows * o->cols) + 1, 1);
    if (!taken) abort();
    for (int64_t t = 0; t < o->nnz; t++) {
        bool *const place = &taken[entries[t].row * o->cols + entries[t].column];
        if (!*place) entries[left++] = entries[t];
        *place = true;
    }
    free(taken);
    return left;
}

static void make_pattern(problem *p, tamis_random *random) {
    const problem_options *const o = &p->options;
    int64_t nnz = o->nnz;
    entry *const entries = malloc((size_t)(nnz + 1) * sizeof *entries);
    if (!entries) abort();
    for (int64_t t = 0; t < nnz; t++) {
        const int64_t row = draw_row(o, random);
        entries[t] = (entry){row, draw_column(o, row, random), t};
    }
    if (o->distinct) nnz = without_repeats(o, entries);
    if (o->sorted)
        qsort(entries, (size_t)nnz, sizeof *entries, by_row_and_column);
    else if (o->format == TAMIS_CSR)
        qsort(entries, (size_t)nnz, sizeof *entries, by_row);

    const size_t index_size = tamis_index_size(o->index_type), offset_size = tamis_index_size(o->offset_type);
    void *const columns = block(p, 0, nnz, index_size);
    void *const rows = block(p, 1, o->format == TAMIS_COO ? nnz : 0, index_size);
    void *const offsets = block(p, 2, o->format == TAMIS_CSR ? o->rows + 1 : 0, offset_size);
    for (int64_t t = 0; t < nnz; t++) {
        tamis_index_store(columns, o->index_type, t, entries[t].column);
        if (o->format == TAMIS_COO) tamis_index_store(rows, o->index_type, t, entries[t].row);
    }
    if (o->format == TAMIS_CSR)
        for (int64_t i = 0, t = 0; i <= o->rows; i++) {
            while (t < nnz && entries[t].row < i) t++;
            tamis_index_store(offsets, o->offset_type, i, t);
        }
    free(entries);
    p->S = (tamis_sparse){.format = o->format,
                          .rows = o->rows,
                          .cols = o->cols,
                          .nnz = nnz,
                          .index_type = o->index_type,
                          .offset_type = o->offset_type,
                          .value_type = o->type,
                          .offsets = o->format == TAMIS_CSR ? offsets : NULL,
                          .row_indices = o->format == TAMIS_COO ? rows : NULL,
                          .columns = columns,
                          .batch_stride = o->shared & PROBLEM_SHARES_VALUES ? 0 : nnz};
    const int64_t total = (o->batch - 1) * p->S.batch_stride + nnz;
    void *const values = block(p, 3, total, tamis_type_size(o->type));
    for (int64_t t = 0; t < total; t++) test_store(values, o->type, t, draw(o, random));
    if (!o->pattern) p->S.values = values;
}

static tamis_dense make_dense(problem *p, int at, int64_t rows, int64_t cols, tamis_layout layout, bool shared,
                              tamis_random *random) {
    const problem_options *const o = &p->options;
    const int64_t major = layout == TAMIS_ROW_MAJOR ? rows : cols, minor = layout == TAMIS_ROW_MAJOR ? cols : rows;
    const int64_t stride = minor + o->padding;
    const int64_t one = major > 0 ? (major - 1) * stride + minor : 0; /* nothing after the last element */
    const int64_t total = o->misalignment + (shared ? 1 : o->batch) * one;
    char *const data = block(p, at, total, tamis_type_size(o->type));
    for (int64_t i = 0; i < total; i++) test_store(data, o->type, i, draw(o, random));
    return (tamis_dense){.data = data + (size_t)o->misalignment * tamis_type_size(o->type),
                         .rows = rows,
                         .cols = cols,
                         .stride = stride,
                         .type = o->type,
                         .layout = layout,
                         .batch_stride = shared ? 0 : one};
}

problem problem_make(const problem_options *options, tamis_random *random) {
    problem p = {.options = *options};
    if (p.options.batch == 0) p.options.batch = 1;
    if (p.options.rows == 0 || p.options.cols == 0) p.options.nnz = 0;
    const problem_options *const o = &p.options;
    make_pattern(&p, random);
    p.A = make_dense(&p, 4, o->rows, o->inner, o->layouts[0], o->shared & PROBLEM_SHARES_A, random);
    p.B = make_dense(&p, 5, o->cols, o->inner, o->layouts[1], o->shared & PROBLEM_SHARES_B, random);
    p.D = p.B;
    if (!o->d_is_b) p.D = make_dense(&p, 6, o->cols, o->width, o->layouts[2], o->shared & PROBLEM_SHARES_D, random);
    p.out = make_dense(&p, 7, o->rows, o->width, o->layouts[3], false, random);
    return p;
}

static void round_element(void *array, tamis_type type, int64_t i) {
    test_store(array, type, i, rint(3 * test_load(array, type, i)));
}

static void round_matrix(const tamis_dense *X) {
    for (int64_t i = 0; i < X->rows; i++)
        for (int64_t j = 0; j < X->cols; j++) round_element(X->data, X->type, test_position(X, 0, i, j));
}

void problem_round(problem *p) {
    round_matrix(&p->A);
    round_matrix(&p->B);
    if (p->D.data != p->B.data) round_matrix(&p->D);
    round_matrix(&p->out);
    for (int64_t t = 0; t < p->S.nnz; t++) round_element(p->blocks[3], p->options.type, t);
}

void problem_free(problem *p) {
    for (int i = 0; i < 8; i++) free(p->blocks[i]);
    memset(p, 0, sizeof *p);
}

uint64_t test_seed(void) {
    const char *const given = getenv("TAMIS_TEST_SEED");
    const uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    printf("TAMIS_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}
