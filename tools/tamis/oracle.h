/* A result beside the library's oracle: the sampled reference, the tolerance derived for it, the comparison. */
#ifndef TOOL_ORACLE_H
#define TOOL_ORACLE_H

#include "problem.h"

typedef struct tool_oracle {
    tamis_operation operation;
    tamis_type type;
    int64_t items, width; /* SDDMM: sampled nonzeros, 1; else sampled rows, L */
    int64_t *item;        /* which row of the output each item is */
    double *reference;    /* items x width, for alpha = 1 and beta = 0 */
    double *bound;        /* for each item the error allowed in one of its elements */
    double *largest;      /* the largest number that its computation may pass through */
    double *first_term;   /* the relative error of an old output that its sum may begin with */
    int64_t rows_sampled, rows;
    double share; /* of the output's elements, that are among the items */
} tool_oracle;

/* Computes the reference on rows spread over the matrix until about `budget` multiplications are spent (all rows when
   that is enough), and on the longest row in any case. The problem's S must be CSR. */
tamis_status tool_oracle_create(const tool_problem *problem, double budget, tool_oracle *oracle);
void tool_oracle_free(tool_oracle *oracle);

typedef struct tool_comparison {
    bool passed;
    double error, tolerance; /* relative, in the Frobenius norm (absolute where the reference is all zero) */
    bool stray;              /* the norm is fine, but the element below is out of its own bound */
    double share;            /* of the output's elements, that were looked at */
    int64_t compared;        /* elements in the norms */
    int64_t not_finite;      /* the others: NaN or infinite where that is right, or where no finite bound is known */
    int64_t row, col;        /* the worst element, of the output (SDDMM: row is the nonzero, col 0) */
    double expected, found;
} tool_comparison;

/* Compares an output = alpha * reference + beta * old; old may be NULL when beta is 0. */
tool_comparison tool_oracle_compare(const tool_oracle *oracle, const tamis_dense *output, double alpha, double beta,
                                    const tamis_dense *old);

#endif
