/* Failing memory, cancelled reading and wrong options: for a file of every format, nothing leaks or is half done. */
#include "test_io_support.h"

static const struct sample {
    const char *name, *content;
} samples[] = {
    {"a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n2 1 5\n3 2 6\n"},
    {"b.mtx", "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n"},
    {"a.rsa",
     "Title                                                                   KEY     \n1 1 1 1 0\nRSA 2 2 2 0\n"
     "(4I3)           (4I3)           (2E12.4)            \n  1  3  3\n  1  2\n  1.0000E+00 -2.5000E+00\n"},
    {"a.graph", "3 2 1\n2 5\n1 5 3 7\n2 7\n"},
    {"a.smtx", "2, 3, 3\n0 2 3\n0 2 1\n"},
    {"a.el", "# edges\n0 1 2\n1 4000000000000 3\n1 1 5\n"},
    {"docword.a.txt", "2\n4\n3\n1 2 5\n1 4 1\n2 1 7\n"},
    {"a.ldac", "2 5:1 0:3\n0\n1 2:2\n"},
    {"a.csv", "user,item,rating\n1,3,4.5\n0,1,-2\n"},
};
enum { SAMPLES = sizeof samples / sizeof *samples };

/* Reads with the n-th allocation failing, for every n until it works. */
static void fail_every_allocation(const char *name, const void *data, size_t size, const tamis_read_options *options) {
    EACH_FAULT_OF(w, .least = 2) {
        OWN(tamis_owned_sparse) *matrix = NULL;
        if (FAULTY(w, tamis_read_sparse_memory(name, data, size, options, &matrix)) != TAMIS_OK) assert_null(matrix);
    }
}

TEST(every_reader_survives_failing_memory) {
    for (int i = 0; i < SAMPLES; i++) {
        print_message("%s\n", samples[i].name);
        for (int format = 0; format < 2; format++)
            fail_every_allocation(samples[i].name, samples[i].content, strlen(samples[i].content),
                                  IO_WITH(.relabel = true, .undirected = true, .threads = 2,
                                          .format = (tamis_format)format, .duplicates = (tamis_duplicates)format));
    }
}

static const int32_t offsets[] = {0, 2, 3}, columns[] = {0, 2, 1}, row_indices[] = {1, 0, 1};
static const float values[] = {1, 2, 3};
static const tamis_sparse csr = {
    .rows = 2, .cols = 3, .nnz = 3, .offsets = offsets, .columns = columns, .values = values};
static const tamis_sparse coo = {.format = TAMIS_COO,
                                 .rows = 2,
                                 .cols = 3,
                                 .nnz = 3,
                                 .row_indices = row_indices,
                                 .columns = columns,
                                 .values = values};

TEST(archives_and_packed_files_survive_failing_memory) {
    static const struct {
        const char *ending;
        const tamis_sparse *matrix;
    } cases[] = {{".npz", &csr}, {".npz", &coo}, {".mtx.gz", &csr}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!io_can_write(cases[i].ending)) continue;
        char *const path = io_temporary(cases[i].ending);
        static unsigned char file[4096];
        works(tamis_write_sparse(path, cases[i].matrix));
        const size_t bytes = io_load(path, file, sizeof file);
        unlink(path);
        free(path);
        fail_every_allocation(cases[i].ending, file, bytes, IO_WITH(.threads = 0));
    }
}

TEST(files_and_writers_survive_failing_memory) {
    static const char *const endings[] = {".mtx", ".mtx.gz", ".npz"};
    for (int i = 0; i < 3; i++) {
        if (!io_can_write(endings[i])) continue;
        OWN(char) *const path = io_temporary(endings[i]);
        EACH_FAULT(w) {
            const tamis_status status = FAULTY(w, tamis_write_sparse(path, &csr));
            assert_int_equal(access(path, F_OK) == 0, status == TAMIS_OK);
        }
        EACH_FAULT(w) {
            OWN(tamis_owned_sparse) *matrix = NULL;
            FAULTY(w, tamis_read_sparse(path, NULL, &matrix));
        }
        unlink(path);
    }
}

TEST(dense_readers_survive_failing_memory) {
    float data[] = {1, 2, 3, 4, 5, 6};
    const tamis_dense dense = {.data = data, .rows = 2, .cols = 3};
    static const char *const endings[] = {".npy", ".mtx"};
    for (int i = 0; i < 2; i++) {
        OWN(char) *const path = io_temporary(endings[i]);
        works(tamis_write_dense(path, &dense));
        EACH_FAULT(w) {
            OWN(tamis_owned_dense) *array = NULL;
            if (FAULTY(w, tamis_read_dense(path, TAMIS_BF16, &array)) != TAMIS_OK) assert_null(array);
        }
        unlink(path);
    }
}

/* ---- progress */

typedef struct watch {
    int calls, stop_after;
    double last;
} watch;

static bool report(void *context, double share) {
    watch *const seen = context;
    assert_true(share >= seen->last && share <= 1);
    seen->last = share;
    return ++seen->calls != seen->stop_after;
}

static tamis_status read_watched(const struct sample *of, watch *seen, tamis_owned_sparse **matrix) {
    return tamis_read_sparse_memory(of->name, of->content, strlen(of->content),
                                    IO_WITH(.relabel = true, .progress = report, .progress_context = seen), matrix);
}

TEST(progress_rises_to_one) {
    for (int i = 0; i < SAMPLES; i++) {
        watch seen = {0};
        tamis_owned_sparse *matrix = NULL;
        works(read_watched(&samples[i], &seen, &matrix));
        tamis_owned_sparse_free(matrix);
        assert_true(seen.calls >= 1);
        assert_true(seen.last == 1);
    }
}

TEST(progress_cancels) {
    for (int i = 0; i < SAMPLES; i++)
        for (int stop = 1; stop < 100; stop++) {
            watch seen = {.stop_after = stop};
            tamis_owned_sparse *matrix = NULL;
            const int64_t live = tamis_memory_live();
            const tamis_status status = read_watched(&samples[i], &seen, &matrix);
            if (status == TAMIS_OK) {
                tamis_owned_sparse_free(matrix);
                break;
            }
            assert_int_equal(status, TAMIS_ERROR_CANCELLED);
            assert_int_equal(seen.calls, stop);
            assert_null(matrix);
            assert_int_equal(tamis_memory_live(), live);
        }
}

/* ---- arguments */

TEST(refuses_wrong_arguments) {
    tamis_owned_sparse *matrix = NULL;
    tamis_owned_dense *array = NULL;
    assert_int_equal(tamis_read_sparse(NULL, NULL, &matrix), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_read_sparse("a.mtx", NULL, NULL), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_read_sparse_memory(NULL, "", 0, NULL, &matrix), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_read_sparse_memory("a", NULL, 1, NULL, &matrix), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_read_sparse_memory("a", "x", 1, NULL, NULL), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_read_dense(NULL, TAMIS_F32, &array), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_read_dense("a.npy", TAMIS_F32, NULL), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_read_dense("a.npy", (tamis_type)7, &array), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_read_dense_memory(NULL, "", 0, TAMIS_F32, &array), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_read_dense_memory("a.npy", NULL, 3, TAMIS_F32, &array), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_read_dense_memory("a.npy", "x", 1, TAMIS_F32, NULL), TAMIS_ERROR_ARGUMENT);
    io_refuse_as("a.mtx", "", IO_WITH(.reserved = {3}), TAMIS_ERROR_UNSUPPORTED,
                 "options.reserved[0] = 0x3: a field that version " TAMIS_VERSION_STRING
                 " does not know is set, or the structure was not initialised with its _INIT macro or with zeros");
    const tamis_read_options type = {.value_type = (tamis_type)4};
    io_refuse_as("a.mtx", "", &type, TAMIS_ERROR_ARGUMENT, "options.value_type = 4: expected 0 to 3");
    io_refuse_as("a.mtx", "", IO_WITH(.file_format = (tamis_file_format)13), TAMIS_ERROR_ARGUMENT,
                 "options.file_format = 13: expected 0 to 12");
    io_refuse_as("a.mtx", "", IO_WITH(.threads = -1), TAMIS_ERROR_ARGUMENT,
                 "options.threads = -1: expected 0 to 2147483646");
    assert_null(matrix);
    assert_null(array);
}
