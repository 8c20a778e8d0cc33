/*
 * SDDMM with K in slices, a launch each: rows of B of many kilobytes fit neither L1 nor shared memory in useful
 * numbers, and a table of them not L2. The sums of all but the last launch lie in scratch, as reals; the last one takes
 * the edge.
 */
#ifndef TAMIS_GPU_METHODS_SLICES_H
#define TAMIS_GPU_METHODS_SLICES_H

#include "gpu/plan.h"

/* Elements of even slices of about so many bytes of a row, in whole cache lines; K where one will do. */
int64_t tamis_gpu_slice_even(const tamis_problem *problem, int64_t bytes);

/* What the cost model takes: */
int64_t tamis_gpu_nonzeros_slice(const tamis_problem *problem);
int64_t tamis_gpu_panels_slice(const tamis_problem *problem);

/* Rows of a panel of gpu-panels, by the cost model. */
int64_t tamis_gpu_panels_height(const tamis_problem *problem, int64_t slice);

/* A slice as asked for, in whole cache lines and no more than K; 0: `otherwise`. */
int64_t tamis_gpu_slice_taken(const tamis_problem *problem, int64_t asked, int64_t otherwise);

static inline bool tamis_gpu_sliced(const tamis_problem *problem, int64_t slice) { return slice < problem->inner; }

/* The last slice where it is shorter than the others, else 0: it has a kernel of its own. */
static inline int64_t tamis_gpu_slice_rest(const tamis_problem *problem, int64_t slice) {
    return tamis_gpu_sliced(problem, slice) ? problem->inner % slice : 0;
}

/* Bytes of the sums under way. */
size_t tamis_gpu_slice_scratch(const tamis_problem *problem, int64_t slice);

/* The arguments of the launch whose slice begins at element `begin`: SDDMM_PARAMETERS, then SLICE_PARAMETERS. */
void tamis_gpu_slice_arguments(const tamis_prepared *p, const tamis_operands *x, int64_t slice, int64_t begin,
                               tamis_gpu_call *call);

#endif
