/* Files in no format that is read: known by their first bytes or not, they are refused without more of them being read.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "test_io_support.h"

/* What the message has to say: the format, and what converts it. */
static void refuse_as(const char *name, const void *data, size_t bytes, const char *what, const char *instead) {
    tamis_owned_sparse *matrix = NULL;
    tamis_owned_dense *array = NULL;
    for (int format = TAMIS_FILE_AUTO; format <= TAMIS_FILE_SVMLIGHT_ZERO_BASED; format++) {
        const tamis_read_options *const options = IO_WITH(.file_format = (tamis_file_format)format);
        assert_int_equal(tamis_read_sparse_memory(name, data, bytes, options, &matrix), TAMIS_ERROR_FORMAT);
        if (!strstr(tamis_last_error(), what) || !strstr(tamis_last_error(), instead))
            fail_msg("%s is no word of %s and %s", tamis_last_error(), what, instead);
    }
    assert_int_equal(tamis_read_dense_memory(name, data, bytes, TAMIS_F64, &array), TAMIS_ERROR_FORMAT);
    assert_non_null(strstr(tamis_last_error(), what));
    assert_null(matrix);
    assert_null(array);
}

TEST(other_formats_are_named) {
    static const struct {
        const char *bytes;
        int count, at;
        const char *what, *instead;
    } cases[] = {
        {"\x89HDF\r\n\x1a\n", 8, 0, "an HDF5 file", "h5py"},
        {"\x89HDF\r\n\x1a\n", 8, 512, "an HDF5 file", "h5py"},
        {"MATLAB 5.0 MAT-file, Platform: GLNXA64", 38, 0, "a MATLAB file", "scipy.io.loadmat"},
        {"MATLAB 7.3 MAT-file, Platform: GLNXA64", 38, 0, "a MATLAB 7.3 file", "-v7"},
        {"PAR1\x15\x04", 6, 0, "a Parquet file", "pandas.read_parquet"},
        {"SQLite format 3", 16, 0, "an SQLite database", "sqlite3 -csv"},
        {"PK\3\4\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0a.mtx", 35, 0, "a ZIP archive", "unzip"},
        {"BZh91AY&SY", 10, 0, "a bzip2 file", "bunzip2"},
        {"BZh11AY&SY", 10, 0, "a bzip2 file", "bunzip2"},
        {"BZh61AY&SY", 10, 0, "a bzip2 file", "bunzip2"},
        {"BZh9\x17rE8P\x90", 10, 0, "a bzip2 file", "bunzip2"},
        {"ustar", 5, 257, "a tar archive", "tar -xf"},
        {"\xff\xfe%", 3, 0, "UTF-16", "iconv"},
        {"<!doctype HTML><html>", 21, 0, "a web page", "download"},
    };
    static const char *const names[] = {"a", "a.mtx", "a.csv", "a.txt", "a.npz", "a.h5", "a.mat.gz"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            char content[4096] = {0};
            memcpy(content + cases[i].at, cases[i].bytes, (size_t)cases[i].count);
            refuse_as(names[n], content, sizeof content, cases[i].what, cases[i].instead);
        }
}

/* Texts that readers of lists would take for something else. */
TEST(texts_of_others_are_named) {
    static const struct {
        const char *name, *content, *what, *instead;
    } cases[] = {
        {"a.hgr", "2 3\n1 2\n1 3\n", "a hypergraph of hMETIS", "hyperedge vertex"},
        {"a.hgr.gz", "2 3\n1 2\n1 3\n", "a hypergraph of hMETIS", "hyperedge vertex"},
        {"a.gr", "c roads\nc\np sp 3 1\na 1 2 5\n", "a graph of DIMACS", "awk"},
        {"a.col", "p edge 3 1\ne 1 2\n", "a graph of DIMACS", "awk"},
        {"a.txt", "c f\np cnf 3 2\n1 -3 0\n2 3 -1 0\n", "a formula of DIMACS", "clause literal"},
        {"a.csv", "{\"user\": 1, \"item\": 2}\n", "JSON", "pandas.read_json"},
        {"a.txt", "[\n  {\"user\": 1}]\n", "JSON", "pandas.read_json"},
        {"a.el", "<?xml version=\"1.0\"?>\n<graphml>\n", "XML", "networkx.read_graphml"},
        {"a.txt", "digraph { 1 -> 2; }\n", "a graph of Graphviz", "from to"},
        {"a.el", "// by hand\nstrict graph G\n{\n1 -- 2\n}\n", "a graph of Graphviz", "from to"},
        {"a.el", "Creator \"x\"\ngraph [\n  node [\n", "a graph of GML", "networkx.read_gml"},
        {"a.csv", "sep=;\n1;2;3\n", "a list below Excel's line", "delete this line"},
        {"a.net", "*Vertices 2\n1 \"a\"\n2 \"b\"\n*Edges\n1 2\n", "a network of Pajek", "networkx.read_pajek"},
        {"a.txt", "1 0:3:0.5 1:2:1\n0 0:1:1\n", "a file of libffm", "sed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse_as(cases[i].name, cases[i].content, strlen(cases[i].content), cases[i].what, cases[i].instead);
    io_refuse("a.txt", "graph 1\n", NULL, "a.txt:1: found 'graph', expected an integer node id of 0 or more");
    io_refuse("a.txt", "c x\np y\n", NULL, "a.txt:1: found 'c', expected an integer node id of 0 or more"); /* names */
}

/* The letters alone do not make a text a Parquet file. */
TEST(letters_are_no_signature) {
    io_refuse(
        "PAR1", "PAR1 \n", NULL,
        "PAR1:1: found 'PAR1', expected the beginning of a matrix: neither the name nor the content identifies its "
        "format");
}

TEST(endless_zeros_are_refused) {
    for (int format = TAMIS_FILE_AUTO; format <= TAMIS_FILE_SVMLIGHT_ZERO_BASED; format++) {
        const tamis_read_options *const options = IO_WITH(.file_format = (tamis_file_format)format);
        tamis_owned_sparse *matrix = NULL;
        REFUSED(FORMAT, "/dev/zero:1: found '\\x00", tamis_read_sparse("/dev/zero", options, &matrix));
    }
    tamis_owned_dense *array = NULL;
    assert_int_equal(tamis_read_dense("/dev/zero", TAMIS_F64, &array), TAMIS_ERROR_FORMAT);
}

typedef struct writer {
    const char *path, *first;
    char fill;
    _Atomic int64_t written;
} writer;

/* Writes until nobody reads any more. */
static void *write_on(void *context) {
    writer *const w = context;
    static char block[1 << 16];
    FILE *const out = fopen(w->path, "w");
    assert_non_null(out);
    setvbuf(out, NULL, _IONBF, 0);
    memset(block, w->fill, sizeof block);
    bool goes_on = fwrite(w->first, 1, strlen(w->first), out) == strlen(w->first);
    while (goes_on) {
        goes_on = fwrite(block, 1, sizeof block, out) == sizeof block;
        if (goes_on) atomic_fetch_add(&w->written, (int64_t)sizeof block);
    }
    fclose(out);
    return NULL;
}

/* Of a pipe no more is taken than the beginning, and what the pipe itself holds. */
static void refuse_endless(const char *ending, const char *first, char fill) {
    enum { MOST = 3 << 20 };
    OWN(char) *const path = io_temporary(ending);
    assert_int_equal(mkfifo(path, 0600), 0);
    writer w = {.path = path, .first = first, .fill = fill};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_on, &w), 0);
    tamis_owned_sparse *matrix = NULL;
    assert_int_equal(tamis_read_sparse(path, IO_WITH(.threads = 0), &matrix), TAMIS_ERROR_FORMAT);
    pthread_join(thread, NULL);
    assert_in_range(atomic_load(&w.written), 1, MOST);
    remove(path);
}

TEST(what_is_in_no_format_is_not_read_on) {
    signal(SIGPIPE, SIG_IGN);
    refuse_endless("", "", 'a');
    refuse_endless(".bin", "a b c\n", '\n');
    refuse_endless(".txt", "", 'a');
    refuse_endless(".mtx", "", '7');
    refuse_endless(".mtx", "no banner\n", '\n');
    refuse_endless(".npz", "7", '7');
    refuse_endless(".npy", "7", '\n');
    refuse_endless(".smtx", "1, 2\n", '7');
    refuse_endless(".csv", "", '\1');
    refuse_endless(".graph", "", '1');
    refuse_endless(".ldac", "", '5');
    refuse_endless(".rb", "", '5');
}

/* A file of 1 GB, of which nothing is on the disk: its size is no reason to make room for it. */
TEST(size_is_no_reason_for_memory) {
    OWN(char) *const path = io_temporary(".bin");
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fputs("what is this\n", file);
    assert_int_equal(fseeko(file, (off_t)1 << 30, SEEK_SET), 0);
    fputc('.', file);
    fclose(file);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    tamis_owned_sparse *matrix = NULL;
    assert_int_equal(tamis_read_sparse(path, NULL, &matrix), TAMIS_ERROR_FORMAT);
    getrusage(RUSAGE_SELF, &after);
    assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, 64 << 10);
    remove(path);
}

/* Lines longer than the beginning are read where the format is known. */
TEST(long_lines_are_read) {
    enum { TERMS = 300000, ROOM = TERMS * 10 + 64 };
    OWN(char) *const content = malloc(ROOM);
    assert_non_null(content);
    size_t used = (size_t)snprintf(content, ROOM, "%d", (int)TERMS);
    for (int i = 0; i < TERMS; i++) used += (size_t)snprintf(content + used, ROOM - used, " %d:1", i);
    used += (size_t)snprintf(content + used, ROOM - used, "\n1 7:2\n");
    assert_true(used > 2 << 20);
    OWN(tamis_owned_sparse) *matrix;
    assert_int_equal(io_matrix("long", content, used, NULL, &matrix)->nnz, TERMS + 1);
}
