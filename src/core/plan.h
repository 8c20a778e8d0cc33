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
    int64_t scratch;                       /* of the algorithm */
    int64_t scratch_batch_stride;          /* as in tamis_operands */
    int64_t at_once;                       /* members of a batch that the backend gets in one call */
    int64_t bytes;                         /* all of these places */
} tamis_staging;

/* The workspace that a plan lends to executions that bring none. */
typedef struct tamis_own_workspace {
    void *memory;                /* the backend's memory: the staged operands, then the algorithm's scratch */
    tamis_memory_source *source; /* from which an execution that finds this one busy gets its own */
    atomic_bool busy;            /* only on the CPU, where an execution has ended when its call returns */
} tamis_own_workspace;

/* A plan over some entries of a larger matrix: executions take the values of all of it and give samples to all of it.
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
    tamis_own_workspace *own; /* NULL: none is needed, or options.no_workspace is set */
    size_t workspace_bytes;
    double check_seconds, setup_seconds;
};

/* Does all that tamis_plan_create does. `once` leaves out preparation and the probe. */
tamis_status tamis_plan_make(tamis_device *device, const tamis_sparse *S, const tamis_options *options, bool once,
                             tamis_plan **plan);
void tamis_plan_release(tamis_plan *plan);

/* Makes a plan for entries of a larger matrix; S is a CSR whose offsets begin at 0. */
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

/* The rows of A, C and E. Those of the problem are fewer where it leaves out rows without entries. */
static inline int64_t tamis_plan_rows(const tamis_plan *plan) {
    return plan->options.transpose ? plan->pattern.cols : plan->pattern.rows;
}

/* Check that the device can compute on the view S and its values have options.type; that the device can use its arrays
   at their addresses. */
tamis_status tamis_plan_check_view(const tamis_device *device, const tamis_sparse *S, const tamis_options *options);
tamis_status tamis_plan_check_places(const tamis_device *device, const tamis_sparse *S);

/* Reserves a 64-byte aligned place after the first *total bytes, and adds its size to *total. */
tamis_status tamis_workspace_reserve(int64_t *total, int64_t count, size_t size, int64_t *offset);

/* Returns the problem that the options describe, without a pattern, and fills in their part of the evidence. */
tamis_problem tamis_problem_of(const tamis_device *device, const tamis_options *options, tamis_evidence *evidence);

#endif
