/* Some rows of a file in memory, for formats that list rows in order; the file's window advances as they are read. */
#ifndef TAMIS_IO_ROW_WINDOW_H
#define TAMIS_IO_ROW_WINDOW_H

#include "io/files/input.h"
#include "io/rows/rows.h"

typedef struct tamis_row_window {
    tamis_input input;
    const char *at;                    /* the first character that has not been read */
    int64_t stated_rows, stated_count; /* rows and entries that the file states; -1: none */
    int64_t next;                      /* number of the next row */
    int64_t taken;                     /* entries read so far */
    int64_t ahead;                     /* the row of the entry at `at`; -1: not known */
    int64_t cols;                      /* -1: not known yet */
    tamis_rows list;                   /* the rows in memory: fp32, int32 columns and int64 offsets */
    int64_t row_room, entry_room;      /* rows and entries that its arrays hold */
    bool falls;                        /* some row has unsorted columns */
} tamis_row_window;

/* Finds the next non-blank line, advancing the file's window if needed. Sets *line to its first non-blank character, or
   to NULL at the end of the file. */
tamis_status tamis_row_window_line(tamis_row_window *window, const char **line);

/* Reserves room for `more` entries in the current row. */
tamis_status tamis_row_window_reserve(tamis_row_window *window, int64_t more);

/* Returns the largest column index that the file may have: by the number of columns if it is known, else the limit of
   32-bit indices. */
int64_t tamis_row_window_column_most(const tamis_row_window *window);

#endif
