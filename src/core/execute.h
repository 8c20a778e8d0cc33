/* Executing a plan, and the parts shared with other executions: checks of operands, values and workspace. */
#ifndef TAMIS_CORE_EXECUTE_H
#define TAMIS_CORE_EXECUTE_H

#include "core/operand.h"
#include "core/plan.h"

/* Checks that there is a plan, and that it is for this operation. */
tamis_status tamis_plan_check_operation(const tamis_plan *plan, tamis_operation operation);

/* The operands of an operation; those that it does not have are NULL. */
typedef struct tamis_views {
    const tamis_dense *A, *B, *D, *out;
    /* elements to skip before each, and before the execution's values */
    int64_t skip_a, skip_b, skip_d, skip_out, skip_values;
    bool checked; /* tamis_plan_check_run has accepted them */
} tamis_views;

/* Initialisers of a tamis_operand: a matrix as options `o` require it. */
#define TAMIS_PLANNED(o, x, height, length, layout_option, offset)                                                     \
    .view = (x), .rows = (height), .cols = (length), .type = (o)->type, .layout = (o)->layout_option,                  \
    .option = #layout_option, .batch = (o)->batch, .skip = (offset), .staged = -1

/* The operands of an operation with an op(S) of these sizes, and the plan's requirements. */
typedef struct tamis_operand_list {
    tamis_operand a, b, d, out;
} tamis_operand_list;
tamis_operand_list tamis_operands_of(const tamis_options *options, int64_t rows, int64_t cols, int64_t nnz,
                                     const tamis_views *views);
tamis_status tamis_operand_list_check(const tamis_device *device, const tamis_options *options,
                                      const tamis_operand_list *x);

/* For a plan with options.d_is_b: checks that D is B, which has been checked. */
tamis_status tamis_d_is_b_check(const tamis_dense *B, const tamis_dense *D);

/* Rejects a stream on the CPU, which has none. */
tamis_status tamis_execution_check_stream(const tamis_device *device, const tamis_execution *execution);

/* Sets given->values to the values in use of a batch: the execution's, else S's. */
tamis_status tamis_values_take(const tamis_device *device, const tamis_sparse *S, tamis_type type, int64_t batch,
                               bool needed, tamis_execution *given);

/* Checks execution.softmax_rows for a plan or gradient with these options and `rows` rows. */
tamis_status tamis_softmax_rows_check(const tamis_device *device, const tamis_options *options, int64_t rows,
                                      const tamis_execution *given);

/* Sets the workspace in use: the caller's, else `own` (NULL: there is none), else one for this call. `asked`: the name
   of the function that returns its size, for messages. */
typedef struct tamis_borrowed_workspace {
    tamis_own_workspace *borrowed; /* marked as busy */
    void *owned;                   /* allocated for this call */
    tamis_memory_source *source;   /* of owned */
} tamis_borrowed_workspace;
tamis_status tamis_workspace_take(const tamis_device *device, tamis_own_workspace *own, size_t bytes, const char *asked,
                                  tamis_execution *given, tamis_borrowed_workspace *workspace);
void tamis_workspace_give_back(const tamis_device *device, const tamis_borrowed_workspace *workspace);

tamis_status tamis_plan_run(const tamis_plan *plan, tamis_operation operation, const tamis_views *views,
                            const tamis_execution *execution);

/* Only makes the checks of tamis_plan_run, for callers that must know before they wait for others; they then set
   views.checked. */
tamis_status tamis_plan_check_run(const tamis_plan *plan, tamis_operation operation, const tamis_views *views,
                                  const tamis_execution *execution);

#endif
