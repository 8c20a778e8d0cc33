/* Reads lists of nonzeros, one per line, and converts them to rows by the cheapest way. */
#ifndef TAMIS_IO_LINE_ROWS_H
#define TAMIS_IO_LINE_ROWS_H

#include "io/rows/rows.h"
#include "io/text/lines.h"

/* How the lines become a matrix. */
typedef struct tamis_line_form {
    const tamis_line_rule *rule;
    const char *body; /* the first line */
    bool any_ids;     /* ids will be renumbered, which needs entries */
    bool square;      /* as many columns as rows, if the rule does not give them */
    double mirror;    /* not 0: off-diagonal entries are mirrored, with the value times this */
} tamis_line_form;

/* Either rows with unsorted columns, or entries. */
typedef struct tamis_line_list {
    bool as_rows, mirrored;
    tamis_rows rows;
    tamis_entries entries;
} tamis_line_list;

/* Reads into a list that the scope owns (base/scope.h). */
tamis_status tamis_read_line_list(const tamis_reading *reading, const tamis_line_form *form, tamis_line_list *list);
/* Makes the matrix; see tamis_rows_finish. */
tamis_status tamis_line_list_finish(const tamis_reading *reading, tamis_line_list *list, tamis_owned_sparse **matrix);

#endif
