/* gpu-nonzeros: SDDMM by equal nonzeros, SpMM and fused by equal shares of nonzeros and rows. */
#ifndef TAMIS_GPU_NONZEROS_NONZEROS_H
#define TAMIS_GPU_NONZEROS_NONZEROS_H

#include "gpu/method.h"

extern const tamis_gpu_method tamis_gpu_sddmm_nonzeros, tamis_gpu_spmm_chunks, tamis_gpu_fused_chunks;

/* The slice of K that a launch of its SDDMM should take, by the cost model. */
int64_t tamis_gpu_nonzeros_slice(const tamis_problem *problem);

/* `relative` times what gpu-nonzeros takes. */
void tamis_gpu_predict_relative(const tamis_problem *problem, double relative, tamis_prediction *prediction);

#endif
