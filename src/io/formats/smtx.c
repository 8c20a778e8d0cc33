/* The pattern files of the Deep Learning Matrix Collection: line 1 "rows, columns, nonzeros", line 2 the rows + 1 row
   offsets, line 3 the column indices, counted from 0. */
#include "base/scope.h"
#include "io/formats/format.h"
#include "io/rows/rows.h"

typedef struct smtx_header {
    int64_t rows, cols, nnz;
    const char *body;
} smtx_header;

enum { REPORT_EVERY = 1 << 20 };

static const char comments[] = "%#"; /* before line 1 */

static tamis_status take_comma(const tamis_bounded_text *text, const char **p) {
    const char *const start = tamis_skip_blanks(*p);
    if (*start != ',') return tamis_text_fail(text, start, "a comma");
    *p = start + 1;
    return TAMIS_OK;
}

static tamis_status take_header(const tamis_bounded_text *text, smtx_header *header) {
    const char *p = tamis_skip_comments(text, text->begin, comments);
    TRY(tamis_text_index(text, &p, 0, TAMIS_SIZE_MOST, "a row count", &header->rows));
    TRY(take_comma(text, &p));
    TRY(tamis_text_index(text, &p, 0, TAMIS_SIZE_MOST, "a column count", &header->cols));
    TRY(take_comma(text, &p));
    const char *const nnz_at = p;
    TRY(tamis_text_index(text, &p, 0, TAMIS_SIZE_MOST, "a nonzero count", &header->nnz));
    TRY(tamis_text_line_end(text, &p, "rows, columns, nonzeros"));
    header->body = p;
    const int64_t room = (text->end - p + 1) / 2; /* a digit and a blank each */
    if (header->rows > room || header->nnz > room)
        return tamis_text_refuse(TAMIS_ERROR_FORMAT, text, nnz_at,
                                 "%lld rows and %lld nonzeros are more than the file can hold", (long long)header->rows,
                                 (long long)header->nnz);
    return TAMIS_OK;
}

static bool sniff_smtx(const tamis_bounded_text *text) {
    const char *p = tamis_skip_comments(text, text->begin, comments);
    int64_t ignored;
    for (int i = 0; i < 3; i++) {
        p = tamis_parse_index(tamis_skip_blanks(p), &ignored);
        if (!p) return false;
        p = tamis_skip_blanks(p);
        if (i < 2 && *p++ != ',') return false;
    }
    if (*p != '\n') return false;
    p = tamis_parse_index(tamis_skip_blanks(p + 1), &ignored); /* offsets begin with 0 and have no commas */
    return p && ignored == 0 && *p != ',';
}

static tamis_status take_lists(const tamis_reading *reading, const smtx_header *header, tamis_rows *list) {
    const tamis_bounded_text *const text = &reading->text;
    const char *p = header->body;
    int64_t number = 0;
    for (int64_t row = 0; row <= header->rows; row++) {
        TRY(tamis_text_index(text, &p, number, row == 0 ? 0 : header->nnz, "a row offset", &number));
        tamis_rows_set_offset(list, row, number);
    }
    if (number != header->nnz)
        return tamis_text_refuse(TAMIS_ERROR_FORMAT, text, p - 1, "the last row offset is %lld, expected %lld",
                                 (long long)number, (long long)header->nnz);
    TRY(tamis_text_line_end(text, &p, "the row offsets"));
    for (int64_t t = 0; t < header->nnz; t++) {
        TRY(tamis_text_index(text, &p, 0, header->cols - 1, "a column index", &number));
        tamis_rows_add(list, number, 1);
        if (t % REPORT_EVERY == 0)
            TRY(tamis_progress_step(&reading->progress, (double)t / (double)header->nnz, text->name));
    }
    return tamis_text_file_end(text, p, "", "the last column index");
}

static tamis_status read_smtx(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    smtx_header header;
    TRY(take_header(&reading->text, &header));
    tamis_rows list;
    TAMIS_SCOPE;
    TRY(tamis_rows_create(reading, header.rows, header.nnz, tamis_needs_wide(header.cols), false, &list));
    list.cols = header.cols;
    TRY(take_lists(reading, &header, &list));
    return tamis_rows_finish(reading, &list, matrix);
}

const tamis_file_row tamis_smtx_file = {
    .format = TAMIS_FILE_SMTX,
    .name = "smtx",
    .endings = ".smtx",
    .sniff = sniff_smtx,
    .read = read_smtx,
};
