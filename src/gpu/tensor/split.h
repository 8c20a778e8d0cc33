/*
 * Splits rows of A and B into two fp16 numbers each (split_rows.cu): the first step of the kernels of cells.
 */
#ifndef TAMIS_GPU_TENSOR_SPLIT_H
#define TAMIS_GPU_TENSOR_SPLIT_H

#include "gpu/method.h"

/* True if each number becomes two fp16 numbers: for fp32, unless math = tf32; not for 16-bit types. */
bool tamis_splits(const tamis_problem *problem);

/* The rows to split, and where they go. */
typedef struct tamis_split {
    bool across, aligned;      /* for SpMM; rows of B of a cell are contiguous; see split_rows.cu */
    bool lows;                 /* lines have highs and lows; else highs only */
    int64_t a_rows, b_filled;  /* rows of A; of B, including zero rows that pad tiles */
    int64_t length, numbers;   /* of a row; padded to whole lines (with D: the longer ones) */
    int64_t slices;            /* lines of highs per row */
    int64_t tiled_rows, tiled; /* rows of A, and of both, padded to tiles */
    tamis_place scales, split;
} tamis_split;

/* Compiles kernel `number` of the plan, from `across`, `aligned`, `lows` and `numbers`. */
tamis_status tamis_split_compile(tamis_prepared *p, int number, const tamis_split *split);
tamis_status tamis_split_launch(const tamis_prepared *p, void *stream, int number, const tamis_gpu_common *common,
                                const tamis_split *split);

/* Also splits rows of D, as for SpMM, and clears counters. */
typedef struct tamis_split_third {
    int64_t slices;
    tamis_place scales, split;
    int64_t clears;
    tamis_place cleared;
} tamis_split_third;
tamis_status tamis_split_compile_three(tamis_prepared *p, int number, const tamis_split *split);
tamis_status tamis_split_launch_three(const tamis_prepared *p, void *stream, int number, const tamis_gpu_common *common,
                                      const tamis_split *split, const tamis_split_third *third);

/* Splits A and dE, and B and D, as for SpMM: for backward_wgmma.cu and backward_wide.cu. The second matrix of each pair
   has its scales and its lines after the first one's. */
typedef struct tamis_split_four {
    int64_t filled, b_filled;           /* rows of A, and of B, padded to tiles */
    int64_t inner_slices, width_slices; /* lines of highs per row of A or B, and of dE or D */
    tamis_place e;
    int64_t e_stride, e_batch_stride;
    tamis_place scales, split, b_scales, b_split;
    int64_t clears;
    tamis_place cleared;
} tamis_split_four;
tamis_status tamis_split_compile_four(tamis_prepared *p, int number, bool lows);
tamis_status tamis_split_launch_four(const tamis_prepared *p, void *stream, int number, const tamis_gpu_common *common,
                                     const tamis_split_four *four);

#endif
