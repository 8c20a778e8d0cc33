/* What the tests of data for models share: files with a content, failing memory. */
#ifndef TAMIS_TEST_ML_SUPPORT_H
#define TAMIS_TEST_ML_SUPPORT_H

#include "support/test.h"

#include "support/bytes.h"
#include "test_io_support.h"

/* A file with this content; the caller removes it. */
static inline char *ml_file_of(const char *ending, const void *content, size_t bytes) {
    char *const path = io_temporary(ending);
    write_bytes(path, content, bytes);
    return path;
}

static inline char *ml_file(const char *ending, const char *content) {
    return ml_file_of(ending, content, strlen(content));
}

static inline void ml_remove(char *path) {
    if (path) unlink(path);
    free(path);
}
typedef char file_name; /* of a file that goes with the block: OWN(file_name) *const path = ml_file(...) */
OWN_POINTER(file_name, ml_remove)

static inline void ml_expect_text(const tamis_owned_sparse *matrix, const char *expected) {
    OWN(char) *const text = io_text_of(tamis_owned_sparse_view(matrix));
    assert_string_equal(text, expected);
}

/* The message is "PATH" and then `rest`. */
static inline void ml_expect_message(const char *path, const char *rest) {
    char message[1024];
    snprintf(message, sizeof message, "%s%s", path, rest);
    assert_string_equal(tamis_last_error(), message);
}

/* In their order, with bars between. */
static inline void expect_names(const tamis_names *names, const char *joined) {
    char text[4096] = "";
    size_t used = 0;
    for (int64_t i = 0; i < tamis_names_count(names); i++) {
        const char *const name = tamis_names_at(names, i);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? "|" : "", name);
        assert_int_equal(tamis_names_find(names, name, strlen(name)), i);
    }
    assert_string_equal(text, joined);
}

#endif
