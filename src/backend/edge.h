/*
 * What becomes of samples that are there already, as backends see it: an edge by itself, and its derivatives. One
 * description of a call and two functions; src/core has checked all of it.
 */
#ifndef TAMIS_BACKEND_EDGE_H
#define TAMIS_BACKEND_EDGE_H

#include "backend/backend.h"
#include "base/edges.h"

/* What products of that type are summed in, and what lies between the steps of an operation. */
static inline tamis_type tamis_sum_type(tamis_type type) { return type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32; }

/* An element for each nonzero. Those that lie in the caller's order of entries (`scattered`) are reached through the
   permutation: element permutation[t] belongs to nonzero t of the CSR. */
typedef struct tamis_edge_array {
    tamis_place at;       /* base NULL: not there, not wanted */
    int64_t batch_stride; /* elements from one member of the batch to the next */
    tamis_type type;      /* that of the job, or what it is summed in */
    bool scattered;
} tamis_edge_array;

/*
 * For each nonzero t of each member, with p the edge's value of x[t] and values[t]:
 *   dp = dp_factor * dp[t]
 *   p[t] = p_factor * p + p_keep * p[t]
 *   dx[t] = dp * (derivative of p by x)
 *   ds[t] = dp * (derivative of p by the value) + ds_keep * ds[t]
 * A factor of 0 for what was there never reads it. x is not read where nothing wanted depends on it and may then be
 * absent, and so may dp. Outputs may lie where inputs of the same type and order lie.
 */
typedef struct tamis_edge_job {
    void *device, *stream; /* of a GPU */
    int threads;           /* of the CPU */
    tamis_type type;
    tamis_edge edge;
    tamis_edge_constants constants;
    int64_t rows, nnz, batch;
    const void *offsets; /* of the CSR; looked at by softmax alone */
    tamis_index_type offset_type;
    const void *permutation;  /* NULL: both orders are one */
    tamis_place softmax_rows; /* of tamis_execution, to be read; base NULL: found anew */
    tamis_edge_array values, x, dp, p, dx, ds;
    double dp_factor, p_factor, p_keep, ds_keep;
    tamis_place parts; /* tamis_edge_scratch bytes */
} tamis_edge_job;

/*
 * Softmax goes by stretches of so many nonzeros, whoever computes them. Of a row that is cut, each stretch leaves its
 * largest score, the sum of exponentials and that sum with dp as weights: TAMIS_EDGE_PARTS numbers for the row that
 * began before the stretch, and as many for the one that goes on after it.
 */
enum { TAMIS_EDGE_STRETCH = 2048, TAMIS_EDGE_PARTS = 3 };

static inline int64_t tamis_edge_stretches(int64_t nnz) {
    return nnz / TAMIS_EDGE_STRETCH + (nnz % TAMIS_EDGE_STRETCH != 0);
}

/* Bytes of `parts`; cannot overflow where nnz and batch elements have been allocated. */
static inline int64_t tamis_edge_scratch(tamis_edge edge, int64_t nnz, int64_t batch) {
    if (edge != TAMIS_EDGE_SOFTMAX) return 0;
    return tamis_edge_stretches(nnz) * batch * 2 * TAMIS_EDGE_PARTS * (int64_t)sizeof(double);
}

struct tamis_edge_functions {
    /* makes all that a job of that type and edge needs; with keep_softmax, one with softmax_rows too */
    tamis_status (*ready)(void *device, tamis_type type, tamis_edge edge, tamis_index_type offset_type,
                          bool keep_softmax);
    tamis_status (*run)(const tamis_edge_job *job);
};

/* Whether an operation reads S's values. SpMM has no edge. */
static inline bool tamis_needs_values(tamis_operation operation, tamis_edge edge) {
    return operation == TAMIS_OP_SPMM || tamis_edge_entry(edge) != TAMIS_S_UNREAD;
}

/* Whether dx or ds depends on x. */
static inline bool tamis_edge_dx_needs_x(tamis_edge edge) { return tamis_edge_shape(edge) == TAMIS_F_CURVED; }
static inline bool tamis_edge_ds_needs_x(tamis_edge edge) {
    return tamis_edge_entry(edge) != TAMIS_S_UNREAD && tamis_edge_entry(edge) != TAMIS_S_ADDED;
}

#endif
