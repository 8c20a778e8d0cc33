/* The interface of a file format: a table of functions and properties, defined at the end of the format's file. */
#ifndef TAMIS_IO_FORMAT_H
#define TAMIS_IO_FORMAT_H

#include "io/reading.h"

/* How the size of the matrix follows from the file. */
typedef enum tamis_file_shape {
    TAMIS_SHAPE_STATED = 0, /* it states its size */
    TAMIS_SHAPE_COUNTED,    /* its largest index says how large it is */
    TAMIS_SHAPE_IDS         /* it lists pairs of ids, which may be names */
} tamis_file_shape;

struct tamis_row_window;

typedef struct tamis_file_row {
    tamis_file_format format;
    bool signature; /* a content that sniff() takes is of no other format */
    bool lines;     /* the reader takes one window of lines after the other */
    tamis_file_shape shape;
    const char *name;
    /*
     * Words between blanks: endings of a file's name, or with a mark before them
     *   *  the beginning of a name, which decides without a look at the content
     *   +  the same where no ending is known
     *   ?  an ending that belongs to another format unless the content says so
     *   &  the same, and it belongs to this format if rows are documents
     */
    const char *endings;
    /* Does the beginning of the file look like the format? */
    bool (*sniff)(const tamis_bounded_text *text);
    /* Is a content that sniff() takes rather that of a format behind this one, where no name tells? NULL: it never is.
     */
    bool (*declines)(const tamis_bounded_text *text);
    /* Either is NULL where the format has no such matrices. */
    tamis_status (*read)(const tamis_reading *reading, tamis_owned_sparse **matrix);
    tamis_status (*read_dense)(const tamis_bounded_text *text, tamis_type type, tamis_read_report *report,
                               tamis_owned_dense **array);
    /* For files that are read in batches of rows: reads what comes before the rows (NULL: nothing does), and the next
       row into window->list. *ended: there was none. NULL where the format does not list rows in order. */
    tamis_status (*begin_rows)(struct tamis_row_window *window);
    tamis_status (*take_row)(struct tamis_row_window *window, bool *ended);
} tamis_file_row;

#endif
