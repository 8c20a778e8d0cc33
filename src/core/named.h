/* The arrays that an edge's text names: found among an execution's, checked, and described for backends. */
#ifndef TAMIS_CORE_NAMED_H
#define TAMIS_CORE_NAMED_H

#include "core/operand.h"
#include "core/plan.h"

/* The call for which an execution gives arrays. */
typedef struct tamis_named_request {
    const tamis_device *device;
    const tamis_edge_text *text; /* NULL: the edge is no text */
    const tamis_options *options;
    int64_t rows, cols, nnz; /* of op(S) */
    bool scattered;          /* entries are in another order than the caller's */
    bool gradients;          /* it is a backward call */
} tamis_named_request;

/* The request of a call of a plan. */
static inline tamis_named_request tamis_named_of_plan(const tamis_plan *plan) {
    return (tamis_named_request){.device = plan->device,
                                 .text = plan->edge_text,
                                 .options = &plan->options,
                                 .rows = tamis_plan_rows(plan),
                                 .cols = plan->problem.cols,
                                 .nnz = plan->problem.nnz,
                                 .scattered = plan->order.permutation != NULL};
}

/* The arrays of a call, in the order of the program's. */
typedef struct tamis_named {
    tamis_edge_array at[TAMIS_PROGRAM_ARRAYS];
    const tamis_dense *gradient[TAMIS_PROGRAM_ARRAYS]; /* NULL: not wanted */
} tamis_named;

/* Checks all of an execution's named arrays, and that no output of `others` shares memory with them, nor a gradient of
   theirs with anything. */
tamis_status tamis_named_take(const tamis_named_request *request, const tamis_execution *given,
                              const tamis_operand *const *others, int other_count, tamis_named *named);

#endif
