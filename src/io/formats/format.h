/* The interface of a file format: a table of functions and properties, defined at the end of the format's file. */
#ifndef TAMIS_IO_FORMAT_H
#define TAMIS_IO_FORMAT_H

#include "io/reading.h"

/* How the size of the matrix follows from the file. */
typedef enum tamis_file_shape {
    TAMIS_SHAPE_STATED = 0, /* it states its size */
    TAMIS_SHAPE_COUNTED,    /* its size follows from the largest indices */
    TAMIS_SHAPE_IDS         /* it lists pairs of ids, which may be names */
} tamis_file_shape;

struct tamis_row_window;

typedef struct tamis_file_row {
    tamis_file_format format;
    bool signature; /* sniff() is reliable: what it accepts has no other format */
    bool lines;     /* the reader works window by window */
    tamis_file_shape shape;
    const char *name;
    /*
     * Words separated by blanks: endings of a file's name, or with a mark before them
     *   *  the beginning of a name, which decides without a look at the content
     *   +  the same where no ending is known
     *   ?  an ending that belongs to another format unless the content says so
     *   &  the same, and it belongs to this format if rows are documents
     */
    const char *endings;
    /* Returns true if the beginning of the file looks like the format. */
    bool (*sniff)(const tamis_bounded_text *text);
    /* Returns true if content that sniff() accepts more likely has a later format of the table, when the name does not
       decide. NULL: never. */
    bool (*declines)(const tamis_bounded_text *text);
    /* NULL if the format has no such matrices. */
    tamis_status (*read)(const tamis_reading *reading, tamis_owned_sparse **matrix);
    tamis_status (*read_dense)(const tamis_bounded_text *text, tamis_type type, tamis_read_report *report,
                               tamis_owned_dense **array);
    /* For reading in batches of rows: begin_rows reads the part before the rows (NULL: none); next_row appends the next
       row to window->list, or sets *ended. NULL if the format does not list rows in order. */
    tamis_status (*begin_rows)(struct tamis_row_window *window);
    tamis_status (*take_row)(struct tamis_row_window *window, bool *ended);
} tamis_file_row;

/* Distinguishes lda-c files from svmlight files: returns true if the first number of the line at p equals the number of
   "id:count" pairs that follow it. */
bool tamis_ldac_count_holds(const tamis_bounded_text *text, const char *p);

#endif
