/* Rows of the papers' methods, each in its method's folder, in the order of the catalogue, where they follow ours. */
#ifndef TAMIS_LAB_GPU_METHODS_H
#define TAMIS_LAB_GPU_METHODS_H

#include "base/papers.h"
#include "gpu/method.h"

#define TAMIS_LAB_GPU_METHODS(row)                                                                                     \
    row(gpudynamic_shared) row(gpudynamic_preprocessing) row(gpudynamic_convert) row(gpudynamic_dynamic) row(preds)    \
        row(study_nnz_threads) row(study_thread_map) row(study_nnz_threads_shared) row(study_row_blocks)               \
            row(study_dense_grid) row(study_child_kernels) row(study_spmm_row) row(study_spmm_shared)                  \
                row(study_spmm_shared_swapped) row(study_fused_back_to_back) row(study_fused_dense_grid)               \
                    row(esimd_row_simd) row(cusddmm_sm_l2) row(cusddmm_sm_sm)

#define TAMIS_LAB_GPU_DECLARE(name) extern const tamis_gpu_algorithm tamis_##name;
TAMIS_LAB_GPU_METHODS(TAMIS_LAB_GPU_DECLARE)

/* The description of a row. */
#define TAMIS_LAB_DESCRIBE(name_, operations_, source_, needs_, when_, parameters_)                                    \
    .common.description.name = name_, .common.description.device = "gpu",                                              \
    .common.description.operations = operations_, .common.description.source = source_,                                \
    .common.description.needs = needs_, .common.description.when = when_, .common.description.parameters = parameters_

/* The same and the method of a row with one operation; fields of the method follow. */
#define TAMIS_LAB_ROW(operation, name_, source_, needs_, when_, parameters_, ...)                                      \
    TAMIS_LAB_DESCRIBE(name_, 1u << operation, source_, needs_, when_, parameters_),                                   \
        .methods = {[operation] = &(const tamis_gpu_method){.name = name_, __VA_ARGS__}}

#endif
