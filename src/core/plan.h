/* A plan: the checked problem, the algorithm made ready, the workspace and what explain says. Core's own. */
#ifndef TAMIS_CORE_PLAN_H
#define TAMIS_CORE_PLAN_H

#include <stdatomic.h>

#include "backend/edge.h"
#include "core/device.h"
#include "select/choose.h"

/* Where an execution stages an operand: offset in the workspace, -1 for one that is used where it lies. */
typedef struct tamis_staging {
    int64_t a, b, d, out, values, samples; /* samples: SDDMM's output in CSR order */
    int64_t scratch;                       /* the algorithm's */
    int64_t scratch_apart;                 /* see tamis_operands */
    int64_t at_once;                       /* members of a batch that the backend gets together */
    int64_t bytes;                         /* of all of them */
} tamis_staging;

/* The workspace that a plan lends to executions that bring none. */
typedef struct tamis_own_workspace {
    void *memory;         /* the staged operands, then scratch of the algorithm, in the backend's memory */
    tamis_source *source; /* where one for an execution that finds it busy comes from too */
    atomic_bool busy;     /* on the CPU, where a call knows when it has ended */
} tamis_own_workspace;

struct tamis_plan {
    const tamis_device *device;
    tamis_source *source;  /* of options.allocator; NULL: the backend's own */
    tamis_options options; /* defaults filled in; its pointers to strings are not kept */
    tamis_sparse pattern;  /* the caller's view */
    tamis_problem problem;
    tamis_evidence evidence;
    tamis_choice choice;
    tamis_prepared *prepared;
    tamis_prepared_sizes sizes;

    tamis_row_order
        order; /* what the plan made of COO, of a slice of rows or for the transpose; the backend's memory */

    tamis_staging staging;
    tamis_own_workspace *own; /* NULL: none is needed, or options.no_workspace */
    size_t workspace_bytes;
    double check_seconds, setup_seconds;
};

/* options.c: check and fill in what the caller left out. */
tamis_status tamis_options_read(const tamis_options *options, const tamis_device *device, tamis_options *filled);
tamis_status tamis_execution_read(const tamis_execution *execution, tamis_execution *filled);

/* plan.c: everything of tamis_plan_create. `once` leaves out preparation and the probe. */
tamis_status tamis_plan_make(tamis_device *device, const tamis_sparse *S, const tamis_options *options, bool once,
                             tamis_plan **plan);
void tamis_plan_release(tamis_plan *plan);

/* Whether the operation reads S's values. */
static inline bool tamis_plan_needs_values(const tamis_plan *plan) {
    return tamis_needs_values(plan->options.operation, plan->options.edge);
}

/* plan.c: whether S is a view that the device can compute on, with values of options.type; and whether the device can
   use its arrays where they lie. */
tamis_status tamis_plan_check_view(const tamis_device *device, const tamis_sparse *S, const tamis_options *options);
tamis_status tamis_plan_check_places(const tamis_device *device, const tamis_sparse *S);

/* Reserves a 64-byte aligned place behind the *total bytes that are there. */
tamis_status tamis_workspace_reserve(int64_t *total, int64_t count, size_t size, int64_t *offset);

/* execute.c: a plan, and one of that operation. */
tamis_status tamis_plan_check_operation(const tamis_plan *plan, tamis_operation operation);

/* What is expected of an operand. */
typedef struct tamis_operand {
    const char *name;
    const tamis_dense *view;
    int64_t rows, cols;
    tamis_type type;
    tamis_layout layout; /* the plan's */
    const char *option;  /* the field that sets it; NULL: either layout will do */
    int64_t staged;      /* place in the workspace, -1 for none */
    int64_t skip;        /* elements of view.data before the matrix begins: a buffer of OpenCL has no address in it */
} tamis_operand;

/* `outputs` members of a batch must lie apart; 1 for inputs. */
tamis_status tamis_operand_check(const tamis_device *device, const tamis_operand *x, int64_t outputs);
tamis_status tamis_operand_check_packed(const tamis_operand *x); /* samples lie one after another */

/* The CPU has no streams. */
tamis_status tamis_execution_check_stream(const tamis_device *device, const tamis_execution *execution);

/* The values in force: those given, else S's. */
tamis_status tamis_values_take(const tamis_device *device, const tamis_sparse *S, tamis_type type, bool needed,
                               tamis_execution *given);

/* Whether execution.softmax_rows may be what it is, in a plan or gradient with those options and so many rows. */
tamis_status tamis_softmax_rows_check(const tamis_device *device, const tamis_options *options, int64_t rows,
                                      const tamis_execution *given);

/* The workspace in force: the one given, else `own` (NULL: there is none), else one for this call. `asked` is the
   function that says how large it must be. */
typedef struct tamis_loan {
    tamis_own_workspace *borrowed; /* marked as busy */
    void *own_for_once;
    tamis_source *source; /* of that */
} tamis_loan;
tamis_status tamis_workspace_take(const tamis_device *device, tamis_own_workspace *own, size_t bytes, const char *asked,
                                  tamis_execution *given, tamis_loan *loan);
void tamis_workspace_give_back(const tamis_device *device, const tamis_loan *loan);

/* The operands of any operation; those it has not are NULL. */
typedef struct tamis_views {
    const tamis_dense *A, *B, *D, *out;
    int64_t skip_out, skip_values; /* elements before out and before the execution's values */
} tamis_views;

tamis_status tamis_plan_run(const tamis_plan *plan, tamis_operation operation, const tamis_views *views,
                            const tamis_execution *execution);

#endif
