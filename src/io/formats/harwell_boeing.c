/*
 * Harwell-Boeing and Rutherford-Boeing: assembled real, integer or pattern matrices by compressed columns.
 *   line 1  title, key
 *   line 2  lines in all, of column pointers, of row indices, of values (Harwell-Boeing: and of right-hand sides)
 *   line 3  type, rows, columns, entries
 *   line 4  Fortran formats of pointers (columns 1-16), indices (17-32) and values (33-52)
 *   then, with right-hand sides, a line about them; the pointers; the indices; the values. Right-hand sides follow and
 *   are not read.
 * The type is three letters: r i p (c q refused); s u r z (h refused): symmetric and z, skew-symmetric, store the lower
 * triangle; a (e, elemental, refused).
 */
#include <string.h>

#include "base/scope.h"
#include "io/formats/format.h"
#include "io/formats/fortran.h"
#include "io/formats/triangles.h"
#include "io/rows/entries.h"

typedef struct boeing_header {
    int64_t rows, cols, count;
    bool pattern, symmetric, skew;
    const char *sizes_at, *formats_at, *body; /* in the first window */
    int64_t formats_length;
} boeing_header;

enum { CARD_COUNTS = 5, FORMATS = 3, SIZES_LINE = 3, HEADER_LINES = 5 };

typedef tamis_fortran_format boeing_formats[FORMATS];

static char lower(char c) { return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c); }

static bool one_of(char c, const char *set) { return c != '\0' && strchr(set, c) != NULL; }

/* Splits lines 2 and 3 at blanks: only numbers with 14 digits would fill their columns. */
static int take_integers(const tamis_bounded_text *text, const char *p, int64_t *numbers, int most) {
    int count = 0;
    for (p = tamis_skip_blanks(p); count < most && !tamis_at_line_end(text, p); p = tamis_skip_blanks(p)) {
        p = tamis_parse_integer(p, &numbers[count]);
        if (!p || !(tamis_is_blank(*p) || tamis_at_line_end(text, p))) return -1;
        count++;
    }
    return count;
}

static bool sniff_harwell_boeing(const tamis_bounded_text *text) {
    const char *const second = tamis_next_line(text, text->begin), *const third = tamis_next_line(text, second);
    int64_t numbers[CARD_COUNTS];
    if (second >= text->end || take_integers(text, second, numbers, CARD_COUNTS) < 4 || text->end - third < 4)
        return false;
    return one_of(lower(third[0]), "rcpiq") && one_of(lower(third[1]), "surzh") && one_of(lower(third[2]), "ae") &&
           tamis_is_blank(third[3]);
}

static tamis_status take_type(const tamis_bounded_text *text, const char *p, boeing_header *header) {
    const char field = lower(p[0]), shape = lower(p[1]), storage = lower(p[2]);
    if (text->end - p < 3 || !one_of(field, "rpicq") || !one_of(shape, "surzh") || !one_of(storage, "ae"))
        return tamis_text_fail(text, p, "a matrix type such as RSA, RUA or PSA");
    if (field == 'c' || shape == 'h')
        return tamis_text_refuse(TAMIS_ERROR_UNSUPPORTED, text, p,
                                 "complex and Hermitian matrices are not supported; expected real, integer or pattern");
    if (storage == 'e')
        return tamis_text_refuse(
            TAMIS_ERROR_UNSUPPORTED, text, p,
            "elemental matrices are not supported; expected an assembled one (the type ends in A)");
    header->pattern = field == 'p' || field == 'q'; /* q: the values are in another file */
    header->symmetric = shape == 's' || shape == 'z';
    header->skew = shape == 'z';
    if (header->pattern && header->skew) return tamis_text_fail(text, p, "a type other than a skew-symmetric pattern");
    return TAMIS_OK;
}

static tamis_status take_header(const tamis_input *input, boeing_header *header) {
    const tamis_bounded_text *const text = &input->text;
    *header = (boeing_header){0};
    const char *const second = tamis_next_line(text, text->begin), *const third = tamis_next_line(text, second);
    int64_t cards[CARD_COUNTS] = {0}, sizes[4] = {0};
    const int counts = take_integers(text, second, cards, CARD_COUNTS);
    if (counts < 4)
        return tamis_text_fail(text, second, "four or five line counts (Harwell-Boeing or Rutherford-Boeing)");
    TRY(take_type(text, third, header));
    header->sizes_at = tamis_skip_blanks(third + 3);
    if (take_integers(text, third + 3, sizes, 4) < 3)
        return tamis_text_fail(text, third + 3, "rows, columns and entries");
    for (int i = 0; i < 3; i++)
        if (sizes[i] < 0 || sizes[i] > TAMIS_SIZE_MOST)
            return tamis_text_fail(text, header->sizes_at, "rows, columns and entries of 0 or more");
    header->rows = sizes[0];
    header->cols = sizes[1];
    header->count = sizes[2];
    if (header->symmetric && header->rows != header->cols)
        return tamis_text_refuse(TAMIS_ERROR_FORMAT, text, header->sizes_at,
                                 "%lld rows and %lld columns, but a symmetric matrix is square",
                                 (long long)header->rows, (long long)header->cols);
    header->formats_at = tamis_next_line(text, third);
    const char *const after = tamis_next_line(text, header->formats_at);
    header->formats_length = after - header->formats_at;
    header->body = cards[4] > 0 ? tamis_next_line(text, after) : after;
    const int64_t room = tamis_input_room(input, header->body); /* at least one character each */
    if (header->cols >= room + 1 || header->count > room)
        return tamis_text_refuse(TAMIS_ERROR_FORMAT, text, header->sizes_at,
                                 "%lld columns and %lld entries are more than the file can hold",
                                 (long long)header->cols, (long long)header->count);
    return TAMIS_OK;
}

/* Parses the formats of pointers and indices, and of values if requested: each has 16 columns, the last 20. */
static tamis_status take_formats(const tamis_bounded_text *text, const boeing_header *header, bool values,
                                 boeing_formats formats) {
    static const char *const what[FORMATS] = {"the column pointers", "the row indices", "the values"};
    int64_t length = header->formats_length;
    while (length > 0 && header->formats_at[length - 1] == '\n') length--;
    for (int i = 0; i < (values ? FORMATS : FORMATS - 1); i++) {
        const int64_t start = i * 16, width = i == 2 ? 20 : 16;
        const int64_t from = start < length ? start : length, to = start + width < length ? start + width : length;
        TRY(tamis_fortran_parse(text, header->formats_at + from, to - from, what[i], &formats[i]));
    }
    return TAMIS_OK;
}

/* Expands column pointers to a column for each entry; the entries keep their order. */
static tamis_status take_columns(tamis_input *input, const boeing_header *header, const tamis_fortran_format *format,
                                 const char **line, const tamis_entries *entries) {
    tamis_fortran_cursor cursor = tamis_fortran_start(input, format, *line, header->cols + 1);
    int64_t pointer = 1, next = 0;
    TRY(tamis_fortran_integer(&cursor, 1, 1, "the first column pointer", &pointer));
    for (int64_t column = 0; column < header->cols; column++) {
        const bool last = column + 1 == header->cols;
        TRY(tamis_fortran_integer(&cursor, last ? header->count + 1 : pointer, header->count + 1,
                                  last ? "the last column pointer" : "a column pointer", &next));
        for (int64_t t = pointer - 1; t < next - 1; t++)
            tamis_index_store(entries->columns, entries->index_type, t, column);
        pointer = next;
    }
    if (pointer != header->count + 1)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s:%d: no columns for %lld entries", input->text.name, SIZES_LINE,
                          (long long)header->count);
    *line = tamis_fortran_next_line(&cursor);
    return TAMIS_OK;
}

static tamis_status take_rows(tamis_input *input, const boeing_header *header, const tamis_fortran_format *format,
                              const char **line, tamis_triangles *triangles, const tamis_entries *entries) {
    tamis_fortran_cursor cursor = tamis_fortran_start(input, format, *line, header->count);
    int64_t row = 0;
    for (int64_t t = 0; t < header->count; t++) {
        TRY(tamis_fortran_integer(&cursor, 1, header->rows, "a row index", &row));
        if (header->skew && row - 1 == tamis_index_load(entries->columns, entries->index_type, t))
            return tamis_text_refuse(TAMIS_ERROR_FORMAT, &input->text, cursor.line,
                                     "an entry on the diagonal of a skew-symmetric matrix; expected one below it");
        tamis_index_store(entries->row_indices, entries->index_type, t, row - 1);
        if (header->symmetric)
            TRY(tamis_triangles_note(triangles, &input->text, cursor.line, row - 1,
                                     tamis_index_load(entries->columns, entries->index_type, t)));
    }
    *line = tamis_fortran_next_line(&cursor);
    return TAMIS_OK;
}

static tamis_status take_values(const tamis_reading *reading, const boeing_header *header,
                                const tamis_fortran_format *format, const char *line, const tamis_entries *entries) {
    tamis_fortran_cursor cursor = tamis_fortran_start(reading->input, format, line, header->count);
    double value = 0;
    for (int64_t t = 0; t < header->count; t++) {
        TRY(tamis_fortran_real(&cursor, "a number", &value));
        tamis_element_store(entries->values, entries->value_type, t, value);
    }
    if (reading->options.report) reading->options.report->inexact = cursor.inexact;
    return TAMIS_OK;
}

static tamis_status take_body(const tamis_reading *reading, const boeing_header *header, tamis_entries *entries) {
    tamis_input *const input = reading->input;
    const char *const name = input->text.name;
    const char *line = header->body;
    boeing_formats formats;
    tamis_triangles triangles = {0};
    TRY(take_formats(&input->text, header, entries->values != NULL, formats));
    TRY(take_columns(input, header, &formats[0], &line, entries));
    TRY(tamis_progress_step(&reading->progress, 0.2, name));
    entries->count = header->count;
    tamis_status status = take_rows(input, header, &formats[1], &line, &triangles, entries);
    if (status == TAMIS_OK) status = tamis_triangles_check_entries(&triangles, name, entries, false);
    tamis_triangles_free(&triangles);
    TRY(status);
    TRY(tamis_progress_step(&reading->progress, 0.5, name));
    if (entries->values) TRY(take_values(reading, header, &formats[2], line, entries));
    entries->rows = header->rows;
    entries->cols = header->cols;
    return header->symmetric ? tamis_entries_mirror(entries, header->skew ? -1 : 1) : TAMIS_OK;
}

/* Ensures that the header is in the window; if it is larger, reads the whole file. */
static tamis_status hold_header(tamis_input *input) {
    const char *p = input->text.begin;
    for (int i = 0; i < HEADER_LINES; i++) p = tamis_next_line(&input->text, p);
    return p < input->text.end ? TAMIS_OK : tamis_input_rest(input);
}

static tamis_status read_harwell_boeing(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    boeing_header header;
    tamis_entries entries;
    TAMIS_SCOPE;
    TRY(hold_header(reading->input));
    TRY(take_header(reading->input, &header));
    const bool wide = tamis_needs_wide(header.rows) || tamis_needs_wide(header.cols);
    TRY(tamis_entries_create(reading, header.count, wide, !header.pattern && tamis_wants_values(reading), &entries));
    TRY(take_body(reading, &header, &entries));
    return tamis_entries_finish(reading, &entries, matrix);
}

const tamis_file_row tamis_harwell_boeing_file = {
    .format = TAMIS_FILE_HARWELL_BOEING,
    .lines = true,
    .name = "harwell-boeing",
    .endings = ".rsa .rua .rra .rza .psa .pua .pra .hb .rb",
    .sniff = sniff_harwell_boeing,
    .read = read_harwell_boeing,
};
