/*
 * The index of panels on a device that computes, against a plain restatement on the host: places by bitmaps in one and
 * several windows and by sorting, cells of one place and of several, panels of rows and of columns.
 *   test_panel_index [DEVICE]      opencl:0 unless told otherwise
 */
#include "support/test.h"

#include "gpu/structure/panel_index.h"
#include "opened_device.h"
#include "sparse/index.h"
#include "sparse/mask_runs.h"

typedef struct pattern {
    int64_t rows, cols, nnz, bandwidth;
    int64_t *offsets, *columns, *row;
} pattern;

/* What to make and how to index it. */
typedef struct test {
    const char *name;
    int64_t rows, cols, mean; /* nonzeros a row; a fifth of the rows are empty, and whole stretches */
    int64_t band;             /* 0: columns anywhere, in any order and some twice; else near the row, rising, as told */
    int64_t hub;              /* nonzeros of row rows / 2 beside that */
    tamis_gpu_tiling tiling;
    bool wide_index, wide_offset;
} test;

static const test tests[] = {
    {"one panel", 5, 7, 3, .tiling = {.x_tile = 16, .y_tile = 1, .height = 4}},
    {"no cells", 300, 500, 9, .tiling = {.x_tile = 32, .y_tile = 1}},
    {"no cells, int64", 300, 500, 9, .tiling = {.x_tile = 7, .y_tile = 1}, .wide_index = true, .wide_offset = true},
    {"cells", 1000, 3000, 30, .tiling = {.x_tile = 128, .y_tile = 1, .height = 128}},
    {"cells, int64 offsets", 1000, 3000, 30, .tiling = {.x_tile = 256, .y_tile = 1, .height = 64}, .wide_offset = true},
    {"cells of one place, several passes", 500, 9000, 60, .tiling = {.x_tile = 200, .y_tile = 1, .height = 1}},
    {"tiles", 700, 4000, 40, .tiling = {.x_tile = 96, .y_tile = 96, .height = 1}},
    {"tiles, cells of several", 700, 4000, 40, .tiling = {.x_tile = 33, .y_tile = 5, .height = 7}},
    {"panels of one row", 900, 4000, 20, .tiling = {.x_tile = 1, .y_tile = 1, .height = 3}},
    {"a long row", 600, 70000, 5, .hub = 40000, .tiling = {.x_tile = 64, .y_tile = 1, .height = 100}},
    {"windows", 300, 300000, 200, .tiling = {.x_tile = 150, .y_tile = 1, .height = 128}},
    {"windows of tiles", 300, 300000, 200, .tiling = {.x_tile = 150, .y_tile = 3, .height = 50}, .wide_index = true},
    {"a band", 3000, 3000, 12, .band = 50, .tiling = {.x_tile = 32, .y_tile = 1}},
    {"a band of tiles", 3000, 3000, 12, .band = 50, .tiling = {.x_tile = 64, .y_tile = 13, .height = 3}},
    {"a band as wide as the matrix", 300, 300, 12, .band = 149, .tiling = {.x_tile = 64, .y_tile = 1, .height = 3}},
    {"wide: sorted", 400, 9000000, 10, .tiling = {.x_tile = 64, .y_tile = 1, .height = 16}},
    {"wide: sorted, one panel", 400, 9000000, 10, .tiling = {.x_tile = 1000, .y_tile = 1, .height = 32}},
    {"wide: sorted tiles", 400, 9000000, 10, .tiling = {.x_tile = 64, .y_tile = 2, .height = 1}},
    {"wide: no cells", 400, 9000000, 10, .tiling = {.x_tile = 64, .y_tile = 1}},
    {"columns of 64 bits", 400, 1LL << 60, 10, .tiling = {.x_tile = 64, .y_tile = 1, .height = 8}, .wide_index = true},
    {"panels of columns", 2000, 900, 10, .tiling = {true, .x_tile = 100, .y_tile = 1, .height = 32}},
    {"panels of columns, tiles", 2000, 900, 10, .tiling = {true, .x_tile = 30, .y_tile = 40, .height = 1}},
    {"one panel of columns", 2000, 900, 10, .tiling = {true, .x_tile = 900, .y_tile = 1, .height = 32},
     .wide_index = true},
    {"many panels of columns", 2000, 90000, 10, .tiling = {true, .x_tile = 1, .y_tile = 1, .height = 5}},
};

static int compare(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static pattern make(const test *t) {
    pattern s = {.rows = t->rows, .cols = t->cols};
    const int64_t most = t->rows * 2 * t->mean + t->hub;
    s.offsets = host(t->rows);
    s.columns = host(most);
    s.row = host(most);
    for (int64_t i = 0; i < t->rows; i++) {
        const bool empty = tamis_random_below(&dice, 5) == 0 || (i > t->rows / 4 && i < t->rows / 3);
        const int64_t length = (empty ? 0 : tamis_random_below(&dice, 2 * t->mean)) + (i == t->rows / 2 ? t->hub : 0);
        const int64_t low = t->band && i > t->band ? i - t->band : 0;
        const int64_t high = t->band && i + t->band < t->cols ? i + t->band : t->cols - 1;
        int64_t *const columns = s.columns + s.offsets[i];
        for (int64_t k = 0; k < length; k++) {
            columns[k] = low + tamis_random_below(&dice, high - low + 1);
            if (k > 0 && tamis_random_below(&dice, 20) == 0) columns[k] = columns[k - 1];
            s.row[s.offsets[i] + k] = i;
            const int64_t away = columns[k] > i ? columns[k] - i : i - columns[k];
            if (away > s.bandwidth) s.bandwidth = away;
        }
        if (t->band) qsort(columns, (size_t)length, sizeof *columns, compare);
        s.offsets[i + 1] = s.nnz = s.offsets[i] + length;
    }
    return s;
}

/* ------------------------------------------------------------------------------------------ the restatement */

typedef struct item {
    int64_t panel, place, t;
} item;

static const test *of_order; /* qsort has no context of its own */

static int by_place(const void *a, const void *b) {
    const item *const x = a, *const y = b;
    if (x->panel != y->panel) return x->panel < y->panel ? -1 : 1;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return (x->t > y->t) - (x->t < y->t);
}

static int by_cell(const void *a, const void *b) {
    const item *const x = a, *const y = b;
    const int64_t height = of_order->tiling.height;
    if (x->panel != y->panel) return x->panel < y->panel ? -1 : 1;
    if (x->place / height != y->place / height) return x->place / height < y->place / height ? -1 : 1;
    return (x->t > y->t) - (x->t < y->t);
}

typedef struct restated {
    int64_t panels, count, cell_count;
    int64_t *starts, *list, *within, *cells, *order, *begins;
} restated;

static restated restate(const test *t, const pattern *s) {
    const tamis_gpu_tiling *const tiling = &t->tiling;
    const int64_t along = tiling->columns_first ? s->cols : s->rows;
    restated r = {.panels = (along + tiling->x_tile - 1) / tiling->x_tile};
    item *const items = calloc((size_t)s->nnz + 1, sizeof *items);
    if (!items) abort();
    r.starts = host(r.panels + 1);
    r.list = host(s->nnz);
    r.within = host(s->nnz);
    r.cells = host(2 * s->nnz + 2);
    r.order = host(s->nnz);
    r.begins = host(s->nnz + 1);
    for (int64_t k = 0; k < s->nnz; k++) {
        const int64_t x = tiling->columns_first ? s->columns[k] : s->row[k];
        const int64_t y = tiling->columns_first ? s->row[k] : s->columns[k];
        items[k] = (item){x / tiling->x_tile, y / tiling->y_tile, k};
    }
    qsort(items, (size_t)s->nnz, sizeof *items, by_place);
    for (int64_t k = 0; k < s->nnz; k++) {
        const bool fresh = k == 0 || items[k].panel != items[k - 1].panel;
        if (fresh || items[k].place != r.list[r.count - 1]) {
            r.starts[items[k].panel + 1]++;
            r.list[r.count++] = items[k].place;
        }
        r.within[items[k].t] = r.starts[items[k].panel + 1] - 1; /* counts as yet */
    }
    for (int64_t p = 0; p < r.panels; p++) r.starts[p + 1] += r.starts[p];
    for (int64_t k = 0; k < s->nnz; k++) items[k].place = r.within[items[k].t];
    of_order = t;
    if (tiling->height) qsort(items, (size_t)s->nnz, sizeof *items, by_cell);
    for (int64_t k = 0; k < s->nnz && tiling->height; k++) {
        const int64_t panel = items[k].panel,
                      first = r.starts[panel] + items[k].place / tiling->height * tiling->height;
        r.order[k] = items[k].t;
        if (r.cell_count > 0 && r.cells[2 * r.cell_count - 2] == panel && r.cells[2 * r.cell_count - 1] == first)
            continue;
        r.cells[2 * r.cell_count] = panel;
        r.cells[2 * r.cell_count + 1] = first;
        r.begins[r.cell_count++] = k;
    }
    r.cells[2 * r.cell_count] = r.panels;
    r.cells[2 * r.cell_count + 1] = r.count;
    r.begins[r.cell_count] = s->nnz;
    free(items);
    return r;
}

/* ------------------------------------------------------------------------------------------ comparing */

static void expect_same(const test *t, const char *what, const void *made, const int64_t *expected, int64_t count,
                        tamis_index_type type) {
    OWN(void) *const got = from_device(made, count, tamis_index_size(type));
    for (int64_t k = 0; k < count; k++)
        if (tamis_index_load(got, type, k) != expected[k])
            fail_msg("%s: %s[%lld of %lld] = %lld, expected %lld", t->name, what, (long long)k, (long long)count,
                     (long long)tamis_index_load(got, type, k), (long long)expected[k]);
}

static void expect_index(const test *t) {
    static const tamis_gpu_method method = {.name = "a test's"};
    const tamis_index_type index_type = t->wide_index ? TAMIS_I64 : TAMIS_I32;
    const tamis_index_type offset_type = t->wide_offset ? TAMIS_I64 : TAMIS_I32;
    pattern s = make(t);
    restated r = restate(t, &s);
    void *const offsets = numbers_on_device(s.offsets, s.rows + 1, offset_type), *const columns = numbers_on_device(
                                                                                     s.columns, s.nnz, index_type);
    tamis_prepared p = {.method = &method,
                        .device = device->handle,
                        .problem = {.rows = s.rows,
                                    .cols = s.cols,
                                    .nnz = s.nnz,
                                    .offsets = offsets,
                                    .columns = columns,
                                    .index_type = index_type,
                                    .offset_type = offset_type,
                                    .device = device->handle}};
    if (t->band) p.profile = (tamis_profile){.nnz = s.nnz, .sorted = true, .bandwidth = s.bandwidth};
    tamis_gpu_index made;
    if (tamis_gpu_index_build(&p, &t->tiling, &made) != TAMIS_OK) fail_msg("%s: %s", t->name, tamis_last_error());
    if (made.panels != r.panels || made.count != r.count)
        fail_msg("%s: %lld panels, %lld places, expected %lld, %lld", t->name, (long long)made.panels,
                 (long long)made.count, (long long)r.panels, (long long)r.count);
    expect_same(t, "starts", made.starts, r.starts, r.panels + 1, TAMIS_I64);
    expect_same(t, "list", made.list, r.list, r.count, index_type);
    expect_same(t, "within", made.within, r.within, s.nnz, index_type);
    if (t->tiling.height) {
        if (made.cell_count != r.cell_count)
            fail_msg("%s: %lld cells, expected %lld", t->name, (long long)made.cell_count, (long long)r.cell_count);
        expect_same(t, "cells", made.cells, r.cells, 2 * (r.cell_count + 1), TAMIS_I64);
        expect_same(t, "order", made.order, r.order, s.nnz, offset_type);
        expect_same(t, "begins", made.begins, r.begins, r.cell_count + 1, TAMIS_I64);
        expect_same(t, "row_indices", made.row_indices, s.row, s.nnz, index_type);
    }
    tamis_gpu_index_release(&p, &made);
    tamis_device_free(device, offsets);
    tamis_device_free(device, columns);
    int64_t *const all[] = {s.offsets, s.columns, s.row, r.starts, r.list, r.within, r.cells, r.order, r.begins};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
}

/* ------------------------------------------------------------------------------------------ masks without a list */

/* The pattern that a mask of runs keeps, or its transpose. */
static pattern listed(const tamis_mask *mask, bool turned) {
    const int64_t rows = mask->members * mask->rows, cols = mask->members * mask->cols;
    pattern s = {.rows = turned ? cols : rows, .cols = turned ? rows : cols};
    s.offsets = host(s.rows);
    s.columns = host(rows * mask->cols);
    s.row = host(rows * mask->cols);
    for (int64_t i = 0; i < s.rows; i++) {
        const tamis_runs runs = tamis_mask_runs(mask, turned, i);
        for (int k = 0; k < 2; k++)
            for (int64_t j = runs.begins[k]; j < runs.ends[k]; j++) {
                s.row[s.nnz] = i;
                s.columns[s.nnz++] = j;
            }
        s.offsets[i + 1] = s.nnz;
    }
    return s;
}

static void expect_index_of_mask(const test *t, const tamis_mask *mask, bool turned) {
    static const tamis_gpu_method method = {.name = "a test's"};
    const tamis_index_type index_type = t->wide_index ? TAMIS_I64 : TAMIS_I32;
    pattern s = listed(mask, turned);
    restated r = restate(t, &s);
    tamis_mask there = *mask;
    there.lengths = numbers_on_device(mask->lengths, mask->members, mask->length_type);
    there.row_lengths = numbers_on_device(mask->row_lengths, mask->members, mask->length_type);
    tamis_prepared p = {.method = &method,
                        .device = device->handle,
                        .problem = {.rows = s.rows,
                                    .cols = s.cols,
                                    .nnz = s.nnz,
                                    .mask = &there,
                                    .mask_turned = turned,
                                    .index_type = index_type,
                                    .device = device->handle}};
    tamis_gpu_index made;
    if (tamis_gpu_index_build(&p, &t->tiling, &made) != TAMIS_OK) fail_msg("%s: %s", t->name, tamis_last_error());
    assert_int_equal(made.panels, r.panels);
    assert_int_equal(made.count, r.count);
    assert_int_equal(made.cell_count, r.cell_count);
    expect_same(t, "starts", made.starts, r.starts, r.panels + 1, TAMIS_I64);
    expect_same(t, "list", made.list, r.list, r.count, index_type);
    expect_same(t, "cells", made.cells, r.cells, 2 * (r.cell_count + 1), TAMIS_I64);
    tamis_gpu_index_release(&p, &made);
    tamis_device_free(device, (void *)(uintptr_t)there.lengths);
    tamis_device_free(device, (void *)(uintptr_t)there.row_lengths);
    int64_t *const all[] = {s.offsets, s.columns, s.row, r.starts, r.list, r.within, r.cells, r.order, r.begins};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
}

TEST(indices_of_masks) {
    static const test of_masks[] = {
        {"panels of 128 of a mask", .tiling = {.x_tile = 128, .y_tile = 1, .height = 128}},
        {"panels of 64 of a mask", .tiling = {.x_tile = 64, .y_tile = 1, .height = 64}, .wide_index = true},
    };
    static const int64_t lengths[] = {250, 0, 171}, row_lengths[] = {200, 130, 1};
    for (int i = 0; i < 16; i++) {
        tamis_mask mask = TAMIS_MASK_INIT;
        mask.rows = 200;
        mask.cols = 250;
        mask.members = 3;
        mask.left = i % 5 ? tamis_random_below(&dice, 150) : -1;
        mask.right = i % 3 ? tamis_random_below(&dice, 20) : -1;
        mask.globals = i % 4 ? tamis_random_below(&dice, 20) : 0;
        mask.offset = i % 2 ? tamis_random_below(&dice, 200) - 100 : 0;
        mask.sinks = tamis_random_below(&dice, 2);
        mask.causal = tamis_random_below(&dice, 2);
        mask.from_end = tamis_random_below(&dice, 2);
        mask.length_type = TAMIS_I64;
        mask.lengths = lengths;
        mask.row_lengths = row_lengths;
        for (int turned = 0; turned < 2; turned++) expect_index_of_mask(&of_masks[i % 2], &mask, turned);
    }
}

TEST(indices) {
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) expect_index(&tests[i]);
}

TEST_RUN() {
    dice = tamis_random_start(9, 0);
    if (!named_device_is_here(argc, argv, &name)) return 77;
    return test_run(name, NULL, set_up, tear_down);
}
