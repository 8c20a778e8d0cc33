/* Files in mini-batches: put together again they are the file as the core reads it whole, in every format and packer.
 */
#include <tamis/structure.h>

#include "base/random.h"
#include "base/status.h"
#include "io/files/output.h"
#include "support/shared_data.h"
#include "test_ml_support.h"

#ifndef TAMIS_HAVE_LZMA
#define TAMIS_HAVE_LZMA 0
#endif
#ifndef TAMIS_HAVE_ZSTD
#define TAMIS_HAVE_ZSTD 0
#endif
#if TAMIS_HAVE_LZMA
#include <lzma.h>
#endif
#if TAMIS_HAVE_ZSTD
#include <zstd.h>
#endif

/* ---- comparing */

/* One batch against rows first .. first + batch->rows of S. */
static void expect_rows(const tamis_sparse *S, int64_t first, const tamis_sparse *batch) {
    assert_true(first + batch->rows <= S->rows);
    assert_int_equal(batch->format, TAMIS_CSR);
    assert_int_equal(batch->value_type, TAMIS_F32);
    assert_int_equal(batch->cols, S->cols);
    works(tamis_validate(batch));
    const int64_t *const all = S->offsets, *const offsets = batch->offsets;
    for (int64_t row = 0; row <= batch->rows; row++) assert_int_equal(offsets[row], all[first + row] - all[first]);
    for (int64_t t = 0; t < batch->nnz; t++) {
        assert_int_equal(((const int32_t *)batch->columns)[t], ((const int32_t *)S->columns)[all[first] + t]);
        assert_true(((const float *)batch->values)[t] == ((const float *)S->values)[all[first] + t]);
    }
}

/* Two passes with `rows` rows a batch. */
static void expect_passes(const char *path, const tamis_sparse *S, int64_t rows) {
    OWN(tamis_batches) *batches = NULL;
    works(tamis_batches_open(path, rows, &batches));
    assert_string_equal(tamis_last_error(), "");
    assert_int_equal(tamis_batches_columns(batches), S->cols);
    for (int pass = 0; pass < 2; pass++) {
        int64_t done = 0;
        for (;;) {
            const tamis_sparse *batch = NULL;
            works(tamis_batches_next(batches, &batch));
            if (!batch) break;
            expect_rows(S, done, batch);
            done += batch->rows;
            assert_true(batch->rows == rows || done == S->rows);
        }
        assert_int_equal(done, S->rows);
    }
}

static tamis_owned_sparse *read_whole(const char *path) {
    tamis_read_options options = TAMIS_READ_OPTIONS_INIT;
    options.offset_type = TAMIS_I64;
    options.values = TAMIS_VALUES_ONES;
    tamis_owned_sparse *whole = NULL;
    works(tamis_read_sparse(path, &options, &whole));
    return whole;
}

static void expect_as_whole(const char *path) {
    const int64_t live = tamis_memory_live();
    tamis_owned_sparse *const whole = read_whole(path);
    const tamis_sparse *const S = tamis_owned_sparse_view(whole);
    const int64_t sizes[] = {1, 7, S->rows / 3 + 1, S->rows > 0 ? S->rows : 1, S->rows + 5, INT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (S->rows < 5000 || sizes[i] > 1) expect_passes(path, S, sizes[i]);
    tamis_owned_sparse_free(whole);
    assert_int_equal(tamis_memory_live(), live);
}

/* "docword.N.txt" and the like, in a folder for temporary files. */
static char *bag_name(const char *ending) {
    char *const plain = io_temporary(ending);
    if (!strstr(ending, "docword")) return plain;
    char *const slash = strrchr(plain, '/');
    char *const name = malloc(600);
    assert_non_null(name);
    snprintf(name, 600, "%.*s/docword.%s", (int)(slash - plain), plain, slash + 1);
    free(plain);
    return name;
}

static char *bag_of(const char *ending, const void *content, size_t bytes) {
    char *const path = bag_name(ending);
    write_bytes(path, content, bytes);
    return path;
}

static char *bag(const char *ending, const char *content) { return bag_of(ending, content, strlen(content)); }

/* ---- contents */

typedef struct text {
    char *data;
    size_t size, room;
} text;

static void text_free(text *t) { free(t->data); }
OWN_VALUE(text, text_free)

static void append(text *to, const char *what) {
    const size_t length = strlen(what);
    if (to->size + length + 1 > to->room) {
        to->room = (to->room + length) * 2 + 64;
        to->data = realloc(to->data, to->room);
        assert_non_null(to->data);
    }
    memcpy(to->data + to->size, what, length + 1);
    to->size += length;
}

/* Rows of 0 to 60 terms, the row 5 far longer than a block of reading; empty rows at the end as well. */
static text random_bag(bool docword, int64_t rows, int64_t cols) {
    tamis_random random = tamis_random_start(3, (uint64_t)rows);
    OWN(text) body = {0};
    text all = {0};
    int64_t nnz = 0;
    char word[96];
    append(&body, "");
    for (int64_t row = 0; row < rows; row++) {
        int64_t terms = row % 4 == 1 || row > rows - 4 ? 0 : tamis_random_below(&random, 60);
        if (row == 5) terms = 60000;
        if (!docword) {
            snprintf(word, sizeof word, "%lld", (long long)terms);
            append(&body, word);
        }
        for (int64_t i = 0; i < terms; i++, nnz++) {
            const long long id = (long long)tamis_random_below(&random, cols);
            const long long count = (long long)tamis_random_below(&random, 30);
            if (docword)
                snprintf(word, sizeof word, "%lld %lld %lld%s\n", (long long)row + 1, id + 1, count,
                         nnz % 50 == 0 ? "\r\n" : "");
            else
                snprintf(word, sizeof word, " %lld:%lld%s", id, count, nnz % 9 == 0 ? ".5" : "");
            append(&body, word);
        }
        if (!docword) append(&body, row % 6 == 0 ? "\n\n" : " \r\n");
    }
    if (docword) {
        snprintf(word, sizeof word, "%lld\n%lld\n%lld\n", (long long)rows, (long long)cols, (long long)nnz);
        append(&all, word);
    }
    append(&all, body.data);
    return all;
}

/* ---- packers */

static char *pack_gzip(const text *content, const char *ending, bool twice) {
    char *const path = bag_name(ending);
    for (int half = 0; half < (twice ? 2 : 1); half++) { /* two members, one behind the other */
        OWN(file_name) *const part = io_temporary(".part");
        tamis_output output;
        const size_t from = half ? content->size / 2 : 0, to = twice && !half ? content->size / 2 : content->size;
        works(tamis_output_open(part, true, &output));
        const tamis_status status = tamis_output_write(&output, content->data + from, (int64_t)(to - from));
        works(tamis_output_close(&output, status));
        FILE *const in = fopen(part, "rb"), *const out = fopen(path, half ? "ab" : "wb");
        assert_true(in && out);
        for (int c = getc(in); c != EOF; c = getc(in)) putc(c, out);
        fclose(in);
        fclose(out);
    }
    return path;
}

#if TAMIS_HAVE_LZMA
static char *pack_xz(const text *content, const char *ending) {
    const size_t room = lzma_stream_buffer_bound(content->size);
    OWN(uint8_t) *const packed = malloc(room);
    size_t size = 0;
    assert_non_null(packed);
    assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, (const uint8_t *)content->data, content->size,
                                             packed, &size, room),
                     LZMA_OK);
    return bag_of(ending, packed, size);
}
#endif

#if TAMIS_HAVE_ZSTD
static char *pack_zstd(const text *content, const char *ending) {
    const size_t room = ZSTD_compressBound(content->size);
    OWN(char) *const packed = malloc(room);
    assert_non_null(packed);
    const size_t size = ZSTD_compress(packed, room, content->data, content->size, 1);
    assert_false(ZSTD_isError(size));
    return bag_of(ending, packed, size);
}
#endif

/* All batches of one pass. */
static tamis_status pass(tamis_batches *batches) {
    const tamis_sparse *batch;
    do TRY(tamis_batches_next(batches, &batch));
    while (batch);
    return TAMIS_OK;
}

/* Cut at several places: an error, never a crash, nothing left. */
static void expect_cut_refused(const char *path, const char *ending) {
    OWN(file_content) whole = read_bytes(path);
    const size_t cuts[] = {1, 5, 30, whole.size / 2, whole.size - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        OWN(file_name) *const cut = bag_of(ending, whole.data, cuts[i]);
        const int64_t live = tamis_memory_live();
        tamis_batches *batches = NULL;
        tamis_status status = tamis_batches_open(cut, 100, &batches);
        if (status == TAMIS_OK) status = pass(batches);
        assert_int_equal(status, TAMIS_ERROR_FORMAT);
        assert_string_not_equal(tamis_last_error(), "");
        tamis_batches_close(batches);
        assert_int_equal(tamis_memory_live(), live);
    }
}

/* By none, gzip, gzip in two members, xz or zstd; NULL where it is not built in. */
enum { PACKERS = 5 };

static char *packed_bag(int packer, bool docword, const text *content, char ending[32]) {
    static const char *const packed_by[PACKERS] = {"", ".gz", ".gz", ".xz", ".zst"};
    snprintf(ending, 32, "%s%s", docword ? ".docword" : ".ldac", packed_by[packer]);
    switch (packer) {
    case 0: return bag_of(ending, content->data, content->size);
    case 1:
    case 2: return TAMIS_HAVE_ZLIB ? pack_gzip(content, ending, packer == 2) : NULL;
#if TAMIS_HAVE_LZMA
    case 3: return pack_xz(content, ending);
#endif
#if TAMIS_HAVE_ZSTD
    case 4: return pack_zstd(content, ending);
#endif
    default: return NULL;
    }
}

TEST(batches_are_the_whole_file) {
    for (int docword = 0; docword < 2; docword++) {
        OWN(text) content = random_bag(docword, 400, 500);
        for (int packer = 0; packer < PACKERS; packer++) {
            char ending[32];
            OWN(file_name) *const path = packed_bag(packer, docword, &content, ending);
            if (path) expect_as_whole(path);
            if (path && packer > 0) expect_cut_refused(path, ending);
        }
    }
}

TEST(small_files_are_cut_as_well) {
    static const struct {
        const char *ending, *content;
    } cases[] = {
        {"docword.txt", "3\n4\n2\n1 4 2\n3 1 5\n"},
        {"docword.txt", "\xef\xbb\xbf 3 \r\n4\n2\n\n1 4 2\n1 4 3\n\n"},
        {"docword.txt", "5\n4\n0\n"},
        {"docword.txt", "0\n0\n0"},
        {".docword", "2\n4\n1\n2 3 1.5"},
        {".ldac", "1 0:1\n\n0\n2 7:3 7:4"},
        {".ldac", ""},
        {".ldac", "0\n0\n"}, /* no column at all */
        {".dat", "0\n2 5:1 0:3\n"},
        {".dat", "1::2::3\n4::5::6\n"}, /* ratings by their content */
        {".mtx", "%%MatrixMarket matrix coordinate real general\n5 3 4\n5 1 1\n1 2 2\n1 3 3\n3 1 4\n"},
        {".mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 1\n3 2\n"},
        {".mtx", "%%MatrixMarket matrix coordinate real general\n0 3 0\n"},
        {".mtx", "%%MatrixMarket matrix coordinate real general\n4 3 0\n"},
        {".csv", "user,item,rating\n1,3,4.5\n0,1,-2\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_message("%s %d\n", cases[i].ending, (int)i);
        OWN(file_name) *const path = bag(cases[i].ending, cases[i].content);
        expect_as_whole(path);
    }
}

/* ---- errors */

/* Opened or read: the error comes with this message, a second time as well when it came while reading. */
static void refuse(const char *ending, const char *content, size_t bytes, const char *message) {
    OWN(file_name) *const path = bag_of(ending, content, bytes);
    const int64_t live = tamis_memory_live();
    tamis_batches *batches = NULL;
    tamis_status status = tamis_batches_open(path, 1, &batches);
    for (int again = 0; again < 2 && batches; again++) {
        status = pass(batches);
        ml_expect_message(path, message);
    }
    ml_expect_message(path, message);
    assert_int_equal(status, TAMIS_ERROR_FORMAT);
    tamis_batches_close(batches);
    assert_int_equal(tamis_memory_live(), live);
}

TEST(broken_files_are_refused) {
    static const struct {
        const char *ending, *content, *message;
    } cases[] = {
        {"docword.txt", "3\n4\n2\n2 4 2\n1 1 5\n",
         ":5: found '1', expected a document number in non-decreasing order from 2 to 3"},
        {"docword.txt", "3\n4\n2\n0 4 2\n", ":4: found '0', expected a document number from 1 to 3"},
        {"docword.txt", "3\n4\n2\n4 4 2\n", ":4: found '4', expected a document number from 1 to 3"},
        {"docword.txt", "3\n4\n2\n1 5 2\n", ":4: found '5', expected a word number from 1 to 4"},
        {"docword.txt", "3\n4\n2\n1 1\n", ":4: found the end of the line, expected a count"},
        {"docword.txt", "3\n4\n2\n1\n", ":4: found the end of the line, expected a word number from 1 to 4"},
        {"docword.txt", "3\n4\n2\n1,1,1\n", ":4: found ',1', expected a blank or a tab and the next number"},
        {"docword.txt", "3\n4\n2\n1 1 x\n", ":4: found 'x', expected a count"},
        {"docword.txt", "3\n4\n2\n1 1 1 9\n", ":4: found '9', expected the end of the line"},
        {"docword.txt", "3\n4\n2\n1 1 1\n", ":5: found the end of the file, expected entry 2 of 2"},
        {"docword.txt", "3\n4\n1\n1 1 1\n2 1 1\n",
         ":5: found '2', expected the end of the file after entry 1, the last"},
        {"docword.txt", "0\n4\n1\n1 1 1\n", ":4: found '1', expected no entry in an empty matrix"},
        {"docword.txt", "3\n0\n1\n1 1 1\n", ":4: found '1', expected no entry in an empty matrix"},
        {"docword.txt", "3\n4000000000\n1\n1 1 1\n",
         ":2: found '4000000000', expected a word count from 0 to 2147483648"},
        {"docword.txt", "3\n4\n2\n99999999999999999999999999999999999999999999 1 1\n",
         ":4: found '99999999999999999999999999999999...', expected a document number from 1 to 3"},
        {".ldac", "1 3:1\n2 1:1\n", ":2: found the end of the line, expected term 2 of 2"},
        {".ldac", "1 3:1\n2 1:1", ":2: found the end of the file, expected term 2 of 2"},
        {".ldac", "1 3:1\nx\n", ":2: found 'x', expected a number of terms from 0 to 36028797018963967"},
        {".ldac", "1 3:1\n1 3;1\n", ":2: found ';1', expected a colon after the term id"},
        {".ldac", "1 3:1\n1 3:\n", ":2: found the end of the line, expected a count"},
        {".ldac", "1 3:1\n1 -3:1\n", ":2: found '-3:1', expected a term id from 0 to 2147483647"},
        {".ldac", "1 3:1\n1 3:1 4:1\n", ":2: found '4:1', expected the end of the line after the last term"},
        {".ldac", "1 3:1\n1 2147483648:1\n", ":2: found '2147483648:1', expected a term id from 0 to 2147483647"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse(cases[i].ending, cases[i].content, strlen(cases[i].content), cases[i].message);
    refuse(".ldac", "1 3:1\n\0\n", 8, ":2: found '\\x00', expected a number of terms from 0 to 36028797018963967");
    refuse("docword.txt", "3\n4\n2\n1 1 1\0\n", 14, ":4: found '\\x00', expected the end of the line");
}

TEST(wrong_arguments_are_refused) {
    OWN(tamis_batches) *batches = NULL;
    const tamis_sparse *batch = NULL;
    REFUSED(ARGUMENT, "^path = NULL: expected the name of a file$", tamis_batches_open(NULL, 1, &batches));
    REFUSED(ARGUMENT, "^rows = 0, expected 1 or more$", tamis_batches_open("a", 0, &batches));
    REFUSED(ARGUMENT, "^batches = NULL: expected an address for the batches$", tamis_batches_open("a", 1, NULL));
    REFUSED(FILE, "^/no/docword.a.txt: cannot open: No such file or directory$",
            tamis_batches_open("/no/docword.a.txt", 1, &batches));
    assert_null(batches);
    REFUSED(ARGUMENT, "^batches = NULL: expected batches of a file$", tamis_batches_next(NULL, &batch));
    assert_int_equal(tamis_batches_columns(NULL), 0);
    tamis_batches_close(NULL);
    OWN(file_name) *const path = bag(".ldac", "1 0:1\n");
    works(tamis_batches_open(path, 1, &batches));
    REFUSED(ARGUMENT, "^batch = NULL: expected an address for the batch$", tamis_batches_next(batches, NULL));
}

/* A file that is changed between passes: what no longer fits is refused. */
TEST(changed_files_are_noticed) {
    static const struct {
        const char *ending, *before, *after, *message;
    } cases[] = {
        {".ldac", "1 3:1\n", "1 4:1\n", ":1: found '4:1', expected a term id from 0 to 3"},
        {"docword.txt", "1\n4\n1\n1 1 1\n", "1\n6\n1\n1 6 1\n", ":2: found '6', expected a word count from 4 to 4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWN(file_name) *const path = bag(cases[i].ending, cases[i].before);
        OWN(tamis_batches) *batches = NULL;
        const tamis_sparse *batch = NULL;
        works(tamis_batches_open(path, 5, &batches));
        write_text(path, cases[i].after);
        assert_int_equal(tamis_batches_next(batches, &batch), TAMIS_ERROR_FORMAT);
        ml_expect_message(path, cases[i].message);
        write_text(path, cases[i].before);
        works(tamis_batches_next(batches, &batch)); /* and it begins again */
        assert_int_equal(batch->nnz, 1);
    }
}

TEST(batches_survive_failing_memory) {
    OWN(text) docwords = random_bag(true, 300, 50), ldac = random_bag(false, 300, 50);
    for (int i = 0; i < PACKERS + 2; i++) {
        char ending[32];
        OWN(file_name) *const path = i < PACKERS ? packed_bag(i, false, &ldac, ending)
                                     : i == PACKERS
                                         ? packed_bag(1, true, &docwords, ending)
                                         : bag(".mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n");
        if (!path) continue;
        EACH_FAULT(w) {
            OWN(tamis_batches) *batches = NULL;
            const tamis_sparse *batch = NULL;
            fault_begin(&w);
            const tamis_status status = tamis_batches_open(path, 1000, &batches);
            fault_end(&w, status == TAMIS_OK ? pass(batches) : status);
            if (!batches) continue;
            works(tamis_batches_next(batches, &batch)); /* what failed once is read the next time */
            assert_non_null(batch);
            works(tamis_validate(batch));
        }
    }
}

/* Whatever is in a file: valid batches or an error, and what the core takes is what the batches are. */
TEST(any_bytes_are_read_or_refused) {
    static const char alphabet[] = "1112223 0:: \t\r\n\n\n.-xe\0\xff";
    static const char *const endings[] = {"docword.txt", ".ldac", ".dat"};
    tamis_random random = tamis_random_start(21, 3);
    const int64_t live = tamis_memory_live();
    for (int i = 0; i < 3000; i++) {
        char content[80] = "2\n3\n1\n";
        const size_t head = i % 3 == 0 ? 6 : 0;
        const size_t bytes = head + (size_t)tamis_random_below(&random, 40);
        for (size_t c = head; c < bytes; c++)
            content[c] = alphabet[tamis_random_below(&random, (int64_t)sizeof alphabet - 1)];
        OWN(file_name) *const path = bag_of(endings[i % 3], content, bytes);
        tamis_batches *batches = NULL;
        tamis_status status = tamis_batches_open(path, 1, &batches);
        const tamis_sparse *batch = NULL;
        int64_t rows = 0, nnz = 0;
        while (status == TAMIS_OK) {
            status = tamis_batches_next(batches, &batch);
            if (status != TAMIS_OK || !batch) break;
            works(tamis_validate(batch));
            rows += batch->rows;
            nnz += batch->nnz;
            if (rows > 1000) break; /* a header may say that there are any number of empty rows */
        }
        tamis_owned_sparse *whole = NULL;
        if (status == TAMIS_OK && !batch) {
            works(tamis_read_sparse(path, NULL, &whole));
            assert_int_equal(tamis_owned_sparse_view(whole)->rows, rows);
            assert_int_equal(tamis_owned_sparse_view(whole)->nnz, nnz);
        }
        tamis_owned_sparse_free(whole);
        tamis_batches_close(batches);
        assert_int_equal(tamis_memory_live(), live);
    }
}

TEST(real_bags_are_read) {
    static const char *const names[] = {"bow/docword.kos.txt.gz", "bow/ap.dat.xz", "bow/reuters.ldac.xz"};
    const char *const folder = shared_data_folder();
    if (!folder) skip_because("no collection of real matrices (TAMIS_SHARED_DATA)");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        OWN(tamis_owned_sparse) *whole = NULL;
        if (access(path, R_OK) != 0 || tamis_read_sparse(path, NULL, &whole) == TAMIS_ERROR_UNSUPPORTED) {
            print_message("skipped: %s is not there or its packer not built in\n", names[i]);
            continue;
        }
        OWN(tamis_owned_sparse) *const again = read_whole(path);
        expect_passes(path, tamis_owned_sparse_view(again), 256);
    }
}
