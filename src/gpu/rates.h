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

/* Picoseconds of the whole device: per item, and per byte (or column) of the item's row. */
typedef struct tamis_gpu_cost {
    double one, byte;
} tamis_gpu_cost;

static inline double tamis_gpu_cost_of(tamis_gpu_cost cost, double bytes) { return cost.one + cost.byte * bytes; }

/* Cells on tensor cores: a cell, and each column of A and B (or of D) in it. */
typedef struct tamis_gpu_cell_rates {
    double cell_ps, column_ps;
} tamis_gpu_cell_rates;

/* Members ending in _ps, and each tamis_gpu_cost, are picoseconds of the whole device; other times are seconds. */
typedef struct tamis_gpu_rates {
    double l2_gbs;      /* of the chip of these rates: issue is scaled by it over the device's own; not fitted */
    double launch;      /* of one kernel */
    double row_byte_ps; /* a byte of a row of B or D that an entry reads: SpMM and fused by gpu-nonzeros */
    double halves;      /* factor: rows of 16 bits, which are converted, relative to fp32 rows of as many bytes */
    double chain_ps;    /* an entry of a row that one team walks: a chain of dependent loads; time of that team */

    struct {
        tamis_gpu_cost issue; /* SDDMM: an entry with its rows of A and B */
        double byte_new_ps;   /* a byte of a row of B, if it is new: extra */
        double wide;          /* factor: rows that are too long for L1 */
        double begin;         /* SDDMM: a launch, its start and end */
        double merge;         /* SpMM and fused: the final kernels */
    } nonzeros;

    struct {
        tamis_gpu_cost issue;  /* an entry; per byte that the lanes read of a row of B in shared memory */
        double gather_byte_ps; /* a byte of a row of B gathered into shared memory */
        double steps;          /* factor: rows that take several steps */
        double waits;          /* factor: a multiprocessor has one group only, which waits for each step */
    } panels;

    struct { /* gpu-panels and gpu-tensor: sorting entries into cells */
        double fixed, nonzero_ps;
    } cells;

    struct {
        tamis_gpu_cost nonzero;  /* an entry with its row of B */
        double unlike;           /* rows of different length drift apart in the columns and share less: see lanes.c */
        double merge;            /* of cut rows */
        double order, order_row; /* set-up: ordering rows, listing cut rows */
    } rows;

    /* gpu-teams: over gpu-rows; `whole`: a large matrix with even rows and scattered columns, which are not split;
       `hubs`: a large matrix in large groups, which wait for their last team */
    struct {
        double whole, hubs;
        double begin; /* a launch, its start and end */
        double chain; /* share of chain_ps */
    } teams;

    struct { /* fused by gpu-teams: an entry, a byte of its rows; extra if they are new */
        tamis_gpu_cost nonzero;
        double byte_new_ps;
        double chain; /* share of chain_ps */
    } fused_teams;

    struct { /* gpu-one-pass: an entry, whose row is read once for both products; extra for softmax */
        tamis_gpu_cost nonzero;
        double softmax_ps;
    } one_pass;

    /* gpu-long-rows, from counted instructions (13 of a warp for an entry, 15 for a column of 256 numbers, 900 in a
       nanosecond), not fitted, since only decoding shows them: an entry, and a column shared by several rows, per
       number of B's and D's rows; memory: factor of reading them; seconds of a team's step, of the launch that adds the
       parts, of a plan's lists */
    struct {
        tamis_gpu_cost row, column;
        double memory, step, merge, lists;
    } long_rows;

    struct { /* gpu-tensor by TF32, with three products: cells of 128 x 128, entries */
        tamis_gpu_cell_rates cell;
        double nonzero_ps, begin;
    } tensor;
    double mma; /* gpu-tensor's cells by mma.sync: time relative to wgmma */

    struct { /* SDDMM by gpu-tensor with split numbers: cells of 128 x 128, of 64 x 64, and an entry in them */
        tamis_gpu_cell_rates cell[2];
        double nonzero_ps[2];
        double gathered; /* factor: large cells whose columns are not contiguous */
        double split;    /* splitting takes this multiple of the time to read and write the rows */
    } wgmma;
    struct { /* SpMM there: a column of C in a cell of 128 x 128 of S; for each 128 columns, entries; panels */
        double column_ps, nonzero_ps, begin;
    } spmm_wgmma;
    struct { /* fused with softmax there: cells of 64 x 64, each column of A and B in them, each of D; panels of 64 rows
              */
        tamis_gpu_cell_rates cell;
        double column_ps, begin;
    } fused_wgmma;
    double highs[3]; /* numbers of 16 bits, or rounded to TF32: share of those cells' time: SDDMM, SpMM, fused */

    tamis_gpu_cell_rates fused_narrow, fused_large; /* fused with 16 bits and no values; of 64 x 64, of 128 x 128 */
    double fused_begin;
    struct { /* gradients of fused with softmax, fp32, K and L up to 64: cells of 64 x 64, panels, in both orders */
        double cell_ps, panel_ps, begin;
    } backward_wgmma;
    tamis_gpu_cell_rates backward_narrow; /* the same with 16 bits, K and L up to 256 */
    double backward_begin;

    double rounded_begin; /* gpu-rounded: the launch that rounds B */

    struct { /* softmax.simt */
        double nonzero_ps, begin;
    } softmax;
    double sure[TAMIS_LEADS]; /* no rates: see backend/rates.h */
} tamis_gpu_rates;

extern const tamis_rate_table tamis_gpu_rate_table;

/* The rates for this problem's device. */
static inline const tamis_gpu_rates *tamis_gpu_rates_of(const tamis_problem *problem) {
    return (const tamis_gpu_rates *)(const void *)problem->evidence->rates;
}

#endif
