/* Bags of words as lda-c reads them: a line for each document, "terms id:count id:count ...", ids counted from 0. */
#include <string.h>

#include "io/rows.h"

enum { REPORT_EVERY = 1 << 14 };

bool tamis_sniff_ldac(const tamis_text *text) {
    int64_t count = 0, ignored;
    for (const char *p = tamis_skip_comments(text, text->begin, ""); p < text->end;
         p = tamis_skip_comments(text, p, "")) {
        p = tamis_parse_index(p, &count);
        if (!p) return false;
        if (count == 0) continue; /* an empty document tells nothing */
        if (!tamis_is_blank(*p)) return false;
        p = tamis_parse_index(tamis_skip_blanks(p), &ignored);
        return p && p[0] == ':' && tamis_is_digit(p[1]);
    }
    return false;
}

/* One document: the line at *p. */
static tamis_status take_document(const tamis_text *text, const char **p, tamis_rows *list) {
    int64_t terms = 0;
    TRY(tamis_text_index(text, p, 0, TAMIS_SIZE_MOST, "a number of terms", &terms));
    for (int64_t i = 0; i < terms; i++) {
        int64_t id = 0;
        double count = 0;
        const char *const start = tamis_skip_blanks(*p);
        if (!tamis_is_blank(**p) || tamis_at_line_end(text, start))
            return tamis_text_fail(text, *p, "term %lld of %lld", (long long)i + 1, (long long)terms);
        TRY(tamis_text_index(text, p, 0, TAMIS_SIZE_MOST - 1, "a term id", &id));
        if (**p != ':') return tamis_text_fail(text, *p, "a colon after the term id");
        const char *const count_at = *p + 1;
        *p = tamis_parse_real(count_at, &count);
        if (!*p) return tamis_text_fail(text, count_at, "a count");
        if (id >= list->cols) list->cols = id + 1;
        tamis_rows_add(list, id, count);
    }
    return tamis_text_line_end(text, p, "the last term");
}

static tamis_status take_documents(const tamis_reading *reading, tamis_rows *list) {
    const tamis_text *const text = &reading->text;
    int64_t documents = 0;
    for (const char *p = tamis_skip_comments(text, text->begin, ""); p < text->end;
         p = tamis_skip_comments(text, p, "")) {
        TRY(take_document(text, &p, list));
        tamis_rows_set_offset(list, ++documents, list->count);
        if (documents % REPORT_EVERY == 0)
            TRY(tamis_progress_step(&reading->progress, (double)(p - text->begin) / (double)(text->end - text->begin),
                                    text->name));
    }
    list->rows = documents;
    return TAMIS_OK;
}

tamis_status tamis_read_ldac(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    const tamis_text *const text = &reading->text;
    int64_t lines = 1, colons = 0;
    for (const char *p = text->begin; p < text->end; p++) {
        lines += *p == '\n';
        colons += *p == ':';
    }
    tamis_rows list;
    /* an id that the result's indices cannot hold is refused with the number of columns, in the end */
    TRY(tamis_rows_create(reading, lines, colons, false, tamis_wants_values(reading), &list));
    const tamis_status status = take_documents(reading, &list);
    if (status != TAMIS_OK) {
        tamis_rows_free(&list);
        return status;
    }
    return tamis_rows_finish(reading, &list, matrix);
}
