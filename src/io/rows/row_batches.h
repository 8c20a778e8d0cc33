/* The rows of a file in batches, in bounded memory, again and again: for formats that list them in order. */
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

/* Opens a file. *opened is false where its format does not list rows in order, or where it is no regular file, which
   cannot be read again: it is closed then. `path` stays the caller's until the end. */
TAMIS_PRIVATE_API tamis_status tamis_row_batches_open(const char *path, tamis_row_batches *batches, bool *opened);
/* Reads the next `most` rows, or fewer at the end of a pass. NULL after the last, and then the next pass begins; after
   an error it begins anew. */
TAMIS_PRIVATE_API tamis_status tamis_row_batches_next(tamis_row_batches *batches, int64_t most,
                                                      const tamis_sparse **batch);
TAMIS_PRIVATE_API void tamis_row_batches_close(tamis_row_batches *batches); /* of one that is zero, too */

#endif
