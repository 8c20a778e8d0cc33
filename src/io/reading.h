/* The arguments of every reader, and helpers that build its result. */
#ifndef TAMIS_IO_READING_H
#define TAMIS_IO_READING_H

#include <tamis/matrix.h>

#include "base/status.h"
#include "io/files/input.h"
#include "io/progress.h"

typedef struct tamis_reading {
    tamis_bounded_text text; /* the first window, for readers of lines; only its name is valid after the next window */
    tamis_input *input;      /* which has the next ones */
    tamis_read_options options; /* complete, whatever the size of the caller's structure */
    tamis_progress progress;
    int threads; /* 1 or more */
} tamis_reading;

/* Returns true if the reader must keep values. */
static inline bool tamis_wants_values(const tamis_reading *reading) {
    return reading->options.values != TAMIS_VALUES_NONE;
}

/* Counts in the report a number of the text that does not fit fp64. */
static inline void tamis_note_number(tamis_read_report *report, const char *p, const char *end, double value) {
    if (report && !tamis_number_kept(p, end, value)) report->inexact++;
}

/* Returns true if indices below `size` need 64 bits. */
static inline bool tamis_needs_wide(int64_t size) { return size > (int64_t)INT32_MAX + 1; }

/* Refuses sizes that the result's index types cannot hold. */
tamis_status tamis_check_sizes(const tamis_reading *reading, int64_t rows, int64_t cols, int64_t nnz);

/* Refuses a CSR whose offsets would be out of proportion to the file's size, as a file of 60 bytes can state any number
   of rows. TAMIS_ROWS_ALWAYS rows are always accepted. */
#define TAMIS_ROWS_ALWAYS ((int64_t)1 << 26)
tamis_status tamis_check_backing(const tamis_reading *reading, int64_t rows);

/* Converts `view`, a CSR or COO matrix, to the format and types in the options. sort: sort the columns of each row. */
tamis_status tamis_convert_read(const tamis_reading *reading, const tamis_sparse *view, bool sort,
                                tamis_owned_sparse **matrix);

#endif
