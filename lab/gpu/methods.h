/* Rows of the papers' methods, each in its method's folder; algorithms.c lists them. */
#ifndef TAMIS_LAB_GPU_METHODS_H
#define TAMIS_LAB_GPU_METHODS_H

#include "gpu/method.h"

/* gpudynamic: Costa et al. */
extern const tamis_gpu_algorithm tamis_gpudynamic_shared, tamis_gpudynamic_preprocessing, tamis_gpudynamic_convert,
    tamis_gpudynamic_dynamic;
/* preds: Yu et al. */
extern const tamis_gpu_algorithm tamis_preds;
/* study: Lin, Hsu, Chen */
extern const tamis_gpu_algorithm tamis_study_nnz_threads, tamis_study_thread_map, tamis_study_nnz_threads_shared,
    tamis_study_row_blocks, tamis_study_dense_grid, tamis_study_child_kernels, tamis_study_spmm_row,
    tamis_study_spmm_shared, tamis_study_spmm_shared_swapped, tamis_study_fused_back_to_back,
    tamis_study_fused_dense_grid;
/* esimd: Zubair, Bauinger */
extern const tamis_gpu_algorithm tamis_esimd_row_simd;
/* cusddmm: Nisa et al. */
extern const tamis_gpu_algorithm tamis_cusddmm_sm_l2, tamis_cusddmm_sm_sm;

#endif
