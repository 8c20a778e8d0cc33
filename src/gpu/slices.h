/*
 * SDDMM with K in slices, one launch each. Of rows of B of many kilobytes, too few fit L1 or shared memory, and the
 * whole table does not fit L2. All launches but the last store partial sums in scratch, as reals; the last one applies
 * the edge.
 */
#ifndef TAMIS_GPU_SLICES_H
#define TAMIS_GPU_SLICES_H

#include "gpu/method.h"

/* Elements of a slice: equal slices of at most `bytes` of a row, rounded to whole cache lines; K if one is enough. */
int64_t tamis_gpu_slice_even(const tamis_problem *problem, int64_t bytes);

/* The requested slice, in whole cache lines and at most K; for 0, `otherwise`. */
int64_t tamis_gpu_slice_taken(const tamis_problem *problem, int64_t asked, int64_t otherwise);

/* True if K takes several launches. */
static inline bool tamis_gpu_sliced(const tamis_problem *problem, int64_t slice) { return slice < problem->inner; }

/* Bytes of the partial sums. */
size_t tamis_gpu_slice_scratch(const tamis_problem *problem, int64_t slice);

/* Kernel numbers: for whole slices, and for a shorter last slice. */
enum { TAMIS_GPU_SLICE_WHOLE, TAMIS_GPU_SLICE_REST };

/* Calls `compile` for the kernels of slices of `slice` elements. */
tamis_status tamis_gpu_slice_compile(tamis_prepared *p, int64_t slice,
                                     tamis_status (*compile)(tamis_prepared *p, int kernel, int64_t inner));

/* Launches each slice, with SLICE_PARAMETERS and the method's `own` arguments, up to 16. */
tamis_status tamis_gpu_slice_execute(const tamis_prepared *p, void *stream, const tamis_operands *x, int64_t slice,
                                     tamis_gpu_launch launch, const tamis_gpu_named *own);

#endif
