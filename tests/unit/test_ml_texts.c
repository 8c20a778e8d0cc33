/* Counts of the words of texts: scripts, case, limits, files and folders, and bytes that are no text. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tamis/data.h>
#include <tamis/structure.h>

#include "base/random.h"
#include "ml/data/words.h"
#include "support/faults.h"
#include "support/own.h"

typedef struct counted {
    tamis_owned_sparse *matrix;
    tamis_names *words, *documents;
} counted;

static void counted_free(counted *c) {
    tamis_owned_sparse_free(c->matrix);
    tamis_names_free(c->words);
    tamis_names_free(c->documents);
}
OWN_VALUE(counted, counted_free)

/* Words of all documents stay. */
static tamis_text_options all_words(void) {
    tamis_text_options options = TAMIS_TEXT_OPTIONS_INIT;
    options.min_documents = 1;
    options.max_share = 1;
    return options;
}

/* The words of one text, in order, between blanks; malloc'ed. */
static char *words_of(const char *text) {
    counted c = {0};
    const int64_t bytes = (int64_t)strlen(text);
    const tamis_text_options options = all_words();
    char *const all = calloc(1, 4 * strlen(text) + 64);
    works(tamis_count_words(&text, &bytes, 1, &options, &c.matrix, &c.words));
    for (int64_t i = 0; i < tamis_names_count(c.words); i++) {
        if (i > 0) strcat(all, " ");
        strcat(all, tamis_names_at(c.words, i));
    }
    counted_free(&c);
    return all;
}

TEST(words_of_scripts) {
    static const char *const cases[][2] = {
        {"The cat, the CAT & 7 cats2: a x!", "the cat cats2"},
        {"Größe GRÖßE caf\xC3\xA9 CAF\xC3\x89", "größe caf\xC3\xA9"},
        {"Κόσμος ΚΌΣΜΟΣ", "κόσμοσ"}, /* the final sigma is folded, too */
        {"Привет, МИР!", "привет мир"},
        {"हिन्दी में", "हिन्दी में"},                         /* marks are kept */
        {"cafe\xCC\x81s", "cafe\xCC\x81s"},             /* a combining accent */
        {"中 文。한국어", "中 文 한국어"},              /* ideographs are words by themselves */
        {"می\xE2\x80\x8Cخواهم", "می\xE2\x80\x8Cخواهم"}, /* a joiner within */
        {"\xF0\x90\x90\x80\xF0\x90\x90\xA8", "\xF0\x90\x90\xA8\xF0\x90\x90\xA8"}, /* Deseret, beyond 16 bits */
        {"123 4.5 \xCC\x81\xCC\x81", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWN(char) *const found = words_of(cases[i][0]);
        if (strcmp(found, cases[i][1]) != 0) fail_msg("\"%s\": \"%s\", not \"%s\"", cases[i][0], found, cases[i][1]);
    }
}

TEST(limits_of_documents) {
    static const char *const texts[] = {"every one once", "every two one one", "every three", "every three"};
    static const int64_t bytes[] = {14, 17, 11, 11};
    tamis_text_options options = TAMIS_TEXT_OPTIONS_INIT;
    OWN(counted) c = {0}, again = {0};
    works(tamis_count_words(texts, bytes, 4, &options, &c.matrix, &c.words));
    const tamis_sparse *const S = tamis_owned_sparse_view(c.matrix);
    assert_int_equal(tamis_names_count(c.words), 2);
    assert_string_equal(tamis_names_at(c.words, 0), "one");
    assert_string_equal(tamis_names_at(c.words, 1), "three");
    assert_true(S->rows == 4 && S->cols == 2 && S->nnz == 4 && ((const float *)S->values)[1] == 2);
    works(tamis_validate(S));
    options.words = c.words; /* limits do not hold, order and columns stay */
    works(tamis_count_words(texts, bytes, 1, &options, &again.matrix, &again.words));
    assert_true(tamis_owned_sparse_view(again.matrix)->cols == 2 && tamis_owned_sparse_view(again.matrix)->nnz == 1);
    options.words = NULL;
    options.min_documents = 5;
    OWN(counted) none = {0};
    REFUSED(FORMAT, "no word is in 5 documents or more",
            tamis_count_words(texts, bytes, 4, &options, &none.matrix, &none.words));
    options.min_documents = 0;
    REFUSED(ARGUMENT, "min_documents = 0, expected 1 or more",
            tamis_count_words(texts, bytes, 4, &options, &none.matrix, &none.words));
    options.min_documents = 1;
    options.max_share = 1.5;
    REFUSED(ARGUMENT, "max_share = 1.5, expected above 0 to 1",
            tamis_count_words(texts, bytes, 4, &options, &none.matrix, &none.words));
    options.max_share = 1;
    works(tamis_count_words(NULL, NULL, 0, &options, &none.matrix, &none.words));
    assert_int_equal(tamis_owned_sparse_view(none.matrix)->rows, 0);
}

/* Pairs stay within a document; those with a word of too many documents go, and a model's are counted again. */
TEST(pairs_of_words) {
    static const char *const texts[] = {"New York, the new", "York the New-York ball", "the ball 7 new"};
    static const int64_t bytes[] = {17, 22, 14};
    tamis_text_options options = all_words();
    OWN(counted) plain = {0}, c = {0}, again = {0};
    options.pairs = true;
    options.max_share = 0.7; /* the, new */
    works(tamis_count_words(texts, bytes, 3, &options, &c.matrix, &c.words));
    static const char *const without[] = {"york", "ball", "york ball"};
    assert_int_equal(tamis_names_count(c.words), 3);
    for (int i = 0; i < 3; i++) assert_string_equal(tamis_names_at(c.words, i), without[i]);
    options.max_share = 1;
    works(tamis_count_words(texts, bytes, 3, &options, &plain.matrix, &plain.words));
    static const char *const all[] = {"new",     "york", "new york",  "the",      "york the",
                                      "the new", "ball", "york ball", "the ball", "ball new"};
    assert_int_equal(tamis_names_count(plain.words), sizeof all / sizeof *all);
    for (int i = 0; i < (int)(sizeof all / sizeof *all); i++)
        assert_true(tamis_names_find(plain.words, all[i], strlen(all[i])) >= 0);
    assert_int_equal(tamis_owned_sparse_view(plain.matrix)->nnz, 6 + 8 + 5);
    options.words = c.words;
    works(tamis_count_words(texts, bytes, 3, &options, &again.matrix, &again.words));
    assert_int_equal(tamis_owned_sparse_view(again.matrix)->nnz, tamis_owned_sparse_view(c.matrix)->nnz);
}

/* ------------------------------------------------------------------------------------------ files */

static char folder[] = "/tmp/tamis-texts-XXXXXX";

static int make_folder(void **state) { return mkdtemp(folder) ? 0 : -1; }

static void write_text(const char *name, const char *text, size_t bytes, char path[96]) {
    snprintf(path, 96, "%s/%s", folder, name);
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    fclose(file);
}

TEST(files_and_folders) {
    static const char lines[] = "\xEF\xBB\xBF"
                                "The Cat sat\n\na cat, a DOG sat down\nno end";
    char path[96], other[96], inner[96];
    const tamis_text_options options = all_words();
    bool texts;
    write_text("b.txt", lines, sizeof lines - 1, path);
    OWN(counted) c = {0}, f = {0};
    works(tamis_read_texts(path, &options, &c.matrix, &c.documents, &c.words));
    const tamis_sparse *S = tamis_owned_sparse_view(c.matrix);
    assert_true(S->rows == 4 && S->cols == 7 && S->nnz == 9 && !c.documents);
    assert_string_equal(tamis_names_at(c.words, 0), "the");
    works(tamis_is_texts(path, &texts));
    assert_true(texts);
    write_text("a.txt", "dog dog", 7, other);
    write_text("ignored.csv", "\xFF", 1, inner);
    char pipe[96], below[96]; /* a pipe that nobody writes, and a folder */
    snprintf(pipe, sizeof pipe, "%s/pipe.txt", folder);
    snprintf(below, sizeof below, "%s/below.txt", folder);
    assert_true(mkfifo(pipe, 0600) == 0 && mkdir(below, 0700) == 0);
    works(tamis_read_texts(folder, &options, &f.matrix, &f.documents, &f.words));
    S = tamis_owned_sparse_view(f.matrix);
    assert_true(S->rows == 2 && S->cols == 7 && ((const float *)S->values)[0] == 2);
    assert_string_equal(tamis_names_at(f.documents, 0), "a.txt");
    works(tamis_is_texts(folder, &texts));
    assert_true(texts);
    unlink(path), unlink(other), unlink(inner), unlink(pipe), rmdir(below);
    OWN(counted) none = {0};
    const char *const there = "a", *const absent = NULL;
    REFUSED(ARGUMENT, "documents[0] is there, bytes[0] = -1",
            tamis_count_words(&there, (const int64_t[]){-1}, 1, &options, &none.matrix, &none.words));
    REFUSED(ARGUMENT, "documents[0] is NULL, bytes[0] = 1",
            tamis_count_words(&absent, (const int64_t[]){1}, 1, &options, &none.matrix, &none.words));
    REFUSED(FORMAT, "the folder has no .txt files",
            tamis_read_texts(folder, &options, &none.matrix, &none.documents, &none.words));
    REFUSED(FILE, "cannot open",
            tamis_read_texts("/nowhere.txt", &options, &none.matrix, &none.documents, &none.words));
}

/* Lists and matrices that are called .txt are none. */
TEST(lists_are_no_texts) {
    static const char *const lists[] = {"d1 cat 3\nd2 dog 1\nd1 sat 2\n",
                                        "doc,word here\nd 1,cat\n",
                                        "1 2 3\n4 5\n6 7 8 9\n",
                                        "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3\n",
                                        "2 0:1 3:2\n1 4:1\n",
                                        "a\tb c\nd e\tf\n"};
    char path[96];
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        bool texts = true;
        write_text("list.txt", lists[i], strlen(lists[i]), path);
        works(tamis_is_texts(path, &texts));
        if (texts) fail_msg("a text: %s", lists[i]);
    }
    unlink(path);
}

TEST(bad_bytes_are_named) {
    static const struct {
        const char *text, *says;
    } cases[] = {{"one two\nx \xFF y\n", "bad.txt:2: byte 3 is 0xff"},
                 {"\xC0\x80\n", "bad.txt:1: byte 1 is 0xc0"},          /* longer than need be */
                 {"a\n\nab\xED\xA0\x80", "bad.txt:3: byte 3 is 0xed"}, /* a surrogate */
                 {"\xF4\x90\x80\x80", "bad.txt:1: byte 1 is 0xf4"},    /* beyond Unicode */
                 {"word \xE2\x82", "bad.txt:1: byte 6 is 0xe2"},       /* cut */
                 {"caf\xE9 latin\n", "bad.txt:1: byte 4 is 0xe9"}};
    const tamis_text_options options = all_words();
    char path[96];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWN(counted) none = {0};
        write_text("bad.txt", cases[i].text, strlen(cases[i].text), path);
        REFUSED(FORMAT, cases[i].says, tamis_read_texts(path, &options, &none.matrix, &none.documents, &none.words));
        assert_true(!none.matrix && !none.words && !none.documents);
    }
    unlink(path);
}

/* Any bytes give a valid matrix, or a message; what is accepted are words in UTF-8, which are the same when read again.
 */
TEST(any_bytes) {
    tamis_random random = tamis_random_start(5, 1);
    const tamis_text_options options = all_words();
    char bytes[64];
    for (int n = 0; n < test_rounds(20000, 200000); n++) {
        const int64_t size = tamis_random_below(&random, sizeof bytes);
        const int64_t kind = tamis_random_below(&random, 3);
        const char *const text = bytes;
        for (int64_t i = 0; i < size; i++)
            bytes[i] = (char)(kind == 0 ? tamis_random_below(&random, 256) : tamis_random_below(&random, 128));
        for (int64_t i = 0; kind == 2 && i + 4 <= size; i += 4) /* characters, of which few are none */
            if (ml_utf8_put((uint32_t)tamis_random_below(&random, 0x10FFFF), bytes + i) < 4) bytes[i + 3] = 'z';
        OWN(counted) c = {0}, again = {0};
        const tamis_status status = tamis_count_words(&text, &size, 1, &options, &c.matrix, &c.words);
        if (status != TAMIS_OK) {
            assert_true(status == TAMIS_ERROR_FORMAT && strstr(tamis_last_error(), "not UTF-8") && !c.matrix);
            continue;
        }
        works(tamis_validate(tamis_owned_sparse_view(c.matrix)));
        for (int64_t i = 0; i < tamis_names_count(c.words); i++) {
            const char *const word = tamis_names_at(c.words, i);
            OWN(char) *const same = words_of(word);
            assert_string_equal(same, word);
        }
    }
}

/* Memory that ends leaves no block, no descriptor and no result. */
TEST(faults_of_texts) {
    char path[96];
    const tamis_text_options options = all_words();
    tamis_text_options known = options;
    OWN(counted) first = {0};
    write_text("a.txt", "the cat sat\non the mat\n", 23, path);
    works(tamis_read_texts(path, &options, &first.matrix, &first.documents, &first.words));
    known.words = first.words;
    for (int n = 0; n < 3; n++) {
        EACH_FAULT(w) {
            counted c = {0};
            FAULTY(w, tamis_read_texts(n == 1 ? folder : path, n == 2 ? &known : &options, &c.matrix, &c.documents,
                                       &c.words));
            counted_free(&c);
        }
    }
    unlink(path);
}

/* Each character that is folded is one by Unicode, and folding twice changes nothing. */
TEST(folding_is_once) {
    for (uint32_t point = 0; point <= 0x10FFFF; point++) {
        char bytes[4];
        uint32_t read;
        if (point >= 0xD800 && point < 0xE000) continue;
        const int size = ml_utf8_put(point, bytes);
        assert_int_equal(ml_utf8_take(bytes, bytes + size, &read), size);
        assert_int_equal(read, point);
        const uint32_t folded = ml_folded(point);
        assert_int_equal(ml_folded(folded), folded);
        if (folded != point) assert_true(ml_character_of(folded) != ML_APART || ml_character_of(point) == ML_APART);
    }
    assert_true(ml_folded(0x410) == 0x430 && ml_folded(0x100) == 0x101 && ml_folded(0x101) == 0x101);
}

static int remove_folder(void **state) { return rmdir(folder); }

TEST_RUN() { return test_run(NULL, NULL, make_folder, remove_folder); }
