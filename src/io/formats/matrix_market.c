/*
 * Matrix Market: coordinate and array; real, integer, unsigned-integer and pattern; general, symmetric and
 * skew-symmetric.
 *   %%MatrixMarket matrix coordinate real symmetric
 *   % comments
 *   rows columns entries                 array: rows columns
 *   row column value                     array: one value a line, by columns; symmetric: the lower triangle
 */
#include <string.h>
#include <strings.h>

#include "base/scope.h"
#include "io/formats/format.h"
#include "io/rows/line_rows.h"
#include "sparse/check.h"

typedef enum market_field { FIELD_REAL, FIELD_INTEGER, FIELD_UNSIGNED, FIELD_PATTERN } market_field;
typedef enum market_symmetry { GENERAL, SYMMETRIC, SKEW } market_symmetry;

typedef struct market_header {
    bool array;
    market_field field;
    market_symmetry symmetry;
    int64_t rows, cols, count;
    const char *body; /* after the line of sizes */
} market_header;

/* A word of the first line and its meaning; -1: valid, but not supported. */
typedef struct market_word {
    const char *word;
    int meaning;
} market_word;

enum { NOT_READ = -1 };

static const market_word shapes[] = {{"coordinate", 0}, {"array", 1}, {NULL, 0}};
static const market_word field_words[] = {{"real", FIELD_REAL},
                                          {"double", FIELD_REAL},
                                          {"integer", FIELD_INTEGER},
                                          {"pattern", FIELD_PATTERN},
                                          {"unsigned-integer", FIELD_UNSIGNED},
                                          {"complex", NOT_READ},
                                          {NULL, 0}};
static const market_word symmetry_words[] = {
    {"general", GENERAL}, {"symmetric", SYMMETRIC}, {"skew-symmetric", SKEW}, {"hermitian", NOT_READ}, {NULL, 0}};

/* Returns the first line. Blanks and blank lines before it, which some editors leave, are skipped. */
static const char *find_banner(const tamis_bounded_text *text) { return tamis_skip_comments(text, text->begin, ""); }

/* Returns true if the line is three integers: the sizes of a coordinate matrix. */
static bool is_sizes(const tamis_bounded_text *text, const char *p) {
    int64_t ignored;
    for (int i = 0; i < 3; i++) {
        p = tamis_parse_index(tamis_skip_blanks(p), &ignored);
        if (!p || !(tamis_is_blank(*p) || tamis_at_line_end(text, p))) return false;
    }
    return tamis_at_line_end(text, tamis_skip_blanks(p));
}

/* Returns true if the sizes are in the last comment before the entries: then it is an edge list of
   networkrepository.com, whose first line is only a comment. */
static bool has_sizes_in_comment(const tamis_bounded_text *text) {
    const char *last = NULL;
    for (const char *p = tamis_next_line(text, find_banner(text)); p < text->end && *p == '%';
         p = tamis_next_line(text, p))
        last = p;
    if (!last || !is_sizes(text, last + 1)) return false;
    const char *const sizes = tamis_skip_comments(text, tamis_next_line(text, last), "%");
    return sizes < text->end && !is_sizes(text, sizes);
}

static bool has_banner(const tamis_bounded_text *text) {
    const char *const start = find_banner(text), *p = start;
    while (*p == '%') p++;
    return p > start && text->end - p >= 12 && strncasecmp(p, "MatrixMarket", 12) == 0;
}

static bool sniff_matrix_market(const tamis_bounded_text *text) {
    return has_banner(text) && !has_sizes_in_comment(text);
}

/* Parses the word at *p, after blanks, which must be one of `words`. */
static tamis_status take_word(const tamis_bounded_text *text, const char **p, const market_word *words,
                              const char *expected, int *meaning) {
    const char *const start = tamis_skip_blanks(*p);
    const char *end = start;
    while (!tamis_at_line_end(text, end) && !tamis_is_blank(*end) && end < text->end) end++;
    for (; words->word; words++) {
        if (strlen(words->word) != (size_t)(end - start) || strncasecmp(words->word, start, (size_t)(end - start)) != 0)
            continue;
        if (words->meaning == NOT_READ)
            return tamis_text_refuse(TAMIS_ERROR_UNSUPPORTED, text, start, "%s matrices are not supported; expected %s",
                                     words->word, expected);
        *meaning = words->meaning;
        *p = end;
        return TAMIS_OK;
    }
    return tamis_text_fail(text, start, "%s", expected);
}

static tamis_status take_kind(const tamis_bounded_text *text, market_header *header) {
    static const market_word objects[] = {{"matrix", 0}, {NULL, 0}};
    const char *p = find_banner(text);
    if (!has_banner(text)) return tamis_text_fail(text, p, "%%%%MatrixMarket");
    while (*p == '%') p++;
    p += 12;
    int ignored = 0, array = 0, field = 0, symmetry = 0;
    TRY(take_word(text, &p, objects, "matrix", &ignored));
    TRY(take_word(text, &p, shapes, "coordinate or array", &array));
    const char *const field_at = p;
    TRY(take_word(text, &p, field_words, "real, integer, unsigned-integer or pattern", &field));
    const char *const symmetry_at = p;
    TRY(take_word(text, &p, symmetry_words, "general, symmetric or skew-symmetric", &symmetry));
    *header = (market_header){.array = array, .field = (market_field)field, .symmetry = (market_symmetry)symmetry};
    if (header->array && header->field == FIELD_PATTERN)
        return tamis_text_fail(text, field_at, "real, integer or unsigned-integer for an array");
    if (header->field == FIELD_PATTERN && header->symmetry == SKEW)
        return tamis_text_fail(text, symmetry_at, "general or symmetric for a pattern");
    return tamis_text_line_end(text, &p, "the symmetry");
}

static tamis_status take_header(const tamis_bounded_text *text, market_header *header) {
    TRY(take_kind(text, header));
    const char *const start = tamis_skip_comments(text, tamis_next_line(text, find_banner(text)), "%");
    const char *p = start;
    TRY(tamis_text_index(text, &p, 0, TAMIS_SIZE_MOST, "a row count", &header->rows));
    TRY(tamis_text_index(text, &p, 0, TAMIS_SIZE_MOST, "a column count", &header->cols));
    if (!header->array) TRY(tamis_text_index(text, &p, 0, TAMIS_SIZE_MOST, "an entry count", &header->count));
    TRY(tamis_text_line_end(text, &p, header->array ? "rows and columns" : "rows, columns and entries"));
    header->body = p;
    if (header->symmetry != GENERAL && header->rows != header->cols)
        return tamis_text_refuse(TAMIS_ERROR_FORMAT, text, start,
                                 "%lld rows and %lld columns, but a symmetric matrix is square",
                                 (long long)header->rows, (long long)header->cols);
    return TAMIS_OK;
}

/* ---- arrays */

typedef struct array_target {
    const tamis_entries *entries; /* NULL: a dense matrix */
    int64_t at;
    const tamis_dense *dense;
    tamis_read_report *report; /* NULL: inexact numbers are not counted */
} array_target;

static const char *const value_names[] = {"a number", "an integer", "an integer of 0 or more", NULL};

static void put(array_target *target, int64_t row, int64_t column, double value) {
    if (target->entries)
        tamis_entries_set(target->entries, target->at++, row, column, value);
    else {
        const tamis_dense *const dense = target->dense;
        tamis_element_store(dense->data, dense->type, row * dense->stride + column, value);
    }
}

static tamis_status take_value(const tamis_bounded_text *text, const market_header *header, array_target *target,
                               const char **p, double *value) {
    const char *const start = tamis_skip_comments(text, *p, "%");
    const char *const after = header->field == FIELD_REAL
                                  ? tamis_parse_real(start, value)
                                  : tamis_parse_integer_real(start, header->field == FIELD_INTEGER, value);
    if (!after) return tamis_text_fail(text, start, "%s", value_names[header->field]);
    tamis_note_number(target->report, start, after, *value);
    *p = after;
    return tamis_text_line_end(text, p, "the value");
}

static tamis_status read_array(const tamis_bounded_text *text, const market_header *header, array_target *target) {
    const char *p = header->body;
    const bool half = header->symmetry != GENERAL;
    const double sign = header->symmetry == SKEW ? -1 : 1;
    const int64_t columns = header->rows > 0 ? header->cols : 0; /* columns without rows have no values */
    for (int64_t column = 0; column < columns; column++) {
        for (int64_t row = half ? column : 0; row < header->rows; row++) {
            double value = 0;
            if (header->symmetry != SKEW || row != column) TRY(take_value(text, header, target, &p, &value));
            put(target, row, column, value);
            if (half && row != column) put(target, column, row, sign * value);
        }
    }
    return tamis_text_file_end(text, p, "%", "the last value");
}

/* Computes rows * columns. Refuses more values than the file can hold: a value takes two bytes, and a skew-symmetric
   file stores under half of them. */
static tamis_status array_size(const tamis_bounded_text *text, const market_header *header, int64_t *size) {
    if (__builtin_mul_overflow(header->rows, header->cols, size) || *size / 4 > (text->end - header->body) + 1)
        return tamis_text_refuse(TAMIS_ERROR_FORMAT, text, header->body,
                                 "%lld x %lld values are expected, more than the file can hold",
                                 (long long)header->rows, (long long)header->cols);
    return TAMIS_OK;
}

static tamis_status read_market_array(const tamis_bounded_text *text, tamis_type type, tamis_read_report *report,
                                      tamis_owned_dense **array) {
    market_header header;
    TRY(take_header(text, &header));
    if (!header.array)
        return tamis_text_refuse(TAMIS_ERROR_UNSUPPORTED, text, text->begin,
                                 "a sparse (coordinate) matrix, which tamis_read_sparse reads; expected an array");
    int64_t size;
    TRY(array_size(text, &header, &size));
    tamis_owned_dense *result = NULL;
    TRY(tamis_owned_dense_create(header.rows, header.cols, type, TAMIS_ROW_MAJOR, &result));
    tamis_dense dense = *tamis_owned_dense_view(result);
    dense.stride = tamis_dense_stride(&dense);
    array_target target = {.dense = &dense, .report = report};
    const tamis_status status = read_array(text, &header, &target);
    if (status != TAMIS_OK)
        tamis_owned_dense_free(result);
    else
        *array = result;
    return status;
}

static tamis_status read_array_entries(const tamis_reading *reading, const market_header *header,
                                       tamis_entries *entries) {
    int64_t size;
    TRY(array_size(&reading->text, header, &size));
    const bool wide = tamis_needs_wide(header->rows) || tamis_needs_wide(header->cols);
    TRY(tamis_entries_create(reading, size, wide, tamis_wants_values(reading), entries));
    entries->rows = header->rows;
    entries->cols = header->cols;
    array_target target = {.entries = entries, .report = reading->options.report};
    TRY(read_array(&reading->text, header, &target));
    entries->count = target.at;
    return TAMIS_OK;
}

/* ---- coordinates */

static tamis_status read_coordinates(const tamis_reading *reading, const market_header *header, tamis_line_list *list) {
    static const tamis_line_value values[] = {TAMIS_LINE_REAL, TAMIS_LINE_INTEGER, TAMIS_LINE_UNSIGNED,
                                              TAMIS_LINE_NO_VALUE};
    tamis_triangles triangles = {0};
    const tamis_line_rule rule = {.comments = "%",
                                  .separator = ' ',
                                  .base = 1,
                                  .rows = header->rows,
                                  .cols = header->cols,
                                  .row_name = "a row index",
                                  .column_name = "a column index",
                                  .value_name = value_names[header->field],
                                  .value = values[header->field],
                                  .keep_values = tamis_wants_values(reading),
                                  .no_diagonal = header->symmetry == SKEW,
                                  .triangles = header->symmetry == GENERAL ? NULL : &triangles,
                                  .count = header->count};
    const tamis_line_form form = {.rule = &rule,
                                  .body = header->body,
                                  .mirror = header->symmetry == GENERAL ? 0
                                            : header->symmetry == SKEW  ? -1
                                                                        : 1};
    const char *const name = reading->text.name;
    tamis_status status = tamis_read_line_list(reading, &form, list);
    if (status == TAMIS_OK)
        status = list->as_rows ? tamis_triangles_check_rows(&triangles, name, &list->rows)
                               : tamis_triangles_check_entries(&triangles, name, &list->entries, list->mirrored);
    tamis_triangles_free(&triangles);
    if (status == TAMIS_OK && !list->as_rows && !list->mirrored && form.mirror != 0)
        status = tamis_entries_mirror(&list->entries, form.mirror);
    return status;
}

static tamis_status read_matrix_market(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    market_header header;
    TRY(take_header(&reading->text, &header));
    tamis_line_list list = {.as_rows = false};
    TAMIS_SCOPE;
    TRY(header.array ? read_array_entries(reading, &header, &list.entries) : read_coordinates(reading, &header, &list));
    return tamis_line_list_finish(reading, &list, matrix);
}

const tamis_file_row tamis_matrix_market_file = {
    .format = TAMIS_FILE_MATRIX_MARKET,
    .signature = true,
    .lines = true,
    .name = "matrix-market",
    .endings = ".mtx .mm",
    .sniff = sniff_matrix_market,
    .read = read_matrix_market,
    .read_dense = read_market_array,
};
