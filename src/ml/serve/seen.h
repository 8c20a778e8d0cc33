/* Columns that rows have already, which recommendations leave out. */
#ifndef TAMIS_ML_SEEN_H
#define TAMIS_ML_SEEN_H

#include <tamis/matrix.h>

/* CSR pattern with sorted columns. */
typedef struct ml_seen {
    int64_t *offsets, *columns;
} ml_seen;

/* Makes them, of the scope, from rows of `seen`, and checks what it reads. */
tamis_status ml_seen_make(const tamis_sparse *seen, const int64_t *rows, int64_t count, ml_seen *sorted);
/* Returns the range of a CSR row's entries, and checks its columns. */
tamis_status ml_seen_row(const tamis_sparse *seen, int64_t row, int64_t *begin, int64_t *end);

#endif
