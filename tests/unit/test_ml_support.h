/* What the tests of data for models share: files with a content, failing memory. */
#ifndef TAMIS_TEST_ML_SUPPORT_H
#define TAMIS_TEST_ML_SUPPORT_H

#include <tamis/data.h>

#include "test_io_support.h"

/* A file with this content; the caller unlinks and frees the name. */
static inline char *ml_file_of(const char *ending, const void *content, size_t bytes) {
    char *const path = io_temporary(ending);
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
    return path;
}

static inline char *ml_file(const char *ending, const char *content) {
    return ml_file_of(ending, content, strlen(content));
}

static inline void ml_remove(char *path) {
    unlink(path);
    free(path);
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
