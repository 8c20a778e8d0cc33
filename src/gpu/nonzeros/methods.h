/* The methods of gpu-nonzeros. */
#ifndef TAMIS_GPU_NONZEROS_METHODS_H
#define TAMIS_GPU_NONZEROS_METHODS_H

#include "gpu/method.h"

extern const tamis_gpu_method tamis_gpu_sddmm_nonzeros, tamis_gpu_spmm_chunks, tamis_gpu_fused_chunks;

#endif
