/* The rows of a problem in METIS's order, so that few of them go from one rank to another. */
#ifndef TOOL_GANG_ORDER_H
#define TOOL_GANG_ORDER_H

#include "cli/problem.h"

typedef struct tool_order {
    const tool_problem *given;
    tool_problem problem; /* the same, reordered: on the host, CSR */
    int64_t *first_rows;  /* of each rank, and the number of rows */
    int64_t *order;       /* row i, and column i, is row and column order[i] of the given one */
    int64_t *entries;     /* entry t is entry entries[t] of the given one */
    int64_t *offsets, *columns;
    void *values;
    tool_dense A, B, D, output;
    double seconds; /* METIS and reordering took */
} tool_order;

/* Finds the order and reorders S; the problem must be square. After an error too it is to be freed. */
tamis_status tool_order_make(const tool_problem *given, int ranks, tool_order *order);
void tool_order_free(tool_order *order);

/* Reorders A, B and D, and makes room for the output. */
void tool_order_operands(tool_order *order);
/* Copies the output from the given problem's, or back into it. */
void tool_order_output(const tool_order *order, bool back);

/* Prints what it saves, beside equal nonzeros in the order of the given problem. */
tamis_status tool_order_explain(const tool_order *order, int ranks);

#endif
