/* What the tests of file reading share: a matrix as a line of text, and the two expectations. */
#ifndef TAMIS_TEST_IO_SUPPORT_H
#define TAMIS_TEST_IO_SUPPORT_H

#include "support/test.h"

#include <unistd.h>

#include <tamis/matrix.h>
#include <tamis/structure.h>

#include "base/half.h"

#ifndef TAMIS_HAVE_ZLIB
#define TAMIS_HAVE_ZLIB 0
#endif

/* Without zlib, .gz and .npz are not written. */
static inline bool io_can_write(const char *name) {
    return TAMIS_HAVE_ZLIB || !(strstr(name, ".gz") || strstr(name, ".npz") || strcmp(name, "npz") == 0);
}

static inline int64_t io_index(const void *indices, tamis_index_type type, int64_t at) {
    return type == TAMIS_I32 ? ((const int32_t *)indices)[at] : ((const int64_t *)indices)[at];
}

static inline double io_value(const void *values, tamis_type type, int64_t at) {
    switch (type) {
    case TAMIS_F32: return ((const float *)values)[at];
    case TAMIS_F64: return ((const double *)values)[at];
    case TAMIS_F16: return tamis_f16_load(((const uint16_t *)values)[at]);
    default: return tamis_bf16_load(((const uint16_t *)values)[at]);
    }
}

/* "csr 2x3 4| 0 1 2.5| ...", without values for a pattern, of so many entries. The caller frees it. */
static inline char *io_text_of_some(const tamis_sparse *S, int64_t count) {
    const size_t room = 128 + (size_t)count * 96;
    char *const text = malloc(room);
    assert_non_null(text);
    size_t used = (size_t)snprintf(text, room, "%s %lldx%lld %lld", S->format == TAMIS_CSR ? "csr" : "coo",
                                   (long long)S->rows, (long long)S->cols, (long long)S->nnz);
    int64_t row = 0;
    for (int64_t t = 0; t < count; t++) {
        if (S->format == TAMIS_CSR)
            while (io_index(S->offsets, S->offset_type, row + 1) <= t) row++;
        else
            row = io_index(S->row_indices, S->index_type, t);
        used += (size_t)snprintf(text + used, room - used, "| %lld %lld", (long long)row,
                                 (long long)io_index(S->columns, S->index_type, t));
        if (S->values)
            used += (size_t)snprintf(text + used, room - used, " %.17g", io_value(S->values, S->value_type, t));
    }
    return text;
}

static inline char *io_text_of(const tamis_sparse *S) { return io_text_of_some(S, S->nnz); }

/* Options that read doubles, and what else they are to say: IO_WITH(.relabel = true). */
#define IO_WITH(...) (&(const tamis_read_options){.value_type = TAMIS_F64, __VA_ARGS__})

static inline tamis_read_options io_options(void) {
    tamis_read_options options = TAMIS_READ_OPTIONS_INIT;
    options.value_type = TAMIS_F64;
    return options;
}

/* A matrix that is read without an error, which the caller frees. */
static inline const tamis_sparse *io_matrix(const char *name, const void *data, size_t bytes,
                                            const tamis_read_options *options, tamis_owned_sparse **matrix) {
    *matrix = NULL;
    works(tamis_read_sparse_memory(name, data, bytes, options, matrix));
    return tamis_owned_sparse_view(*matrix);
}

/* Reads `bytes` of memory and compares with `expected`, as io_text_of writes it. NULL options: doubles. */
static inline void io_expect_bytes(const char *name, const void *data, size_t bytes, const tamis_read_options *options,
                                   const char *expected) {
    tamis_owned_sparse *matrix;
    const int64_t live = tamis_memory_live();
    const tamis_sparse *const S = io_matrix(name, data, bytes, options ? options : IO_WITH(.threads = 0), &matrix);
    assert_string_equal(tamis_last_error(), "");
    works(tamis_validate(S));
    char *const text = io_text_of(S);
    assert_string_equal(text, expected);
    free(text);
    tamis_owned_sparse_free(matrix);
    assert_int_equal(tamis_memory_live(), live);
}

static inline void io_expect(const char *name, const char *content, const tamis_read_options *options,
                             const char *expected) {
    io_expect_bytes(name, content, strlen(content), options, expected);
}

/* The same content must be refused with this status and exactly this message, and nothing may be left allocated. */
static inline void io_refuse_bytes(const char *name, const void *data, size_t bytes, const tamis_read_options *options,
                                   tamis_status status, const char *message) {
    tamis_owned_sparse *matrix = NULL;
    const int64_t live = tamis_memory_live();
    const tamis_status found =
        tamis_read_sparse_memory(name, data, bytes, options ? options : IO_WITH(.threads = 0), &matrix);
    assert_string_equal(tamis_last_error(), message);
    assert_int_equal(found, status);
    assert_null(matrix);
    assert_int_equal(tamis_memory_live(), live);
}

static inline void io_refuse_as(const char *name, const char *content, const tamis_read_options *options,
                                tamis_status status, const char *message) {
    io_refuse_bytes(name, content, strlen(content), options, status, message);
}

static inline void io_refuse(const char *name, const char *content, const tamis_read_options *options,
                             const char *message) {
    io_refuse_as(name, content, options, TAMIS_ERROR_FORMAT, message);
}

/* What messages about lists of pairs advise. */
#define NAME_COLUMNS                                                                                                   \
    "name the columns, by titles or by numbers from 1: --columns user=1,item=2,rating=3,time=4 (`columns` in the "     \
    "options)"
#define AS_MANY_FIELDS                                                                                                 \
    "complete or delete the line, or name the columns that every line has: --columns user=1,item=2, of a graph "       \
    "from=1,to=2 (`columns` in the options)"
#define NO_LISTS ". Of lists of items by user write a line `user item` for each"

/* What is in a file, the message that refuses it, and the status if it is another than TAMIS_ERROR_FORMAT. */
typedef struct io_refusal {
    const char *content, *message;
    tamis_status status;
} io_refusal;

#define IO_REFUSE(name, cases, options) io_refuse_each(name, cases, sizeof cases / sizeof *cases, options)

static inline void io_refuse_each(const char *name, const io_refusal *cases, size_t count,
                                  const tamis_read_options *options) {
    for (const io_refusal *c = cases; c < cases + count; c++)
        io_refuse_as(name, c->content, options, c->status ? c->status : TAMIS_ERROR_FORMAT, c->message);
}

/* What is in a file and the matrix that is read from it: by the name `about`, or by another name, and then that says
   what is special. */
typedef struct io_case {
    const char *about, *content, *expected;
} io_case;

#define IO_EXPECT(name, cases) io_expect_each(name, cases, sizeof cases / sizeof *cases)

static inline void io_expect_each(const char *name, const io_case *cases, size_t count) {
    for (const io_case *c = cases; c < cases + count; c++) {
        print_message("%s\n", c->about);
        io_expect(name ? name : c->about, c->content, NULL, c->expected);
    }
}

/* The same, and what is reported, of which the reader has to set each field. */
static inline tamis_read_report io_report(const char *name, const char *content, tamis_read_options options,
                                          const char *expected) {
    tamis_read_report report;
    memset(&report, 0xff, sizeof report);
    options.report = &report;
    io_expect(name, content, &options, expected);
    return report;
}

static inline void io_expect_same_bytes(const char *what, const void *x, const void *y, int64_t count, size_t size) {
    if (!x != !y || (x && memcmp(x, y, (size_t)count * size) != 0)) fail_msg("%s differ", what);
}

/* Two matrices, or NULL with their messages, are the same: the numbers bit for bit. */
static inline void io_expect_same(const tamis_owned_sparse *x, const char *said_x, const tamis_owned_sparse *y,
                                  const char *said_y) {
    assert_string_equal(said_x, said_y);
    assert_int_equal(!x, !y);
    if (!x) return;
    const tamis_sparse *const a = tamis_owned_sparse_view(x), *const b = tamis_owned_sparse_view(y);
    assert_true(a->format == b->format && a->index_type == b->index_type && a->value_type == b->value_type);
    assert_true(a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz && a->offset_type == b->offset_type);
    const size_t index = a->index_type == TAMIS_I32 ? 4 : 8, offset = a->offset_type == TAMIS_I32 ? 4 : 8;
    const size_t value = a->value_type == TAMIS_F32 ? 4 : a->value_type == TAMIS_F64 ? 8 : 2;
    io_expect_same_bytes("offsets", a->offsets, b->offsets, a->rows + 1, offset);
    io_expect_same_bytes("rows", a->row_indices, b->row_indices, a->nnz, index);
    io_expect_same_bytes("columns", a->columns, b->columns, a->nnz, index);
    io_expect_same_bytes("values", a->values, b->values, a->nnz, value);
}

/* What is read, and what is said. */
static inline tamis_owned_sparse *io_read(const char *name, const void *text, size_t bytes,
                                          const tamis_read_options *options, char said[1024]) {
    tamis_owned_sparse *matrix = NULL;
    const tamis_status status = tamis_read_sparse_memory(name, text, bytes, options, &matrix);
    snprintf(said, 1024, "%s", tamis_last_error());
    if (status == TAMIS_OK) works(tamis_validate(tamis_owned_sparse_view(matrix)));
    assert_int_equal(status == TAMIS_OK, matrix != NULL);
    return matrix;
}

/* Windows of one thread to `most` are small, those of 64 threads hold all of the file: the same matrix or message comes
   of them. It begins so, as io_text_of writes it. */
static inline void io_expect_windows(const char *name, const void *text, size_t bytes, tamis_read_options options,
                                     int most, const char *begins) {
    char said[1024], said_of_whole[1024];
    options.threads = 64;
    tamis_owned_sparse *const whole = io_read(name, text, bytes, &options, said_of_whole);
    const tamis_sparse *const S = whole ? tamis_owned_sparse_view(whole) : NULL;
    char *const found = S ? io_text_of_some(S, S->nnz < 8 ? S->nnz : 8) : strdup(said_of_whole);
    if (strncmp(found, begins, strlen(begins)) != 0) fail_msg("%s: %.200s", name, found);
    free(found);
    for (options.threads = 1; options.threads <= most; options.threads++) {
        tamis_owned_sparse *const windows = io_read(name, text, bytes, &options, said);
        io_expect_same(windows, said, whole, said_of_whole);
        tamis_owned_sparse_free(windows);
    }
    tamis_owned_sparse_free(whole);
}

/* The file's content, of which there may be less than `room` alone; the number of its bytes. */
static inline size_t io_load(const char *path, void *content, size_t room) {
    FILE *const file = fopen(path, "rb");
    if (!file) fail_msg("%s is missing", path);
    const size_t bytes = fread(content, 1, room, file);
    fclose(file);
    assert_in_range(bytes, 1, room - 1);
    return bytes;
}

/* The file holds this matrix, as io_text_of writes it. */
static inline void io_expect_file(const char *path, const tamis_read_options *options, const char *expected) {
    tamis_owned_sparse *matrix = NULL;
    works(tamis_read_sparse(path, options, &matrix));
    char *const text = io_text_of(tamis_owned_sparse_view(matrix));
    if (strcmp(text, expected) != 0) fail_msg("%s: %s, expected %s", path, text, expected);
    free(text);
    tamis_owned_sparse_free(matrix);
}

/* A name in the folder for temporary files; the caller frees it. */
static inline char *io_temporary(const char *ending) {
    static int counter;
    const char *const folder = getenv("TMPDIR");
    char *const path = malloc(512);
    assert_non_null(path);
    snprintf(path, 512, "%s/tamis-test-%ld-%d%s", folder && *folder ? folder : "/tmp", (long)getpid(), counter++,
             ending);
    return path;
}

#endif
