/* The columns of a list of ratings or edges: its separator, titles and the columns' roles. */
#ifndef TAMIS_IO_COLUMNS_H
#define TAMIS_IO_COLUMNS_H

#include <tamis/matrix.h>

#include "io/text/fields.h"

enum { TAMIS_ROLE_USER = 0, TAMIS_ROLE_ITEM, TAMIS_ROLE_RATING, TAMIS_ROLE_TIME, TAMIS_ROLES };

typedef struct tamis_columns {
    int at[TAMIS_ROLES]; /* column of each role, from 0; -1: none */
    int needed;          /* the fewest fields of a line */
    int most;            /* the most fields of a line; 0: any number */
    bool named;          /* the caller named the columns: every line must have them */
    bool known;          /* the caller or titles named them */
    bool graph;          /* and they name the ends of edges: from and to, source and target */
} tamis_columns;

typedef struct tamis_list_form {
    tamis_field_form fields;
    tamis_columns columns;
    const char *titles; /* the line of titles, NULL for none */
    const char *first;  /* the first line of data */
    int titled;         /* number of titles recognised; 0: none, or the caller said that the line has titles */
    int64_t comments;   /* lines before it */
    bool lists;         /* each line has a user and any number of items */
} tamis_list_form;

/* Request for tamis_list_find. */
typedef struct tamis_list_request {
    bool ended;          /* the text is the whole file */
    bool header;         /* its first line has titles */
    bool integers;       /* ids are integers: a field that is not an integer is a title */
    const char *columns; /* tamis_ratings_options.columns, or NULL */
} tamis_list_request;

/* Finds the form of a list by its content. Columns are as requested; else by titles that are known names of a user and
   an item; else in the order user, item, rating, time. Ambiguous files are errors, whose message says what to write. */
TAMIS_PRIVATE_API tamis_status tamis_list_find(const tamis_bounded_text *text, const tamis_list_request *request,
                                               tamis_list_form *form);

/* Refuses a line with too few fields, or with more than the titles or the first line of data have, since its columns
   are then unknown. */
TAMIS_PRIVATE_API tamis_status tamis_list_check_width(const tamis_bounded_text *text, const tamis_list_form *form,
                                                      const char *line);

/* Writes one line that says what the columns are: "ratings: user = column 2 'userId', item = column 3 'movieId'; 1 line
   of titles". graph: "edges: from = column 1, to = column 2". text: the window with the titles. */
TAMIS_PRIVATE_API void tamis_list_describe(const tamis_bounded_text *text, const tamis_list_form *form, bool graph,
                                           char described[TAMIS_FOUND_BYTES]);

#endif
