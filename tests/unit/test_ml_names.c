/* Dictionaries of names, and vocabularies. */
#include "base/random.h"
#include "ml/data/names.h"
#include "test_ml_support.h"

static int64_t add(tamis_names *names, const char *name) {
    int64_t index = -5;
    works(tamis_names_add(names, name, strlen(name), &index));
    assert_string_equal(tamis_last_error(), "");
    return index;
}

TEST(names_are_numbered_as_they_come) {
    tamis_names *names = NULL;
    works(tamis_names_create(&names));
    assert_int_equal(tamis_names_count(names), 0);
    assert_int_equal(tamis_names_find(names, "a", 1), -1);
    assert_null(tamis_names_at(names, 0));
    assert_int_equal(add(names, "pear"), 0);
    assert_int_equal(add(names, "apple"), 1);
    assert_int_equal(add(names, "pear"), 0);
    assert_int_equal(add(names, "pea"), 2);
    assert_int_equal(add(names, "\xc3\xa9t\xc3\xa9 2"), 3);
    assert_int_equal(tamis_names_count(names), 4);
    assert_int_equal(tamis_names_find(names, "pearl", 4), 0);
    assert_int_equal(tamis_names_find(names, "pearl", 5), -1);
    assert_int_equal(tamis_names_find(names, "pear", 0), -1);
    assert_int_equal(tamis_names_find(names, NULL, 3), -1);
    assert_null(tamis_names_at(names, -1));
    assert_null(tamis_names_at(names, 4));
    expect_names(names, "pear|apple|pea|\xc3\xa9t\xc3\xa9 2");
    ml_names_truncate(names, 1);
    expect_names(names, "pear");
    assert_int_equal(add(names, "pea"), 1);
    tamis_names_free(names);
    tamis_names_free(NULL);
    assert_int_equal(tamis_names_count(NULL), 0);
    assert_null(tamis_names_at(NULL, 0));
    assert_int_equal(tamis_names_find(NULL, "a", 1), -1);
}

TEST(names_refuse_wrong_arguments) {
    tamis_names *names = NULL;
    int64_t index = 7;
    REFUSED(ARGUMENT, "^names = NULL: expected an address for the dictionary$", tamis_names_create(NULL));
    works(tamis_names_create(&names));
    REFUSED(ARGUMENT, "^names = NULL: expected a dictionary$", tamis_names_copy(NULL, &names));
    REFUSED(ARGUMENT, "^copy = NULL: expected an address for the dictionary$", tamis_names_copy(names, NULL));
    REFUSED(ARGUMENT, "^names = NULL: expected a dictionary$", tamis_names_add(NULL, "a", 1, &index));
    REFUSED(ARGUMENT, "^name = NULL: expected a name$", tamis_names_add(names, NULL, 1, &index));
    REFUSED(ARGUMENT, "^index = NULL: expected an address for the index$", tamis_names_add(names, "a", 1, NULL));
    REFUSED(ARGUMENT, "^length = 0: expected a name of one byte or more$", tamis_names_add(names, "a", 0, &index));
    REFUSED(ARGUMENT, "^length = 18446744073709551615: more than the address space$",
            tamis_names_add(names, "a", SIZE_MAX, &index));
    REFUSED(ARGUMENT, "^name[2] = 0: expected a name without zero bytes$", tamis_names_add(names, "ab\0c", 4, &index));
    assert_int_equal(index, 7);
    assert_int_equal(tamis_names_count(names), 0);
    tamis_names_free(names);
    names = NULL;
    REFUSED(ARGUMENT, "^path = NULL: expected the name of a file$", tamis_names_read(NULL, &names));
    REFUSED(ARGUMENT, "^names = NULL: expected an address for the dictionary$", tamis_names_read("a", NULL));
    REFUSED(FILE, "^/no/such/file: cannot open: No such file or directory$", tamis_names_read("/no/such/file", &names));
    assert_null(names);
}

/* Each of the two can be added to by itself; when memory ends nothing of a copy is left. */
TEST(names_are_copied) {
    tamis_names *names = NULL, *copy = NULL;
    works(tamis_names_create(&names));
    add(names, "pear");
    add(names, "two words");
    EACH_FAULT(w) {
        if (FAULTY(w, tamis_names_copy(names, &copy)) != TAMIS_OK) assert_null(copy);
        tamis_names_free(copy);
    }
    works(tamis_names_copy(names, &copy));
    assert_int_equal(add(copy, "plum"), 2);
    expect_names(names, "pear|two words");
    tamis_names_free(names);
    expect_names(copy, "pear|two words|plum");
    tamis_names_free(copy);
}

/* Against a list that is searched from its beginning. */
TEST(many_names_are_found_again) {
    enum { ADDED = 20000, MOST = 4000 };
    static char model[MOST][8];
    int64_t count = 0;
    tamis_names *names = NULL;
    const int64_t live = tamis_memory_live();
    works(tamis_names_create(&names));
    tamis_random random = tamis_random_start(5, 1);
    for (int i = 0; i < ADDED; i++) {
        char name[8] = "";
        const int64_t length = 1 + tamis_random_below(&random, 6);
        for (int64_t c = 0; c < length; c++) name[c] = (char)('a' + tamis_random_below(&random, 3));
        int64_t wanted = 0;
        while (wanted < count && strcmp(model[wanted], name) != 0) wanted++;
        assert_int_equal(tamis_names_find(names, name, (size_t)length), wanted < count ? wanted : -1);
        assert_int_equal(add(names, name), wanted);
        if (wanted == count) memcpy(model[count++], name, sizeof name);
    }
    assert_int_equal(tamis_names_count(names), count);
    assert_true(count > 1000);
    for (int64_t i = 0; i < count; i++) assert_string_equal(tamis_names_at(names, i), model[i]);
    /* forgotten and added again: the same numbers */
    ml_names_truncate(names, count / 2);
    for (int64_t i = 0; i < count; i++)
        assert_int_equal(tamis_names_find(names, model[i], strlen(model[i])), i < count / 2 ? i : -1);
    for (int64_t i = 0; i < count; i++) assert_int_equal(add(names, model[i]), i);
    tamis_names_free(names);
    assert_int_equal(tamis_memory_live(), live);
}

/* A name may be a part of one that the dictionary holds, which moves when it grows. */
TEST(names_can_come_from_the_dictionary) {
    OWN(tamis_names) *names = NULL;
    char text[600];
    works(tamis_names_create(&names));
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    add(names, text);
    for (int64_t i = 1; i < 599; i++) {
        int64_t index;
        works(tamis_names_add(names, tamis_names_at(names, 0) + i, (size_t)(599 - i), &index));
        assert_int_equal(index, i);
        assert_string_equal(tamis_names_at(names, i), text + i);
    }
}

static void expect_vocabulary(const char *content, const char *joined) {
    OWN(file_name) *const path = ml_file(".txt", content);
    tamis_names *names = NULL;
    const int64_t live = tamis_memory_live();
    works(tamis_names_read(path, &names));
    assert_string_equal(tamis_last_error(), "");
    expect_names(names, joined);
    tamis_names_free(names);
    assert_int_equal(tamis_memory_live(), live);
}

static void refuse_vocabulary(const char *content, size_t bytes, const char *message) {
    OWN(file_name) *const path = ml_file_of(".txt", content, bytes);
    tamis_names *names = NULL;
    const int64_t live = tamis_memory_live();
    assert_int_equal(tamis_names_read(path, &names), TAMIS_ERROR_FORMAT);
    ml_expect_message(path, message);
    assert_null(names);
    assert_int_equal(tamis_memory_live(), live);
}

TEST(vocabularies_are_read) {
    expect_vocabulary("", "");
    expect_vocabulary("\n\r\n  \n", "");
    expect_vocabulary("one\ntwo\nthree", "one|two|three");
    expect_vocabulary("\xef\xbb\xbfone\r\ntwo words\r\n\r\n\n", "one|two words");
    expect_vocabulary(" one\none\none \n", " one|one|one ");
    refuse_vocabulary("one\n\ntwo\n", 9, ":2: found the end of the line, expected a name");
    refuse_vocabulary("one\n  \r\ntwo\n", 12, ":2: found the end of the line, expected a name");
    refuse_vocabulary("one\ntwo\nthree\ntwo\n", 18, ":4: found 'two', expected a new name, not that of line 2");
    refuse_vocabulary("one\nt\0wo\n", 9, ":2: found '\\x00wo', expected a name without zero bytes");
}

TEST(names_survive_failing_memory) {
    OWN(file_name) *const path = ml_file(".txt", "one\ntwo\nthree\n");
    EACH_FAULT(w) {
        OWN(tamis_names) *names = NULL;
        if (FAULTY(w, tamis_names_read(path, &names)) != TAMIS_OK) assert_null(names);
    }
    /* an add that fails leaves the dictionary as it was */
    OWN(tamis_names) *names = NULL;
    works(tamis_names_create(&names));
    for (int i = 0; i < 500; i++) {
        char name[64];
        int64_t index = -1;
        snprintf(name, sizeof name, "a name of some length %d", i);
        for (int64_t n = 1; index < 0; n++) {
            tamis_memory_fail_at(n);
            const tamis_status status = tamis_names_add(names, name, strlen(name), &index);
            tamis_memory_fail_at(0);
            assert_true(status == (index < 0 ? TAMIS_ERROR_MEMORY : TAMIS_OK));
            assert_int_equal(tamis_names_count(names), index < 0 ? i : i + 1);
            assert_int_equal(tamis_names_find(names, "a name of some length 0", 23), i > 0 || index == 0 ? 0 : -1);
        }
        assert_int_equal(index, i);
    }
}
