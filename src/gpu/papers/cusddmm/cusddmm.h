/*
 * What `cusddmm-sm-l2` and `cusddmm-sm-sm` (Nisa et al.: Sampled Dense Matrix Multiplication) have in common on the
 * host.
 */
#ifndef TAMIS_GPU_PAPERS_CUSDDMM_CUSDDMM_H
#define TAMIS_GPU_PAPERS_CUSDDMM_CUSDDMM_H

#include "gpu/papers/index.h"

enum { TAMIS_CUSDDMM_AUTO, TAMIS_CUSDDMM_A, TAMIS_CUSDDMM_B }; /* what is streamed */

/* Whether A and B change roles: the paper streams along the smaller dimension. */
static inline bool tamis_cusddmm_swaps(const tamis_problem *problem, int64_t stream) {
    return stream == TAMIS_CUSDDMM_B || (stream == TAMIS_CUSDDMM_AUTO && problem->rows > problem->cols);
}

/* How many slices of tk elements K has */
static inline int64_t tamis_cusddmm_slices(const tamis_problem *problem, int64_t tk) {
    return problem->inner > 0 ? (problem->inner + tk - 1) / tk : 1;
}

static inline int64_t tamis_cusddmm_round(int64_t x, int64_t multiple) {
    return (x + multiple - 1) / multiple * multiple;
}

/* Launches kernel 0 once a slice, in order. Slices after the first add to sums in scratch. */
typedef struct tamis_cusddmm_launch {
    int64_t groups, tk, shared_bytes;
    int group;
    bool swap;                /* B is the matrix of the panels, A that of the tiles */
    bool with_rows;           /* the kernel takes how many rows each of them has */
    tamis_gpu_call arguments; /* the kernel's first ones: what was prepared */
} tamis_cusddmm_launch;

tamis_status tamis_cusddmm_execute(const tamis_prepared *p, void *stream, const tamis_operands *x,
                                   const tamis_cusddmm_launch *launch);

#endif
