/* Some rows of a CSR matrix as a matrix of their own: what is compared when comparing all would take too long. */
#ifndef TOOL_SUBMATRIX_H
#define TOOL_SUBMATRIX_H

#include <stdbool.h>

#include <tamis/tamis.h>

typedef struct tool_submatrix {
    int64_t rows, cols, nnz;
    int64_t *row;   /* where each row stands in S, rising */
    int64_t *entry; /* where each nonzero stands in S */
    int64_t *offsets, *columns;
    void *values; /* of S's value type; NULL when S has none */
    tamis_sparse view;
} tool_submatrix;

/* Takes rows, spread evenly over S, until `cost` a nonzero has used up `budget`; all when they fit. Rows too long for
   what is left are passed over while shorter ones fit. `longest`: the first of the longest rows in any case, beside
   what the budget pays for: it is the row that algorithms cut, and the one that would be passed over. */
void tool_submatrix_take(const tamis_sparse *S, double cost, double budget, bool longest, tool_submatrix *part);

/* Renumbers the columns that occur 0, 1, ... in their order, so that operands of a part stay small. */
void tool_submatrix_compact(tool_submatrix *part);

void tool_submatrix_free(tool_submatrix *part);

#endif
