/* Graphs and patterns: METIS, SNAP edge lists, DLMC .smtx. */
#include "test_io_support.h"

TEST(reads_metis) {
    static const io_case cases[] = {
        {"plain", "3 2\n2\n1 3\n2\n", "csr 3x3 4| 0 1| 1 0| 1 2| 2 1"},
        {"comments, an isolated vertex, no last line end", "% head\n4 2 \n2\n%inside\n1 3\n2\n\n",
         "csr 4x4 4| 0 1| 1 0| 1 2| 2 1"},
        {"edge weights", "3 2 1\n2 5\n1 5 3 7\n2 7\n", "csr 3x3 4| 0 1 5| 1 0 5| 1 2 7| 2 1 7"},
        {"vertex weights are passed over", "3 2 010\n9 2\n9 1 3\n9 2\n", "csr 3x3 4| 0 1| 1 0| 1 2| 2 1"},
        {"two weights a vertex, a size, edge weights", "2 1 111 2\n4 8 9 2 3\n4 8 9 1 3\n", "csr 2x2 2| 0 1 3| 1 0 3"},
        {"no edges", "2 0\n\n\n", "csr 2x2 0"},
        {"no vertices", "0 0\n", "csr 0x0 0"},
        {"CRLF", "2 1 \r\n2\r\n1\r\n", "csr 2x2 2| 0 1| 1 0"},
        {"the order of a line is kept", "3 3\n3 2\n3 1\n1 2\n", "csr 3x3 6| 0 2| 0 1| 1 2| 1 0| 2 0| 2 1"},
    };
    IO_EXPECT("a.graph", cases);
}

/* Without a name the content decides: an edge list's first line can look like a graph's. */
TEST(lists_are_no_graphs) {
    io_expect("standard input", "0 1 1200000001\n1 2 1200000500\n2 0 1200000100\n", NULL, "csr 3x3 3| 0 1| 1 2| 2 0");
    io_expect("standard input", "0 1\n1 2\n2 0\n", NULL, "csr 3x3 3| 0 1| 1 2| 2 0");
    io_expect("standard input", "1 2\n1 3\n", NULL, "csr 4x4 2| 1 2| 1 3");
    io_expect("standard input", "4 5\n6 1\n", NULL, "csr 7x7 2| 4 5| 6 1");
    io_expect("standard input", "1 2 0.5\n1 3 2\n", NULL, "csr 4x4 2| 1 2 0.5| 1 3 2");
    io_expect("standard input", "3 2\n2\n1 3\n2\n", NULL, "csr 3x3 4| 0 1| 1 0| 1 2| 2 1");
    io_expect("standard input", "3 2 1\n2 5\n1 5 3 7\n2 7\n", NULL, "csr 3x3 4| 0 1 5| 1 0 5| 1 2 7| 2 1 7");
}

TEST(refuses_bad_metis) {
    static const io_refusal cases[] = {
        {"", "b.graph:1: found the end of the file, expected a vertex count from 0 to 36028797018963967"},
        {"3\n", "b.graph:1: found the end of the line, expected an edge count from 0 to 18014398509481983"},
        {"3 2 7\n", "b.graph:1: found '7', expected a format of up to three digits 0 or 1"},
        {"3 2 1110\n", "b.graph:1: found '1110', expected a format of up to three digits 0 or 1"},
        {"3 2 11 0\n", "b.graph:1: found '0', expected a constraint count from 1 to 1048576"},
        {"3 2 11 1 5\n", "b.graph:1: found '5', expected the end of the line after the sizes"},
        {"3 2000\n2\n1 3\n2\n", "b.graph:1: 3 vertices and 2000 edges are more than the file can hold"},
        {"3 2\n2\n1 4\n2\n", "b.graph:3: found '4', expected a neighbour from 1 to 3"},
        {"3 2\n2\n1 0\n2\n", "b.graph:3: found '0', expected a neighbour from 1 to 3"},
        {"3 2\n2\n1 x\n2\n", "b.graph:3: found 'x', expected a neighbour from 1 to 3"},
        {"3 2\n2\n1 3x\n2\n", "b.graph:3: found 'x', expected a blank"},
        {"3 2 1\n2 5\n1 5 3\n2 7\n", "b.graph:3: found the end of the line, expected an edge weight"},
        {"3 2 10\n9 2\n\n9 2\n", "b.graph:3: found the end of the line, expected a vertex size or weight"},
        {"3 2\n2\n1 3\n", "b.graph:4: found the end of the file, expected the line of vertex 3 of 3"},
        {"3 2\n2\n1 3\n2\n1\n", "b.graph:5: found '1', expected the end of the file after the last vertex"},
        {"3 1\n2\n1 3\n2\n",
         "b.graph:3: found '3', expected no more neighbours after 2, twice the edge count of the first line"},
        {"3 2\n2\n1 3\n\n", "b.graph:1: 2 edges need 4 neighbours, but the file lists 3"},
    };
    IO_REFUSE("b.graph", cases, NULL);
}

TEST(reads_edge_lists) {
    static const char snap[] = "# Directed graph\n# FromNodeId\tToNodeId\n3\t1\n1\t3\n3\t5\n3\t5\n5\t5\n";
    tamis_read_options options = io_options();
    io_expect("a.txt", snap, &options, "csr 6x6 5| 1 3| 3 1| 3 5| 3 5| 5 5");
    io_expect("no ending", snap, &options, "csr 6x6 5| 1 3| 3 1| 3 5| 3 5| 5 5");
    options.relabel = true;
    io_expect("a.txt", snap, &options, "csr 3x3 5| 0 1| 1 0| 1 2| 1 2| 2 2");
    options.duplicates = TAMIS_DUPLICATES_SUM; /* of a pattern they are counts */
    io_expect("a.txt", snap, &options, "csr 3x3 4| 0 1 1| 1 0 1| 1 2 2| 2 2 1");
    options.format = TAMIS_COO;
    io_expect("a.txt", snap, &options, "coo 3x3 4| 0 1 1| 1 0 1| 1 2 2| 2 2 1");
    io_expect("a.txt", "1 2\n2 1\n", &options, "coo 2x2 2| 0 1| 1 0");
    options.values = TAMIS_VALUES_NONE;
    io_expect("a.txt", snap, &options, "coo 3x3 4| 0 1| 1 0| 1 2| 2 2");
    options.format = TAMIS_CSR;
    io_expect("a.txt", snap, &options, "csr 3x3 4| 0 1| 1 0| 1 2| 2 2");
    options.values = TAMIS_VALUES_ONES;
    io_expect("a.txt", snap, &options, "csr 3x3 4| 0 1 1| 1 0 1| 1 2 2| 2 2 1");
    /* sizes in a comment: no Matrix Market file */
    assert_true(io_report("a.edges", "%%MatrixMarket matrix coordinate pattern symmetric\n%3 3 2\n2 1\n3 1\n",
                          io_options(), "csr 4x4 2| 2 1| 3 1")
                    .undirected);
    assert_false(io_report("a", "%%MatrixMarket matrix coordinate real general\n% by hand\n% 3 3 2\n2 1 0.5\n",
                           io_options(), "csr 3x3 1| 2 1 0.5")
                     .undirected);
    io_expect("a", "%%MatrixMarket matrix coordinate pattern general\n% 9 9 9\n3 3 1\n2 1\n", NULL, "csr 3x3 1| 1 0");
    io_expect("a.el", "0 1 2.5\n1 1 3\n", IO_WITH(.undirected = true), "csr 2x2 3| 0 1 2.5| 1 0 2.5| 1 1 3");
    io_expect("a.edges", "% KONECT\n0 1 -1 1234567\n", NULL, "csr 2x2 1| 0 1 -1");
    io_expect("a.el", "0, 1\r\n2, 0\r\n", NULL, "csr 3x3 2| 0 1| 2 0");
    io_expect("a.csv", "from,to\n0,1\n", IO_WITH(.file_format = TAMIS_FILE_EDGES), "csr 2x2 1| 0 1");
    io_expect("a.txt", "# nothing\n", IO_WITH(.file_format = TAMIS_FILE_EDGES), "csr 0x0 0");
    io_expect("a.txt", "", IO_WITH(.file_format = TAMIS_FILE_EDGES), "csr 0x0 0");
}

/* What was told of the ids: "rows 1 3 5, columns ..."; the call of that number is refused. */
typedef struct told {
    char text[128];
    int calls, refused;
} told;

static bool keep_ids(void *context, bool of_columns, const int64_t *ids, int64_t count) {
    told *kept = context;
    size_t length = strlen(kept->text);
    length +=
        (size_t)snprintf(kept->text + length, sizeof kept->text - length, "%s", of_columns ? ", columns" : "rows");
    for (int64_t i = 0; i < count; i++)
        length += (size_t)snprintf(kept->text + length, sizeof kept->text - length, " %lld", (long long)ids[i]);
    return ++kept->calls != kept->refused;
}

TEST(tells_which_ids_were_renumbered) {
    static const struct {
        const char *name, *content, *told, *matrix;
    } cases[] = {
        {"a.txt", "3 1\n1 3\n3 5\n", "rows 1 3 5, columns 1 3 5", "csr 3x3 3| 0 1| 1 0| 1 2"},
        {"a.txt", "9000000000 7\n7 70000000000\n", "rows 7 9000000000 70000000000, columns 7 9000000000 70000000000",
         "csr 3x3 2| 0 2| 1 0"},
        {"a.csv", "3,100,5\n1,200,4\n", "rows 1 3, columns 100 200", "csr 2x2 2| 0 1 4| 1 0 5"},
        {"a.txt", "# nothing\n", "rows, columns", "csr 0x0 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        told kept = {.calls = 0};
        const tamis_read_options *const options =
            IO_WITH(.relabel = true, .relabelled = keep_ids, .relabelled_context = &kept);
        io_expect(cases[i].name, cases[i].content, options, cases[i].matrix);
        assert_string_equal(kept.text, cases[i].told);
        for (int refused = 1; refused <= 2; refused++) {
            kept = (told){.refused = refused};
            io_refuse_as(cases[i].name, cases[i].content, options, TAMIS_ERROR_CANCELLED, "cancelled by the caller");
            assert_int_equal(kept.calls, refused);
        }
    }
}

TEST(ids_may_be_large) {
    static const char wide[] = "9223372036854775806 5\n5 70000000000\n";
    io_expect("a.txt", wide, IO_WITH(.relabel = true), "csr 3x3 2| 0 1| 2 0");
    io_refuse_as("a.txt", wide, NULL, TAMIS_ERROR_OVERFLOW,
                 "a.txt: ids up to 9223372036854775806 need index_type = int64 and more memory than is available, or "
                 "relabel = true to renumber them");
    io_refuse_as("a.txt", "3000000000 5\n", NULL, TAMIS_ERROR_OVERFLOW,
                 "a.txt: ids up to 3000000000 need index_type = int64, or relabel = true to renumber them");
    io_expect("a.txt", "3000000000 5\n", IO_WITH(.index_type = TAMIS_I64, .format = TAMIS_COO),
              "coo 3000000001x3000000001 1| 3000000000 5");
}

TEST(refuses_bad_edges) {
    static const io_refusal cases[] = {
        {"1 2\nalice 3\n", "b.el:2: found 'alice', expected an integer node id of 0 or more"},
        {"1 2\n3 bob\n", "b.el:2: found 'bob', expected an integer node id of 0 or more"},
        {"1 2\n-3 1\n", "b.el:2: found '-3', expected an integer node id of 0 or more"},
        {"1 2\n3\n", "b.el:2: found the end of the line, expected an integer node id of 0 or more"},
        {"1 2\n3 4 5\n", "b.el:2: found 3 fields, and the first line of data has 2: " AS_MANY_FIELDS NO_LISTS},
        {"1 2 3\n3 4\n", "b.el:2: found 2 fields, and the first line of data has 3: " AS_MANY_FIELDS NO_LISTS},
        {"4 4 2\n3 4\n1 2\n", /* sizes, with which Matrix Market's files begin */
         "b.el: the first line of data, '4 4 2', has three numbers, and the next one two: delete it, or put "
         "'%%MatrixMarket matrix coordinate pattern general' before it in a file named .mtx, whose indices begin with 1"},
        {"# c\n4 5 2\n3 5 7\n4 2 8\n",
         "b.el: the first line of data, '4 5 2', may be an entry, or the sizes of the matrix that follows: delete it, or "
         "put '%%MatrixMarket matrix coordinate real general' before it in a file named .mtx, whose indices begin with "
         "1, or if it is an entry read it with --columns user=1,item=2,rating=3, of a graph from=1,to=2,weight=3 (`columns` in the options)"},
        {"3 3\n0 1\n1 2\n2 0\n",
         "b.el: the first line of data, '3 3', may be an entry, or the numbers of nodes and edges that follow: delete it, or if it is an entry read it with --columns user=1,item=2, of a graph from=1,to=2 (`columns` in the options)"},
        {"5 3\n0 1\n1 2\n3 4\n",
         "b.el: the first line of data, '5 3', may be an entry, or the numbers of nodes and edges that follow: delete it, or if it is an entry read it with --columns user=1,item=2, of a graph from=1,to=2 (`columns` in the options)"},
        {"1 2\n007 8\n", "b.el:2: found '007', expected an integer node id of 0 or more without zeros before it"},
        {"0 1\n0 00\n", "b.el:2: found '00', expected an integer node id of 0 or more without zeros before it"},
        {"1 2 3\n3 4 w\n", "b.el:2: found 'w', expected a weight"},
        {"1\n", "b.el:1: found 1 field, expected two ids and optionally a weight and a time"},
        {"1 2 3 4 5\n", "b.el:1: found 5 fields without titles, expected up to 4: " NAME_COLUMNS},
        {"a b c d e\n1 2 3 4 5\n", "b.el:1: the titles do not tell both user and item: " NAME_COLUMNS},
        {"1 2\n3,4\n", "b.el:2: found ',4', expected a blank or a tab and the next number"},
        {"1 2\n99999999999999999999 4\n",
         "b.el:2: found '99999999999999999999', expected an integer node id of 0 or more"},
    };
    IO_REFUSE("b.el", cases, NULL);
}

/* Sorting many far-apart ids and the table for near ones must agree. */
TEST(relabelling_keeps_the_order) {
    enum { LINES = 3000 };
    for (int64_t step = 1; step <= INT64_C(1000000000000); step *= 1000000) {
        OWN(char) *const content = malloc(LINES * 48);
        OWN(char) *const expected = malloc(LINES * 48);
        assert_non_null(content);
        assert_non_null(expected);
        size_t used = 0, made = (size_t)sprintf(expected, "csr %dx%d %d", LINES + 1, LINES + 1, LINES);
        for (int i = 0; i < LINES; i++) {
            const int shuffled = (i * 7) % LINES; /* 7 and 3000 share no factor */
            used += (size_t)sprintf(content + used, "%lld %lld\n", (long long)(shuffled * step),
                                    (long long)((shuffled + 1) * step));
            made += (size_t)sprintf(expected + made, "| %d %d", i, i + 1);
        }
        io_expect("a.txt", content, IO_WITH(.relabel = true), expected);
    }
}

TEST(reads_smtx) {
    io_expect("a.smtx", "2, 3, 3\n0 2 3\n0 2 1\n", NULL, "csr 2x3 3| 0 0| 0 2| 1 1");
    io_expect("a.smtx", "% a comment\n# another\n2, 3, 3\n0 2 3\n0 2 1\n", NULL, "csr 2x3 3| 0 0| 0 2| 1 1");
    io_expect("no ending", "2, 3, 3\n0 2 3 \n0 2 1", NULL, "csr 2x3 3| 0 0| 0 2| 1 1");
    io_expect("a.smtx", "2, 3, 0\n0 0 0\n\n", NULL, "csr 2x3 0");
    io_expect("a.smtx", "0, 3, 0\n0\n", NULL, "csr 0x3 0");
    io_expect("a.smtx", "2,3,2\r\n0 1 2\r\n2 0\r\n", IO_WITH(.values = TAMIS_VALUES_ONES, .format = TAMIS_COO),
              "coo 2x3 2| 0 2 1| 1 0 1");
}

TEST(refuses_bad_smtx) {
    static const io_refusal cases[] = {
        {"2 3 3\n", "b.smtx:1: found '3', expected a comma"},
        {"2, 3\n", "b.smtx:1: found the end of the line, expected a comma"},
        {"2, 3, 3, 4\n", "b.smtx:1: found ',', expected the end of the line after rows, columns, nonzeros"},
        {"2, 3, 300\n0 1 2\n", "b.smtx:1: 2 rows and 300 nonzeros are more than the file can hold"},
        {"2, 3, 3\n1 2 3\n0 2 1\n", "b.smtx:2: found '1', expected a row offset from 0 to 0"},
        {"2, 3, 3\n0 4 3\n0 2 1\n", "b.smtx:2: found '4', expected a row offset from 0 to 3"},
        {"3, 3, 3\n0 2 1 3\n0 2 1\n", "b.smtx:2: found '1', expected a row offset from 2 to 3"},
        {"2, 3, 3\n0 2 2\n0 2 1\n", "b.smtx:2: the last row offset is 2, expected 3"},
        {"2, 3, 3\n0 2\n0 2 1\n", "b.smtx:2: found the end of the line, expected a row offset from 2 to 3"},
        {"2, 3, 3\n0 2 3 3\n0 2 1\n", "b.smtx:2: found '3', expected the end of the line after the row offsets"},
        {"2, 3, 3\n0 2 3\n0 3 1\n", "b.smtx:3: found '3', expected a column index from 0 to 2"},
        {"2, 3, 3\n0 2 3\n0 2\n", "b.smtx:3: found the end of the line, expected a column index from 0 to 2"},
        {"2, 3, 3\n0 2 3\n0 2 1 1\n", "b.smtx:3: found '1', expected the end of the file after the last column index"},
    };
    IO_REFUSE("b.smtx", cases, NULL);
}

/* A large graph whose first vertex is alone, which does not look like one: in windows all the same. */
TEST(large_graphs_are_read) {
    enum { SIZE = 400001, ROOM = SIZE * 8 + 64 };
    OWN(char) *const content = malloc(ROOM);
    assert_non_null(content);
    size_t used = (size_t)snprintf(content, ROOM, "%d %d\n\n", (int)SIZE, (int)SIZE / 2);
    for (int i = 2; i <= SIZE; i++)
        used += (size_t)snprintf(content + used, ROOM - used, "%d\n", i % 2 ? i - 1 : i + 1);
    for (int threads = 1; threads < 3; threads++) {
        OWN(tamis_owned_sparse) *matrix;
        const tamis_sparse *const S = io_matrix("large.graph", content, used, IO_WITH(.threads = threads), &matrix);
        assert_int_equal(S->nnz, SIZE - 1);
        for (int t = 0; t < SIZE - 1; t++) assert_int_equal(((const int32_t *)S->columns)[t], t % 2 ? t : t + 2);
    }
}

#define ENDS ": expected each edge at both of its ends"

/* An edge that is listed at one end alone, or with other weights: the vertex is named, and its line where that is
 * known. */
TEST(one_sided_edges_are_refused) {
    static const io_refusal cases[] = {
        {"3 2\n2\n3\n1 2\n", "u.graph:2: vertex 1 has the neighbour 2, but vertex 2 does not have 1" ENDS},
        {"4 2\n2 3\n1\n\n1\n", "u.graph:2: vertex 1 has the neighbour 3, but vertex 3 does not have 1" ENDS},
        {"3 2\n2 2\n1\n1\n", "u.graph:2: vertex 1 has the neighbour 2, but vertex 2 does not have 1" ENDS},
        {"%a\n3 2\n2\n%b\n3\n1 2\n", "u.graph: vertex 1 has the neighbour 2, but vertex 2 does not have 1" ENDS},
        {"3 2 1\n2 5\n1 5 3 7\n2 8\n",
         "u.graph:3: vertex 2 has the neighbour 3, but vertex 3 does not have 2 with that weight" ENDS},
    };
    IO_REFUSE("u.graph", cases, NULL);
    io_refuse("u.graph", cases[4].content, IO_WITH(.values = TAMIS_VALUES_NONE),
              "u.graph: an edge has another weight at one of its ends than at the other");
    io_expect("u.graph", "2 2 1\n2 5 2 6\n1 6 1 5\n", NULL, "csr 2x2 4| 0 1 5| 0 1 6| 1 0 6| 1 0 5");
    io_refuse("u.graph", "2 2 1\n2 5 2 6\n1 6 1 7\n", NULL,
              "u.graph: edges that are listed more than once have other weights at one end");
}
