/*
 * SDDMM with K in slices, one launch each. Rows of B of many kilobytes fit neither L1 nor shared memory in useful
 * numbers, and a table of them does not fit L2. All launches but the last keep their sums in scratch, as reals; the
 * last one applies the edge.
 */
#ifndef TAMIS_GPU_SLICES_H
#define TAMIS_GPU_SLICES_H

#include "gpu/method.h"

/* Elements of even slices of at most so many bytes of a row, but whole cache lines; K where one will do. */
int64_t tamis_gpu_slice_even(const tamis_problem *problem, int64_t bytes);

/* A slice as asked for, in whole cache lines and no more than K; 0: `otherwise`. */
int64_t tamis_gpu_slice_taken(const tamis_problem *problem, int64_t asked, int64_t otherwise);

/* Whether K passes in several launches. */
static inline bool tamis_gpu_sliced(const tamis_problem *problem, int64_t slice) { return slice < problem->inner; }

/* Bytes of the sums under way. */
size_t tamis_gpu_slice_scratch(const tamis_problem *problem, int64_t slice);

/* The kernels: of whole slices, and of the last one where it is shorter. */
enum { TAMIS_GPU_SLICE_WHOLE, TAMIS_GPU_SLICE_REST };

/* Has `compile` add them for slices of so many elements. */
tamis_status tamis_gpu_slice_compile(tamis_prepared *p, int64_t slice,
                                     tamis_status (*compile)(tamis_prepared *p, int kernel, int64_t inner));

/* A launch each, with SLICE_PARAMETERS beside the method's `own` arguments, of which there are up to 16. */
tamis_status tamis_gpu_slice_execute(const tamis_prepared *p, void *stream, const tamis_operands *x, int64_t slice,
                                     tamis_gpu_launch launch, const tamis_gpu_named *own);

#endif
