/* What the beginning of a list of edges tells beyond its fields: lists.c. */
#ifndef TAMIS_IO_LISTS_H
#define TAMIS_IO_LISTS_H

#include "io/text.h"

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

#endif
