/* svmlight and libsvm files, and what tells them from lda-c. */
#include "test_io_support.h"

TEST(reads_svmlight) {
    static const io_case cases[] = {
        {"classes, from 1", "+1 1:0.5 3:-2e1\n-1 2:1\n", "csr 2x3 3| 0 0 0.5| 0 2 -20| 1 1 1"},
        {"from 0 as soon as an index is 0", "+1 1:0.5 3:2\n-1 0:1\n", "csr 2x4 3| 0 1 0.5| 0 3 2| 1 0 1"},
        {"regression, comments, blank lines, CRLF", "# a: b\r\n0.5 2:1 # c 9:9\r\n\r\n-1.5e3 1:2#d\r\n",
         "csr 2x2 2| 0 1 1| 1 0 2"},
        {"ranking", "3 qid:1 1:1 2:0.2\n2 qid:1 2:7\n", "csr 2x2 3| 0 0 1| 0 1 0.20000000000000001| 1 1 7"},
        {"several labels", "1,2 5:1\n3 1:2\n", "csr 2x5 2| 0 4 1| 1 0 2"},
        {"rows without entries", "1\n-1 1:2\n0 \n", "csr 3x1 1| 1 0 2"},
        {"in any order, the same twice, zeros", "1 3:1 1:0 3:2\n", "csr 1x3 3| 0 2 1| 0 0 0| 0 2 2"},
        {"no last line end", "1 1:1 2:2", "csr 1x2 2| 0 0 1| 0 1 2"},
        {"nothing", "", "csr 0x0 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_message("%s\n", cases[i].about);
        assert_true(io_report("a.svm", cases[i].content, io_options(), cases[i].expected).labels);
        io_expect("a", cases[i].content, IO_WITH(.file_format = TAMIS_FILE_SVMLIGHT), cases[i].expected);
    }
    io_expect("a.libsvm.gz", "1 2:3\n", IO_WITH(.values = TAMIS_VALUES_NONE), "csr 1x2 1| 0 1");
    io_expect("a.svmlight", "1 2:3\n", IO_WITH(.values = TAMIS_VALUES_NONE, .format = TAMIS_COO), "coo 1x2 1| 0 1");
}

/* Rows without labels, and the first line of the Extreme Classification Repository. */
TEST(reads_other_labels) {
    static const struct {
        const char *content, *expected;
        bool labels;
    } cases[] = {
        {" 1:0.5 3:1\n\n2 1:1\n", "csr 2x3 3| 0 0 0.5| 0 2 1| 1 0 1", true},
        {"1:1 2:2\n", "csr 1x2 2| 0 0 1| 0 1 2", false},
        {"2 4 3\n0,2 0:0.5 3:1\n1 2:0.25\n", "csr 2x4 3| 0 0 0.5| 0 3 1| 1 2 0.25", true},
        {"3 9 1\n0 1:1\n 4:1\n0\n", "csr 3x9 2| 0 1 1| 1 4 1", true},
    };
    static const char *const names[] = {"a.svm", "a.txt", "a"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            assert_int_equal(io_report(names[n], cases[i].content, io_options(), cases[i].expected).labels,
                             cases[i].labels);
}

/* A part of a file whose indices begin with 0. */
TEST(reads_from_0) {
    const tamis_read_options *const options = IO_WITH(.file_format = TAMIS_FILE_SVMLIGHT_ZERO_BASED);
    io_expect("a.svm", "1 1:0.5 3:2\n", NULL, "csr 1x3 2| 0 0 0.5| 0 2 2");
    io_expect("a.svm", "1 1:0.5 3:2\n", options, "csr 1x4 2| 0 1 0.5| 0 3 2");
    io_expect("a", "1 0:0.5 3:2\n", options, "csr 1x4 2| 0 0 0.5| 0 3 2");
    io_expect("a", "1 5 0\n1 1:2\n", options, "csr 1x5 1| 0 1 2");
    io_refuse("a.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n", options,
              "a.mtx: its content is matrix-market, but by its name or the given format it is svmlight-zero-based: "
              "rename the file, or give its format");
}

TEST(refuses_bad_svmlight) {
    static const io_refusal cases[] = {
        {"x 1:1\n", "b.svm:1: found 'x', expected a label: a number"},
        {"2 3 1\n1 3:1\n2 0:1\n", "b.svm:2: found ':1', expected an index from 0 to 2, as the first line says"},
        {"2 3 1\n1 0:1\n", "b.svm: 1 rows, expected 2, as the first line says"},
        {"1 1 1\n", "b.svm:2: found the end of the file, expected a label: a number"},
        {"1 1:1\n1 2\n", "b.svm:2: found '2', expected index:value"},
        {"1 1:\n", "b.svm:1: found the end of the line, expected a number after the index"},
        {"1 1:2x\n", "b.svm:1: found '2x', expected a number after the index"},
        {"1 -1:2\n", "b.svm:1: found '-1:2', expected index:value"},
        {"1 1 :2\n", "b.svm:1: found '1', expected index:value"},
        {"1 1:1 qid:3\n", "b.svm:1: found 'qid:3', expected index:value"},
    };
    IO_REFUSE("b.svm", cases, NULL);
    io_refuse_as("b.svm", "1 3000000000:1\n", NULL, TAMIS_ERROR_OVERFLOW,
                 "b.svm: 1 rows and 3000000000 columns need index_type = int64");
}

/* By the content: never what is lda-c, also with a wrong count; and not another text. */
TEST(is_told_from_lda_c) {
    static const io_case cases[] = {
        {"s", "+1 1:1 2:1\n-1 1:1\n", "csr 2x2 3| 0 0 1| 0 1 1| 1 0 1"},
        {"s.txt", "+1 1:1 2:1\n-1 1:1\n", "csr 2x2 3| 0 0 1| 0 1 1| 1 0 1"},
        {"s.dat", "1 1:1 2:1\n0 1:1\n", "csr 2x2 3| 0 0 1| 0 1 1| 1 0 1"},
        {"s.data", "1 1:1 2:1 3:1\n1 1:1\n0 2:1 3:1\n", "csr 3x3 6| 0 0 1| 0 1 1| 0 2 1| 1 0 1| 2 1 1| 2 2 1"},
        {"l", "2 1:1 2:1\n1 1:1\n", "csr 2x3 3| 0 1 1| 0 2 1| 1 1 1"},
        {"l.dat", "2 1:1 2:1\n1 1:1\n", "csr 2x3 3| 0 1 1| 0 2 1| 1 1 1"},
    };
    IO_EXPECT(NULL, cases);
    io_refuse("l", "2 1:1 2:1\n3 1:1 2:2\n", NULL, "l:2: found the end of the line, expected term 3 of 3");
    io_refuse("l.ldac", "3 1:1 2:1\n2 1:1 2:2\n", NULL, "l.ldac:1: found the end of the line, expected term 3 of 3");
    io_refuse(
        "l", "3 1:1 2:1\n2 1:1 2:2\n1 5:1\n", NULL,
        "l:1: found '3', expected the beginning of a matrix: neither the name nor the content identifies its format");
    io_refuse("t", "12:30 breakfast\n", NULL,
              "t:1: found '12:30', expected the beginning of a matrix: neither the name nor the content identifies its "
              "format");
}

/* Several windows, in any of which the index 0 may be. */
TEST(large_files_are_read) {
    enum { ROWS = 300000, ROOM = ROWS * 24 };
    char *const content = malloc(ROOM);
    assert_non_null(content);
    for (int zero = 0; zero < 2; zero++) {
        size_t used = 0;
        for (int i = 0; i < ROWS; i++)
            used +=
                (size_t)snprintf(content + used, ROOM - used, "%d %d:1 %d:2\n", i % 2 ? 1 : -1, i % 9 + 1, i % 9 + 10);
        if (zero) used += (size_t)snprintf(content + used, ROOM - used, "1 0:3\n");
        tamis_owned_sparse *matrix;
        const tamis_sparse *const S = io_matrix("l", content, used, IO_WITH(.threads = 1), &matrix);
        assert_int_equal(S->rows, ROWS + zero);
        assert_int_equal(S->nnz, 2 * ROWS + zero);
        assert_int_equal(S->cols, 18 + zero);
        assert_int_equal(((const int32_t *)S->columns)[0], zero);
        works(tamis_validate(S));
        tamis_owned_sparse_free(matrix);
    }
    free(content);
}
