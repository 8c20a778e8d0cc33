/*
 * What `cusddmm-sm-l2` and `cusddmm-sm-sm` (Nisa et al.: Sampled Dense Matrix Multiplication) have in common on the
 * host.
 */
#ifndef TAMIS_LAB_GPU_CUSDDMM_CUSDDMM_H
#define TAMIS_LAB_GPU_CUSDDMM_CUSDDMM_H

#include "gpu/structure/panel_index.h"

enum { TAMIS_CUSDDMM_AUTO, TAMIS_CUSDDMM_A, TAMIS_CUSDDMM_B }; /* the matrix that is streamed */

/* Whether A and B change roles: the paper streams along the smaller dimension; not so where that leaves fewer panels
   than fill a GPU. */
static inline bool tamis_cusddmm_swaps(const tamis_problem *problem, int64_t stream) {
    enum { ROWS = 64, ROUNDS = 2 };
    const tamis_gpu_limits *const limits = &((const tamis_gpu_device *)problem->device)->limits;
    const int64_t least = limits->is_cpu ? 0 : (int64_t)ROWS * ROUNDS * limits->multiprocessors;
    return stream == TAMIS_CUSDDMM_B ||
           (stream == TAMIS_CUSDDMM_AUTO && problem->rows > problem->cols && problem->cols >= least);
}

/* Returns the number of slices of tk elements in K. */
static inline int64_t tamis_cusddmm_slices(const tamis_problem *problem, int64_t tk) {
    return problem->inner > 0 ? (problem->inner + tk - 1) / tk : 1;
}

static inline int64_t tamis_cusddmm_round(int64_t x, int64_t multiple) {
    return (x + multiple - 1) / multiple * multiple;
}

/* Launches kernel 0 once a slice, in order. Slices after the first add to sums in scratch. */
typedef struct tamis_cusddmm_launch {
    tamis_gpu_launch grid;
    int64_t tk;
    bool swap;                       /* B is the matrix of the panels, A that of the tiles */
    bool with_rows;                  /* the kernel takes how many rows each of them has */
    const tamis_gpu_named *prepared; /* what the plan has made: up to 16 arguments */
} tamis_cusddmm_launch;

tamis_status tamis_cusddmm_execute(const tamis_prepared *p, void *stream, const tamis_operands *x,
                                   const tamis_cusddmm_launch *launch);

#endif
