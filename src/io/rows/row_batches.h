/* Reads the rows of a file in batches, in bounded memory, in repeated passes: for formats that list rows in order. */
#ifndef TAMIS_IO_ROW_BATCHES_H
#define TAMIS_IO_ROW_BATCHES_H

#include "base/private.h"
#include "io/rows/row_window.h"

typedef struct tamis_row_batches {
    const struct tamis_file_row *format;
    tamis_row_window window;
    tamis_sparse view; /* the batch at hand */
    bool begun;        /* within a pass */
} tamis_row_batches;

/* Opens a file. *opened is false, and the file closed, if its format does not list rows in order, or if it is not a
   regular file and so cannot be read again. `path` must live until the batches are closed. */
TAMIS_PRIVATE_API tamis_status tamis_row_batches_open(const char *path, tamis_row_batches *batches, bool *opened);
/* Reads the next `most` rows, or fewer at the end of a pass. Returns NULL after the last rows; then, and after an
   error, a new pass begins. */
TAMIS_PRIVATE_API tamis_status tamis_row_batches_next(tamis_row_batches *batches, int64_t most,
                                                      const tamis_sparse **batch);
TAMIS_PRIVATE_API void tamis_row_batches_close(tamis_row_batches *batches); /* of one that is zero, too */

#endif
