/* Bags of words as lda-c reads them: a line for each document, "terms id:count id:count ...", ids counted from 0. */
#include "base/scope.h"
#include "io/formats/format.h"
#include "io/rows/row_window.h"
#include "io/rows/rows.h"

bool tamis_ldac_count_holds(const tamis_bounded_text *text, const char *p) {
    int64_t count = 0, pairs = 0;
    const char *q = tamis_parse_index(p, &count);
    if (!q || !(tamis_is_blank(*q) || tamis_at_line_end(text, q))) return false;
    for (; !tamis_at_line_end(text, q); q++) pairs += *q == ':';
    return pairs == count;
}

/* Recognises the format by the first document that is not empty. If the document extends beyond the probe, its visible
   part must have the form. */
static bool sniff_ldac(const tamis_bounded_text *text) {
    enum { LONG_LINE = 4096 };
    int64_t count = 0, ignored;
    for (const char *p = tamis_skip_comments(text, text->begin, ""); p < text->end;
         p = tamis_skip_comments(text, p, "")) {
        const char *const line = p;
        p = tamis_parse_index(p, &count);
        if (!p) return false;
        if (count == 0 && tamis_at_line_end(text, tamis_skip_blanks(p))) continue; /* an empty document says nothing */
        if (!tamis_is_blank(*p)) return false;
        p = tamis_parse_index(tamis_skip_blanks(p), &ignored);
        if (!p || p[0] != ':' || !tamis_is_digit(p[1])) return false;
        const bool cut = text->end[-1] != '\n' && tamis_next_line(text, line) == text->end;
        return tamis_ldac_count_holds(text, line) || (cut && text->end - line > LONG_LINE);
    }
    return false;
}

/* Parses one document, the line at *p; ids must be at most id_most. */
static tamis_status take_document(const tamis_bounded_text *text, int64_t id_most, tamis_read_report *report,
                                  const char **p, tamis_rows *list) {
    int64_t terms = 0;
    TRY(tamis_text_index(text, p, 0, TAMIS_SIZE_MOST, "a number of terms", &terms));
    for (int64_t i = 0; i < terms; i++) {
        int64_t id = 0;
        double count = 0;
        const char *const start = tamis_skip_blanks(*p);
        if (!tamis_is_blank(**p) || tamis_at_line_end(text, start))
            return tamis_text_fail(text, *p, "term %lld of %lld", (long long)i + 1, (long long)terms);
        TRY(tamis_text_index(text, p, 0, id_most, "a term id", &id));
        if (**p != ':') return tamis_text_fail(text, *p, "a colon after the term id");
        const char *const count_at = *p + 1;
        *p = tamis_parse_real(count_at, &count);
        if (!*p) return tamis_text_fail(text, count_at, "a count");
        tamis_note_number(report, count_at, *p, count);
        if (id >= list->cols) list->cols = id + 1;
        tamis_rows_add(list, id, count);
    }
    return tamis_text_line_end(text, p, "the last term");
}

static tamis_status take_any_document(void *context, const tamis_bounded_text *text, const char **p, tamis_rows *list) {
    return take_document(text, TAMIS_SIZE_MOST - 1, context, p, list);
}

static tamis_status read_ldac(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    tamis_rows list;
    TAMIS_SCOPE;
    TRY(tamis_rows_read_pairs(reading, "", take_any_document, reading->options.report, &list));
    return tamis_rows_finish(reading, &list, matrix);
}

static tamis_status take_row(tamis_row_window *window, bool *ended) {
    const char *line;
    int64_t terms = 0;
    TRY(tamis_row_window_line(window, &line));
    *ended = line == NULL;
    if (*ended) return TAMIS_OK;
    const tamis_bounded_text *const text = &window->input.text;
    for (const char *p = line; p < text->end && *p != '\n'; p++) terms += *p == ':';
    TRY(tamis_row_window_reserve(window, terms));
    return take_document(text, tamis_row_window_column_most(window), NULL, &window->at, &window->list);
}

const tamis_file_row tamis_ldac_file = {
    .format = TAMIS_FILE_LDAC,
    .lines = true,
    .shape = TAMIS_SHAPE_COUNTED,
    .name = "ldac",
    .endings = ".ldac .dat",
    .sniff = sniff_ldac,
    .read = read_ldac,
    .take_row = take_row,
};
