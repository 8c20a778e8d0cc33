/* Heuristics on the beginning of a list of edges: KONECT's header, times, a line of sizes. */
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

/* Returns true if a column (from 1) of the lines from `line` on has times, not weights. The numbers in the file's
   beginning (up to 512 KiB and 65536 lines) must all be unsigned integers. Either they all lie from 10^8 to below
   10^17: seconds, milliseconds or microseconds since 1970, from 1973 on. Or there are three or more, they never fall,
   are not all the same, and the last is at least 86400 (a day of seconds). */
bool tamis_column_is_times(const tamis_bounded_text *text, const char *line, int column, char separator,
                           const char *comments);

/* A candidate for a header of sizes: two or three integers in the first line of data of a list without titles. */
typedef struct tamis_size_line {
    int count;        /* 2 or 3; 0: no such line */
    int64_t sizes[3]; /* rows, columns, entries; or nodes, edges */
} tamis_size_line;

TAMIS_PRIVATE_API tamis_size_line tamis_size_line_of(const tamis_bounded_text *text, const tamis_list_form *form);

/* Refuses three integers before a line of two integers, since entries then have no values. */
TAMIS_PRIVATE_API tamis_status tamis_size_line_check_next(const tamis_bounded_text *text, const tamis_list_form *form,
                                                          const tamis_size_line *line);

/* Refuses a first line that is consistent with being the sizes, as it may also be an entry. row_most, column_most,
   entries: the largest indices and the number of entries, counting the line itself as an entry. */
TAMIS_PRIVATE_API tamis_status tamis_size_line_check(const tamis_bounded_text *text, const tamis_size_line *line,
                                                     int64_t row_most, int64_t column_most, int64_t entries);

#endif
