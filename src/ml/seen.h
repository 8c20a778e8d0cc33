/* What rows have already, as recommendations leave it out. */
#ifndef TAMIS_ML_SEEN_H
#define TAMIS_ML_SEEN_H

#include <tamis/matrix.h>

/* Sorts the columns of those rows of `seen`, and gives them as CSR of `count` rows with int64 offsets and columns.
   `seen` is checked as far as it is read. */
tamis_status ml_seen(const tamis_sparse *seen, const int64_t *rows, int64_t count, tamis_owned_sparse **sorted);

#endif
