/* Some rows of a file in memory, for formats that list them in order: a window of the file moves on as they are read.
 */
#ifndef TAMIS_IO_ROW_WINDOW_H
#define TAMIS_IO_ROW_WINDOW_H

#include "io/files/input.h"
#include "io/rows/rows.h"

typedef struct tamis_row_window {
    tamis_input input;
    const char *at;                    /* the first character that has not been read */
    int64_t stated_rows, stated_count; /* rows and entries that the file states; -1: none */
    int64_t next;                      /* the number of the row that is read next */
    int64_t taken;                     /* entries that were read so far */
    int64_t ahead;                     /* the row of the entry at `at`; -1: not known */
    int64_t cols;                      /* -1: not known yet */
    tamis_rows list;                   /* the rows in memory: fp32, int32 columns and int64 offsets */
    int64_t row_room, entry_room;      /* rows and entries that its arrays hold */
    bool falls;                        /* columns fall somewhere in a row */
} tamis_row_window;

/* Finds the next line that is not blank, in the next window of the file where this one has none. *line becomes its
   first character that is no blank, or NULL at the end of the file. */
tamis_status tamis_row_window_line(tamis_row_window *window, const char **line);

/* Makes room for that many entries more in the row that is read. */
tamis_status tamis_row_window_reserve(tamis_row_window *window, int64_t more);

/* Returns the largest column number that the file may have: below the columns where they are known, else what 32-bit
   indices hold. */
int64_t tamis_row_window_column_most(const tamis_row_window *window);

#endif
