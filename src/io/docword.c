/* UCI bags of words: three lines with the numbers of documents, words and nonzeros, then "document word count" lines,
   counted from 1. */
#include "io/format.h"
#include "io/line_rows.h"

typedef struct docword_header {
    int64_t documents, words, count;
    const char *body;
} docword_header;

static tamis_status take_header(const tamis_bounded_text *text, docword_header *header) {
    const struct {
        const char *what;
        int64_t *number;
    } lines[] = {{"a document count", &header->documents},
                 {"a word count", &header->words},
                 {"a nonzero count", &header->count}};
    const char *p = text->begin;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        TRY(tamis_text_index(text, &p, 0, TAMIS_SIZE_MOST, lines[i].what, lines[i].number));
        TRY(tamis_text_line_end(text, &p, lines[i].what));
    }
    header->body = p;
    return TAMIS_OK;
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
    TRY(take_header(&reading->text, &header));
    const tamis_line_rule rule = {.comments = "",
                                  .separator = ' ',
                                  .base = 1,
                                  .rows = header.documents,
                                  .cols = header.words,
                                  .row_name = "a document number",
                                  .column_name = "a word number",
                                  .value_name = "a count",
                                  .value = TAMIS_LINE_REAL,
                                  .keep_values = tamis_wants_values(reading),
                                  .count = header.count};
    const tamis_line_form form = {.rule = &rule, .body = header.body};
    tamis_line_list list;
    TRY(tamis_read_line_list(reading, &form, &list));
    return tamis_line_list_finish(reading, TAMIS_OK, &list, matrix);
}

const tamis_file_row tamis_docword_file = {
    .format = TAMIS_FILE_DOCWORD,
    .lines = true,
    .name = "docword",
    .endings = "*docword. .docword",
    .sniff = sniff_docword,
    .read = read_docword,
};
