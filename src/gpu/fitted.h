/*
 * Fitted numbers of the GPU's cost model, which the probe does not measure. Each row of the table belongs to the chip
 * on which it was fitted. All predictors of our methods read their numbers here. The time of a paper's method relative
 * to gpu-nonzeros is in the method's own row (tamis_gpu_algorithm.relative).
 *
 * A prediction adds
 *   - the bytes that each level of the memory moves, at the rate that the probe measured for tables of that size;
 *   - issue: the time that a nonzero, a row or a cell occupies the multiprocessors' load and arithmetic units, as
 *     tamis_gpu_cost: picoseconds of the whole device, which depend on the kernel's instructions and are fitted;
 *   - launches, and the start and end of a kernel.
 * On chips without a row, issue is scaled by the rate of the L2 cache.
 */
#ifndef TAMIS_GPU_FITTED_H
#define TAMIS_GPU_FITTED_H

#include "backend/backend.h"

/* Picoseconds of the whole device: per item, and per byte of the item's row. */
typedef struct tamis_gpu_cost {
    double one, byte;
} tamis_gpu_cost;

static inline double tamis_gpu_cost_of(tamis_gpu_cost cost, double bytes) { return cost.one + cost.byte * bytes; }

/* Attention with 16 bits: cells (of 64 x 64, or large ones of 128 x 128), each column of A and B in them, and of D. */
typedef struct tamis_gpu_fitted_attention {
    double cell_ps, column_ps;
    double gathered; /* slowdown of a cell whose columns are not contiguous */
    double begin;
} tamis_gpu_fitted_attention;

/* Cells on tensor cores with split numbers: three fp16 products for each product, after the rows are split. */
typedef struct tamis_gpu_fitted_cells {
    double cell_ps, cell_column_ps, nonzero_ps, begin; /* a cell, each column of A and B in it, a nonzero */
    double wide;     /* slowdown of the columns of K beyond 128, since rows of A are then copied for each cell */
    double gathered; /* slowdown of a cell whose columns are not contiguous */
    double split;    /* splitting takes this multiple of the time to read and write the rows */
    double value_ps; /* a number of S, if the edge reads it */
    double highs;    /* numbers of 16 bits, or rounded to TF32: share of cell_column_ps */
} tamis_gpu_fitted_cells;

/* Members ending in _ps, and each tamis_gpu_cost, are picoseconds of the whole device and scale with the chip; other
   times are seconds and do not. */
typedef struct tamis_gpu_fitted {
    const char *chip;
    double l2_gbs; /* L2 bandwidth of that chip, GB/s: issue is scaled by this over the device's own */

    /* launches */
    double launch; /* of one kernel */
    double alone;  /* seconds of one team's share by itself: the least time of a launch, since less work does not fill
                      the device */
    double sparse_times; /* but a launch takes at most this multiple of its time on a full device */

    /* a nonzero of SpMM or fused, which reads one row of B or D */
    tamis_gpu_cost row;
    double halves;       /* slowdown of rows of 16 bits, which are converted, relative to fp32 rows of as many bytes */
    double seen_byte_ps; /* ps per byte that `row` already contains: only what is slower is added */
    double beyond_share; /* share of the new rows whose latency from L2 or memory is not hidden */
    /* a nonzero of a row that one team walks: a chain of dependent loads; time of that team, not of the whole device */
    tamis_gpu_cost chain;

    struct {
        tamis_gpu_cost issue;    /* SDDMM: a nonzero with its rows of A and B */
        double issue_new_ps;     /* extra if the row of B is new */
        double l1_byte_ps;       /* a byte of a row of B in L1, which the instructions hide */
        double l1_byte_new_ps;   /* extra if it is new */
        double a_byte_ps;        /* a byte of a row of A */
        double value_ps;         /* a number of S, if the edge reads it */
        double wide, wide_bytes; /* slowdown of rows longer than wide_bytes: too few fit in L1 */
        double beyond_share;
        double begin;    /* SDDMM: a launch, its start and end */
        double times[3]; /* relative to `row`, by operation: SpMM and fused carry sums */
        double sums;     /* SpMM and fused: the chunks that a team walks through; see `alone` */
        double merge;    /* the final kernels */
    } nonzeros;

    struct {
        tamis_gpu_cost issue;  /* a nonzero; per byte that the lanes read of a row of B in shared memory */
        double gather_byte_ps; /* a byte of a row of B gathered into shared memory */
        double a_byte_ps;      /* a byte of a row of A, which is read for each cell */
        double value_ps;       /* a number of S, if the edge reads it */
        double steps;          /* slowdown of rows that take several steps */
        double busy;           /* share of busy teams in a group where `issue` was fitted */
        double uneven;         /* narrow rows: extra share of the last, partly filled wave of groups */
        double waits;          /* slowdown when a multiprocessor has one group only, which waits for each step */
        double begin;
    } panels;

    struct { /* gpu-panels and gpu-tensor: sorting nonzeros into cells */
        double fixed, nonzero_ps;
    } cells;

    struct {
        tamis_gpu_cost nonzero; /* whose row of B is in L1 */
        double new_share;       /* share of the time in which L2 delivers a new row */
        double beyond_share;    /* share of the extra time if memory delivers it */
        double unlike;          /* rows of different length drift apart in the columns and share less: see lanes.c */
        double row_ps;
        double merge;            /* of cut rows */
        double order, order_row; /* set-up: ordering rows, listing cut rows */
    } rows;

    /* gpu-teams: time relative to gpu-rows, by the first case that applies. `whole`: a large matrix with even rows,
       which are not split (nearby columns, scattered columns); `hubs`: a large matrix in groups of more than `group`
       work-items; `longs`: long rows; `even`: rows of similar length; `times`: groups of up to `group` work-items;
       `large`: larger groups, which wait for their last team. */
    struct {
        double begin; /* a launch, its start and end */
        double times, even, longs, large, hubs, group;
        double whole[2];
        double chain; /* share of `chain` */
    } teams;

    struct {                                 /* fused by gpu-teams */
        double one_ps, byte_ps, byte_new_ps; /* a nonzero; a byte of its rows; extra if they are new */
        double alone; /* of the rows that concurrent rows have read but a window of nonzeros has not: share that still
                         misses */
        double row_byte_ps;  /* a byte of a row of A and of E */
        double beyond_share; /* of the new rows: share of their extra time beyond L2 */
        double chain, large; /* share of `chain`; slowdown in groups of more than `group` work-items */
    } fused_teams;

    double two_steps_apart; /* gpu-two-steps: time relative to the sum of its steps, if the first is by nonzeros */

    struct { /* gpu-one-pass: a nonzero, whose row is read once for both products; extra for softmax; a row */
        tamis_gpu_cost nonzero;
        double softmax_ps, row_ps, row_lane_ps;
    } one_pass;

    /* gpu-long-rows: a nonzero, and a column shared by several rows, per number of B's and D's rows; memory: slowdown
       of reading them; seconds of a team's step, of the launch that adds the parts, of a plan's lists */
    struct {
        tamis_gpu_cost row, column;
        double memory, step, merge, lists;
    } long_rows;

    struct {
        double cell_ps,
            cell_column_ps; /* a cell of 128 x 128 products, and each column of A and B: three TF32 products */
        double tf32;        /* one product: share of cell_column_ps; derived from the instructions */
        double nonzero_ps;
        double begin;
    } tensor;

    double mma;                      /* gpu-tensor's cells by mma.sync: time relative to wgmma */
    tamis_gpu_fitted_cells wgmma[2]; /* gpu-tensor on compute capability 9.0: SDDMM by cells of 128 x 128, of 64 x 64 */
    struct { /* SpMM there, for each 128 columns of C: cells of 128 x 128 of S, nonzeros, panels; and each column */
        double cell_ps, cell_column_ps, nonzero_ps, panel_ps;
        double highs;    /* numbers of 16 bits, or rounded to TF32: share of cell_ps and cell_column_ps */
        double gathered; /* slowdown of a cell whose columns are not contiguous */
        double begin;
    } spmm_wgmma;

    struct { /* fused with softmax there: cells of 64 x 64, each column of A and B in them, each of D; panels of 64 rows
              */
        double cell_ps, inner_column_ps, column_ps, panel_ps;
        double highs;    /* numbers of 16 bits, or rounded to TF32: share of the time */
        double gathered; /* slowdown of a cell whose columns are not contiguous */
        double begin;
    } fused_wgmma;
    tamis_gpu_fitted_attention fused_narrow, fused_large; /* the same with 16 bits and no values */
    struct { /* gradients of fused with softmax there, fp32, K and L up to 64: cells of 64 x 64, panels of 64 rows, in
                both orders */
        double cell_ps, panel_ps;
        double highs;    /* numbers rounded to TF32: share of the time */
        double gathered; /* as above */
        double begin;
    } backward_wgmma;
    struct { /* the same with 16 bits, K and L up to 256: cells, each column of A and B in them, and of D */
        double cell_ps, column_ps;
        double gathered; /* as above */
        double begin;
    } backward_narrow;
    /* gpu-rounded: the launch that rounds B; time relative to gpu-nonzeros and gpu-rows with rows of fp16 */
    struct {
        double begin, sddmm, spmm;
    } rounded;

    struct { /* softmax.simt */
        double nonzero_ps, row_ps, begin;
    } softmax;
} tamis_gpu_fitted;

/* Returns the row of the problem's chip, or else the first one. */
const tamis_gpu_fitted *tamis_gpu_fitted_for(const tamis_problem *problem);

#endif
