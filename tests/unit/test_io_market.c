/* Matrix Market: what is read, what is refused and at which line. */
#include "test_io_support.h"

TEST(reads_every_kind) {
    static const io_case cases[] = {
        {"general, real, all entries",
         "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1.5\n2 3 -2e3\n1 2 .25\n",
         "csr 2x3 3| 0 0 1.5| 0 1 0.25| 1 2 -2000"},
        {"comments, blank lines, tabs, CRLF, capitals, no last line end",
         "%%MATRIXMARKET Matrix COORDINATE Real General\r\n% one\r\n\r\n%two\r\n2\t2 2\r\n\r\n% in\r\n  1 2\t7 \r\n"
         "\r\n2 1 8",
         "csr 2x2 2| 0 1 7| 1 0 8"},
        {"double is real", "%%MatrixMarket matrix coordinate double general\n1 1 1\n1 1 3\n", "csr 1x1 1| 0 0 3"},
        {"integer", "%%MatrixMarket matrix coordinate integer general\n1 2 2\n1 1 -3\n1 2 +4\n",
         "csr 1x2 2| 0 0 -3| 0 1 4"},
        {"pattern", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n", "csr 2x2 1| 1 0"},
        {"symmetric: mirrored, the diagonal once",
         "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n2 1 5\n3 2 6\n",
         "csr 3x3 5| 0 0 1| 0 1 5| 1 0 5| 1 2 6| 2 1 6"},
        {"symmetric, an entry above the diagonal", "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 5\n",
         "csr 2x2 2| 0 1 5| 1 0 5"},
        {"symmetric pattern", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n2 1\n2 2\n",
         "csr 2x2 3| 0 1| 1 0| 1 1"},
        {"skew-symmetric", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 5\n",
         "csr 2x2 2| 0 1 -5| 1 0 5"},
        {"explicit zeros are kept", "%%MatrixMarket matrix coordinate real general\n1 2 2\n1 1 0\n1 2 -0.0\n",
         "csr 1x2 2| 0 0 0| 0 1 -0"},
        {"no entries", "%%MatrixMarket matrix coordinate real general\n4 5 0\n", "csr 4x5 0"},
        {"no rows", "%%MatrixMarket matrix coordinate real general\n0 5 0\n\n", "csr 0x5 0"},
        {"no line after the sizes", "%%MatrixMarket matrix coordinate real general\n0 0 0", "csr 0x0 0"},
        {"array: all values, by columns", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n0\n4\n",
         "csr 2x2 4| 0 0 1| 0 1 0| 1 0 2| 1 1 4"},
        {"array, symmetric: the lower triangle", "%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n",
         "csr 2x2 4| 0 0 1| 0 1 2| 1 0 2| 1 1 3"},
        {"array, skew-symmetric: below the diagonal", "%%MatrixMarket matrix array real skew-symmetric\n2 2\n7\n",
         "csr 2x2 4| 0 0 0| 0 1 -7| 1 0 7| 1 1 0"},
        {"infinities, in either case", "%%MatrixMarket matrix coordinate real general\n1 2 2\n1 1 inf\n1 2 -Infinity\n",
         "csr 1x2 2| 0 0 inf| 0 1 -inf"},
        {"a Fortran exponent", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1.5D2\n",
         "csr 1x1 1| 0 0 150"},
        {"one percent sign", "%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n", "csr 1x1 1| 0 0 2"},
    };
    IO_EXPECT("a.mtx", cases);
    IO_EXPECT("no ending", cases); /* told by the content */
}

#define REAL "%%MatrixMarket matrix coordinate real general\n"

TEST(refuses_with_the_line) {
    static const io_refusal cases[] = {
        {"", "b.mtx:1: found the end of the file, expected %%MatrixMarket"},
        {"1 2 3\n", "b.mtx:1: found '1', expected %%MatrixMarket"},
        {"%%MatrixMarket vector coordinate real general\n", "b.mtx:1: found 'vector', expected matrix"},
        {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n",
         "b.mtx:1: complex matrices are not supported; expected real, integer, unsigned-integer or pattern",
         TAMIS_ERROR_UNSUPPORTED},
        {"%%MatrixMarket matrix coordinate real Hermitian\n1 1 1\n1 1 1 0\n",
         "b.mtx:1: hermitian matrices are not supported; expected general, symmetric or skew-symmetric",
         TAMIS_ERROR_UNSUPPORTED},
        {"%%MatrixMarket matrix coordinate real\n1 1 0\n",
         "b.mtx:1: found the end of the line, expected general, symmetric or skew-symmetric"},
        {"%%MatrixMarket matrix array pattern general\n1 1\n",
         "b.mtx:1: found 'pattern', expected real, integer or unsigned-integer for an array"},
        {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n",
         "b.mtx:1: found 'skew-symmetric', expected general or symmetric for a pattern"},
        {REAL "% sizes to come\n\n",
         "b.mtx:4: found the end of the file, expected a row count from 0 to 36028797018963967"},
        {REAL "2 x 3\n", "b.mtx:2: found 'x', expected a column count from 0 to 36028797018963967"},
        {REAL "2 2 1 9\n1 1 1\n", "b.mtx:2: found '9', expected the end of the line after rows, columns and entries"},
        {"%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n",
         "b.mtx:2: 2 rows and 3 columns, but a symmetric matrix is square"},
        {REAL "80 80 2\n1 1 1\nabc 1 1\n", "b.mtx:4: found 'abc', expected a row index from 1 to 80"},
        {REAL "80 80 1\n0 1 1\n", "b.mtx:3: found '0', expected a row index from 1 to 80"},
        {REAL "80 80 1\n81 1 1\n", "b.mtx:3: found '81', expected a row index from 1 to 80"},
        {REAL "80 80 1\n-1 1 1\n", "b.mtx:3: found '-1', expected a row index from 1 to 80"},
        {REAL "80 9 1\n1 10 1\n", "b.mtx:3: found '10', expected a column index from 1 to 9"},
        {REAL "80 9 1\n1 99999999999999999999999 1\n",
         "b.mtx:3: found '99999999999999999999999', expected a column index from 1 to 9"},
        {REAL "8 9 1\n\n% c\n1 1\n", "b.mtx:5: found the end of the line, expected a number"},
        {REAL "8 9 1\n1\n", "b.mtx:3: found the end of the line, expected a column index from 1 to 9"},
        {REAL "8 9 1\n1 1 x\n", "b.mtx:3: found 'x', expected a number"},
        {REAL "8 9 1\n1 1 0x10\n", "b.mtx:3: found 'x10', expected the end of the line"},
        {REAL "8 9 1\n1 1 2 3\n", "b.mtx:3: found '3', expected the end of the line"},
        {REAL "8 9 1\n1,1,2\n", "b.mtx:3: found ',1', expected a blank or a tab and the next number"},
        {"%%MatrixMarket matrix coordinate integer general\n8 9 1\n1 1 2.5\n",
         "b.mtx:3: found '.5', expected the end of the line"},
        {"%%MatrixMarket matrix coordinate integer general\n8 9 1\n1 1 99999999999999999999\n",
         "b.mtx:3: found '99999999999999999999', expected an integer"},
        {"%%MatrixMarket matrix coordinate pattern general\n8 9 1\n1 1 2\n",
         "b.mtx:3: found '2', expected the end of the line"},
        {REAL "8 9 2\n1 1 1\n", "b.mtx:4: found the end of the file, expected entry 2 of 2"},
        {REAL "8 9 1\n1 1 1\n\n2 2 2\n3 3 3\n",
         "b.mtx:5: found '2', expected the end of the file after entry 1, the last"},
        {REAL "0 9 1\n1 1 1\n", "b.mtx:3: found '1', expected no entry in an empty matrix"},
        {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 1\n2 2 1\n",
         "b.mtx:4: an entry on the diagonal of a skew-symmetric matrix; expected one below it"},
        {"%%MatrixMarket matrix array real general\n1 2\n1\n", "b.mtx:4: found the end of the file, expected a number"},
        {"%%MatrixMarket matrix array real general\n1 1\n1\n2\n",
         "b.mtx:4: found '2', expected the end of the file after the last value"},
        {"%%MatrixMarket matrix array real general\n1 1\n1 2\n",
         "b.mtx:3: found '2', expected the end of the line after the value"},
        {"%%MatrixMarket matrix array real general\n999999 999999\n1\n",
         "b.mtx:3: 999999 x 999999 values are expected, more than the file can hold"},
        {REAL "8 9 1\n1 1 \x01\xff\n", "b.mtx:3: found '\\x01\\xff', expected a number"},
        {REAL "8 9 1\nabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz 1 1\n",
         "b.mtx:3: found 'abcdefghijklmnopqrstuvwxyzabcdef...', expected a row index from 1 to 8"},
    };
    IO_REFUSE("b.mtx", cases, NULL);
}

TEST(a_zero_byte_is_an_error) {
    static const char content[] = REAL "8 9 2\n1 1 1\0\n2 2 2\n";
    io_refuse_bytes("z.mtx", content, sizeof content - 1, NULL, TAMIS_ERROR_FORMAT,
                    "z.mtx:3: found '\\x00', expected the end of the line");
}

TEST(follows_the_options) {
    static const char content[] = REAL "2 2 4\n2 2 4\n1 2 0.1\n1 1 1\n1 2 2\n";
    io_expect("a.mtx", content, NULL, "csr 2x2 4| 0 0 1| 0 1 0.10000000000000001| 0 1 2| 1 1 4");
    io_expect("a.mtx", content, IO_WITH(.format = TAMIS_COO),
              "coo 2x2 4| 1 1 4| 0 1 0.10000000000000001| 0 0 1| 0 1 2");
    io_expect("a.mtx", content, IO_WITH(.duplicates = TAMIS_DUPLICATES_SUM),
              "csr 2x2 3| 0 0 1| 0 1 2.1000000000000001| 1 1 4");
    tamis_read_options options = TAMIS_READ_OPTIONS_INIT; /* single precision */
    io_expect("a.mtx", content, &options, "csr 2x2 4| 0 0 1| 0 1 0.10000000149011612| 0 1 2| 1 1 4");
    options.value_type = TAMIS_BF16;
    io_expect("a.mtx", content, &options, "csr 2x2 4| 0 0 1| 0 1 0.10009765625| 0 1 2| 1 1 4");
    options.values = TAMIS_VALUES_NONE;
    options.index_type = options.offset_type = TAMIS_I64;
    io_expect("a.mtx", content, &options, "csr 2x2 4| 0 0| 0 1| 0 1| 1 1");
    options.values = TAMIS_VALUES_ONES;
    io_expect("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n", &options, "csr 1x1 1| 0 0 1");
}

TEST(large_sizes_need_wide_indices) {
    static const char content[] = REAL "3 3000000000 1\n2 3000000000 5\n";
    io_refuse_as("w.mtx", content, NULL, TAMIS_ERROR_OVERFLOW,
                 "w.mtx: 3 rows and 3000000000 columns need index_type = int64");
    io_expect("w.mtx", content, IO_WITH(.index_type = TAMIS_I64), "csr 3x3000000000 1| 1 2999999999 5");
}

/* Many threads and a body of several chunks: the same matrix, and the exact line of the first error. */
TEST(threads_agree) {
    enum { LINES = 200000 };
    OWN(char) *const content = malloc(LINES * 32 + 256);
    assert_non_null(content);
    size_t used = (size_t)sprintf(content, REAL "1000 1000 %d\n", LINES);
    size_t bad = 0, late = 0;
    for (int i = 0; i < LINES; i++) {
        if (i % 1000 == 7) used += (size_t)sprintf(content + used, "%% note\n\n");
        if (i == LINES / 2) bad = used;
        if (i == LINES - 5) late = used;
        used += (size_t)sprintf(content + used, "%d %d %d.5\n", i % 1000 + 1, i / 1000 + 1, i);
    }
    tamis_owned_sparse *matrix;
    char *const text = io_text_of(io_matrix("big.mtx", content, used, IO_WITH(.threads = 1), &matrix));
    tamis_owned_sparse_free(matrix);
    io_expect_bytes("big.mtx", content, used, IO_WITH(.threads = 5), text);
    free(text);
    content[bad] = 'x';
    content[late] = 'y';
    int line = 1;
    for (size_t i = 0; i < bad; i++) line += content[i] == '\n';
    char message[128];
    snprintf(message, sizeof message, "big.mtx:%d: found 'x', expected a row index from 1 to 1000", line);
    io_refuse_bytes("big.mtx", content, used, IO_WITH(.threads = 5), TAMIS_ERROR_FORMAT, message);
}

TEST(reads_dense_arrays) {
    static const char content[] = "%%MatrixMarket matrix array real general\n% c\n2 3\n1\n2\n3\n4\n5\n6.5\n";
    static const float expected[] = {1, 3, 5, 2, 4, 6.5F};
    tamis_owned_dense *array = NULL;
    works(tamis_read_dense_memory("d.mtx", content, sizeof content - 1, TAMIS_F32, &array));
    const tamis_dense *const dense = tamis_owned_dense_view(array);
    assert_int_equal(dense->rows, 2);
    assert_int_equal(dense->cols, 3);
    assert_int_equal(dense->layout, TAMIS_ROW_MAJOR);
    assert_memory_equal(dense->data, expected, sizeof expected);
    tamis_owned_dense_free(array);
    array = NULL;
    static const char sparse[] = REAL "1 1 1\n1 1 1\n";
    REFUSED(UNSUPPORTED, "^s.mtx:1: a sparse (coordinate) matrix, which tamis_read_sparse reads; expected an array$",
            tamis_read_dense_memory("s.mtx", sparse, sizeof sparse - 1, TAMIS_F32, &array));
    assert_null(array);
}

/* Half of a skew-symmetric array without its diagonal, each value one digit, is as short as an array can be. */
TEST(reads_tight_arrays) {
    enum { N = 50, BYTES = N * (N - 1) };
    static const char header[] = "%%MatrixMarket matrix array real skew-symmetric\n50 50\n";
    char content[sizeof header + BYTES];
    size_t used = sizeof header - 1;
    memcpy(content, header, used);
    for (int t = 0; t < BYTES / 2; t++) {
        content[used++] = (char)('1' + t % 9);
        content[used++] = '\n';
    }
    for (int cut = 0; cut < 2; cut++) { /* the last line's end may be missing */
        tamis_owned_dense *array = NULL;
        const size_t bytes = used - (size_t)cut;
        if (tamis_read_dense_memory("t.mtx", content, bytes, TAMIS_F32, &array) != TAMIS_OK)
            fail_msg("%s", tamis_last_error());
        const float *const x = tamis_owned_dense_view(array)->data;
        for (int j = 0, t = 0; j < N; j++) {
            assert_true(x[j * N + j] == 0);
            for (int i = j + 1; i < N; i++, t++)
                assert_true(x[i * N + j] == (float)(1 + t % 9) && x[j * N + i] == -x[i * N + j]);
        }
        tamis_owned_dense_free(array);
        OWN(tamis_owned_sparse) *matrix;
        assert_int_equal(io_matrix("t.mtx", content, bytes, NULL, &matrix)->nnz, N * N); /* zeros are entries too */
    }
}

/* Sizes that no bytes of the file back: answered at once, or refused, but never counted through. */
TEST(sizes_alone_cost_nothing) {
    tamis_read_options wide = io_options();
    wide.index_type = TAMIS_I64;
    static const char *const kinds[] = {"array real general", "array integer general", "coordinate real general",
                                        "coordinate pattern general"};
    for (int i = 0; i < 4; i++) {
        char content[128], sizes[64];
        snprintf(content, sizeof content, "%%%%MatrixMarket matrix %s\n0 36028797018963967%s\n", kinds[i],
                 i < 2 ? "" : " 0");
        io_expect("w.mtx", content, &wide, "csr 0x36028797018963967 0");
        snprintf(content, sizeof content, "%%%%MatrixMarket matrix %s\n2000000000 %d%s\n", kinds[i], i < 2 ? 0 : 3,
                 i < 2 ? "" : " 0");
        snprintf(sizes, sizeof sizes, "a file of %zu bytes", strlen(content));
        tamis_owned_sparse *matrix = NULL;
        REFUSED(FORMAT, "w.mtx: 2000000000 rows from ",
                tamis_read_sparse_memory("w.mtx", content, strlen(content), &wide, &matrix));
        assert_non_null(strstr(tamis_last_error(), sizes));
        wide.format = TAMIS_COO; /* needs no offsets */
        snprintf(sizes, sizeof sizes, "coo 2000000000x%d 0", i < 2 ? 0 : 3);
        io_expect("w.mtx", content, &wide, sizes);
        wide.format = TAMIS_CSR;
    }
    io_refuse(
        "docword.w", "2000000000\n9\n1\n1 1 1\n", &wide,
        "docword.w: 2000000000 rows from a file of 21 bytes would nearly all be empty: renumber the ids of a list "
        "(--relabel, or relabel in the options), or ask the library for a COO");
    io_refuse("w.txt", "0 0\n2000000000 1\n", &wide,
              "w.txt: 2000000001 rows from a file of 17 bytes would nearly all be empty: renumber the ids of a list "
              "(--relabel, or relabel in the options), or ask the library for a COO");
    io_expect("w.csv", "0,2000000000,5\n", &wide, "csr 1x2000000001 1| 0 2000000000 5");
}

/* A dense matrix of any number of columns without a row, read and written. */
TEST(columns_without_rows_are_written) {
    static const char content[] = "%%MatrixMarket matrix array real general\n0 36028797018963967\n";
    static const char *const endings[] = {".mtx", ".npy"};
    for (int i = 0; i < 2; i++) {
        OWN(tamis_owned_dense) *array = NULL, *back = NULL;
        OWN(char) *const path = io_temporary(endings[i]);
        works(tamis_read_dense_memory("w.mtx", content, sizeof content - 1, TAMIS_F32, &array));
        works(tamis_write_dense(path, tamis_owned_dense_view(array)));
        works(tamis_read_dense(path, TAMIS_F32, &back));
        assert_true(tamis_owned_dense_view(back)->cols == 36028797018963967);
        remove(path);
    }
}

static const char BOTH[] = "expected one of the two, or a matrix that is declared general";

/* What a symmetric file stores in both triangles is an error that names the entry and its line. */
TEST(both_triangles_are_refused) {
    static const char *const kinds[] = {"real symmetric", "integer symmetric", "real skew-symmetric"};
    for (int i = 0; i < 3; i++) {
        char content[256], message[256];
        snprintf(content, sizeof content, "%%%%MatrixMarket matrix coordinate %s\n3 3 3\n2 1 5\n%%\n3 2 1\n1 2 5\n",
                 kinds[i]);
        snprintf(message, sizeof message,
                 "s.mtx:6: the entry (1, 2) stands in the file of a symmetric matrix that also has (2, 1): %s", BOTH);
        io_refuse("s.mtx", content, NULL, message);
        io_refuse("s.mtx", content, IO_WITH(.format = TAMIS_COO), message);
        io_refuse("s.mtx", content, IO_WITH(.format = TAMIS_COO, .values = TAMIS_VALUES_NONE), message);
    }
    /* of several the first in the file, whatever the order of places */
    static const struct {
        const char *entries, *found;
    } patterns[] = {
        {"3\n1 2\n3 3\n2 1\n", "the entry (2, 1) stands in the file of a symmetric matrix that also has (1, 2)"},
        {"4\n2 1\n3 1\n1 2\n1 3\n", "the entry (1, 2) stands in the file of a symmetric matrix that also has (2, 1)"},
        {"4\n2 1\n3 1\n1 3\n1 2\n", "the entry (1, 3) stands in the file of a symmetric matrix that also has (3, 1)"},
    };
    for (int i = 0; i < 3; i++) {
        char content[256], message[256];
        snprintf(content, sizeof content, "%%%%MatrixMarket matrix coordinate pattern symmetric\n3 3 %s",
                 patterns[i].entries);
        snprintf(message, sizeof message, "s.mtx:5: %s: %s", patterns[i].found, BOTH);
        io_refuse("s.mtx", content, NULL, message);
    }
    /* either triangle, also both as long as each entry stands once; the same place twice in one triangle */
    io_expect("s.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 2 5\n1 3 6\n2 2 1\n", NULL,
              "csr 3x3 5| 0 1 5| 0 2 6| 1 0 5| 1 1 1| 2 0 6");
    io_expect("s.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 2 5\n3 1 6\n2 2 1\n", NULL,
              "csr 3x3 5| 0 1 5| 0 2 6| 1 0 5| 1 1 1| 2 0 6");
    io_expect("s.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n2 1 5\n1 3 6\n1 3 7\n", NULL,
              "csr 3x3 6| 0 1 5| 0 2 6| 0 2 7| 1 0 5| 2 0 6| 2 0 7");
}

/* The same in a file of several windows, whose lines are gone when the end is reached. */
TEST(both_triangles_of_large_files_are_refused) {
    enum { SIZE = 300000, ROOM = SIZE * 24 + 256 };
    OWN(char) *const content = malloc(ROOM);
    assert_non_null(content);
    for (int kind = 0; kind < 3; kind++) {
        size_t used = (size_t)snprintf(content, ROOM, "%%%%MatrixMarket matrix coordinate real symmetric\n%d %d %d\n",
                                       (int)SIZE, (int)SIZE, (int)SIZE);
        for (int i = 2; i <= SIZE; i++) used += (size_t)snprintf(content + used, ROOM - used, "%d %d 1\n", i, i - 1);
        used += (size_t)snprintf(content + used, ROOM - used, kind == 0 ? "1 3 1\n" : "7 8 1\n");
        const tamis_read_options *const options = IO_WITH(.threads = 1, .format = kind == 2 ? TAMIS_COO : TAMIS_CSR);
        if (kind > 0) {
            io_refuse_bytes(
                "s.mtx", content, used, options, TAMIS_ERROR_FORMAT,
                "s.mtx:300002: the entry (7, 8) stands in the file of a symmetric matrix that also has (8, 7): "
                "expected one of the two, or a matrix that is declared general");
            continue;
        }
        OWN(tamis_owned_sparse) *matrix;
        assert_int_equal(io_matrix("s.mtx", content, used, options, &matrix)->nnz, 2 * SIZE);
    }
}

/* How a banner may be written, and the fields that it may state. */
TEST(banners_are_read) {
    static const char body[] = "%\n2 2 2\n1 1 1\n2 2 18446744073709551615\n";
    static const char *const before[] = {"", " ", "\t", "\n", "\r\n \n", "\xef\xbb\xbf", "\xef\xbb\xbf \n"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        char content[256];
        snprintf(content, sizeof content, "%s%%%%MatrixMarket matrix coordinate unsigned-integer symmetric\n%s",
                 before[i], body);
        io_expect("u.mtx", content, NULL, "csr 2x2 2| 0 0 1| 1 1 1.8446744073709552e+19");
        io_expect("u", content, NULL, "csr 2x2 2| 0 0 1| 1 1 1.8446744073709552e+19");
    }
    io_expect("u.mtx", "%%MatrixMarket matrix array unsigned-integer general\n1 2\n7\n8\n", NULL,
              "csr 1x2 2| 0 0 7| 0 1 8");
    io_refuse("u.mtx", "%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 -3\n", NULL,
              "u.mtx:3: found '-3', expected an integer of 0 or more");
    io_refuse("u.mtx", " %%MatrixMarket matrix coordinate real general\n1 1 1\n1 2 3\n", NULL,
              "u.mtx:3: found '2', expected a column index from 1 to 1");
}

/* The report counts what even doubles do not hold. */
TEST(inexact_numbers_are_counted) {
    static const struct {
        const char *kind, *number;
        int inexact;
    } cases[] = {
        {"real", "9007199254740992", 0},
        {"real", "9007199254740993", 1},
        {"real", "-9007199254740993.0", 1},
        {"real", "0.1", 0},
        {"real", "1e400", 1},
        {"real", "-1e-400", 1},
        {"real", "0.000e5", 0},
        {"real", "inf", 0},
        {"real", "nan", 0},
        {"real", "1e23", 0},
        {"real", "-0", 0},
        {"integer", "9007199254740993", 1},
        {"real", "1e39", 0},
        {"integer", "9007199254740994", 0},
        {"unsigned-integer", "18446744073709551615", 1},
        {"real", "1.5e300", 0},
        {"integer", "-9223372036854775807", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int array = 0; array < 2; array++) {
            char content[256];
            snprintf(content, sizeof content, "%%%%MatrixMarket matrix %s %s general\n1 1%s\n%s%s\n",
                     array ? "array" : "coordinate", cases[i].kind, array ? "" : " 1", array ? "" : "1 1 ",
                     cases[i].number);
            tamis_read_report report;
            memset(&report, 0xff, sizeof report);
            tamis_read_options options = io_options();
            options.report = &report;
            OWN(tamis_owned_sparse) *matrix;
            io_matrix("n.mtx", content, strlen(content), &options, &matrix);
            if (report.inexact != cases[i].inexact) fail_msg("%s: %d inexact", cases[i].number, (int)report.inexact);
            for (size_t r = 0; r < sizeof report.reserved / sizeof *report.reserved; r++)
                assert_true(report.reserved[r] == 0);
        }
}
