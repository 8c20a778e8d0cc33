/* Lists of nonzeros, one a line, on the shortest way to rows. */
#ifndef TAMIS_IO_LINE_ROWS_H
#define TAMIS_IO_LINE_ROWS_H

#include "io/rows/rows.h"
#include "io/text/lines.h"

/* How the lines become a matrix. */
typedef struct tamis_line_form {
    const tamis_line_rule *rule;
    const char *body; /* the first line */
    bool any_ids;     /* they will be numbered anew: only entries will do */
    bool square;      /* as many columns as rows, where the rule does not say how many */
    double mirror; /* each entry off the diagonal also with row and column exchanged and the value times this; 0: no */
} tamis_line_form;

/* Either rows, whose columns are yet to be sorted, or entries, which are mirrored or not. */
typedef struct tamis_line_list {
    bool as_rows, mirrored;
    tamis_rows rows;
    tamis_entries entries;
} tamis_line_list;

tamis_status tamis_read_line_list(const tamis_reading *reading, const tamis_line_form *form, tamis_line_list *list);
/* Makes the matrix, or frees the list after an error; see tamis_rows_finish. */
tamis_status tamis_line_list_finish(const tamis_reading *reading, tamis_status status, tamis_line_list *list,
                                    tamis_owned_sparse **matrix);

#endif
