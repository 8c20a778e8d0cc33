/* The content of files. */
#ifndef TAMIS_TESTS_BYTES_H
#define TAMIS_TESTS_BYTES_H

#include "support/test.h"

typedef struct file_content {
    unsigned char *data;
    size_t size;
} file_content;

static inline void file_content_free(file_content *b) { free(b->data); }
OWN_VALUE(file_content, file_content_free)

static inline file_content read_bytes(const char *path) {
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    file_content b = {.size = (size_t)ftell(file)};
    b.data = malloc(b.size + 1);
    assert_non_null(b.data);
    rewind(file);
    assert_int_equal(fread(b.data, 1, b.size, file), b.size);
    fclose(file);
    return b;
}

static inline void write_bytes(const char *path, const void *content, size_t size) {
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void write_text(const char *path, const char *text) { write_bytes(path, text, strlen(text)); }

/* The file is this text. */
static inline void expect_file(const char *path, const char *expected) {
    const file_content found = read_bytes(path);
    found.data[found.size] = '\0';
    assert_string_equal((const char *)found.data, expected);
    free(found.data);
}

#endif
