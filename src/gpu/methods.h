/* The methods of the GPU, one table each; algorithms.c lists them. */
#ifndef TAMIS_GPU_METHODS_H
#define TAMIS_GPU_METHODS_H

#include "gpu/plan.h"

/* ours */
extern const tamis_gpu_method tamis_gpu_sddmm_nonzeros, tamis_gpu_sddmm_panels, tamis_gpu_sddmm_tensor,
    tamis_gpu_spmm_chunks, tamis_gpu_spmm_rows, tamis_gpu_fused_chunks, tamis_gpu_fused_two_steps;
/* Costa et al. */
extern const tamis_gpu_method tamis_gpu_shared, tamis_gpu_preprocessing, tamis_gpu_convert, tamis_gpu_dynamic;
/* Yu et al. */
extern const tamis_gpu_method tamis_gpu_preds;
/* Lin, Hsu, Chen */
extern const tamis_gpu_method tamis_gpu_nnz_threads, tamis_gpu_thread_map, tamis_gpu_nnz_threads_shared,
    tamis_gpu_row_blocks, tamis_gpu_dense_grid, tamis_gpu_child_kernels, tamis_gpu_spmm_row, tamis_gpu_spmm_shared,
    tamis_gpu_spmm_shared_swapped, tamis_gpu_fused_back_to_back, tamis_gpu_fused_dense_grid;
/* Zubair, Bauinger */
extern const tamis_gpu_method tamis_gpu_row_simd_sddmm, tamis_gpu_row_simd_spmm, tamis_gpu_row_simd_fused;
/* Nisa et al. */
extern const tamis_gpu_method tamis_gpu_sm_l2, tamis_gpu_sm_sm;

#endif
