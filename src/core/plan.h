/* A plan: the checked problem, the prepared algorithm, the workspace, and explain's data. Private to core. */
#ifndef TAMIS_CORE_PLAN_H
#define TAMIS_CORE_PLAN_H

#include <stdatomic.h>

#include "backend/edge.h"
#include "backend/trial.h"
#include "core/device.h"
#include "select/turns.h"

/* Where an execution stages an operand: an offset in the workspace, -1 if it is used in place; and the elements between
   members there. */
typedef struct tamis_staged {
    int64_t at, stride;
} tamis_staged;

typedef struct tamis_staging {
    tamis_staged a, b, d, out, values, samples; /* samples: SDDMM's output in CSR order */
    int64_t scratch;                            /* of the algorithm */
    int64_t scratch_batch_stride;               /* as in tamis_operands */
    int64_t at_once;                            /* batch members per call of the backend */
    int64_t bytes;                              /* of all these places */
} tamis_staging;

/* The workspace that a plan lends to executions without one. */
typedef struct tamis_own_workspace {
    void *memory;                /* the staged operands, then the algorithm's scratch */
    tamis_memory_source *source; /* source of a temporary workspace, if this one is busy */
    atomic_bool busy;            /* CPU only, where an execution ends with its call */
} tamis_own_workspace;

/* Makes one in memory for that stream; the caller releases it, also after an error. */
tamis_status tamis_own_workspace_make(const tamis_device *device, void *stream, tamis_memory_source *source,
                                      const char *what, size_t bytes, tamis_own_workspace **own);
void tamis_own_workspace_release(const tamis_device *device, void *stream, tamis_own_workspace *own);

/* A plan for some entries of a larger matrix: executions take the values of the whole matrix and write samples of
   it. */
typedef struct tamis_part {
    const int64_t *entries; /* in host memory: entry t of S is entry entries[t] of the whole */
    bool own_values;        /* S has its own values, in its order; otherwise the whole's */
} tamis_part;

/* A plan for a pass over a graph, which a call of another kind computes too. */
typedef struct tamis_beside {
    tamis_rival rival;
    bool has_values; /* executions bring values, although S has none */
} tamis_beside;

struct tamis_plan {
    const tamis_device *device;
    tamis_memory_source *source; /* from options.allocator; NULL: the backend's own */
    tamis_options options;       /* defaults filled in; its string pointers are not kept */
    tamis_sparse pattern;        /* the caller's view */
    tamis_problem problem;
    tamis_evidence evidence;
    tamis_choice choice;
    tamis_prepared *prepared;   /* NULL with `turns`, which have it */
    tamis_prepared_sizes sizes; /* what executions need; with `turns`, of both algorithms */
    tamis_turns *turns;         /* NULL: no trial */

    void *columns;              /* of a mask, which the plan has listed; NULL: it has not */
    bool unlisted;              /* S is a mask, and the algorithm needs no list of its columns */
    const tamis_part *part;     /* while the plan is made; NULL: S is the whole */
    const tamis_beside *beside; /* while the plan is made; NULL: it is for an operation */
    bool own_values;            /* tamis_part.own_values */
    tamis_row_order
        order; /* the CSR that the plan made from COO, a slice of rows or the transpose; in the backend's memory */

    tamis_staging staging;
    tamis_edge_text *edge_text; /* of TAMIS_EDGE_TEXT, else NULL */
    tamis_own_workspace *own;   /* NULL: not needed, or options.no_workspace is set */
    size_t workspace_bytes;
    double check_seconds, setup_seconds;
};

/* As tamis_plan_create. `once` skips preparation and the probe. */
tamis_status tamis_plan_make(tamis_device *device, const tamis_sparse *S, const tamis_options *options, bool once,
                             tamis_plan **plan);
void tamis_plan_release(tamis_plan *plan);

/* Makes a plan for entries of a larger matrix; S is a CSR whose offsets begin at 0. */
tamis_status tamis_plan_make_part(tamis_device *device, const tamis_sparse *S, const tamis_part *part,
                                  const tamis_options *options, tamis_plan **plan);

/* Makes a measured plan for a pass. If the rival is the fastest, the plan has nothing prepared: it only has the
   choice. */
tamis_status tamis_plan_make_beside(tamis_device *device, const tamis_sparse *S, const tamis_beside *beside,
                                    const tamis_options *options, tamis_plan **plan);

/* The choice that executions follow. A trial may end at any time, so a report asks once. */
static inline tamis_turns_state tamis_plan_now(const tamis_plan *plan) {
    return plan->turns ? tamis_turns_now(plan->turns) : (tamis_turns_state){&plan->choice, &plan->sizes, 0};
}

/* True if the operation has the softmax edge: SpMM has no edge. */
static inline bool tamis_is_softmax(const tamis_options *o) {
    return o->operation != TAMIS_OP_SPMM && o->edge == TAMIS_EDGE_SOFTMAX;
}

/* True if the operation reads S's values. */
static inline bool tamis_plan_needs_values(const tamis_plan *plan) {
    return tamis_needs_values(plan->options.operation, plan->options.edge);
}

/* The rows of A, C and E. The problem has fewer if it drops empty rows. */
static inline int64_t tamis_plan_rows(const tamis_plan *plan) {
    return plan->options.transpose ? plan->pattern.cols : plan->pattern.rows;
}

/* Check that the device can compute on the view S and that its values have options.type; that the device can use its
   arrays at their addresses. */
tamis_status tamis_plan_check_view(const tamis_device *device, const tamis_sparse *S, const tamis_options *options);
tamis_status tamis_plan_check_places(const tamis_device *device, const tamis_sparse *S);

/* Reserves a 64-byte aligned place after the first *total bytes, and adds its size to *total. */
tamis_status tamis_workspace_reserve(int64_t *total, int64_t count, size_t size, int64_t *offset);

/* The problem that the options describe, without a pattern; also fills in their part of the evidence. text: of the edge
   TAMIS_EDGE_TEXT. */
tamis_problem tamis_problem_of(const tamis_device *device, const tamis_options *options, const tamis_edge_text *text,
                               tamis_evidence *evidence);

#endif
