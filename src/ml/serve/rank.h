/* The best columns of rows. */
#ifndef TAMIS_ML_RANK_H
#define TAMIS_ML_RANK_H

#include "ml/serve/operands.h"

enum { ML_RANK_ALONE = 4 }; /* so few rows are sooner ranked one by one, by a pass over the columns' factors (scan.c) */

/* Finds the n best columns of each line of A, which is on the host, and of which line i is row rows[i] of `seen` (NULL:
   row i), of those that are allowed (NULL: all). Arguments have been checked, but not the arrays of `seen`. */
tamis_status ml_rank(tamis_model *model, const ml_operands *operands, const int64_t *rows, const tamis_sparse *seen,
                     const bool *allowed, int n, int64_t *columns, double *scores);

#endif
