/*
 * Edges of samples that have been computed, and their derivatives, as backends see them: one description of a call and
 * two functions. src/core has checked everything.
 */
#ifndef TAMIS_BACKEND_EDGE_H
#define TAMIS_BACKEND_EDGE_H

#include "backend/backend.h"
#include "base/edges.h"

/* The type in which products of that type are summed, and of what lies between the steps of an operation. */
static inline tamis_type tamis_sum_type(tamis_type type) { return type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32; }

/* An element for each nonzero. If the elements are in the caller's order of entries (`scattered`), element
   permutation[t] belongs to nonzero t of the CSR. */
typedef struct tamis_edge_array {
    tamis_place at;       /* base NULL: absent, or not requested */
    int64_t batch_stride; /* elements from one member of the batch to the next */
    tamis_type type;      /* that of the job, or that of its sums */
    bool scattered;
} tamis_edge_array;

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
    const void *offsets; /* of the CSR; only softmax reads them */
    tamis_index_type offset_type;
    const void *permutation;  /* NULL: both orders are the same */
    tamis_place softmax_rows; /* of tamis_execution, to be read; base NULL: computed */
    tamis_edge_array values, x, dp, p, dx, ds;
    double dp_factor, p_factor, p_keep, ds_keep;
    tamis_place parts; /* tamis_edge_scratch bytes of each member */
} tamis_edge_job;

/*
 * Softmax is computed by stretches of so many nonzeros. For a row that stretches cut, each stretch leaves the largest
 * score, the sum of exponentials, and that sum weighted with dp: TAMIS_EDGE_PARTS numbers for the row that began before
 * the stretch, and as many for the row that goes on after it.
 */
enum { TAMIS_EDGE_STRETCH = 2048, TAMIS_EDGE_PARTS = 3 };

static inline int64_t tamis_edge_stretches(int64_t nnz) {
    return nnz / TAMIS_EDGE_STRETCH + (nnz % TAMIS_EDGE_STRETCH != 0);
}

/* Bytes of `parts`; cannot overflow where nnz and batch elements have been allocated. */
static inline int64_t tamis_edge_scratch(tamis_edge edge, int64_t nnz) {
    if (edge != TAMIS_EDGE_SOFTMAX) return 0;
    return tamis_edge_stretches(nnz) * 2 * TAMIS_EDGE_PARTS * (int64_t)sizeof(double);
}

struct tamis_edge_functions {
    /* compiles what a job of that type and edge needs; with keep_softmax, also for one with softmax_rows */
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
