/* Bags of words (UCI docword, lda-c) and ratings, and how a format is chosen. */
#include "test_io_lines.h"

TEST(reads_docword) {
    static const char content[] = "2\n4\n3\n1 2 5\n1 4 1\n2 1 7\n";
    io_expect("docword.small.txt", content, NULL, "csr 2x4 3| 0 1 5| 0 3 1| 1 0 7");
    io_expect("folder.txt/docword.small.txt", content, NULL, "csr 2x4 3| 0 1 5| 0 3 1| 1 0 7");
    io_expect("small", content, NULL, "csr 2x4 3| 0 1 5| 0 3 1| 1 0 7");
    io_expect("docword.crlf.txt", "1\r\n1\r\n1\r\n1 1 1\r\n", NULL, "csr 1x1 1| 0 0 1");
    io_expect("docword.none.txt", "0\n0\n0\n", NULL, "csr 0x0 0");
}

TEST(refuses_bad_docword) {
    static const io_refusal cases[] = {
        {"2\n4\n", "docword.b.txt:3: found the end of the file, expected a nonzero count from 0 to 36028797018963967"},
        {"2 4 3\n", "docword.b.txt:1: found '4', expected the end of the line after a document count"},
        {"2\n4\n1\n3 1 1\n", "docword.b.txt:4: found '3', expected a document number from 1 to 2"},
        {"2\n4\n1\n1 0 1\n", "docword.b.txt:4: found '0', expected a word number from 1 to 4"},
        {"2\n4\n1\n1 1\n", "docword.b.txt:4: found the end of the line, expected a count"},
        {"2\n4\n1\n1 1 x\n", "docword.b.txt:4: found 'x', expected a count"},
        {"2\n4\n3\n1 1 1\n1 2 1\n", "docword.b.txt:6: found the end of the file, expected entry 3 of 3"},
        {"2\n4\n1\n1 1 1\n1 2 1\n", "docword.b.txt:5: found '1', expected the end of the file after entry 1, the last"},
    };
    IO_REFUSE("docword.b.txt", cases, NULL);
}

TEST(reads_ldac) {
    static const char content[] = "2 5:1 0:3\n0\n1 2:2\n";
    io_expect("a.ldac", content, NULL, "csr 3x6 3| 0 5 1| 0 0 3| 2 2 2"); /* the order of a line is kept */
    io_expect("a.dat", content, NULL, "csr 3x6 3| 0 5 1| 0 0 3| 2 2 2");
    io_expect("no ending", content, NULL, "csr 3x6 3| 0 5 1| 0 0 3| 2 2 2");
    io_expect("a.ldac", "\n1 0:1.5\r\n\r\n", NULL, "csr 1x1 1| 0 0 1.5");
    io_expect("a.ldac", "", NULL, "csr 0x0 0");
}

TEST(refuses_bad_ldac) {
    static const io_refusal cases[] = {
        {"x 0:1\n", "b.ldac:1: found 'x', expected a number of terms from 0 to 36028797018963967"},
        {"2 0:1\n", "b.ldac:1: found the end of the line, expected term 2 of 2"},
        {"1 0:1 1:1\n", "b.ldac:1: found '1:1', expected the end of the line after the last term"},
        {"1 0:1\n1 0 1\n", "b.ldac:2: found '1', expected a colon after the term id"},
        {"1 0:1\n1 a:1\n", "b.ldac:2: found 'a:1', expected a term id from 0 to 36028797018963966"},
        {"1 0:1\n1 0:x\n", "b.ldac:2: found 'x', expected a count"},
        {"1 0:1\n-1\n", "b.ldac:2: found '-1', expected a number of terms from 0 to 36028797018963967"},
    };
    IO_REFUSE("b.ldac", cases, NULL);
}

TEST(reads_ratings) {
    static const struct {
        const char *name, *content;
    } cases[] = {
        {"ratings.csv", "userId,movieId,rating,timestamp\n1,3,4.5,964982703\n0,1,-2,964981247\n"},
        {"ratings.dat", "1::3::4.5::964982703\n0::1::-2::964981247\n"},
        {"u.data", "1\t3\t4.5\t964982703\n0\t1\t-2\t964981247\n"},
        {"a.tsv", "1 3 4.5\n0 1 -2\n"},
        {"a.csv", "1; 3; 4.5\r\n0; 1; -2\r\n"},
        {"a.ratings", "% comment\nuser item rating\n\n1 3 4.5\n0 1 -2"},
    };
    tamis_read_options options = io_options();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_message("%s\n", cases[i].name);
        options.relabel = false;
        options.file_format = strcmp(cases[i].name, "a.tsv") == 0 ? TAMIS_FILE_RATINGS : TAMIS_FILE_AUTO;
        io_expect(cases[i].name, cases[i].content, &options, "csr 2x4 2| 0 1 -2| 1 3 4.5");
        options.relabel = true;
        io_expect(cases[i].name, cases[i].content, &options, "csr 2x2 2| 0 0 -2| 1 1 4.5");
    }
}

/* Titles tell the columns, wherever they are and whatever the file's name is. */
TEST(follows_titles) {
    static const struct {
        const char *name, *content, *expected, *found;
    } cases[] = {
        {"a.csv", ",userId,movieId,rating\n0,1,10,3\n1,2,11,4\n", "csr 3x12 2| 1 10 3| 2 11 4",
         "ratings: user = column 2 'userId', item = column 3 'movieId', rating = column 4 'rating'; 1 line of titles"},
        {"a.csv", "timestamp,rating,item_id,user_id\n100,3,7,1\n101,4,8,2\n", "csr 3x9 2| 1 7 3| 2 8 4",
         "ratings: user = column 4 'user_id', item = column 3 'item_id', rating = column 2 'rating', time = column 1 "
         "'timestamp'; 1 line of titles"},
        {"a.inter", "user_id:token\titem_id:token\trating:float\ttimestamp:float\n3\t1\t5\t888892593\n",
         "csr 4x2 1| 3 1 5",
         "ratings: user = column 1 'user_id:token', item = column 2 'item_id:token', rating = column 3 'rating:float', time "
         "= column 4 'timestamp:float'; 1 line of titles"},
        {"a.unknown", "item_id:token user_id:token\n3 1\n", "csr 2x4 1| 1 3",
         "ratings: user = column 2 'user_id:token', item = column 1 'item_id:token'; 1 line of titles"},
        {"a.txt", "# heading\nuser item rating date\n3 1 5 2001-01-01\n", "csr 4x2 1| 3 1 5",
         "ratings: user = column 1 'user', item = column 2 'item', rating = column 3 'rating', time = column 4 'date'; 1 "
         "line of titles, 1 line of comments"},
        {"a.csv", "user,title,item,category,rating\n3,\"a, b\",1,,5\n", "csr 4x2 1| 3 1 5",
         "ratings: user = column 1 'user', item = column 3 'item', rating = column 5 'rating'; 1 line of titles"},
        {"a.csv", "user;item;rating\n1;2;3,5\n2;3;4,0\n", "csr 3x4 2| 1 2 3.5| 2 3 4",
         "ratings: user = column 1 'user', item = column 2 'item', rating = column 3 'rating'; 1 line of titles"},
        {"a.csv", "user,item,timestamp\n3,1,888892593\n", "csr 4x2 1| 3 1",
         "ratings: user = column 1 'user', item = column 2 'item', time = column 3 'timestamp'; 1 line of titles"},
        {"u1.base", "3\t1\t5\t888892593\n1\t2\t4\t880869953\n",
         "csr 4x3 2| 1 2 4| 3 1 5", /* a value and a time: ratings */
         "ratings: user = column 1, item = column 2, rating = column 3, time = column 4"},
        {"u1.base", "3\t1\t5\t7\n1\t2\t4\t6\n", "csr 4x4 2| 1 2 4| 3 1 5",
         "edges: from = column 1, to = column 2, weight = column 3, time = column 4"},
        {"a.csv", "+1,2,+3\n2,3,4\n", "csr 3x4 2| 1 2 3| 2 3 4", /* data */
         "ratings: user = column 1, item = column 2, rating = column 3"},
        {"a.el", "id_1 id_2\n1 2\n", "csr 3x3 1| 1 2",
         "edges: from = column 1 'id_1', to = column 2 'id_2'; 1 line of titles"},
        {"a.el", "weight target source\n5 2 1\n", "csr 3x3 1| 1 2 5",
         "edges: from = column 3 'source', to = column 2 'target', weight = column 1 'weight'; 1 line of titles"},
        {"a.csv", "us\x1b[7mer,item,rating\n1,2,3\n# no entry\n2,2,3\n",
         "csr 3x3 2| 1 2 3| 2 2 3", /* no control characters */
         "ratings: user = column 1, item = column 2 'item', rating = column 3 'rating'; 1 line of titles; 1 line of "
         "comments among the data"},
        {"a.el", "# head\n1 2\n% 3 4\n# 5 6\n2 1\n", "csr 3x3 2| 1 2| 2 1",
         "edges: from = column 1, to = column 2; 1 line of comments; 2 lines of comments among the data"},
        {"a.csv", "from,to,type,weight\n0,1,3,0.5\n", "csr 2x2 1| 0 1 0.5",
         "edges: from = column 1 'from', to = column 2 'to', weight = column 4 'weight'; 1 line of titles"},
        {"a.csv", "Unnamed: 0,customer,product\n0,5,7\n1,6,8\n", "csr 7x9 2| 5 7| 6 8",
         "ratings: user = column 2 'customer', item = column 3 'product'; 1 line of titles"},
        {"a.smtx", "1, 1, 1\n0 1\n0\n", "csr 1x1 1| 0 0", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char found[TAMIS_FOUND_BYTES];
        io_expect(cases[i].name, cases[i].content, IO_WITH(.found = found), cases[i].expected);
        assert_string_equal(found, cases[i].found);
    }
}

TEST(takes_columns) {
    static const struct {
        const char *name, *columns, *content, *expected;
    } cases[] = {
        {"a.txt", "user=1,item=5", "0 2020-01-01 10.4 20.2 50\n1 2020-01-02 10.1 20.7 18\n", "csr 2x51 2| 0 50| 1 18"},
        {"a", "user=2,item=1,rating=3", "1,2,4\n3,2,5\n", "csr 3x4 2| 2 1 4| 2 3 5"},
        {"a.csv", "user=2,item=1", "when,who,what\n1,2,x\n", "csr 3x2 1| 2 1"},
        {"a.csv", "from=who,to=3,weight=when", "when,who,whom\n5,2,0\n", "csr 3x3 1| 2 0 5"},
        {"a.el", "from=2,to=1", "4 1 5\n", "csr 5x5 1| 1 4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        io_expect(cases[i].name, cases[i].content, IO_WITH(.columns = cases[i].columns), cases[i].expected);
    tamis_read_options options = io_options();
    options.columns = "user=1";
    io_refuse_as("a.csv", "1,2,3\n", &options, TAMIS_ERROR_ARGUMENT, "columns = \"user=1\": item= is missing");
    options.columns = "user=1,item=4";
    io_refuse("a.csv", "1,2,3\n", &options,
              "a.csv:1: found the end of the line, expected an integer item id of 0 or more");
    options.file_format = TAMIS_FILE_METIS;
    io_refuse_as("a.graph", "1,2,3\n", &options, TAMIS_ERROR_ARGUMENT,
                 "options.columns = \"user=1,item=4\": expected NULL for a file of format metis");
}

/* The column of the values may be asked for in any list. */
TEST(takes_the_value_column) {
    tamis_read_options options = io_options();
    options.value_column = 4;
    io_expect("u1.base", "3\t1\t5\t888892593\n1\t2\t4\t880869953\n", &options,
              "csr 4x3 2| 1 2 880869953| 3 1 888892593");
    io_expect("a.csv", "user,item,rating,amount\n1,2,-1,0.5\n", &options, "csr 2x3 1| 1 2 0.5");
    options.value_column = 3;
    io_refuse_as(
        "a.csv", "rating,user,item\n5,1,2\n", &options, TAMIS_ERROR_ARGUMENT,
        "options.value_column = 3: column 3 of a.csv has ids: name the columns (--columns, `columns` in the options)");
}

/* What is no list of pairs, or may be read in two ways. */
TEST(refuses_other_lists) {
    static const io_case cases[] = {
        {"a.csv", "0.12,1.5\n0.3,2.25\n-1.5e-3,4.0\n",
         "a.csv:1: both ids are numbers with fractions: this looks like a dense table, expected a list of pairs of ids. "
         "Write the table as .npy (numpy.save), or say which columns are ids: --columns user=1,item=2 (`columns` in the "
         "options)"},
        {"a.csv", "rating,a,b\n5,1,2\n", "a.csv:1: the titles do not tell both user and item: " NAME_COLUMNS},
        {"a.csv", "user,item,helpful,funny\n1,2,3,4\n",
         "a.csv:1: no title is the known name of a rating: " NAME_COLUMNS},
        {"a.txt", "0 11 12 13 14 15\n1 12 13\n",
         "a.txt:1: lines of different lengths: lists of items by user, which tamis_read_ratings reads"},
        {"a.csv", "timestamp,rating,item,user\n1,5,x,2\n",
         "a.csv:2: found 'x', expected an integer item id of 0 or more"},
        {"a.csv", "timestamp,rating,item,user\n1,x,3,2\n", "a.csv:2: found 'x', expected a rating"},
        {"a.csv", "timestamp,rating,item,user\n1,5,3\n",
         "a.csv:2: found 3 fields, and the titles have 4: " AS_MANY_FIELDS},
        {"a.csv", "user,item,rating\n1,2,3,4,5,6\n2,3,4\n",
         "a.csv:2: found 6 fields, and the titles have 3: " AS_MANY_FIELDS},
        {"a.csv", "user,item\n1,2\n2,3,4\n", "a.csv:3: found 3 fields, and the titles have 2: " AS_MANY_FIELDS},
        {"a.csv", "rating,item,user,text\n5,1,2\n4,1,2,x,y\n",
         "a.csv:3: found 5 fields, and the titles have 4: " AS_MANY_FIELDS},
        {"a.csv", "3,3,2\n1,2,5\n2,3,4\n",
         "a.csv: the first line of data, '3 3 2', may be an entry, or the sizes of the matrix that follows: delete it, or put '%%MatrixMarket matrix coordinate real general' before it in a file named .mtx, whose indices begin with 1, or if it is an entry read it with --columns user=1,item=2,rating=3, of a graph from=1,to=2,weight=3 (`columns` in the options)"},
        {"a.csv", "7,1,4\n007,1,5\n",
         "a.csv:2: found '007', expected an integer user id of 0 or more without zeros before it"},
        {"a.csv", "item,user,rating\n7,1,4\n007,1,5\n",
         "a.csv:3: found '007', expected an integer item id of 0 or more without zeros before it"},
        {"a.csv", "a,x,5\nb,y\n", "a.csv:1: found 'a', expected an integer user id of 0 or more"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        io_refuse(cases[i].about, cases[i].content, NULL, cases[i].expected);
}

TEST(refuses_bad_ratings) {
    static const io_refusal cases[] = {
        {"user,item,rating\nalice,1,5\n", "b.csv:2: found 'alice', expected an integer user id of 0 or more"},
        {"1,1,5\n2,Alien,5\n", "b.csv:2: found 'Alien', expected an integer item id of 0 or more"},
        {"1,1,5\n2,2,good\n", "b.csv:2: found 'good', expected a rating"},
        {"1,1,5\n2,2,\n", "b.csv:2: found the end of the line, expected a rating"},
        {"1,1,5,7\n2,2,1,2001-01-01\n", "b.csv:2: found '-01-01', expected the end of the line"},
        {"1,1,5,7\n2,2,1\n", "b.csv:2: found 3 fields, and the first line of data has 4: " AS_MANY_FIELDS NO_LISTS},
        {"1,1\n", "b.csv:1: found 2 fields, expected a user, an item, a rating and optionally a time"},
        {"1,1,1,1,1\n", "b.csv:1: found 5 fields without titles, expected up to 4: " NAME_COLUMNS},
        {"1,1,5\n2 2 5\n", "b.csv:2: found '2', expected a comma and the next number"},
    };
    IO_REFUSE("b.csv", cases, IO_WITH(.file_format = TAMIS_FILE_RATINGS));
}

TEST(names_of_formats) {
    static const char *const names[] = {"auto",    "matrix-market", "harwell-boeing", "metis", "smtx", "edges",
                                        "docword", "ldac",          "ratings",        "npy",   "npz",  "svmlight"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
        tamis_file_format format = TAMIS_FILE_NPZ;
        assert_string_equal(tamis_file_format_name((tamis_file_format)i), names[i]);
        works(tamis_file_format_from_name(names[i], &format));
        assert_int_equal(format, i);
    }
    tamis_file_format format = TAMIS_FILE_NPY;
    assert_string_equal(tamis_file_format_name((tamis_file_format)99), "unknown");
    REFUSED(
        ARGUMENT,
        "^name = \"mtx\": expected auto, matrix-market, harwell-boeing, metis, smtx, edges, docword, ldac, ratings, npy, npz, svmlight or svmlight-zero-based$",
        tamis_file_format_from_name("mtx", &format));
    assert_int_equal(format, TAMIS_FILE_NPY);
    assert_int_equal(tamis_file_format_from_name(NULL, &format), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_file_format_from_name("npz", NULL), TAMIS_ERROR_ARGUMENT);
}

/* A name's ending may mean several formats, and the content decides; an explicit format overrides both. */
TEST(chooses_the_format) {
    io_expect("a.dat", "1::2::3\n", NULL, "csr 2x3 1| 1 2 3");      /* ratings: rows and columns of their own */
    io_expect("a.dat", "1 2:3\n", NULL, "csr 1x3 1| 0 2 3");        /* lda-c */
    io_expect("a.tsv", "1\t2\n", NULL, "csr 3x3 1| 1 2");           /* edges: square */
    io_expect("a.csv", "id_1,id_2\n1,2\n", NULL, "csr 3x3 1| 1 2"); /* two columns: edges */
    io_expect("a.csv", "1,2,3\n", NULL, "csr 2x3 1| 1 2 3");        /* three: ratings */
    io_expect("a.csv",
              "\xef\xbb\xbf"
              "1,2,3\n",
              NULL, "csr 2x3 1| 1 2 3"); /* a mark of UTF-8 before the text */
    io_expect("A.MTX", "%%MatrixMarket matrix coordinate pattern general\n1 1 0\n", NULL, "csr 1x1 0");
    io_expect("a.mtx", "0 1\n", IO_WITH(.file_format = TAMIS_FILE_EDGES), "csr 2x2 1| 0 1");
    io_refuse("unknown", "hello world\n", NULL,
              "unknown:1: found 'hello', expected the beginning of a matrix: neither the name nor the content "
              "identifies its format");
    io_refuse_as("a.npy", "", NULL, TAMIS_ERROR_UNSUPPORTED, "a.npy: a dense matrix, which tamis_read_dense reads");
}

/* ---- more lines than a window holds */

enum { LINES = 400000, LINE_ROOM = 32 }; /* 7 MB: some windows of one thread, one of 64 threads */

/* "row column value" lines in which rows rise, or do not; comments among them, one of them longer than a window. */
static char *many_lines(const char *head, bool rising, size_t *bytes) {
    enum { LONG_COMMENT = 5 << 20 };
    char *const text = malloc(strlen(head) + LINES * LINE_ROOM + LONG_COMMENT);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "%s", head);
    for (int64_t i = 0; i < LINES; i++) {
        const int64_t row = rising ? i / 4 : i * 7919 % (LINES / 4);
        used += (size_t)sprintf(text + used, "%lld %lld %lld\n", (long long)row + 1,
                                (long long)(i % 4 * 1000 + i % 7 + 1), (long long)(i % 1000));
        if (i % 1000 == 0) used += (size_t)sprintf(text + used, "%% after %lld\n\n", (long long)i);
        if (i != LINES / 2) continue;
        memset(text + used, '%', LONG_COMMENT);
        used += LONG_COMMENT;
        text[used++] = '\n';
    }
    *bytes = used;
    return text;
}

static void expect_same(const char *name, const char *text, size_t bytes, tamis_format format, const char *begins) {
    tamis_read_options options = io_options();
    options.format = format;
    options.index_type = format == TAMIS_COO ? TAMIS_I64 : TAMIS_I32;
    io_expect_windows(name, text, bytes, options, 1, begins);
}

TEST(reads_windows) {
    static const char market[] = "%%MatrixMarket matrix coordinate real general\n100000 4000 400000\n";
    const int64_t live = tamis_memory_live();
    for (int rising = 0; rising < 2; rising++) {
        size_t bytes;
        char *text = many_lines(market, rising, &bytes);
        expect_same("a.mtx", text, bytes, TAMIS_CSR, "csr 100000x4000 400000|");
        expect_same("a.mtx", text, bytes, TAMIS_COO, "coo 100000x4000 400000|");
        free(text);
        text = many_lines("# ids that need 32 bits\n", rising, &bytes);
        expect_same("a.el", text, bytes, TAMIS_CSR, "csr 100001x100001 400000|");
        bytes += (size_t)sprintf(text + bytes, "3000000000 4 1\n"); /* from here on they need 64 */
        expect_same("a.el", text, bytes, TAMIS_COO, "coo 3000000001x3000000001 400001|");
        free(text);
    }
    assert_int_equal(tamis_memory_live(), live);
}

/* A ring of vertices, each with its two neighbours; comments between them. */
TEST(reads_windows_of_a_graph) {
    enum { VERTICES = 300000 };
    OWN(char) *const text = malloc(64 + (size_t)VERTICES * LINE_ROOM);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "%% a ring\n%d %d\n", VERTICES, VERTICES);
    for (int i = 0; i < VERTICES; i++) {
        used += (size_t)sprintf(text + used, "%d %d\n", (i + VERTICES - 1) % VERTICES + 1, (i + 1) % VERTICES + 1);
        if (i % 1000 == 0) used += (size_t)sprintf(text + used, "%% vertex %d\n", i);
    }
    expect_same("a.graph", text, used, TAMIS_CSR, "csr 300000x300000 600000| 0 299999| 0 1| 1 0| 1 2|");
    size_t more = used + (size_t)sprintf(text + used, "%% the end\n\n7\n");
    expect_same("a.graph", text, more, TAMIS_CSR, "a.graph:300305: found '7', expected the end of the file after");
    used -= 9; /* the last vertex */
    expect_same("a.graph", text, used, TAMIS_CSR,
                "a.graph:300302: found the end of the file, expected the line of vertex");
    more = used + (size_t)sprintf(text + used, "1\n");
    expect_same("a.graph", text, more, TAMIS_CSR,
                "a.graph:2: 300000 edges need 600000 neighbours, but the file lists 599999");
}

TEST(reads_windows_of_documents) {
    size_t bytes;
    OWN(char) *const text = io_documents(250000, &bytes); /* the last has four terms */
    expect_same("a.ldac", text, bytes, TAMIS_CSR, "csr 250000x10000 625000|");
    text[bytes - 2] = 'x';
    expect_same("a.ldac", text, bytes, TAMIS_CSR, "a.ldac:250000: found '");
}

/* The last line of all has what is wrong, or an id that 32 bits do not hold. */
TEST(windows_know_their_lines) {
    static const struct {
        const char *name, *head, *last, *begins;
    } cases[] = {
        {"b.mtx", "%%MatrixMarket matrix coordinate real general\n100000 4000 400001\n", "9 8 x\n",
         "b.mtx:400804: found 'x', expected a number"},
        {"b.mtx", "%%MatrixMarket matrix coordinate real general\n100000 4000 400000\n", "9 8 1\n",
         "b.mtx:400804: found '9', expected the end of the file after entry 400000, the last"},
        {"b.mtx", "%%MatrixMarket matrix coordinate real general\n100000 4000 400001\n", "",
         "b.mtx:400804: found the end of the file, expected entry 400001 of 400001"},
        {"b.el", "# ids\n", "1 3000000000\n", "b.el:400803: found 2 fields, and the first line of data has 3: "},
        {"b.el", "# ids\n", "1 3000000000 1\n", "b.el: ids up to 3000000000 need index_type = int64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes;
        OWN(char) *const text = many_lines(cases[i].head, true, &bytes);
        bytes += (size_t)sprintf(text + bytes, "%s", cases[i].last);
        expect_same(cases[i].name, text, bytes, TAMIS_CSR, cases[i].begins);
    }
}
