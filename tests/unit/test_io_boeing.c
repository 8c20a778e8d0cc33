/* Harwell-Boeing and Rutherford-Boeing: fixed columns, Fortran formats, and what is refused. */
#include "test_io_lines.h"

#define TITLE   "A small matrix                                                          SMALL   \n"
#define CARDS   "             3             1             1             1             0\n"
#define FORMATS "(4I3)           (4I3)           (2E12.4)            \n"

/* 3 x 3, columns {1,2} {2} {3}. */
#define RUA_SIZES "RUA                        3             3             4             0\n"
#define POINTERS  "  1  3  4  5\n"
#define ROWS      "  1  3  2  3\n"

TEST(reads_every_kind) {
    static const struct {
        const char *name, *reason, *content, *expected;
    } cases[] = {
        {"a.rua", "unsymmetric, values over two lines",
         TITLE CARDS RUA_SIZES FORMATS POINTERS ROWS "  1.0000E+00 -2.5000E+00\n  3.0000E+00  4.0000E+00\n",
         "csr 3x3 4| 0 0 1| 1 1 3| 2 0 -2.5| 2 2 4"},
        {"a.rsa", "symmetric: mirrored",
         TITLE CARDS "RSA                        3             3             4             0\n" FORMATS POINTERS ROWS
                     "  1.0000E+00 -2.5000E+00\n  3.0000E+00  4.0000E+00\n",
         "csr 3x3 5| 0 0 1| 0 2 -2.5| 1 1 3| 2 0 -2.5| 2 2 4"},
        {"a.psa", "a pattern without a format for values, lower case",
         TITLE "             2             1             1             0\n"
               "psa                        3             3             4             0\n"
               "(4I3)           (4I3)\n" POINTERS ROWS,
         "csr 3x3 5| 0 0| 0 2| 1 1| 2 0| 2 2"},
        {"a.rza", "skew-symmetric",
         TITLE CARDS "RZA                        2             2             1             0\n"
                     "(3I2)           (I4)            (F5.1)\n 1 2 2\n   2\n  7.5\n",
         "csr 2x2 2| 0 1 -7.5| 1 0 7.5"},
        {"a.rua", "no blanks between fields, D exponents, a scale factor, CRLF",
         TITLE "             3             1             1             1             0\r\n"
               "RUA                        3             3             4             0\r\n"
               "(4I1)           (4I1)           (1P,2D11.4)         \r\n1345\r\n1323\r\n"
               "-1.0000D+00-2.5000D-01\r\n 3.0000D+02 4.0000D+00\r\n",
         "csr 3x3 4| 0 0 -1| 1 1 300| 2 0 -0.25| 2 2 4"},
        {"a.rua", "a blank for the sign of an exponent",
         TITLE CARDS RUA_SIZES "(4I3)           (4I3)           (2D12.4)            \n" POINTERS ROWS
                               "  1.0000D 00 -2.5000D 01\n  3.0000D-01  4.0000D+00\n",
         "csr 3x3 4| 0 0 1| 1 1 0.29999999999999999| 2 0 -25| 2 2 4"},
        {"a.rua", "the same in fields of another width than stated",
         TITLE CARDS RUA_SIZES "(4I3)           (4I3)           (2D12.4)            \n" POINTERS ROWS
                               "   1.0000D 00   -2.5000D 01\n   3.0000D-01   4.0000E+00\n",
         "csr 3x3 4| 0 0 1| 1 1 0.29999999999999999| 2 0 -25| 2 2 4"},
        {"a.rua", "no point: the format's decimals; no letter before the exponent",
         TITLE CARDS RUA_SIZES "(4I3)           (4I3)           (4F8.2)             \n" POINTERS ROWS
                               "     150    -250 1.5+001 .25-001\n",
         "csr 3x3 4| 0 0 1.5| 1 1 15| 2 0 -2.5| 2 2 0.025000000000000001"},
        {"a.rua", "a scale factor divides numbers without an exponent",
         TITLE CARDS RUA_SIZES "(4I3)           (4I3)           (2P4F8.2)           \n" POINTERS ROWS
                               "  150.00 1.50E+1 2.00     400.  \n",
         "csr 3x3 4| 0 0 1.5| 1 1 0.02| 2 0 15| 2 2 4"},
        {"a.rua", "skipped columns and groups",
         TITLE CARDS RUA_SIZES "(4(1X,I2))      (2(2(X,I2)))    (2(2X,E10.4))       \n" POINTERS ROWS
                               "  1.0000E+00  2.5000E+00\n  3.0000E+00  4.0000E+00\n",
         "csr 3x3 4| 0 0 1| 1 1 3| 2 0 2.5| 2 2 4"},
        {"a.rua", "fields of another width than stated, but told apart by blanks",
         TITLE CARDS RUA_SIZES FORMATS " 1 3 4 5\n" ROWS " 1.0000E+00 -2.5000E+00\n 3.0000E+00 4.0000E+00\n",
         "csr 3x3 4| 0 0 1| 1 1 3| 2 0 -2.5| 2 2 4"},
        {"a.rua", "right-hand sides are passed over",
         TITLE "             5             1             1             2             1\n" RUA_SIZES
               "(4I3)           (4I3)           (2E12.4)            (3E12.4)            \n"
               "F                          1             0\n" POINTERS ROWS
               "  1.0000E+00 -2.5000E+00\n  3.0000E+00  4.0000E+00\n  9.0000E+00  9.0000E+00  9.0000E+00\n",
         "csr 3x3 4| 0 0 1| 1 1 3| 2 0 -2.5| 2 2 4"},
        {"a.rb", "Rutherford-Boeing: four line counts, integers",
         TITLE "             3             1             1             1\n"
               "iua                        3             3             4             0\n"
               "(4I3)           (4I3)           (4I3)               \n" POINTERS ROWS "  1 -2  3  4\n",
         "csr 3x3 4| 0 0 1| 1 1 3| 2 0 -2| 2 2 4"},
        {"a.rua", "no entries",
         TITLE CARDS "RUA                        3             2             0             0\n" FORMATS "  1  1  1\n",
         "csr 3x2 0"},
        {"a.hb", "a rectangular matrix",
         TITLE CARDS "RRA                        1             2             1             0\n" FORMATS "  1  1  2\n"
                     "  1\n  5.0000E+00\n",
         "csr 1x2 1| 0 1 5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_message("%s\n", cases[i].reason);
        io_expect(cases[i].name, cases[i].content, NULL, cases[i].expected);
        io_expect("no ending", cases[i].content, NULL, cases[i].expected);
    }
}

#define HEAD   TITLE CARDS RUA_SIZES FORMATS
#define VALUES "  1.0000E+00 -2.5000E+00\n  3.0000E+00  4.0000E+00\n"

TEST(refuses_with_the_line) {
    static const io_refusal cases[] = {
        {"",
         "b.rua:1: found the end of the file, expected four or five line counts (Harwell-Boeing or Rutherford-Boeing)"},
        {TITLE "1 2 3\n",
         "b.rua:2: found '1', expected four or five line counts (Harwell-Boeing or Rutherford-Boeing)"},
        {TITLE CARDS "XYZ   3 3 4 0\n", "b.rua:3: found 'XYZ', expected a matrix type such as RSA, RUA or PSA"},
        {TITLE CARDS "CUA   3 3 4 0\n",
         "b.rua:3: complex and Hermitian matrices are not supported; expected real, integer or pattern",
         TAMIS_ERROR_UNSUPPORTED},
        {TITLE CARDS "RUE   3 3 4 0\n",
         "b.rua:3: elemental matrices are not supported; expected an assembled one (the type ends in A)",
         TAMIS_ERROR_UNSUPPORTED},
        {TITLE CARDS "PZA   3 3 4 0\n", "b.rua:3: found 'PZA', expected a type other than a skew-symmetric pattern"},
        {TITLE CARDS "RUA   3 3\n", "b.rua:3: found '3', expected rows, columns and entries"},
        {TITLE CARDS "RUA   3 -3 4\n", "b.rua:3: found '3', expected rows, columns and entries of 0 or more"},
        {TITLE CARDS "RSA                        3             3             4             0\n" FORMATS POINTERS
                     "  1  2  1  3\n",
         "b.rua:6: the entry (1, 2) stands in the file of a symmetric matrix that also has (2, 1): expected one of the "
         "two, or a matrix that is declared general"},
        {TITLE CARDS "RSA   3 2 4 0\n", "b.rua:3: 3 rows and 2 columns, but a symmetric matrix is square"},
        {TITLE CARDS "RUA   3 3 999999 0\n" FORMATS,
         "b.rua:3: 3 columns and 999999 entries are more than the file can hold"},
        {TITLE CARDS RUA_SIZES "(4Q3)           (4I3)           (2E12.4)\n" POINTERS,
         "b.rua:4: found '(4Q3)', expected the Fortran format of the column pointers, such as (10I8) or (4E20.12)"},
        {TITLE CARDS RUA_SIZES "(4I3)           (4I3            (2E12.4)\n" POINTERS ROWS,
         "b.rua:4: found '(4I3', expected the Fortran format of the row indices, such as (10I8) or (4E20.12)"},
        {HEAD "  2  3  4  5\n", "b.rua:5: found '2', expected the first column pointer from 1 to 1 in columns 1 to 3"},
        {HEAD "  1  3  2  5\n" ROWS, "b.rua:5: found '2', expected a column pointer from 3 to 5 in columns 7 to 9"},
        {HEAD "  1  3  4  4\n" ROWS,
         "b.rua:5: found '4', expected the last column pointer from 5 to 5 in columns 10 to 12"},
        {HEAD POINTERS "  1  4  2  3\n", "b.rua:6: found '4', expected a row index from 1 to 3 in columns 4 to 6"},
        {HEAD POINTERS "  1  x  2  3\n", "b.rua:6: found 'x', expected a row index from 1 to 3 in columns 4 to 6"},
        {HEAD POINTERS "  1  2\n",
         "b.rua:6: found the end of the line, expected a row index from 1 to 3 in columns 7 to 9"},
        {HEAD POINTERS ROWS "  1.0000E+00 -2.5000E+xx\n",
         "b.rua:7: found '-2.5000E+xx', expected a number in columns 13 to 24"},
        {HEAD POINTERS ROWS "  1.0000E+00 -2.5000E+00\n",
         "b.rua:8: found the end of the file, expected a number in columns 1 to 12"},
        {TITLE CARDS "RZA   2 2 1 0\n(3I2)           (I4)            (F5.1)\n 1 2 2\n   1\n  7.5\n",
         "b.rua:6: an entry on the diagonal of a skew-symmetric matrix; expected one below it"},
    };
    IO_REFUSE("b.rua", cases, NULL);
}

TEST(values_can_be_dropped) {
    io_expect("a.rua", HEAD POINTERS ROWS VALUES, IO_WITH(.values = TAMIS_VALUES_NONE),
              "csr 3x3 4| 0 0| 1 1| 2 0| 2 2");
}

/* ---- more lines than a window holds */

TEST(reads_windows) {
    const int64_t live = tamis_memory_live();
    size_t bytes;
    char *text = io_boeing_lines("RUA", &bytes);
    io_expect_windows("a.rua", text, bytes, io_options(), 1, "csr 60000x60000 300000|");
    text[bytes - 3] = 'x';
    io_expect_windows("a.rua", text, bytes, io_options(), 1,
                      "a.rua:97505: found '3.74998750E+x4', expected a number in columns 65 to 80");
    io_expect_windows("a.rua", text, bytes - 81, io_options(), 1,
                      "a.rua:97505: found the end of the file, expected a number in columns 1 to 16");
    free(text);
    text = io_boeing_lines("RZA", &bytes); /* skew-symmetric, and the first entry is on the diagonal */
    io_expect_windows("a.rua", text, bytes, io_options(), 1,
                      "a.rua:7506: an entry on the diagonal of a skew-symmetric matrix");
    free(text);
    assert_int_equal(tamis_memory_live(), live);
}
