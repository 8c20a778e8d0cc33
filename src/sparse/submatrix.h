/* Some rows of a CSR matrix as a matrix of their own: what is compared when comparing all would take too long. */
#ifndef TAMIS_SPARSE_SUBMATRIX_H
#define TAMIS_SPARSE_SUBMATRIX_H

#include "base/private.h"
#include <tamis/types.h>

typedef struct tamis_submatrix {
    int64_t rows, cols, nnz;
    int64_t *row;   /* where each row stands in S, rising */
    int64_t *entry; /* where each nonzero stands in S */
    int64_t *offsets, *columns;
    void *values; /* of S's value type; NULL when S has none */
    tamis_sparse view;
} tamis_submatrix;

/* Takes rows of a valid host S with offsets from 0, spread evenly over it, until `cost` a nonzero has used up `budget`;
   all when they fit. Rows too long for what is left are passed over while shorter ones fit. `longest`: the first of the
   longest rows in any case, beside what the budget pays for: it is the row that algorithms cut, and the one that would
   be passed over. To be freed, also after an error. */
TAMIS_PRIVATE_API tamis_status tamis_submatrix_take(const tamis_sparse *S, double cost, double budget, bool longest,
                                                    tamis_submatrix *part);

/* Renumbers the columns that occur 0, 1, ... in their order, so that operands of a part stay small. */
TAMIS_PRIVATE_API tamis_status tamis_submatrix_compact(tamis_submatrix *part);

TAMIS_PRIVATE_API void tamis_submatrix_free(tamis_submatrix *part);

#endif
