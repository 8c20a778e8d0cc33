/* Columns that rows have already, which recommendations leave out. */
#ifndef TAMIS_ML_SEEN_H
#define TAMIS_ML_SEEN_H

#include <tamis/matrix.h>

/* CSR pattern with sorted columns. */
typedef struct ml_seen {
    int64_t *offsets, *columns;
} ml_seen;

/* Makes them of those rows of `seen`, which is checked as far as it is read. For ml_seen_free() after an error too. */
tamis_status ml_seen_make(const tamis_sparse *seen, const int64_t *rows, int64_t count, ml_seen *sorted);
void ml_seen_free(ml_seen *sorted);
/* Finds where a row of CSR begins and ends, and checks its columns. */
tamis_status ml_seen_row(const tamis_sparse *seen, int64_t row, int64_t *begin, int64_t *end);

#endif
