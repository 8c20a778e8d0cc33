/*
 * Rows of A and B split into two fp16 numbers each (split_rows.cu): the first step of the kernels of cells.
 */
#ifndef TAMIS_GPU_TENSOR_SPLIT_H
#define TAMIS_GPU_TENSOR_SPLIT_H

#include "gpu/method.h"

/* Whether each number becomes two fp16 numbers: fp32 does, unless math = tf32; 16-bit types do not. */
bool tamis_splits(const tamis_problem *problem);

/* The rows to split, and where they go. */
typedef struct tamis_split {
    bool across, aligned;      /* for SpMM; the rows of B of a cell lie together: as split_rows.cu tells */
    bool lows;                 /* in lines beside highs; else highs alone */
    int64_t a_rows, b_filled;  /* rows of A; of B with those of zeros that fill tiles up */
    int64_t length, numbers;   /* of a row; with zeros, to whole lines (with D the longer ones) */
    int64_t slices;            /* lines of highs of a row */
    int64_t tiled_rows, tiled; /* rows of A, and of both, filled up to tiles */
    tamis_place scales, split;
} tamis_split;

/* Kernel `number` of the plan: `across`, `aligned`, `lows` and `numbers` count. */
tamis_status tamis_split_compile(tamis_prepared *p, int number, const tamis_split *split);
tamis_status tamis_split_launch(const tamis_prepared *p, void *stream, int number, const tamis_gpu_common *common,
                                const tamis_split *split);

/* Rows of D beside those of A and B, split as for SpMM; and counters that become 0. */
typedef struct tamis_split_third {
    int64_t slices;
    tamis_place scales, split;
    int64_t clears;
    tamis_place cleared;
} tamis_split_third;
tamis_status tamis_split_compile_three(tamis_prepared *p, int number, const tamis_split *split);
tamis_status tamis_split_launch_three(const tamis_prepared *p, void *stream, int number, const tamis_gpu_common *common,
                                      const tamis_split *split, const tamis_split_third *third);

/* A and dE, and B and D, split as for SpMM: for backward_wgmma.cu and backward_wide.cu. Of both the second has its
   scales, and its lines, behind those of the first. */
typedef struct tamis_split_four {
    int64_t filled, b_filled;           /* rows of A, and of B, filled up to tiles */
    int64_t inner_slices, width_slices; /* lines of highs of a row of A or B, and of dE or D */
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
