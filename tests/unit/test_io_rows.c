/* Lists of nonzeros of more than one window that become rows: in any order of the file the same as from one window. */
#include "test_io_lines.h"

enum { LINES = 300000 };

static const char *const markets[] = {"%%MatrixMarket matrix coordinate real general\n75000 4000 300000\n",
                                      "%%MatrixMarket matrix coordinate real symmetric\n75000 75000 300000\n"};

TEST(any_order_gives_the_same) {
    const int64_t live = tamis_memory_live();
    for (io_order order = RISING; order < ORDERS; order++)
        for (int i = 0; i < 2; i++) {
            size_t bytes;
            OWN(char) *const text = io_lines(markets[i], order, LINES, true, i == 1, &bytes);
            io_expect_windows("a.mtx", text, bytes, io_options(), 2, "csr 75000x");
        }
    size_t bytes;
    char *const text = io_lines(markets[1], RISING, LINES, true, false, &bytes); /* on both sides of the diagonal */
    io_expect_windows("a.mtx", text, bytes, io_options(), 2, "a.mtx:2019: the entry (505, 497) stands in the file of");
    free(text);
    assert_int_equal(tamis_memory_live(), live);
}

TEST(of_any_type) {
    size_t bytes;
    char *const text = io_lines("", LATE_FALL, LINES, true, false, &bytes);
    const int64_t live = tamis_memory_live();
    for (int i = 0; i < 6; i++) {
        tamis_read_options options = io_options();
        options.value_type = (tamis_type)(i % 4);
        options.index_type = i & 1 ? TAMIS_I64 : TAMIS_I32;
        options.offset_type = i & 2 ? TAMIS_I64 : TAMIS_I32;
        options.undirected = i & 4;
        options.duplicates = (tamis_duplicates)(i % 3);
        options.values = i == 5 ? TAMIS_VALUES_NONE : TAMIS_VALUES_AS_FILED;
        io_expect_windows("a.el", text, bytes, options, 2, "csr ");
        options.file_format = TAMIS_FILE_RATINGS;
        io_expect_windows("a.csv", text, bytes, options, 2, "csr ");
    }
    free(text);
    assert_int_equal(tamis_memory_live(), live);
}

/* Ids of 64 bits after many of 32, while rows rise and when they do not. */
TEST(ids_of_64_bits_may_come_late) {
    for (int i = 0; i < 4; i++) {
        tamis_read_options options = io_options();
        options.index_type = i & 1 ? TAMIS_I64 : TAMIS_I32;
        options.undirected = i & 2;
        options.file_format = i & 1 ? TAMIS_FILE_RATINGS : TAMIS_FILE_EDGES; /* a graph would have as many rows */
        size_t bytes;
        OWN(char) *const text = io_lines("", i & 1 ? RISING : BY_COLUMN, LINES, true, false, &bytes);
        bytes += (size_t)sprintf(text + bytes, "7 3000000000 1\n8 7 1\n");
        io_expect_windows("a.txt", text, bytes, options, 2, i & 1 ? "csr " : "a.txt: ids up to 3000000000 need ");
    }
}

TEST(memory_may_end_anywhere) {
    for (io_order order = RISING; order <= FALLING; order++) {
        size_t bytes;
        OWN(char) *const text = io_lines("", order, LINES, true, false, &bytes);
        tamis_read_options options = io_options();
        options.threads = 1;
        EACH_FAULT_OF(w, .step = 11) {
            OWN(tamis_owned_sparse) *matrix = NULL;
            FAULTY(w, tamis_read_sparse_memory("a.el", text, bytes, &options, &matrix));
        }
    }
}
