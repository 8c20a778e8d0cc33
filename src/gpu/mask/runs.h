/* The arguments RUNS_PARAMETERS of kernels (runs_kernels.h): the mask of a problem without a list of columns. */
#ifndef TAMIS_GPU_MASK_RUNS_H
#define TAMIS_GPU_MASK_RUNS_H

#include "backend/backend.h"
#include "gpu/runtime/arguments.h"
#include "sparse/mask_runs.h"

/* `any`: memory in place of arrays that the mask does not have. */
#define TAMIS_GPU_RUNS(problem, any)                                                                                   \
    tamis_gpu_integer("of_rows", (problem)->mask->rows), tamis_gpu_integer("of_cols", (problem)->mask->cols),          \
        tamis_gpu_integer("from_place", (problem)->mask->offset), tamis_gpu_integer("left", (problem)->mask->left),    \
        tamis_gpu_integer("right", (problem)->mask->right), tamis_gpu_integer("globals", (problem)->mask->globals),    \
        tamis_gpu_memory("lengths", (problem)->mask->lengths ? (problem)->mask->lengths : (any)),                      \
        tamis_gpu_integer("has_lengths", (problem)->mask->lengths != NULL),                                            \
        tamis_gpu_memory("row_lengths", (problem)->mask->row_lengths ? (problem)->mask->row_lengths : (any)),          \
        tamis_gpu_integer("has_row_lengths", (problem)->mask->row_lengths != NULL),                                    \
        tamis_gpu_integer("length_wide", (problem)->mask->length_type == TAMIS_I64),                                   \
        tamis_gpu_integer("from_end", (problem)->mask->from_end),                                                      \
        tamis_gpu_integer("causal", (problem)->mask->causal),                                                          \
        tamis_gpu_integer("everything", tamis_mask_keeps_all((problem)->mask)),                                        \
        tamis_gpu_integer("sinks", (problem)->mask->sinks), tamis_gpu_integer("turned", (problem)->mask_turned)

#endif
