/* Lists of nonzeros of more than one window that become rows: in any order of the file the same as from one window, at
   a peak of memory that is not far above the result. */
#include "test_io_peak.h"

enum { LINES = 300000, LINE_ROOM = 40, MANY_LINES = 3000000 };

typedef enum line_order { RISING, FALLING, LATE_FALL, BY_COLUMN, GROWING, ORDERS } line_order;

static void place_of(line_order order, int64_t t, int64_t lines, int64_t *row, int64_t *column) {
    const int64_t rows = lines / 4;
    *column = t * 31 % 1000 + t % 4 * 1000;
    switch (order) {
    case RISING: *row = t / 4; break;
    case FALLING: *row = rows - 1 - t / 4; break;
    case LATE_FALL: *row = t < lines - lines / 10 ? t / 5 : t * 7919 % rows; break;
    case BY_COLUMN:
        *row = t * 7919 % rows;
        *column = t / 100;
        break;
    default: *row = t * 7919 % (t / 4 + 1); /* the largest row so far rises all the time */
    }
}

static char *write_lines(const char *head, line_order order, int64_t lines, bool with_values, size_t *bytes) {
    char *const text = malloc(strlen(head) + (size_t)lines * LINE_ROOM + 64);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "%s", head);
    for (int64_t t = 0; t < lines; t++) {
        int64_t row = 0, column = 0;
        place_of(order, t, lines, &row, &column);
        used += (size_t)sprintf(text + used, with_values ? "%lld %lld %lld.25\n" : "%lld %lld\n", (long long)row + 1,
                                (long long)column + 1, (long long)(t % 1000 - 500));
    }
    *bytes = used;
    return text;
}

static char *read_text(const char *name, const char *text, size_t bytes, const tamis_read_options *options) {
    tamis_owned_sparse *matrix = NULL;
    if (tamis_read_sparse_memory(name, text, bytes, options, &matrix) != TAMIS_OK) return strdup(tamis_last_error());
    assert_int_equal(tamis_validate(tamis_owned_sparse_view(matrix)), TAMIS_OK);
    char *const read = io_text_of(tamis_owned_sparse_view(matrix));
    tamis_owned_sparse_free(matrix);
    return read;
}

/* One thread's windows are small, those of 64 threads hold all of the file. */
static void expect_same(const char *name, const char *text, size_t bytes, tamis_read_options options) {
    options.threads = 64;
    char *const whole = read_text(name, text, bytes, &options);
    for (options.threads = 1; options.threads < 3; options.threads++) {
        char *const windows = read_text(name, text, bytes, &options);
        if (strcmp(windows, whole) != 0) fail_msg("%s\n%.300s\n%.300s", name, windows, whole);
        free(windows);
    }
    free(whole);
}

static const char *const markets[] = {"%%MatrixMarket matrix coordinate real general\n75000 4000 300000\n",
                                      "%%MatrixMarket matrix coordinate real symmetric\n75000 75000 300000\n"};

static void any_order_gives_the_same(void **state) {
    (void)state;
    const int64_t live = tamis_memory_live();
    for (line_order order = RISING; order < ORDERS; order++)
        for (int i = 0; i < 2; i++) {
            size_t bytes;
            char *const text = write_lines(markets[i], order, LINES, true, &bytes);
            expect_same("a.mtx", text, bytes, io_options());
            free(text);
        }
    assert_int_equal(tamis_memory_live(), live);
}

static void of_any_type(void **state) {
    (void)state;
    size_t bytes;
    char *const text = write_lines("", LATE_FALL, LINES, true, &bytes);
    const int64_t live = tamis_memory_live();
    for (int i = 0; i < 6; i++) {
        tamis_read_options options = io_options();
        options.value_type = (tamis_type)(i % 4);
        options.index_type = i & 1 ? TAMIS_I64 : TAMIS_I32;
        options.offset_type = i & 2 ? TAMIS_I64 : TAMIS_I32;
        options.undirected = i & 4;
        options.duplicates = (tamis_duplicates)(i % 3);
        options.values = i == 5 ? TAMIS_VALUES_NONE : TAMIS_VALUES_AS_FILED;
        expect_same("a.el", text, bytes, options);
        options.file_format = TAMIS_FILE_RATINGS;
        expect_same("a.csv", text, bytes, options);
    }
    free(text);
    assert_int_equal(tamis_memory_live(), live);
}

/* Ids of 64 bits after many of 32, while rows rise and when they do not. */
static void ids_of_64_bits_may_come_late(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        tamis_read_options options = io_options();
        options.index_type = i & 1 ? TAMIS_I64 : TAMIS_I32;
        options.undirected = i & 2;
        options.file_format = i & 1 ? TAMIS_FILE_RATINGS : TAMIS_FILE_EDGES; /* a graph would have as many rows */
        size_t bytes;
        char *const text = write_lines("", i & 1 ? RISING : BY_COLUMN, LINES, true, &bytes);
        bytes += (size_t)sprintf(text + bytes, "7 3000000000 1\n8 7 1\n");
        expect_same("a.txt", text, bytes, options);
        free(text);
    }
}

static void memory_may_end_anywhere(void **state) {
    (void)state;
    enum { STEP = 11 };
    const int64_t live = tamis_memory_live();
    for (line_order order = RISING; order <= FALLING; order++) {
        size_t bytes;
        char *const text = write_lines("", order, LINES, true, &bytes);
        tamis_read_options options = io_options();
        options.threads = 1;
        tamis_status status = TAMIS_ERROR_MEMORY;
        for (int64_t n = 1; status != TAMIS_OK; n += STEP) {
            tamis_owned_sparse *matrix = NULL;
            tamis_memory_fail_at(n);
            status = tamis_read_sparse_memory("a.el", text, bytes, &options, &matrix);
            tamis_memory_fail_at(0);
            if (status != TAMIS_OK) assert_int_equal(status, TAMIS_ERROR_MEMORY);
            tamis_owned_sparse_free(matrix);
            assert_int_equal(tamis_memory_live(), live);
        }
        free(text);
    }
}

/* ---- the peak */

static void peak_is_not_far_above_the_result(void **state) {
    (void)state;
    static const struct {
        const char *name, *head;
        line_order order;
        bool with_values, relabel;
        double most;
    } cases[] = {
        {"rising.mtx", "%%MatrixMarket matrix coordinate real general\n750000 4000 3000000\n", RISING, true, false,
         1.35},
        {"falling.mtx", "%%MatrixMarket matrix coordinate real general\n750000 4000 3000000\n", FALLING, true, false,
         1.6},
        {"columns.mtx", "%%MatrixMarket matrix coordinate real general\n750000 30000 3000000\n", BY_COLUMN, true, false,
         1.6},
        {"symmetric.mtx", "%%MatrixMarket matrix coordinate real symmetric\n750000 750000 3000000\n", FALLING, true,
         false, 1.6},
        {"pattern.mtx", "%%MatrixMarket matrix coordinate pattern general\n750000 4000 3000000\n", FALLING, false,
         false, 2},
        {"rising.el", "", RISING, true, false, 1.35},
        {"falling.el", "", FALLING, true, false, 1.6},
        {"relabelled.el", "", FALLING, true, true, 2.7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes;
        char *const text = write_lines(cases[i].head, cases[i].order, MANY_LINES, cases[i].with_values, &bytes);
        io_expect_peak(cases[i].name, text, bytes, cases[i].relabel, cases[i].most);
        free(text);
    }
}

int main(void) {
    io_free_at_once();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peak_is_not_far_above_the_result),
        cmocka_unit_test(any_order_gives_the_same),
        cmocka_unit_test(of_any_type),
        cmocka_unit_test(ids_of_64_bits_may_come_late),
        cmocka_unit_test(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
