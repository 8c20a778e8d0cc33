/* Some rows of a CSR matrix as a matrix of their own, for comparisons that would take too long with all rows. */
#ifndef TAMIS_SPARSE_SUBMATRIX_H
#define TAMIS_SPARSE_SUBMATRIX_H

#include "base/private.h"
#include <tamis/types.h>

typedef struct tamis_submatrix {
    int64_t rows, cols, nnz;
    int64_t *row;   /* each row's index in S, ascending */
    int64_t *entry; /* each nonzero's index in S */
    int64_t *offsets, *columns;
    void *values; /* S's value type; NULL if S has none */
    tamis_sparse view;
} tamis_submatrix;

/* Takes rows of a valid host S with offsets from 0, spread evenly over it, until a `cost` per nonzero has used up
   `budget`; all rows if they fit. It skips rows too long for the remaining budget while shorter ones fit. With
   `longest` it also takes the first of the longest rows, beyond the budget: it would be skipped otherwise, although
   algorithms treat it specially by splitting it. The caller frees the part, also after an error. */
TAMIS_PRIVATE_API tamis_status tamis_submatrix_take(const tamis_sparse *S, double cost, double budget, bool longest,
                                                    tamis_submatrix *part);

/* Renumbers the columns that have nonzeros as 0, 1, ... in their order, so that a part's operands stay small. */
TAMIS_PRIVATE_API tamis_status tamis_submatrix_compact(tamis_submatrix *part);

TAMIS_PRIVATE_API void tamis_submatrix_free(tamis_submatrix *part);

#endif
