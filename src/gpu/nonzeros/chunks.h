/* gpu-nonzeros' methods of SpMM and fused. */
#ifndef TAMIS_GPU_NONZEROS_CHUNKS_H
#define TAMIS_GPU_NONZEROS_CHUNKS_H

#include "gpu/method.h"

extern const tamis_gpu_method tamis_gpu_spmm_chunks, tamis_gpu_fused_chunks;

#endif
