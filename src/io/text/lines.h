/* Parallel parser of formats with one nonzero per line. */
#ifndef TAMIS_IO_LINES_H
#define TAMIS_IO_LINES_H

#include "io/formats/triangles.h"
#include "io/rows/entries.h"
#include "io/text/columns.h"

typedef enum tamis_line_value {
    TAMIS_LINE_NO_VALUE = 0,
    TAMIS_LINE_REAL,
    TAMIS_LINE_INTEGER,
    TAMIS_LINE_UNSIGNED
} tamis_line_value;

/* Parses an id, an integer with an optional sign. Leading zeros are refused, as 007 may differ from 7. */
static inline const char *tamis_parse_id(const char *p, int64_t *id) {
    if (*p < '1') {
        if (*p == '+') p++;
        if (*p == '0' && tamis_is_digit(p[1])) return NULL;
    }
    return tamis_parse_index(p, id);
}

/* Totals over all lines. */
typedef struct tamis_line_facts {
    int64_t comments;              /* comment lines */
    int64_t entries;               /* without mirrored ones */
    int64_t row_most, column_most; /* the largest indices, from 0 */
} tamis_line_facts;

typedef struct tamis_line_rule {
    const char *comments; /* characters that begin a comment line */
    char separator;     /* between fields, with optional blanks: ' ' only blanks, ':' means "::", else that character */
    int64_t base;       /* index of the first row and column */
    int64_t rows, cols; /* indices go from base to base + rows - 1; INT64_MAX: any index */
    const char *row_name, *column_name, *value_name; /* with their article: "a row index" */
    tamis_line_value value;
    bool keep_values;
    bool no_diagonal;               /* skew-symmetric matrices */
    tamis_triangles *triangles;     /* symmetric matrices: records candidates for duplicates in both; else NULL */
    bool names;                     /* an id that is not an integer may be a name, which is reported */
    int skipped;                    /* numbers between the indices and the value, read past */
    int extra;                      /* further numbers in a line, read past */
    int64_t count;                  /* required number of entries; -1: any */
    bool ids;                       /* indices are ids: tamis_parse_id */
    bool comma;                     /* a value may have a decimal comma */
    const tamis_field_form *marked; /* fields of a list in which a line that begins like a comment may be an entry */
    const tamis_list_form
        *form; /* a list with columns in any order; replaces separator, skipped and extra; NULL: the usual order */
    const tamis_list_form *list; /* a list: for errors about lines with too many or too few fields; else NULL */
    bool open;                   /* anything may follow the last number and a separator */
    tamis_line_facts *facts;     /* filled in; NULL: not wanted */
} tamis_line_rule;

/* Parses the lines from `body` to the end of the file. The entries are in file order. rows and cols are set to the
   rule's, or to the largest index + 1 if any index is allowed. */
tamis_status tamis_read_lines(const tamis_reading *reading, const tamis_line_rule *rule, const char *body,
                              tamis_entries *entries);

/* Reads window by window. The entries given to `take` are valid until it returns; rows and cols cover all windows so
   far. share: the part of the file read so far, 0 to 1. An error of `take` ends the reading. */
typedef tamis_status tamis_window_taker(void *context, const tamis_entries *window, double share);
tamis_status tamis_read_windows(const tamis_reading *reading, const tamis_line_rule *rule, const char *body,
                                tamis_window_taker *take, void *context);

/* An entry of one line. */
typedef struct tamis_line_entry {
    int64_t row, column; /* from 0 */
    double value;
} tamis_line_entry;
/* Parses the line at *p, which must not be blank, and moves *p behind it. */
tamis_status tamis_read_line(const tamis_line_rule *rule, const tamis_bounded_text *text, const char **p,
                             tamis_line_entry *entry);

#endif
