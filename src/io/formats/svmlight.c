/*
 * svmlight and libsvm: a line for each row, "[label] [qid:number] index:value ... # comment". The label is no part of
 * the matrix. Indices begin with 1, or with 0: an index 0 anywhere in the file decides, as in scikit-learn, unless the
 * format says so. The files of the Extreme Classification Repository begin with a line "rows columns labels", and their
 * indices with 0.
 */
#include <string.h>

#include "base/scope.h"
#include "io/formats/format.h"
#include "io/rows/rows.h"

typedef struct svmlight_reader {
    tamis_read_report *report;
    int64_t least; /* least index so far, or 0 if indices are known to begin with 0 */
    int64_t labelled;
    bool begun;
    bool stated; /* the file begins with its sizes: */
    int64_t rows, cols;
} svmlight_reader;

static bool ends_word(const tamis_bounded_text *text, const char *p) {
    return tamis_is_blank(*p) || *p == '#' || tamis_at_line_end(text, p);
}

/* Parses "index:"; NULL for anything else. */
static const char *take_index(const char *p, int64_t *index) {
    const char *const after = tamis_parse_index(p, index);
    return after && *after == ':' ? after + 1 : NULL;
}

/* Parses a line of three integers, the sizes in Extreme Classification files; NULL for any other line. */
static const char *take_sizes(const tamis_bounded_text *text, const char *p, int64_t *rows, int64_t *cols) {
    int64_t labels;
    int64_t *const sizes[] = {rows, cols, &labels};
    for (int i = 0; i < 3; i++) {
        p = tamis_parse_index(p, sizes[i]);
        if (!p || *sizes[i] > TAMIS_SIZE_MOST || !(tamis_is_blank(*p) || tamis_at_line_end(text, p))) return NULL;
        p = tamis_skip_blanks(p);
    }
    return tamis_at_line_end(text, p) ? tamis_next_line(text, p) : NULL;
}

/* Skips labels: numbers separated by commas; a row that begins with a pair has none. NULL: not a label. */
static const char *skip_label(const tamis_bounded_text *text, const char *p) {
    int64_t index;
    if (take_index(p, &index)) return p;
    for (;;) {
        double ignored;
        p = tamis_parse_real(p, &ignored);
        if (!p || *p != ',') return p && ends_word(text, p) ? p : NULL;
        p++;
    }
}

/* Skips "qid:number" and the blanks after it. */
static const char *skip_query(const char *p) {
    int64_t ignored;
    if (strncmp(p, "qid:", 4) != 0) return p;
    const char *const after = tamis_parse_integer(p + 4, &ignored);
    return after ? tamis_skip_blanks(after) : p;
}

/* ---- recognising */

/* Returns true if the line at p is in this format; *pairs is the number of its "index:value" pairs. */
static bool is_row(const tamis_bounded_text *text, const char *p, int64_t *pairs) {
    const char *q = skip_label(text, p);
    *pairs = 0;
    if (!q) return false;
    for (q = skip_query(tamis_skip_blanks(q)); !tamis_at_line_end(text, q) && *q != '#'; q = tamis_skip_blanks(q)) {
        int64_t index;
        double value;
        q = take_index(q, &index);
        q = q ? tamis_parse_real(q, &value) : NULL;
        if (!q || !ends_word(text, q)) return false;
        ++*pairs;
    }
    return true;
}

/* Recognises the format. lda-c has the same form, but its first number is the number of pairs. So the first row with
   pairs must not have that property, nor may half of the first rows have it: one wrong count does not make an lda-c
   file svmlight. */
static bool sniff_svmlight(const tamis_bounded_text *text) {
    enum { ROWS = 1000 };
    int64_t rows = 0, with_pairs = 0, of_ldac = 0, pairs = 0;
    const char *p = tamis_skip_comments(text, text->begin, "#");
    int64_t ignored[2];
    const char *const behind = take_sizes(text, p, &ignored[0], &ignored[1]);
    if (behind) p = tamis_skip_comments(text, behind, "#");
    for (; p < text->end && rows < ROWS; p = tamis_skip_comments(text, tamis_next_line(text, p), "#"), rows++) {
        if (!is_row(text, p, &pairs)) return false;
        const bool same = tamis_ldac_count_holds(text, p);
        if (same && with_pairs == 0 && pairs > 0 && !behind) return false;
        with_pairs += pairs > 0;
        of_ldac += same && pairs > 0;
    }
    return with_pairs > 0 && (behind || of_ldac * 2 < with_pairs);
}

/* ---- reading */

/* Parses one row: the line at *p. */
static tamis_status take_row(void *context, const tamis_bounded_text *text, const char **p, tamis_rows *list) {
    svmlight_reader *const reader = context;
    if (!reader->begun) {
        const char *const behind = take_sizes(text, *p, &reader->rows, &reader->cols);
        reader->begun = true;
        reader->stated = behind != NULL;
        if (behind) *p = tamis_skip_comments(text, behind, "#");
        if (reader->stated) list->cols = reader->cols;
    }
    const char *q = skip_label(text, *p);
    if (!q) return tamis_text_fail(text, *p, "a label: a number");
    reader->labelled += q > *p;
    for (q = skip_query(tamis_skip_blanks(q)); !tamis_at_line_end(text, q) && *q != '#'; q = tamis_skip_blanks(q)) {
        int64_t index = 0;
        double value = 0;
        const char *const value_at = take_index(q, &index);
        if (!value_at || index >= TAMIS_SIZE_MOST) return tamis_text_fail(text, q, "index:value");
        q = tamis_parse_real(value_at, &value);
        if (!q || !ends_word(text, q)) return tamis_text_fail(text, value_at, "a number after the index");
        if (reader->stated && index >= reader->cols)
            return tamis_text_fail(text, value_at - 1, "an index from 0 to %lld, as the first line says",
                                   (long long)reader->cols - 1);
        tamis_note_number(reader->report, value_at, q, value);
        if (index < reader->least) reader->least = index;
        if (index >= list->cols) list->cols = index + 1;
        tamis_rows_add(list, index, value);
    }
    *p = tamis_next_line(text, q);
    return TAMIS_OK;
}

/* Shifts indices to begin with 0. */
static void count_from_zero(int64_t least, tamis_rows *list) {
    if (list->count == 0 || least == 0) return;
    for (int64_t t = 0; t < list->count; t++)
        tamis_index_store(list->columns, list->index_type, t, tamis_index_load(list->columns, list->index_type, t) - 1);
    list->cols--;
}

static tamis_status read_from(const tamis_reading *reading, int64_t least, tamis_owned_sparse **matrix) {
    svmlight_reader reader = {.report = reading->options.report, .least = least};
    tamis_rows list;
    TAMIS_SCOPE;
    if (reader.report) reader.report->labels = true;
    TRY(tamis_rows_read_pairs(reading, "#", take_row, &reader, &list));
    if (reader.report) reader.report->labels = reader.labelled > 0 || list.rows == 0;
    if (!reader.stated)
        count_from_zero(reader.least, &list);
    else if (list.rows != reader.rows)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: %lld rows, expected %lld, as the first line says",
                          reading->text.name, (long long)list.rows, (long long)reader.rows);
    return tamis_rows_finish(reading, &list, matrix);
}

static tamis_status read_svmlight(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    return read_from(reading, INT64_MAX, matrix);
}

static tamis_status read_zero_based(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    return read_from(reading, 0, matrix);
}

/* Content cannot distinguish this format from the other svmlight format, so it is only used on request. */
static bool sniff_nothing(const tamis_bounded_text *text) {
    (void)text;
    return false;
}

const tamis_file_row tamis_svmlight_zero_file = {
    .format = TAMIS_FILE_SVMLIGHT_ZERO_BASED,
    .lines = true,
    .shape = TAMIS_SHAPE_COUNTED,
    .name = "svmlight-zero-based",
    .endings = "",
    .sniff = sniff_nothing,
    .read = read_zero_based,
};

const tamis_file_row tamis_svmlight_file = {
    .format = TAMIS_FILE_SVMLIGHT,
    .lines = true,
    .shape = TAMIS_SHAPE_COUNTED,
    .name = "svmlight",
    .endings = ".svm .svmlight .libsvm &.txt &.dat ?.data",
    .sniff = sniff_svmlight,
    .read = read_svmlight,
};
