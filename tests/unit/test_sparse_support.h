/* What the tests of the sparse layer share: seeded matrices as plain lists of entries, in any format and types. */
#ifndef TAMIS_TEST_SPARSE_SUPPORT_H
#define TAMIS_TEST_SPARSE_SUPPORT_H

#include "support/test.h"

#include <tamis/matrix.h>

#include "base/random.h"
#include "sparse/element.h"

/* The statuses match, and an error says something. */
#define expect_status(expected, call)                                                                                  \
    do {                                                                                                               \
        const tamis_status status_ = (call);                                                                           \
        if (status_ != (expected))                                                                                     \
            fail_msg("%s: %s (%s) instead of %s", #call, tamis_status_name(status_), tamis_last_error(),               \
                     tamis_status_name(expected));                                                                     \
        if (status_ != TAMIS_OK && !*tamis_last_error()) fail_msg("%s: no message", #call);                            \
    } while (0)

typedef struct entry {
    int64_t row, column, at; /* at: its number in the matrix that it came from */
    double value;
} entry;

/* Entries in the order of the matrix, and a view of them in arrays of their own. */
typedef struct sample {
    int64_t rows, cols, nnz;
    entry *entries;
    tamis_sparse view;
    void *offsets, *row_indices, *columns, *values;
} sample;

static inline void *room_for(int64_t count, size_t size) {
    void *const memory = calloc((size_t)(count > 0 ? count : 1), size);
    assert_non_null(memory);
    return memory;
}

static inline int by_row(const void *left, const void *right) {
    const entry *const a = left, *const b = right;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static inline int by_column(const void *left, const void *right) {
    const entry *const a = left, *const b = right;
    if (a->column != b->column) return a->column < b->column ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static inline int by_both(const void *left, const void *right) {
    const entry *const a = left, *const b = right;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    return by_column(left, right);
}

static inline void number_entries(sample *s) {
    for (int64_t t = 0; t < s->nnz; t++) s->entries[t].at = t;
}

static inline void order_entries(sample *s, int (*order)(const void *, const void *)) {
    qsort(s->entries, (size_t)s->nnz, sizeof(entry), order);
    number_entries(s);
}

/* Entries anywhere, some rows with many and some with none, some repeated; values are halves, exact in every type. */
static inline sample sample_draw(uint64_t seed, int64_t rows, int64_t cols, int64_t nnz) {
    tamis_random random = tamis_random_start(seed, 99);
    sample s = {.rows = rows, .cols = cols, .nnz = rows && cols ? nnz : 0};
    s.entries = room_for(s.nnz, sizeof(entry));
    const int64_t hub = rows ? tamis_random_below(&random, rows) : 0;
    for (int64_t t = 0; t < s.nnz; t++) {
        entry *const e = &s.entries[t];
        e->row = tamis_random_below(&random, 4) == 0 ? hub : tamis_random_below(&random, rows) / 2 * 2 % rows;
        e->column = tamis_random_below(&random, cols);
        e->value = (double)tamis_random_below(&random, 33) / 2 - 8;
        e->at = t;
        if (t > 0 && tamis_random_below(&random, 8) == 0) {
            e->row = s.entries[t - 1].row;
            e->column = s.entries[t - 1].column;
        }
    }
    return s;
}

/* Arrays and a view of the entries as they stand; a CSR needs them ordered by row. */
static inline void sample_build(sample *s, tamis_format format, tamis_index_type index_type,
                                tamis_index_type offset_type, tamis_type value_type, bool with_values) {
    free(s->offsets);
    free(s->row_indices);
    free(s->columns);
    free(s->values);
    s->offsets = s->row_indices = s->values = NULL;
    s->columns = room_for(s->nnz, 8);
    if (with_values) s->values = room_for(s->nnz, 8);
    if (format == TAMIS_CSR) {
        int64_t *const counts = room_for(s->rows + 1, sizeof(int64_t));
        for (int64_t t = 0; t < s->nnz; t++) counts[s->entries[t].row + 1]++;
        for (int64_t row = 0; row < s->rows; row++) counts[row + 1] += counts[row];
        s->offsets = room_for(s->rows + 1, 8);
        for (int64_t row = 0; row <= s->rows; row++) tamis_index_store(s->offsets, offset_type, row, counts[row]);
        free(counts);
    } else {
        s->row_indices = room_for(s->nnz, 8);
    }
    for (int64_t t = 0; t < s->nnz; t++) {
        if (s->row_indices) tamis_index_store(s->row_indices, index_type, t, s->entries[t].row);
        tamis_index_store(s->columns, index_type, t, s->entries[t].column);
        if (with_values) tamis_element_store(s->values, value_type, t, s->entries[t].value);
    }
    s->view = (tamis_sparse){.format = format,
                             .rows = s->rows,
                             .cols = s->cols,
                             .nnz = s->nnz,
                             .index_type = index_type,
                             .offset_type = offset_type,
                             .value_type = value_type,
                             .offsets = s->offsets,
                             .row_indices = s->row_indices,
                             .columns = s->columns,
                             .values = s->values};
}

static inline void sample_free(sample *s) {
    free(s->entries);
    free(s->offsets);
    free(s->row_indices);
    free(s->columns);
    free(s->values);
}
OWN_VALUE(sample, sample_free)

/* A copy of the entries alone. */
static inline sample sample_copy(const sample *s) {
    sample copy = {.rows = s->rows, .cols = s->cols, .nnz = s->nnz};
    copy.entries = room_for(s->nnz, sizeof(entry));
    memcpy(copy.entries, s->entries, (size_t)s->nnz * sizeof(entry));
    return copy;
}

/* The view holds exactly these entries in this order; values only where with_values. */
static inline void expect_entries(const tamis_sparse *S, const sample *expected, bool with_values) {
    assert_int_equal(S->rows, expected->rows);
    assert_int_equal(S->cols, expected->cols);
    assert_int_equal(S->nnz, expected->nnz);
    assert_int_equal(S->values != NULL, with_values && expected->nnz > 0);
    int64_t row = 0;
    for (int64_t t = 0; t < S->nnz; t++) {
        const entry *const e = &expected->entries[t];
        if (S->format == TAMIS_CSR) {
            while (tamis_index_load(S->offsets, S->offset_type, row + 1) <= t) row++;
            assert_int_equal(row, e->row);
        } else {
            assert_int_equal(tamis_index_load(S->row_indices, S->index_type, t), e->row);
        }
        assert_int_equal(tamis_index_load(S->columns, S->index_type, t), e->column);
        if (with_values && tamis_element_load(S->values, S->value_type, t) != e->value)
            fail_msg("value %lld: %g instead of %g", (long long)t, tamis_element_load(S->values, S->value_type, t),
                     e->value);
    }
    if (S->format == TAMIS_CSR) {
        assert_int_equal(tamis_index_load(S->offsets, S->offset_type, 0), 0);
        assert_int_equal(tamis_index_load(S->offsets, S->offset_type, S->rows), S->nnz);
    }
}

/* Shapes that exercise the corners; the last one is large enough for several threads. */
static const struct {
    int64_t rows, cols, nnz;
} sample_shapes[] = {{0, 0, 0},      {0, 5, 0},       {5, 0, 0},     {4, 4, 0},          {1, 1, 1},
                     {1, 1, 7},      {1, 100, 40},    {100, 1, 60},  {7, 3000, 2500},    {3000, 7, 2500},
                     {60, 50, 1000}, {500, 400, 150}, {2, 40, 6000}, {900, 5000, 150000}};

enum { SAMPLE_SHAPES = sizeof sample_shapes / sizeof *sample_shapes };

static inline sample sample_of(int seed, int shape) {
    return sample_draw((uint64_t)(seed + shape), sample_shapes[shape].rows, sample_shapes[shape].cols,
                       sample_shapes[shape].nnz);
}

#endif
