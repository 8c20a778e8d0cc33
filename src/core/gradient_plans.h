/* A gradient, made by gradient.c and executed by gradient_back.c. */
#ifndef TAMIS_CORE_GRADIENT_PLANS_H
#define TAMIS_CORE_GRADIENT_PLANS_H

#include <tamis/gradient.h>

#include "backend/gradient.h"
#include "core/backward.h"
#include "core/plan.h"

/* Samples (x, dp) and weights (p, dx) between the steps have the accumulator type, so they are never rounded to 16
   bits. */
static inline tamis_type between_type(const tamis_options *o) { return tamis_sum_type(o->type); }

/* The plans of one gradient; some of them may be the same plan. */
enum { SAMPLE, OUTER, TO_A, TO_B, TO_D, TO_ROW, TO_COL, PLANS };

struct tamis_gradient {
    tamis_device *device;
    tamis_memory_source *source;               /* from options.allocator; NULL: the backend's own */
    tamis_options options;                     /* defaults filled in; its string pointers are not kept */
    tamis_edge_text *edge_text;                /* of TAMIS_EDGE_TEXT, else NULL */
    tamis_edge_text *by[TAMIS_PROGRAM_ARRAYS]; /* its derivatives by named arrays */
    void *ones;            /* of options.type, for sums over rows and columns; NULL: no array needs them */
    tamis_sparse S;        /* the caller's view */
    bool partial;          /* see core/backward.h */
    int64_t rows, cols;    /* of op(S) */
    tamis_row_order order; /* of T; without arrays if T is S */
    tamis_row_order turned_order;
    void *columns;     /* of a mask, which the gradient has listed; NULL: it has not */
    tamis_sparse T, U; /* while the gradient is made maybe unlisted (core/unlisted.h); then U has no offsets either */
    void *placeholder; /* stands for the values of T and U, which each execution supplies */
    tamis_prepared_backward *whole; /* replaces the plans; NULL: there are plans */
    tamis_plan *plans[PLANS];
    int64_t parts, x, dp, turned;      /* offsets in the workspace, after the plans' scratch */
    int64_t scores, named, sums, adds; /* of a text: softmax's scores; gradients by an array; their sums and parts */
    tamis_own_workspace *own;
    size_t workspace_bytes;
};

static inline bool by_samples(const tamis_gradient *g) { return g->options.operation != TAMIS_OP_SPMM; }

/* True if the output of that plan is a partial sum. */
static inline bool is_partial(const tamis_gradient *g, int which) {
    return g->partial && (g->options.transpose ? which == TO_A : which == TO_B || which == TO_D);
}

static inline tamis_type output_type_of(const tamis_gradient *g, int which) {
    const bool sums = which == TO_ROW || which == TO_COL;
    return sums || is_partial(g, which) ? between_type(&g->options) : g->options.type;
}

static inline bool has_values(const tamis_gradient *g) {
    return g->S.values && tamis_needs_values(g->options.operation, g->options.edge);
}

/* Inputs of the choice between the steps and the gradient of attention in one piece, if the backend has it: the CSR of
   op(S) and of its transpose, and the options with defaults filled in. */
typedef struct tamis_whole_request {
    const tamis_device *device;
    const tamis_options *options;
    const tamis_edge_text *text; /* of TAMIS_EDGE_TEXT, else NULL */
    const tamis_sparse *T, *U;
    bool has_values, partial;
    const char *algorithm; /* from the options, or NULL */
} tamis_whole_request;

/* Sets *whole to NULL if the gradient uses the steps: by name ("steps"), by prediction, or because nothing else is
   supported. */
tamis_status tamis_whole_gradient_make(const tamis_whole_request *request, tamis_prepared_backward **whole);

/* Runs a backward call of fused whose operands have been checked; `given` has the workspace. */
tamis_status tamis_whole_gradient_run(const tamis_device *device, const tamis_prepared_backward *whole,
                                      const tamis_back_views *views, const tamis_execution *given);

#endif
