/*
 * COO in any order to CSR, and to CSR of the transpose, on a device that computes, against a sort on the host: offsets,
 * columns and the permutation, in which entries of one row keep their order.
 *   test_entry_order [DEVICE [rows]]      opencl:0 unless told otherwise; rows: also so many that offsets take 17 GB
 */
#include "support/test.h"

#include "gpu/runtime/memory.h"
#include "gpu/structure/order.h"
#include "opened_device.h"

typedef enum arrangement { RANDOM, RISING, FALLING, ONE_ROW, COLUMNS_RISE, ARRANGEMENTS } arrangement;

typedef struct entry {
    int64_t row, column, number;
} entry;

static int by_row(const void *x, const void *y) {
    const entry *const a = x, *const b = y;
    return a->row != b->row ? (a->row > b->row) - (a->row < b->row) : (a->number > b->number) - (a->number < b->number);
}

static void expect_offsets(const entry *sorted, int64_t rows, int64_t nnz, const tamis_row_order *order) {
    OWN(void) *const got = from_device(order->offsets, rows + 1, tamis_index_size(order->offset_type));
    for (int64_t i = 0, t = 0; i <= rows; i++) {
        while (t < nnz && sorted[t].row < i) t++;
        if (tamis_index_load(got, order->offset_type, i) != t)
            fail_msg("row %lld of %lld, %lld entries: begins at %lld, expected %lld", (long long)i, (long long)rows,
                     (long long)nnz, (long long)tamis_index_load(got, order->offset_type, i), (long long)t);
    }
}

/* `entries` as the order is to have them: of the transpose, rows are S's columns. */
static bool expect_order(const tamis_sparse *S, bool transpose, bool columns_rise, entry *entries) {
    enum { ROWS_MOST = 1 << 22 }; /* whose offsets are looked at */
    const int64_t nnz = S->nnz, rows = transpose ? S->cols : S->rows;
    const tamis_problem problem = {.device = device->handle, .unchecked = !transpose, .columns_rise = columns_rise};
    tamis_row_order order;
    bool rise = true, across = true;
    for (int64_t t = 1; t < nnz; t++) {
        rise = rise && entries[t - 1].row <= entries[t].row;
        across = across && entries[t - 1].column <= entries[t].column;
    }
    qsort(entries, (size_t)nnz, sizeof *entries, by_row);
    works(tamis_gpu_order_rows(&problem, S, transpose, &order));
    assert_int_equal(order.offset_type, TAMIS_I32);
    assert_true(transpose || order.columns_rise == across);
    if (rows <= ROWS_MOST) expect_offsets(entries, rows, nnz, &order);
    if (nnz > 0) {
        OWN(void) *const columns = from_device(order.columns, nnz, tamis_index_size(S->index_type));
        OWN(int64_t) *const numbers = order.permutation ? from_device(order.permutation, nnz, 8) : NULL;
        assert_true(!numbers == (rise && (!transpose || columns_rise)));
        for (int64_t t = 0; t < nnz; t++)
            if (tamis_index_load(columns, S->index_type, t) != entries[t].column ||
                (numbers ? numbers[t] : t) != entries[t].number)
                fail_msg("%lld rows, %lld entries: place %lld has entry %lld, expected %lld", (long long)rows,
                         (long long)nnz, (long long)t, (long long)(numbers ? numbers[t] : t),
                         (long long)entries[t].number);
    }
    tamis_gpu_release(device->handle, TAMIS_ALL_STREAMS, order.offsets);
    tamis_gpu_release(device->handle, TAMIS_ALL_STREAMS, order.own_columns);
    tamis_gpu_release(device->handle, TAMIS_ALL_STREAMS, order.permutation);
    return order.columns_rise;
}

static void expect_orders(int64_t nnz, int64_t rows, int64_t cols, tamis_index_type type, arrangement arranged,
                          bool transposes) {
    OWN(int64_t) *const row = host(nnz), *const column = host(nnz);
    entry *const entries = host(3 * nnz);
    for (int64_t t = 0; t < nnz; t++) {
        const int64_t steadily = (int64_t)((double)t / (double)nnz * (double)rows);
        row[t] = arranged == RISING    ? steadily
                 : arranged == FALLING ? rows - 1 - steadily
                 : arranged == ONE_ROW ? rows / 2
                                       : tamis_random_below(&dice, rows);
        column[t] = arranged == COLUMNS_RISE ? t * cols / nnz : tamis_random_below(&dice, cols);
    }
    void *const rows_there = numbers_on_device(row, nnz, type), *const columns_there =
                                                                    numbers_on_device(column, nnz, type);
    tamis_sparse S = coo_of(TAMIS_F32, rows, cols, nnz, rows_there, columns_there, NULL);
    S.location = TAMIS_DEVICE;
    S.index_type = type;
    bool rise = false; /* columns, as the first order says to the second */
    for (int transpose = 0; transpose <= (int)transposes; transpose++) {
        for (int64_t t = 0; t < nnz; t++)
            entries[t] = transpose ? (entry){column[t], row[t], t} : (entry){row[t], column[t], t};
        rise = expect_order(&S, transpose != 0, rise, entries);
    }
    tamis_device_free(device, rows_there);
    tamis_device_free(device, columns_there);
    free(entries);
}

TEST_TAG(ragged_sizes, "small") {
    static const int64_t sizes[] = {0, 1, 2, 255, 256, 257, 4095, 4096, 4097, 65535, 65536, 65537};
    static const int64_t rows[] = {1, 256, 257, 65537};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t j = 0; j < sizeof rows / sizeof rows[0]; j++)
            for (int arranged = 0; arranged < ARRANGEMENTS; arranged++)
                expect_orders(sizes[i], rows[j], arranged % 2 ? 300 : 1 << 17, (i + j) % 2 ? TAMIS_I64 : TAMIS_I32,
                              (arrangement)arranged, true);
}

TEST_TAG(many_entries, "small") {
    expect_orders(1000003, (1 << 24) + 1, 1, TAMIS_I32, RANDOM, true);
    expect_orders(1000003, 100000, 1 << 20, TAMIS_I64, RANDOM, true);
}

/* Rows whose numbers need more than 32 bits. */
TEST(many_rows) {
    expect_orders(5000, (1LL << 31) + 9, 70, TAMIS_I64, RANDOM, false);
    expect_orders(5000, (1LL << 32) + 9, 70, TAMIS_I64, FALLING, false);
}

TEST_RUN() {
    dice = tamis_random_start(8, 0);
    if (!named_device_is_here(argc, argv, &name)) return 77;
    return argc > 2 ? test_run(name, NULL, set_up, tear_down) : test_run(name, "small", set_up, tear_down);
}
