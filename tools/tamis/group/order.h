/* A problem in METIS's row order, which reduces communication between ranks. */
#ifndef TOOL_GANG_ORDER_H
#define TOOL_GANG_ORDER_H

#include "cli/problem.h"

typedef struct tool_order {
    const tool_problem *given;
    tool_problem problem; /* the reordered problem: on the host, CSR */
    int64_t *first_rows;  /* of each rank, and the number of rows */
    int64_t *order;       /* row (column) i is row (column) order[i] of the given problem */
    int64_t *entries;     /* entry t is entry entries[t] of the given problem */
    int64_t *offsets, *columns;
    void *values;
    tool_dense A, B, D, output;
    double seconds; /* time of METIS and reordering */
} tool_order;

/* Finds the order and reorders S; the problem must be square. The caller must free it, also after an error. */
tamis_status tool_order_make(const tool_problem *given, int ranks, tool_order *order);
void tool_order_free(tool_order *order);

/* Reorders A, B and D, and makes room for the output. */
void tool_order_operands(tool_order *order);
/* Copies the output from the given problem's, or back to it. */
void tool_order_output(const tool_order *order, bool back);

/* Prints the savings compared with equal nonzeros in the given order. */
tamis_status tool_order_explain(const tool_order *order, int ranks);

#endif
