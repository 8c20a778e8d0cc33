/*
 * The rates of the GPU's predictions (see backend/rates.h). The time of a paper's method relative to gpu-nonzeros is in
 * the method's own row (tamis_gpu_algorithm.relative).
 *
 * A prediction adds
 *   - issue: the time that an entry, a row of B or a cell occupies the multiprocessors' load and arithmetic units, in
 *     picoseconds of the whole device, which depend on the kernel's instructions;
 *   - the bytes that are streamed, at the rate that the probe measured;
 *   - launches, and what a method begins with, in seconds.
 * On a chip without rates of its own, issue is scaled by the rate of the L2 cache.
 */
#ifndef TAMIS_GPU_RATES_H
#define TAMIS_GPU_RATES_H

#include "backend/backend.h"

/* Cells on tensor cores: a cell, and each column of A and B in it. */
typedef struct tamis_gpu_cell_rates {
    double cell_ps, column_ps;
} tamis_gpu_cell_rates;

/* Members ending in _ps are picoseconds of the whole device; other times are seconds. */
typedef struct tamis_gpu_rates {
    double l2_gbs; /* of the chip of these rates: issue is scaled by it over the device's own; not fitted */

    double launch;      /* of one kernel: SpMM and fused by rows, cells, merging */
    double begin;       /* the same of SDDMM by entries, of rounding, and of cells of 16 bits */
    double teams_begin; /* of gpu-teams */
    double step;        /* of a team that walks a row alone: it waits for the loads of a few entries */

    double byte_ps;    /* a byte of a row of B or D that an entry reads; methods count how often */
    double dot_ps;     /* an entry beside its row: SDDMM, gpu-one-pass */
    double sum_ps;     /* SpMM */
    double fused_ps;   /* fused by gpu-teams */
    double softmax_ps; /* an entry of softmax beside it */

    double order, order_row; /* set-up: ordering rows, listing cut rows; a row of them */

    tamis_gpu_cell_rates cell;        /* SDDMM by gpu-tensor with split numbers: cells of 64 x 64 */
    double cell_nonzero_ps;           /* an entry in cells of SDDMM and SpMM */
    tamis_gpu_cell_rates fused_cell;  /* fused with softmax there: cells of 64 x 64, each column of A and B in them */
    double fused_column_ps;           /* each column of D in them */
    tamis_gpu_cell_rates narrow_cell; /* fused with 16 bits and no values, cells of 64 x 64 */

    double sure[TAMIS_LEADS]; /* no rates: see backend/rates.h */
} tamis_gpu_rates;

extern const tamis_rate_table tamis_gpu_rate_table;

/* The rates for this problem's device. */
static inline const tamis_gpu_rates *tamis_gpu_rates_of(const tamis_problem *problem) {
    return (const tamis_gpu_rates *)(const void *)problem->evidence->rates;
}

#endif
