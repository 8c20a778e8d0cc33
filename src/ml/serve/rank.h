/* The best columns of rows. */
#ifndef TAMIS_ML_RANK_H
#define TAMIS_ML_RANK_H

#include "ml/serve/operands.h"

enum { ML_RANK_ALONE = 4 }; /* up to this many rows are ranked one by one, which is faster (scan.c) */

/* Finds the n best columns for each line of A, which is on the host. Line i belongs to row rows[i] (NULL: row i) of
   `seen`, whose columns are left out; `allowed` restricts the columns (NULL: all). Arguments have been checked, except
   the arrays of `seen`. */
tamis_status ml_rank(tamis_model *model, const ml_operands *operands, const int64_t *rows, const tamis_sparse *seen,
                     const bool *allowed, int n, int64_t *columns, double *scores);

#endif
