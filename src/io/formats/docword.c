/* UCI bags of words: three lines with the numbers of documents, words and nonzeros, then "document word count" lines,
   counted from 1. */
#include "base/scope.h"
#include "io/formats/format.h"
#include "io/rows/line_rows.h"
#include "io/rows/row_window.h"

typedef struct docword_header {
    int64_t documents, words, count;
    const char *body;
} docword_header;

/* Parses the three lines; the number of words must be words_least to words_most. */
static tamis_status take_header(const tamis_bounded_text *text, int64_t words_least, int64_t words_most,
                                docword_header *header) {
    const struct {
        const char *what;
        int64_t least, most, *number;
    } lines[] = {{"a document count", 0, TAMIS_SIZE_MOST, &header->documents},
                 {"a word count", words_least, words_most, &header->words},
                 {"a nonzero count", 0, TAMIS_SIZE_MOST, &header->count}};
    const char *p = text->begin;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        TRY(tamis_text_index(text, &p, lines[i].least, lines[i].most, lines[i].what, lines[i].number));
        TRY(tamis_text_line_end(text, &p, lines[i].what));
    }
    header->body = p;
    return TAMIS_OK;
}

static tamis_line_rule rule_of(int64_t documents, int64_t words, int64_t count, bool keep_values) {
    return (tamis_line_rule){.comments = "",
                             .separator = ' ',
                             .base = 1,
                             .rows = documents,
                             .cols = words,
                             .row_name = "a document number",
                             .column_name = "a word number",
                             .value_name = "a count",
                             .value = TAMIS_LINE_REAL,
                             .keep_values = keep_values,
                             .count = count};
}

static bool sniff_docword(const tamis_bounded_text *text) {
    const char *p = text->begin;
    int64_t ignored;
    for (int i = 0; i < 3; i++) {
        p = tamis_parse_index(tamis_skip_blanks(p), &ignored);
        if (!p) return false;
        p = tamis_skip_blanks(p);
        if (!tamis_at_line_end(text, p)) return false;
        if (p < text->end) p++;
    }
    return true;
}

static tamis_status read_docword(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    docword_header header;
    TRY(take_header(&reading->text, 0, TAMIS_SIZE_MOST, &header));
    const tamis_line_rule rule = rule_of(header.documents, header.words, header.count, tamis_wants_values(reading));
    const tamis_line_form form = {.rule = &rule, .body = header.body};
    tamis_line_list list;
    TAMIS_SCOPE;
    TRY(tamis_read_line_list(reading, &form, &list));
    return tamis_line_list_finish(reading, &list, matrix);
}

/* ------------------------------------------------------------------------------------------ in batches */

static tamis_status begin_rows(tamis_row_window *window) {
    docword_header header;
    const int64_t words = window->cols; /* from an earlier pass: must not change */
    TRY(take_header(&window->input.text, words >= 0 ? words : 0, words >= 0 ? words : (int64_t)INT32_MAX + 1, &header));
    window->at = header.body;
    window->stated_rows = header.documents;
    window->stated_count = header.count;
    window->cols = header.words;
    return TAMIS_OK;
}

/* Refuses fewer or more entries than the header states. */
static tamis_status check_end(tamis_row_window *window, const char *line) {
    const long long count = window->stated_count;
    const char *const at = line ? line : window->input.text.end;
    if (window->taken < count && !line)
        return tamis_text_fail(&window->input.text, at, "entry %lld of %lld", (long long)window->taken + 1, count);
    if (window->taken == count && line)
        return tamis_text_fail(&window->input.text, at, "the end of the file after entry %lld, the last", count);
    return TAMIS_OK;
}

/* Parses the entry at `line` if it belongs to the current row; else stores its row in window->ahead. */
static tamis_status take_entry(tamis_row_window *window, const char *line) {
    const tamis_bounded_text *const text = &window->input.text;
    const tamis_line_rule rule = rule_of(window->stated_rows, window->cols, window->stated_count, true);
    const tamis_rows *const list = &window->list;
    tamis_line_entry entry;
    const char *next = line;
    TRY(tamis_read_line(&rule, text, &next, &entry));
    if (entry.row < window->next)
        return tamis_text_fail(text, line, "a document number in non-decreasing order from %lld to %lld",
                               (long long)window->next + 1, (long long)window->stated_rows);
    window->ahead = entry.row;
    if (entry.row > window->next) return TAMIS_OK;
    const int64_t begin = tamis_rows_offset(list, list->rows);
    TRY(tamis_row_window_reserve(window, 1));
    window->falls |= list->count > begin && entry.column < tamis_index_load(list->columns, TAMIS_I32, list->count - 1);
    tamis_rows_add(&window->list, entry.column, entry.value);
    window->at = next;
    window->taken++;
    return TAMIS_OK;
}

static tamis_status take_row(tamis_row_window *window, bool *ended) {
    *ended = window->next == window->stated_rows;
    while (window->ahead <= window->next) {
        const char *line;
        TRY(tamis_row_window_line(window, &line));
        TRY(check_end(window, line));
        if (!line) return TAMIS_OK;
        TRY(take_entry(window, line));
    }
    return TAMIS_OK;
}

const tamis_file_row tamis_docword_file = {
    .format = TAMIS_FILE_DOCWORD,
    .lines = true,
    .name = "docword",
    .endings = "*docword. .docword",
    .sniff = sniff_docword,
    .read = read_docword,
    .begin_rows = begin_rows,
    .take_row = take_row,
};
