/* Lists of edges with times, KONECT's headings, and lists whose ids are names. */
#include "test_io_support.h"

typedef struct expectation {
    const char *name, *content, *expected;
    int value_column, times_column;
} expectation;

static void expect(const expectation *wanted) {
    tamis_read_options options = io_options();
    options.value_column = wanted->value_column;
    for (options.threads = 0; options.threads < 4; options.threads++) {
        const int found = io_report(wanted->name, wanted->content, options, wanted->expected).times_column;
        if (found != wanted->times_column)
            fail_msg("%s: times_column %d, expected %d", wanted->content, found, wanted->times_column);
    }
}

TEST(times_are_no_weights) {
    static const expectation cases[] = {
        {"t.txt", "0 1 1082040961\n1 2 1082155839\n", "csr 3x3 2| 0 1| 1 2", 0, 3},
        {"t.txt", "# SNAP\n0\t1\t1082155839\n1\t2\t1082040961\n", "csr 3x3 2| 0 1| 1 2", 0, 3}, /* in no order */
        {"t.csv", "0,1,1082040961\n1,2,1082155839\n", "csr 2x3 2| 0 1| 1 2", 0, 3},
        {"t.el", "0 1 1082040961000\n", "csr 2x2 1| 0 1", 0, 3},
        {"t.txt", "0 1 0\n1 2 3304\n0 2 3304\n1 0 69459254\n", "csr 3x3 4| 0 1| 0 2| 1 0| 1 2", 0, 3},
        {"t.txt", "0 1 0\n1 2 3304\n0 2 3304\n1 0 69459254\n", "csr 3x3 4| 0 1 0| 0 2 3304| 1 0 69459254| 1 2 3304", 3,
         0},
        {"t.txt", "0 1 1082040961\n", "csr 2x2 1| 0 1 1082040961", 3, 0},
        {"t.txt", "0 1 2 1082040961\n1 2 3 1082155839\n", "csr 3x3 2| 0 1 2| 1 2 3", 0, 4},
        {"t.txt", "0 1 2 1082040961\n1 2 3 1082155839\n", "csr 3x3 2| 0 1 1082040961| 1 2 1082155839", 4, 0},
        {"t.txt", "0 1 1082040961 5\n1 2 1082155839 6\n", "csr 3x3 2| 0 1| 1 2", 0, 3},
        {"t.txt", "0 1 1082040961 5\n1 2 1082155839 6\n", "csr 3x3 2| 0 1 5| 1 2 6", 4, 0},
        /* weights: small, with a point or a sign, in no order, all the same, few */
        {"w.txt", "0 1 1\n1 2 2\n2 0 3\n", "csr 3x3 3| 0 1 1| 1 2 2| 2 0 3", 0, 0},
        {"w.txt", "0 1 1082040961.5\n1 2 1082155839\n", "csr 3x3 2| 0 1 1082040961.5| 1 2 1082155839", 0, 0},
        {"w.txt", "0 1 -1082040961\n", "csr 2x2 1| 0 1 -1082040961", 0, 0},
        {"w.txt", "0 1 90000\n1 2 100000\n2 0 7\n", "csr 3x3 3| 0 1 90000| 1 2 100000| 2 0 7", 0, 0},
        {"w.txt", "0 1 90000\n1 2 90000\n2 0 90000\n", "csr 3x3 3| 0 1 90000| 1 2 90000| 2 0 90000", 0, 0},
        {"w.txt", "0 1 5\n1 2 90000\n", "csr 3x3 2| 0 1 5| 1 2 90000", 0, 0},
        {"r.csv", "0,1,4,1082040961\n", "csr 1x2 1| 0 1 4", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect(&cases[i]);
}

TEST(the_column_can_be_chosen) {
    io_refuse("w.txt", "# a\n0 1 5\n", IO_WITH(.value_column = 4),
              "w.txt:2: found 3 fields, expected a value in column 4");
    io_refuse_as("w.txt", "0 1 5\n", IO_WITH(.value_column = 2), TAMIS_ERROR_ARGUMENT,
                 "options.value_column = 2: expected 0, 3 or 4");
    io_refuse("w.txt", "0 1 5 x\n", IO_WITH(.value_column = 4), "w.txt:1: found 'x', expected a weight");
    io_refuse("w.txt", "0 1 x 5\n", IO_WITH(.value_column = 4), "w.txt:1: found 'x', expected a number (a time)");
    io_expect("w.txt", "0 1 5 6\n", IO_WITH(.value_column = 4, .undirected = true), "csr 2x2 2| 0 1 6| 1 0 6");
}

/* The first comment says whether there are weights, and what the ids are of. */
TEST(konect_is_read) {
    static const struct {
        const char *name, *content, *expected;
        bool undirected, bipartite;
        int times_column;
    } cases[] = {
        {"out.konect", "% sym unweighted\n% 3 4 4\n1 2\n2 3\n", "csr 4x4 2| 1 2| 2 3", true, false, 0},
        {"konect", "% sym unweighted\n% 3 4 4\n1 2\n2 3\n", "csr 4x4 2| 1 2| 2 3", true, false, 0},
        {"out.a.gz", "% asym unweighted\n1 2 1 1082040961\n", "csr 3x3 1| 1 2", false, false, 4},
        {"out.a", "% asym positive\n1 2 7\n", "csr 3x3 1| 1 2 7", false, false, 0},
        {"out.a", "% asym weighted \n1 2 1082040961\n", "csr 3x3 1| 1 2 1082040961", false, false, 0},
        {"out.a", "% bip weighted\r\n1\t4\t2.5\t1082040961\r\n", "csr 2x5 1| 1 4 2.5", false, true, 4},
        {"out.a", "% a comment\n1 2\n", "csr 3x3 1| 1 2", false, false, 0},
        {"out.b", "1 2 5\n", "csr 3x3 1| 1 2 5", false, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tamis_read_report report = io_report(cases[i].name, cases[i].content, io_options(), cases[i].expected);
        if (report.undirected != cases[i].undirected || report.bipartite != cases[i].bipartite ||
            report.times_column != cases[i].times_column)
            fail_msg("%s: %d %d %d", cases[i].content, report.undirected, report.bipartite, report.times_column);
    }
    const tamis_read_options *const undirected = IO_WITH(.undirected = true);
    io_expect("out.a", "% sym unweighted\n1 2\n", undirected, "csr 3x3 2| 1 2| 2 1");
    io_refuse_as(
        "out.a", "% bip unweighted\n1 2\n", undirected, TAMIS_ERROR_ARGUMENT,
        "out.a: undirected = true, but its first line says that it is bipartite: rows and columns are different "
        "things");
    io_expect("out.a", "% bip unweighted\n1 20\n3 10\n", IO_WITH(.relabel = true), "csr 2x2 2| 0 1| 1 0");
    /* a known ending is more than the beginning of the name */
    io_expect("out.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n", NULL, "csr 1x1 1| 0 0 2");
    io_expect("out.csv", "0,1,5\n", NULL, "csr 1x2 1| 0 1 5");
    io_refuse("out.mtx", "1 2\n", NULL, "out.mtx:1: found '1', expected %%MatrixMarket");
}

/* Ids that are names are refused, and the report says that another reader takes them. */
TEST(names_are_told) {
    static const struct {
        const char *name, *content;
        bool names;
    } cases[] = {
        {"n.csv", "UABC123,0000000001,5.0,1300000000\nUDEF456,0000000002,1.0,1300000001\n", true},
        {"n.csv", "\"User\";\"Book\";\"Rating\"\n\"11\";\"000000001X\";\"0\"\n", true},
        {"n.csv", "\"11\";\"12\";\"0\"\n", true},
        {"n.csv", "a,b\n", true},
        {"n.tsv", "ann\tbob\t3\n", true},
        {"n.csv", "1,000000001,5\n2,00000001X,4\n", true},
        {"n.csv", "1,2,5\n#3,4,1\n", true}, /* no comment: it has an entry's fields */
        {"n.csv", "1,2,x\n3,4,y\n", false},
        {"n.csv", "1,2,5\n3,,4\n", false},
        {"n.txt", "1 2 3\n4 x 5\n", false},
        {"n.txt", "one two three four five\n", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tamis_read_report report;
        tamis_owned_sparse *matrix = NULL;
        assert_int_equal(tamis_read_sparse_memory(cases[i].name, cases[i].content, strlen(cases[i].content),
                                                  IO_WITH(.report = &report), &matrix),
                         TAMIS_ERROR_FORMAT);
        if (report.other_ids != cases[i].names) fail_msg("%s: %d", cases[i].content, report.other_ids);
    }
}
