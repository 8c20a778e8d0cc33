/* Texts of more lines than a window of the readers holds; the caller frees them. */
#ifndef TAMIS_TEST_IO_LINES_H
#define TAMIS_TEST_IO_LINES_H

#include "test_io_support.h"

/* Lines of a row, a column and a value. */
typedef enum io_order { RISING, FALLING, LATE_FALL, BY_COLUMN, GROWING, ORDERS } io_order;

static inline void io_place_of(io_order order, int64_t t, int64_t lines, int64_t *row, int64_t *column) {
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

/* lower: none above the diagonal, as a symmetric matrix has them. */
static inline char *io_lines(const char *head, io_order order, int64_t lines, bool with_values, bool lower,
                             size_t *bytes) {
    char *const text = malloc(strlen(head) + (size_t)lines * 40 + 64);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "%s", head);
    for (int64_t t = 0; t < lines; t++) {
        int64_t row = 0, column = 0;
        io_place_of(order, t, lines, &row, &column);
        if (lower) column %= row + 1;
        used += (size_t)sprintf(text + used, with_values ? "%lld %lld %lld.25\n" : "%lld %lld\n", (long long)row + 1,
                                (long long)column + 1, (long long)(t % 1000 - 500));
    }
    *bytes = used;
    return text;
}

/* Documents of lda-c, each of one to four terms. */
static inline char *io_documents(int count, size_t *bytes) {
    char *const text = malloc(64 + (size_t)count * 60);
    assert_non_null(text);
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        used += (size_t)sprintf(text + used, "%d", i % 4 + 1);
        for (int t = 0; t <= i % 4; t++)
            used += (size_t)sprintf(text + used, " %d:%d", (i + t * 30) % 10000, i % 7 + 1);
        text[used++] = '\n';
    }
    *bytes = used;
    return text;
}

/* A Harwell-Boeing file of 60,000 columns of five entries. */
static inline char *io_boeing_lines(const char *type, size_t *bytes) {
    enum { COLUMNS = 60000, A_COLUMN = 5, ENTRIES = COLUMNS * A_COLUMN };
    char *const text = malloc((size_t)ENTRIES * 40);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "many\n%14d%14d%14d%14d\n%-14s%14d%14d%14d%14d\n%-16s%-16s%-20s\n", 0, 0, 0, 0,
                                  type, COLUMNS, COLUMNS, ENTRIES, 0, "(8I10)", "(10I8)", "(5E16.8)");
    for (int column = 0; column <= COLUMNS; column++)
        used += (size_t)sprintf(text + used, "%10d%s", column * A_COLUMN + 1,
                                column % 8 == 7 || column == COLUMNS ? "\n" : "");
    for (int t = 0; t < ENTRIES; t++)
        used += (size_t)sprintf(text + used, "%8d%s", (int)((int64_t)t * 7919 % COLUMNS) + 1, t % 10 == 9 ? "\n" : "");
    for (int t = 0; t < ENTRIES; t++) used += (size_t)sprintf(text + used, "%16.8E%s", t / 8.0, t % 5 == 4 ? "\n" : "");
    *bytes = used;
    return text;
}

#endif
