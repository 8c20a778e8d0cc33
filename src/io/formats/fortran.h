/* Fortran's fixed-column formats, as Harwell-Boeing and Rutherford-Boeing files state them: (10I8), (1P,4D20.12). */
#ifndef TAMIS_IO_FORTRAN_H
#define TAMIS_IO_FORTRAN_H

#include "io/files/input.h"

enum { TAMIS_FORTRAN_FIELDS = 512, TAMIS_FORTRAN_WIDTH = 128 };

/* The fields of one line: field i is `width` characters from column `start`. */
typedef struct tamis_fortran_format {
    int count;
    struct {
        short start, width, decimals, scale;
        char kind; /* 'I' an integer, 'R' a real number */
    } fields[TAMIS_FORTRAN_FIELDS];
} tamis_fortran_format;

/* Reads the format at `at` (`length` characters, blanks around it). An error quotes it and names `what`. */
tamis_status tamis_fortran_parse(const tamis_bounded_text *text, const char *at, int64_t length, const char *what,
                                 tamis_fortran_format *format);

/* A position in lines of fields; it advances through the windows of the file. */
typedef struct tamis_fortran_cursor {
    tamis_input *input;
    const tamis_bounded_text *text; /* the input's */
    tamis_status status;            /* deferred error of advancing, returned with the next field */
    const tamis_fortran_format *format;
    const char *line, *line_end;
    int field;
    int64_t remaining; /* fields still to come, in this line and later ones */
    bool by_words;     /* fields of this line are its words, from `word` on; else they are in fixed columns */
    const char *word;
    int64_t inexact; /* real numbers so far that do not fit fp64 */
} tamis_fortran_cursor;

/* Begins with the first of `count` fields. */
tamis_fortran_cursor tamis_fortran_start(tamis_input *input, const tamis_fortran_format *format, const char *line,
                                         int64_t count);

/* Takes the next field as an integer from low to high, or as a number. */
tamis_status tamis_fortran_integer(tamis_fortran_cursor *cursor, int64_t low, int64_t high, const char *what,
                                   int64_t *value);
tamis_status tamis_fortran_real(tamis_fortran_cursor *cursor, const char *what, double *value);

/* Returns the first line after the one that the cursor has taken a field from. */
const char *tamis_fortran_next_line(const tamis_fortran_cursor *cursor);

#endif
