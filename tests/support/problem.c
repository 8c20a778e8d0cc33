/* Random problems for tests. */
#include "support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sparse/index.h"

/* ------------------------------------------------------------------------------------------ where nonzeros are */

typedef struct entry {
    int64_t row, column, order;
} entry;

static int64_t draw_row(const problem_options *o, tamis_random *random) {
    switch (o->shape) {
    case SHAPE_HUB: return tamis_random_below(random, 5) ? o->rows / 2 : tamis_random_below(random, o->rows);
    case SHAPE_LAST_ROW: return o->rows - 1;
    case SHAPE_SPARSE_ENDS: return o->rows / 3 + tamis_random_below(random, o->rows - 2 * (o->rows / 3));
    case SHAPE_RAGGED: return tamis_random_below(random, 1 + tamis_random_below(random, o->rows));
    case SHAPE_CROSS:
        if (tamis_random_uniform(random) < o->share) return o->rows / 2;
        return o->rows / 5 + tamis_random_below(random, o->rows - 2 * (o->rows / 5));
    default: return tamis_random_below(random, o->rows);
    }
}

static int64_t draw_column(const problem_options *o, int64_t row, tamis_random *random) {
    if (o->shape == SHAPE_CROSS && tamis_random_uniform(random) < o->share) return o->cols / 3;
    if (o->shape != SHAPE_BAND) return tamis_random_below(random, o->cols);
    const int64_t column = row * o->cols / o->rows + tamis_random_below(random, 5) - 2;
    return column < 0 ? 0 : column < o->cols ? column : o->cols - 1;
}

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

/* What is left when the first entry of each place stays. */
static int64_t without_repeats(const problem_options *o, entry *entries) {
    int64_t left = 0;
    OWN(bool) *const taken = test_room(o->rows * o->cols, sizeof *taken);
    for (int64_t t = 0; t < o->nnz; t++) {
        bool *const place = &taken[entries[t].row * o->cols + entries[t].column];
        if (!*place) entries[left++] = entries[t];
        *place = true;
    }
    return left;
}

static int64_t draw_share(const problem_options *o, entry *entries, tamis_random *random) {
    int64_t nnz = 0;
    for (int64_t i = o->rows / 5; i < o->rows - o->rows / 5; i++)
        for (int64_t j = 0; j < o->cols; j++)
            if (tamis_random_uniform(random) < o->share) entries[nnz++] = (entry){i, j, 0};
    return nnz;
}

static int64_t draw_full_hub(const problem_options *o, entry *entries, tamis_random *random) {
    int64_t *const left = test_room(o->rows, sizeof *left), nnz = 0;
    for (int64_t t = 0; t < o->nnz; t++) {
        int64_t row = tamis_random_below(random, 5) ? o->rows / 2 : tamis_random_below(random, o->rows);
        while (left[row] == o->cols) row = (row + 1) % o->rows;
        left[row]++;
    }
    for (int64_t i = 0; i < o->rows; i++)
        for (int64_t j = 0; left[i] > 0; j++) /* a sample of the columns */
            if (tamis_random_below(random, o->cols - j) < left[i]) {
                entries[nnz++] = (entry){i, j, 0};
                left[i]--;
            }
    free(left);
    for (int64_t t = nnz - 1; o->format == TAMIS_COO && t > 0; t--) { /* in any order */
        const int64_t s = tamis_random_below(random, t + 1);
        const entry kept = entries[t];
        entries[t] = entries[s];
        entries[s] = kept;
    }
    return nnz;
}

static int64_t draw_entries(const problem_options *o, entry *entries, tamis_random *random) {
    if (o->shape == SHAPE_SHARE) return draw_share(o, entries, random);
    if (o->shape == SHAPE_FULL_HUB) return draw_full_hub(o, entries, random);
    for (int64_t t = 0; t < o->nnz; t++) {
        const int64_t row = draw_row(o, random);
        entries[t] = (entry){row, draw_column(o, row, random), t};
    }
    const int64_t nnz = o->distinct ? without_repeats(o, entries) : o->nnz;
    if (o->sorted || o->format == TAMIS_CSR)
        qsort(entries, (size_t)nnz, sizeof *entries, o->sorted ? by_row_and_column : by_row);
    return nnz;
}

/* Entries of the transpose, by rows. */
static void turn(entry *entries, int64_t nnz) {
    for (int64_t t = 0; t < nnz; t++) entries[t] = (entry){entries[t].column, entries[t].row, t};
    qsort(entries, (size_t)nnz, sizeof *entries, by_row);
}

pattern pattern_make(const problem_options *o, tamis_random *random) {
    const int64_t most = o->shape == SHAPE_SHARE ? o->rows * o->cols : o->nnz;
    problem_options drawn = *o;
    if (o->turned) drawn.rows = o->cols, drawn.cols = o->rows;
    entry *const entries = test_room(most, sizeof *entries);
    const int64_t nnz = o->rows == 0 || o->cols == 0 ? 0 : draw_entries(&drawn, entries, random);
    if (o->turned) turn(entries, nnz);
    OWN(int64_t) *const rows = test_room(nnz, sizeof *rows), *const columns = test_room(nnz, sizeof *columns);
    for (int64_t t = 0; t < nnz; t++) {
        rows[t] = entries[t].row;
        columns[t] = entries[t].column;
    }
    const pattern p = pattern_of(o, rows, columns, nnz);
    free(entries);
    return p;
}

enum { BEFORE = 5, BEHIND = 3 }; /* entries of others around a slice */

pattern pattern_of(const problem_options *o, const int64_t *rows, const int64_t *columns, int64_t nnz) {
    const bool csr = o->format == TAMIS_CSR;
    const int64_t base = o->slice ? BEFORE : 0, all = nnz + (o->slice ? BEFORE + BEHIND : 0);
    const size_t index = tamis_index_size(o->index_type), offset = tamis_index_size(o->offset_type);
    const size_t bytes[] = {(size_t)all * index, csr ? 0 : (size_t)nnz * index,
                            csr ? (size_t)(o->rows + 1) * offset : 0};
    pattern p = {.row_of = test_room(nnz, sizeof(int64_t)), .column_of = test_room(nnz, sizeof(int64_t))};
    for (int i = 0; i < 3; i++) p.arrays[i] = twin_make(bytes[i], 0);
    for (int64_t t = 0; t < all; t++) tamis_index_store(p.arrays[0].host, o->index_type, t, 0);
    for (int64_t t = 0; t < nnz; t++) {
        tamis_index_store(p.arrays[0].host, o->index_type, base + t, columns[t]);
        if (!csr) tamis_index_store(p.arrays[1].host, o->index_type, t, rows[t]);
        p.row_of[t] = o->transpose ? columns[t] : rows[t];
        p.column_of[t] = o->transpose ? rows[t] : columns[t];
    }
    for (int64_t i = 0, t = 0; csr && i <= o->rows; i++) {
        while (t < nnz && rows[t] < i) t++;
        tamis_index_store(p.arrays[2].host, o->offset_type, i, base + t);
    }
    p.S = (tamis_sparse){.format = o->format,
                         .rows = o->rows,
                         .cols = o->cols,
                         .nnz = nnz,
                         .index_type = o->index_type,
                         .offset_type = o->offset_type,
                         .value_type = o->wide_values ? TAMIS_F32 : o->type,
                         .offsets = csr ? p.arrays[2].host : NULL,
                         .row_indices = csr ? NULL : p.arrays[1].host,
                         .columns = p.arrays[0].host,
                         .offset_base = base};
    return p;
}

void pattern_free(pattern *p) {
    for (int i = 0; i < 3; i++) twin_free(&p->arrays[i]);
    free(p->row_of);
    free(p->column_of);
}

tamis_sparse pattern_send(tamis_device *device, pattern *p) {
    tamis_sparse S = p->S;
    for (int i = 0; i < 3; i++) twin_send(&p->arrays[i], device);
    S.columns = twin_there(&p->arrays[0]);
    if (S.row_indices) S.row_indices = twin_there(&p->arrays[1]);
    if (S.offsets) S.offsets = twin_there(&p->arrays[2]);
    if (p->arrays[0].memory) S.location = TAMIS_DEVICE;
    return S;
}

twin pattern_values(tamis_sparse *S, bool shared, int64_t apart, int64_t batch, tamis_random *random) {
    const int64_t one = S->nnz + (S->offset_base ? BEFORE + BEHIND : 0),
                  count = shared ? one : (batch - 1) * (one + apart) + one;
    const twin values = twin_make((size_t)count * tamis_type_size(S->value_type), 0);
    for (int64_t t = 0; t < count; t++) test_store(values.host, S->value_type, t, 2 * tamis_random_uniform(random) - 1);
    S->values = values.host;
    S->batch_stride = shared ? 0 : one + apart;
    return values;
}

/* ------------------------------------------------------------------------------------------ operands */

/* Number `at`: A, B, D and the output are 1 to 4. */
static matrix room_of(const problem_options *o, int at, int64_t rows, int64_t cols, unsigned shared) {
    const bool alone = o->shared & shared;
    return matrix_room(at == 4 && o->wide_output ? TAMIS_F32 : o->type, rows, cols,
                       (matrix_place){.layout = o->layouts[at - 1],
                                      .padding = o->padding,
                                      .front = o->misalignment,
                                      .apart = o->apart,
                                      .members = alone ? 1 : o->batch,
                                      .within = o->within && !alone});
}

static tamis_dense make_dense(problem *p, int at, int64_t rows, int64_t cols, unsigned shared, tamis_random *random) {
    const problem_options *const o = &p->options;
    matrix m = room_of(o, at, rows, cols, shared);
    matrix_draw(&m, -1, 1, random);
    for (int64_t k = 0; k < m.members && o->special != 0 && at < 4; k++)
        for (int64_t i = 0; i < rows * cols; i++)
            if (tamis_random_below(random, 150) == 0)
                test_store(m.here.data, o->type, test_position(&m.here, k, i / cols, i % cols), o->special);
    p->arrays[at] = m.twin;
    return m.here;
}

problem problem_make(const problem_options *options, tamis_random *random) {
    problem p = {.options = *options};
    problem_options *const o = &p.options;
    if (o->batch == 0) o->batch = 1;
    const int64_t rows = o->transpose ? o->cols : o->rows, cols = o->transpose ? o->rows : o->cols;
    p.pattern = pattern_make(o, random);
    p.S = p.pattern.S;
    p.arrays[0] = pattern_values(&p.S, o->shared & PROBLEM_SHARES_VALUES, o->values_apart, o->batch, random);
    const int64_t values = (int64_t)(p.arrays[0].bytes / tamis_type_size(p.S.value_type));
    for (int64_t t = 0; o->special != 0 && t < values; t++)
        if (tamis_random_below(random, 150) == 0) test_store(p.arrays[0].host, p.S.value_type, t, o->special);
    if (o->pattern) p.S.values = NULL;
    p.A = make_dense(&p, 1, rows, o->inner, PROBLEM_SHARES_A, random);
    p.B = make_dense(&p, 2, cols, o->inner, PROBLEM_SHARES_B, random);
    p.D = p.B;
    if (!o->d_is_b) p.D = make_dense(&p, 3, cols, o->width, PROBLEM_SHARES_D, random);
    p.out = make_dense(&p, 4, rows, o->width, 0, random);
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
    for (int64_t t = 0; t < p->S.nnz; t++) round_element(p->arrays[0].host, p->S.value_type, t);
}

void problem_free(problem *p) {
    pattern_free(&p->pattern);
    for (int i = 0; i < 5; i++) twin_free(&p->arrays[i]);
    memset(p, 0, sizeof *p);
}

matrix problem_result(const problem *p, tamis_operation operation) {
    const problem_options *const o = &p->options;
    if (operation != TAMIS_OP_SDDMM) return room_of(o, 4, p->out.rows, p->out.cols, 0);
    const matrix_place samples = {.front = o->misalignment, .apart = o->values_apart, .members = o->batch};
    return matrix_room(p->out.type, p->S.nnz, 1, samples);
}

tamis_options problem_call(const problem *p, tamis_operation operation, const tamis_options *more) {
    tamis_options o = *more;
    o.operation = operation;
    o.type = p->options.type;
    if (p->options.wide_output) o.output_type = TAMIS_F32;
    o.inner = p->options.inner;
    o.width = p->options.width;
    o.batch = p->options.batch;
    o.transpose = p->options.transpose;
    o.a_layout = p->A.layout;
    o.b_layout = operation == TAMIS_OP_SPMM ? p->D.layout : p->B.layout;
    o.d_layout = p->D.layout;
    o.output_layout = operation == TAMIS_OP_SDDMM ? TAMIS_ROW_MAJOR : p->out.layout;
    return o;
}

uint64_t test_seed(void) {
    const char *const given = getenv("TAMIS_TEST_SEED");
    const uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    printf("TAMIS_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}
