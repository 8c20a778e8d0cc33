/* A plan: the checked problem, the prepared algorithm, the workspace, and what explain says. Only core sees it. */
#ifndef TAMIS_CORE_PLAN_H
#define TAMIS_CORE_PLAN_H

#include <stdatomic.h>

#include "backend/edge.h"
#include "core/device.h"
#include "select/choose.h"

/* Where an execution stages each operand: an offset in the workspace, or -1 if the operand is used in place. */
typedef struct tamis_staging {
    int64_t a, b, d, out, values, samples; /* samples: SDDMM's output in CSR order */
    int64_t scratch;                       /* the algorithm's */
    int64_t scratch_batch_stride;          /* see tamis_operands */
    int64_t at_once;                       /* members of a batch that the backend gets in one call */
    int64_t bytes;                         /* of all of them */
} tamis_staging;

/* The workspace that a plan lends to executions that bring none. */
typedef struct tamis_own_workspace {
    void *memory;                /* the backend's memory: the staged operands, then the algorithm's scratch */
    tamis_memory_source *source; /* also of the workspace for an execution that finds this one busy */
    atomic_bool busy;            /* only on the CPU, where an execution has ended when its call returns */
} tamis_own_workspace;

/* For a plan over some entries of a larger matrix: an execution takes the values, and gives the samples, of all of it.
 */
typedef struct tamis_part {
    const int64_t *entries; /* on the host: entry t of S is entry entries[t] of the whole */
    bool own_values;        /* S has values of its own, in its order; else those of the whole */
} tamis_part;

struct tamis_plan {
    const tamis_device *device;
    tamis_memory_source *source; /* of options.allocator; NULL: the backend's own */
    tamis_options options;       /* defaults filled in; its pointers to strings are not kept */
    tamis_sparse pattern;        /* the caller's view */
    tamis_problem problem;
    tamis_evidence evidence;
    tamis_choice choice;
    tamis_prepared *prepared;
    tamis_prepared_sizes sizes;

    const tamis_part *part; /* while it is made; NULL: S is the whole */
    bool own_values;        /* tamis_part.own_values */
    tamis_row_order
        order; /* the CSR that the plan made from COO, a slice of rows or the transpose; in the backend's memory */

    tamis_staging staging;
    tamis_own_workspace *own; /* NULL: none is needed, or options.no_workspace */
    size_t workspace_bytes;
    double check_seconds, setup_seconds;
};

/* options.c: check the fields, and fill in what the caller left out. */
tamis_status tamis_options_read(const tamis_options *options, const tamis_device *device, tamis_options *filled);
tamis_status tamis_execution_read(const tamis_execution *execution, tamis_execution *filled);

/* plan.c: all that tamis_plan_create does. `once` leaves out preparation and the probe. */
tamis_status tamis_plan_make(tamis_device *device, const tamis_sparse *S, const tamis_options *options, bool once,
                             tamis_plan **plan);
void tamis_plan_release(tamis_plan *plan);

/* The same for entries of a larger matrix; S is a CSR whose offsets begin at 0. */
tamis_status tamis_plan_make_part(tamis_device *device, const tamis_sparse *S, const tamis_part *part,
                                  const tamis_options *options, tamis_plan **plan);

/* Whether the operation has the softmax edge: SpMM has no edge. */
static inline bool tamis_is_softmax(const tamis_options *o) {
    return o->operation != TAMIS_OP_SPMM && o->edge == TAMIS_EDGE_SOFTMAX;
}

/* Whether the operation reads S's values. */
static inline bool tamis_plan_needs_values(const tamis_plan *plan) {
    return tamis_needs_values(plan->options.operation, plan->options.edge);
}

/* plan.c: check that the device can compute on the view S, that its values have options.type, and that the device can
   use its arrays at their addresses. */
tamis_status tamis_plan_check_view(const tamis_device *device, const tamis_sparse *S, const tamis_options *options);
tamis_status tamis_plan_check_places(const tamis_device *device, const tamis_sparse *S);

/* Reserves a 64-byte aligned place after the first *total bytes, and adds its size to *total. */
tamis_status tamis_workspace_reserve(int64_t *total, int64_t count, size_t size, int64_t *offset);

/* plan.c: what options say of a problem, without its pattern; and of its evidence. */
tamis_problem tamis_problem_of(const tamis_device *device, const tamis_options *options, tamis_evidence *evidence);

/* execute.c: checks that there is a plan, and that it is for this operation. */
tamis_status tamis_plan_check_operation(const tamis_plan *plan, tamis_operation operation);

/* The operands of an operation; those that it does not have are NULL. */
typedef struct tamis_views {
    const tamis_dense *A, *B, *D, *out;
    /* elements before each, and before the execution's values */
    int64_t skip_a, skip_b, skip_d, skip_out, skip_values;
    bool checked; /* tamis_plan_check_run has accepted them */
} tamis_views;

/* What is expected of an operand. */
typedef struct tamis_operand {
    const char *name;
    const tamis_dense *view;
    int64_t rows, cols;
    tamis_type type;
    tamis_layout layout; /* the plan's */
    const char *option;  /* the option that sets it; NULL: any layout is allowed */
    int64_t staged;      /* place in the workspace, -1 for none */
    int64_t skip;        /* elements of view.data before the matrix: an OpenCL buffer has no address to add them to */
} tamis_operand;

/* `outputs`: the members of a batch that must not overlap; 1 for inputs. */
tamis_status tamis_operand_check(const tamis_device *device, const tamis_operand *x, int64_t outputs);
tamis_status tamis_operand_check_packed(const tamis_operand *x); /* samples have stride 1 */

/* What is expected of the operands of an operation with an op(S) of so many rows, columns and nonzeros. */
typedef struct tamis_operand_list {
    tamis_operand a, b, d, out;
} tamis_operand_list;
tamis_operand_list tamis_operands_of(const tamis_options *options, int64_t rows, int64_t cols, int64_t nnz,
                                     const tamis_views *views);
tamis_status tamis_operands_check(const tamis_device *device, const tamis_options *options,
                                  const tamis_operand_list *x);

/* For a plan with options.d_is_b: D must be B, which has been checked. */
tamis_status tamis_d_is_b_check(const tamis_dense *B, const tamis_dense *D);

/* The CPU has no streams. */
tamis_status tamis_execution_check_stream(const tamis_device *device, const tamis_execution *execution);

/* Sets given->values to those in use: the execution's, else S's. */
tamis_status tamis_values_take(const tamis_device *device, const tamis_sparse *S, tamis_type type, bool needed,
                               tamis_execution *given);

/* Checks execution.softmax_rows for a plan or gradient with these options and so many rows. */
tamis_status tamis_softmax_rows_check(const tamis_device *device, const tamis_options *options, int64_t rows,
                                      const tamis_execution *given);

/* Sets the workspace in use: the caller's, else `own` (NULL: there is none), else one for this call. `asked` is the
   name of the function that returns the size. */
typedef struct tamis_borrowed_workspace {
    tamis_own_workspace *borrowed; /* marked as busy */
    void *owned;
    tamis_memory_source *source; /* of owned */
} tamis_borrowed_workspace;
tamis_status tamis_workspace_take(const tamis_device *device, tamis_own_workspace *own, size_t bytes, const char *asked,
                                  tamis_execution *given, tamis_borrowed_workspace *workspace);
void tamis_workspace_give_back(const tamis_device *device, const tamis_borrowed_workspace *workspace);

tamis_status tamis_plan_run(const tamis_plan *plan, tamis_operation operation, const tamis_views *views,
                            const tamis_execution *execution);

/* The checks of tamis_plan_run alone: for callers that must know before they wait for others that it will not refuse.
   They then set views.checked. */
tamis_status tamis_plan_check_run(const tamis_plan *plan, tamis_operation operation, const tamis_views *views,
                                  const tamis_execution *execution);

#endif
