/*
 * Edges of existing samples, and their derivatives, as backends see them: one description of a call and two functions.
 * src/core has checked everything.
 */
#ifndef TAMIS_BACKEND_EDGE_H
#define TAMIS_BACKEND_EDGE_H

#include "backend/backend.h"
#include "base/edges.h"

/* The accumulator type of products of that type, also used between the steps of an operation. */
static inline tamis_type tamis_sum_type(tamis_type type) { return type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32; }

/*
 * For each nonzero t of each member, with p the edge's value of x[t] and values[t]:
 *   dp = dp_factor * dp[t]
 *   p[t] = p_factor * p + p_keep * p[t]
 *   dx[t] = dp * (derivative of p by x)
 *   ds[t] = dp * (derivative of p by the value) + ds_keep * ds[t]
 * With p_keep or ds_keep = 0, the old value is not read. x may be absent if no requested output depends on it, and so
 * may dp. Outputs may be in place of inputs of the same type and order.
 */
typedef struct tamis_edge_job {
    void *device, *stream; /* of a GPU */
    int threads;           /* of the CPU */
    tamis_type type;
    tamis_edge edge;
    tamis_edge_constants constants;
    int64_t rows, nnz, batch;
    const void *offsets, *columns; /* of the CSR; only softmax and texts read them */
    tamis_index_type offset_type, index_type;
    int64_t first_member;          /* the number of the first one in the batch of the call, which texts read */
    const tamis_edge_array *named; /* the named arrays of a text, which begin with the batch's member 0; or NULL */
    const void *permutation;       /* NULL: both orders are the same */
    tamis_place softmax_rows;      /* of tamis_execution, an input; base NULL: computed here */
    tamis_edge_array values, x, dp, p, dx, ds;
    double dp_factor, p_factor, p_keep, ds_keep;
    tamis_place parts; /* tamis_edge_scratch bytes per member */
} tamis_edge_job;

/*
 * Softmax is computed by stretches of TAMIS_EDGE_STRETCH nonzeros. If a stretch cuts a row, it stores the largest
 * score, the sum of exponentials, and that sum weighted with dp: TAMIS_EDGE_PARTS numbers for the row that began before
 * the stretch, and as many for the row that continues after it.
 */
enum { TAMIS_EDGE_STRETCH = 2048, TAMIS_EDGE_PARTS = 3 };

static inline int64_t tamis_edge_stretches(int64_t nnz) {
    return nnz / TAMIS_EDGE_STRETCH + (nnz % TAMIS_EDGE_STRETCH != 0);
}

/* Bytes of `parts`; cannot overflow if nnz and batch elements have been allocated. */
static inline int64_t tamis_edge_scratch(tamis_edge edge, int64_t nnz) {
    if (edge != TAMIS_EDGE_SOFTMAX) return 0;
    return tamis_edge_stretches(nnz) * 2 * TAMIS_EDGE_PARTS * (int64_t)sizeof(double);
}

struct tamis_edge_functions {
    /* compiles what a job of that device, type, edge, constants and index types needs, with all of its outputs; with
       keep_softmax, also for a job with softmax_rows */
    tamis_status (*ready)(const tamis_edge_job *job, bool keep_softmax);
    tamis_status (*run)(const tamis_edge_job *job);
};

/* True if an operation reads S's values. SpMM has no edge. */
static inline bool tamis_needs_values(tamis_operation operation, tamis_edge edge) {
    return operation == TAMIS_OP_SPMM || tamis_edge_entry(edge) != TAMIS_S_UNREAD;
}

/* True if dx, or ds, depends on x. */
static inline bool tamis_edge_dx_needs_x(tamis_edge edge) { return tamis_edge_shape(edge) == TAMIS_F_CURVED; }
static inline bool tamis_edge_ds_needs_x(tamis_edge edge) {
    return tamis_edge_entry(edge) != TAMIS_S_UNREAD && tamis_edge_entry(edge) != TAMIS_S_ADDED;
}

#endif
