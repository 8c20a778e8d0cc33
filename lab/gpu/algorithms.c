/* The papers' methods on GPUs, in the order of the catalogue, where they follow ours. */
#include "lab/gpu/methods.h"

#include "gpu/methods.h"

const tamis_gpu_algorithm *const tamis_lab_gpu_algorithms[] = {
    &tamis_gpudynamic_shared,
    &tamis_gpudynamic_preprocessing,
    &tamis_gpudynamic_convert,
    &tamis_gpudynamic_dynamic,
    &tamis_preds,
    &tamis_study_nnz_threads,
    &tamis_study_thread_map,
    &tamis_study_nnz_threads_shared,
    &tamis_study_row_blocks,
    &tamis_study_dense_grid,
    &tamis_study_child_kernels,
    &tamis_study_spmm_row,
    &tamis_study_spmm_shared,
    &tamis_study_spmm_shared_swapped,
    &tamis_study_fused_back_to_back,
    &tamis_study_fused_dense_grid,
    &tamis_esimd_row_simd,
    &tamis_cusddmm_sm_l2,
    &tamis_cusddmm_sm_sm,
};
const int tamis_lab_gpu_algorithm_count = sizeof tamis_lab_gpu_algorithms / sizeof tamis_lab_gpu_algorithms[0];
