/* The methods of the GPU, one table each; algorithms.c lists them. */
#ifndef TAMIS_GPU_METHODS_METHODS_H
#define TAMIS_GPU_METHODS_METHODS_H

#include "gpu/plan.h"

extern const tamis_gpu_method tamis_gpu_sddmm_nonzeros, tamis_gpu_sddmm_panels, tamis_gpu_spmm_chunks, tamis_gpu_fused_chunks;

#endif
