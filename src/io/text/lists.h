/* What the beginning of a list of edges tells beyond its fields: lists.c. */
#ifndef TAMIS_IO_LISTS_H
#define TAMIS_IO_LISTS_H

#include "io/text/columns.h"

/* KONECT's first line, "% sym|asym|bip WEIGHTS". */
typedef struct tamis_konect {
    bool found;
    bool symmetric, bipartite;
    bool weights; /* the third column, if there is one, is a weight */
} tamis_konect;

tamis_konect tamis_konect_of(const tamis_bounded_text *text);

/* Whether a column (from 1) of the lines from `line` on has times, not weights. All numbers in the file's beginning (up
   to 512 KiB and 65536 lines) must be integers without a sign, and either - all from 10^8 to below 10^17: seconds,
   milliseconds or microseconds since 1970, from 1973 on, or - never less than the one before, not all the same, three
   or more, and the last 86400 (a day of seconds) or more. */
bool tamis_column_is_times(const tamis_bounded_text *text, const char *line, int column, char separator,
                           const char *comments);

/* Two or three integers in the first line of data, without titles, may be the sizes of what follows. */
typedef struct tamis_size_line {
    int count;        /* of them; 0: they are none */
    int64_t sizes[3]; /* rows, columns, entries; or nodes, edges */
} tamis_size_line;

TAMIS_PRIVATE_API tamis_size_line tamis_size_line_of(const tamis_bounded_text *text, const tamis_list_form *form);

/* Refuses three integers before a line of two: entries have no values. */
TAMIS_PRIVATE_API tamis_status tamis_size_line_check_next(const tamis_bounded_text *text, const tamis_list_form *form,
                                                          const tamis_size_line *line);

/* Refuses sizes that all lines agree with, though they may still be an entry. The largest indices and how many entries
   there are: all with the line itself. */
TAMIS_PRIVATE_API tamis_status tamis_size_line_check(const tamis_bounded_text *text, const tamis_size_line *line,
                                                     int64_t row_most, int64_t column_most, int64_t entries);

#endif
