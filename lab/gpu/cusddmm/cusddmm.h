/*
 * Shared by the host sides of `cusddmm-sm-l2` and `cusddmm-sm-sm` (Nisa et al.: Sampled Dense Matrix Multiplication).
 */
#ifndef TAMIS_LAB_GPU_CUSDDMM_CUSDDMM_H
#define TAMIS_LAB_GPU_CUSDDMM_CUSDDMM_H

#include "gpu/structure/panel_index.h"
#include "lab/gpu/methods.h"

enum { TAMIS_CUSDDMM_AUTO, TAMIS_CUSDDMM_A, TAMIS_CUSDDMM_B }; /* the matrix that is streamed */

/* True if A and B exchange roles: the paper streams along the smaller dimension; not if that leaves fewer panels than
   fill a GPU. */
static inline bool tamis_cusddmm_swaps(const tamis_problem *problem, int64_t stream) {
    enum { ROWS = 64, ROUNDS = 2 };
    const tamis_gpu_limits *const limits = &((const tamis_gpu_device *)problem->device)->limits;
    const int64_t least = limits->is_cpu ? 0 : (int64_t)ROWS * ROUNDS * limits->multiprocessors;
    return stream == TAMIS_CUSDDMM_B ||
           (stream == TAMIS_CUSDDMM_AUTO && problem->rows > problem->cols && problem->cols >= least);
}

/* The state of both methods. */
typedef struct tamis_cusddmm_state {
    int64_t tk, slices; /* elements of a slice of K; their number */
    bool swap;          /* the panels are rows of B, the tiles rows of A */
} tamis_cusddmm_state;

/* The number of slices of tk elements in K. */
static inline int64_t tamis_cusddmm_slices(const tamis_problem *problem, int64_t tk) {
    return problem->inner > 0 ? tamis_gpu_ceiling(problem->inner, tk) : 1;
}

/* Sets the state, scratch and launch of groups of `block` with that much shared memory. */
void tamis_cusddmm_set(tamis_prepared *p, int64_t tk, int64_t stream, int64_t block, int64_t shared_bytes);

/* Launches kernel 0 once per slice, in order. Slices after the first add to sums in scratch. */
tamis_status tamis_cusddmm_execute(const tamis_prepared *p, void *stream, const tamis_operands *x);

#endif
