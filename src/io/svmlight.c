/*
 * svmlight and libsvm: a line for each row, "label [qid:number] index:value ... # comment". The label is no part of the
 * matrix. Indices begin with 1, or with 0: an index 0 anywhere in the file decides, as in scikit-learn.
 */
#include <string.h>

#include "base/memory.h"
#include "io/format.h"
#include "io/ldac.h"
#include "io/lines.h"
#include "io/rows.h"

typedef struct svmlight_reader {
    const tamis_reading *reading;
    tamis_rows list;
    int64_t row_room, entry_room;
    int64_t least; /* index so far */
} svmlight_reader;

static bool ends_word(const tamis_bounded_text *text, const char *p) {
    return tamis_is_blank(*p) || *p == '#' || tamis_at_line_end(text, p);
}

/* "index:"; NULL for anything else. */
static const char *take_index(const char *p, int64_t *index) {
    const char *const after = tamis_parse_index(p, index);
    return after && *after == ':' ? after + 1 : NULL;
}

/* A label: a number, or some with commas between them. NULL: none. */
static const char *skip_label(const tamis_bounded_text *text, const char *p) {
    for (;;) {
        double ignored;
        p = tamis_parse_real(p, &ignored);
        if (!p || *p != ',') return p && ends_word(text, p) ? p : NULL;
        p++;
    }
}

/* Behind "qid:number" and the blanks after it, or p. */
static const char *skip_query(const char *p) {
    int64_t ignored;
    if (strncmp(p, "qid:", 4) != 0) return p;
    const char *const after = tamis_parse_integer(p + 4, &ignored);
    return after ? tamis_skip_blanks(after) : p;
}

/* ---- recognising */

/* Whether the line at p is of this format; *pairs is how many of them it has. */
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

/* lda-c has the same form, but its first number is how many pairs follow. So the first row with pairs must not be one
   of lda-c, nor may half of those in the beginning be: one wrong count makes no other format. */
static bool sniff_svmlight(const tamis_bounded_text *text) {
    enum { ROWS = 1000 };
    int64_t rows = 0, with_pairs = 0, of_ldac = 0, pairs = 0;
    const char *p = tamis_skip_comments(text, text->begin, "#");
    for (; p < text->end && rows < ROWS; p = tamis_skip_comments(text, tamis_next_line(text, p), "#"), rows++) {
        if (!is_row(text, p, &pairs)) return false;
        const bool same = tamis_ldac_count_holds(text, p);
        if (same && with_pairs == 0 && pairs > 0) return false;
        with_pairs += pairs > 0;
        of_ldac += same && pairs > 0;
    }
    return with_pairs > 0 && of_ldac * 2 < with_pairs;
}

/* ---- reading */

static tamis_status enlarge(int64_t before, int64_t count, size_t size, const char *what, void **array) {
    return *array ? tamis_reallocate(before, count, size, what, array) : TAMIS_OK;
}

/* Room for the rows and pairs of the window, and for those that are likely to come. */
static tamis_status make_room(svmlight_reader *reader) {
    const tamis_input *const input = reader->reading->input;
    tamis_rows *const list = &reader->list;
    const double share = input->ended ? 1 : tamis_input_share(input);
    int64_t rows = list->rows + 1, entries = list->count;
    for (const char *p = input->text.begin; p < input->text.end; p++) {
        rows += *p == '\n';
        entries += *p == ':';
    }
    if (rows > reader->row_room) {
        const int64_t most = tamis_guess_entries(rows, share, -1);
        TRY(enlarge(reader->row_room + 1, most + 1, tamis_index_size(list->offset_type), "the row offsets",
                    &list->offsets));
        reader->row_room = most;
    }
    if (entries <= reader->entry_room) return TAMIS_OK;
    const int64_t most = tamis_guess_entries(entries, share, -1);
    TRY(enlarge(reader->entry_room, most, tamis_index_size(list->index_type), "the column indices", &list->columns));
    TRY(enlarge(reader->entry_room, most, tamis_type_size(list->value_type), "the values", &list->values));
    reader->entry_room = most;
    return TAMIS_OK;
}

/* One row: the line at *p. */
static tamis_status take_row(svmlight_reader *reader, const char **p) {
    const tamis_bounded_text *const text = &reader->reading->input->text;
    const char *q = skip_label(text, *p);
    if (!q) return tamis_text_fail(text, *p, "a label: a number");
    for (q = skip_query(tamis_skip_blanks(q)); !tamis_at_line_end(text, q) && *q != '#'; q = tamis_skip_blanks(q)) {
        int64_t index = 0;
        double value = 0;
        const char *const value_at = take_index(q, &index);
        if (!value_at || index >= TAMIS_SIZE_MOST) return tamis_text_fail(text, q, "index:value");
        q = tamis_parse_real(value_at, &value);
        if (!q || !ends_word(text, q)) return tamis_text_fail(text, value_at, "a number after the index");
        tamis_note_number(reader->reading->options.report, value_at, q, value);
        if (index < reader->least) reader->least = index;
        if (index >= reader->list.cols) reader->list.cols = index + 1;
        tamis_rows_add(&reader->list, index, value);
    }
    *p = tamis_next_line(text, q);
    return TAMIS_OK;
}

static tamis_status take_rows(svmlight_reader *reader) {
    tamis_input *const input = reader->reading->input;
    tamis_rows *const list = &reader->list;
    const tamis_bounded_text *const text = &input->text;
    for (;;) {
        TRY(make_room(reader));
        for (const char *p = tamis_skip_comments(text, text->begin, "#"); p < text->end;
             p = tamis_skip_comments(text, p, "#")) {
            TRY(take_row(reader, &p));
            tamis_rows_set_offset(list, ++list->rows, list->count);
        }
        const double share = input->ended ? 1 : tamis_input_share(input);
        TRY(tamis_progress_step(&reader->reading->progress, share, text->name));
        if (input->ended) return TAMIS_OK;
        TRY(tamis_input_next(input));
    }
}

/* Indices that began with 1 begin with 0. */
static void count_from_zero(svmlight_reader *reader) {
    tamis_rows *const list = &reader->list;
    if (list->count == 0 || reader->least == 0) return;
    for (int64_t t = 0; t < list->count; t++)
        tamis_index_store(list->columns, list->index_type, t, tamis_index_load(list->columns, list->index_type, t) - 1);
    list->cols--;
}

static tamis_status read_svmlight(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    svmlight_reader reader = {.reading = reading, .row_room = 1, .entry_room = 1, .least = INT64_MAX};
    /* an index that the result's indices cannot hold is refused with the number of columns, in the end */
    TRY(tamis_rows_create(reading, 1, 1, false, tamis_wants_values(reading), &reader.list));
    reader.list.rows = 0;
    const tamis_status status = take_rows(&reader);
    if (reading->options.report) reading->options.report->labels = true;
    if (status == TAMIS_OK) count_from_zero(&reader);
    return tamis_rows_finish(reading, status, &reader.list, matrix);
}

const tamis_file_row tamis_svmlight_file = {
    .format = TAMIS_FILE_SVMLIGHT,
    .lines = true,
    .shape = TAMIS_SHAPE_COUNTED,
    .name = "svmlight",
    .endings = ".svm .svmlight .libsvm &.txt &.dat ?.data",
    .sniff = sniff_svmlight,
    .read = read_svmlight,
};
