/* What every reader is given, and how it hands back what it read. */
#ifndef TAMIS_IO_READING_H
#define TAMIS_IO_READING_H

#include <tamis/matrix.h>

#include "base/status.h"
#include "io/files/input.h"
#include "io/progress.h"

typedef struct tamis_reading {
    tamis_bounded_text text; /* of the first window, for readers of lines: gone with the second one but for its name */
    tamis_input *input;      /* which has the next ones */
    tamis_read_options options; /* whole, whatever size the caller's had */
    tamis_progress progress;
    int threads; /* 1 or more */
} tamis_reading;

/* Whether the reader has to keep values. */
static inline bool tamis_wants_values(const tamis_reading *reading) {
    return reading->options.values != TAMIS_VALUES_NONE;
}

/* Counts, for the report, a number of the text that fp64 does not hold. */
static inline void tamis_note_number(tamis_read_report *report, const char *p, const char *end, double value) {
    if (report && !tamis_number_kept(p, end, value)) report->inexact++;
}

/* Returns the type that values are parsed to in a list of entries: float or double, never less exact than the result.
 */
static inline tamis_type tamis_parsed_type(const tamis_reading *reading) {
    return reading->options.value_type == TAMIS_F32 ? TAMIS_F32 : TAMIS_F64;
}

/* Whether indices below `size` need 64 bits. */
static inline bool tamis_needs_wide(int64_t size) { return size > (int64_t)INT32_MAX + 1; }

/* Refuses sizes beyond what the result's index types hold, with the reason. */
tamis_status tamis_check_sizes(const tamis_reading *reading, int64_t rows, int64_t cols, int64_t nnz);

/* Refuses a CSR whose rows are so many that their offsets alone are out of all proportion to the file: 60 bytes may
   state any number of rows. Up to TAMIS_ROWS_ALWAYS are made for any file. */
#define TAMIS_ROWS_ALWAYS ((int64_t)1 << 26)
tamis_status tamis_check_backing(const tamis_reading *reading, int64_t rows);

/* Converts `view`, a CSR or COO matrix, to what the options ask for. sort: sort the columns of each row. */
tamis_status tamis_convert_read(const tamis_reading *reading, const tamis_sparse *view, bool sort,
                                tamis_owned_sparse **matrix);

#endif
