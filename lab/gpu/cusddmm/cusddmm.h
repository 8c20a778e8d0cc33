/*
 * Shared by the host sides of `cusddmm-sm-l2` and `cusddmm-sm-sm` (Nisa et al.: Sampled Dense Matrix Multiplication).
 */
#ifndef TAMIS_LAB_GPU_CUSDDMM_CUSDDMM_H
#define TAMIS_LAB_GPU_CUSDDMM_CUSDDMM_H

#include "gpu/structure/panel_index.h"

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

/* The number of slices of tk elements in K. */
static inline int64_t tamis_cusddmm_slices(const tamis_problem *problem, int64_t tk) {
    return problem->inner > 0 ? (problem->inner + tk - 1) / tk : 1;
}

static inline int64_t tamis_cusddmm_round(int64_t x, int64_t multiple) {
    return (x + multiple - 1) / multiple * multiple;
}

/* Launches kernel 0 once per slice, in order. Slices after the first add to sums in scratch. */
typedef struct tamis_cusddmm_launch {
    tamis_gpu_launch grid;
    int64_t tk;
    bool swap;                       /* the panels are rows of B, the tiles rows of A */
    bool with_rows;                  /* the kernel takes the numbers of rows of both */
    const tamis_gpu_named *prepared; /* arguments made by the plan, up to 16 */
} tamis_cusddmm_launch;

tamis_status tamis_cusddmm_execute(const tamis_prepared *p, void *stream, const tamis_operands *x,
                                   const tamis_cusddmm_launch *launch);

#endif
