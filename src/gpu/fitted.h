/*
 * The fitted numbers of the GPU's cost model: what the probe does not measure. Each row of the table belongs to the
 * chip on which they were fitted. All predictors of our methods read their numbers from here. The time of a paper's
 * method relative to gpu-nonzeros is in its own row (tamis_gpu_algorithm.relative).
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

/* Picoseconds of the whole device for one of something, and for each byte of its row. */
typedef struct tamis_gpu_cost {
    double one, byte;
} tamis_gpu_cost;

static inline double tamis_gpu_cost_of(tamis_gpu_cost cost, double bytes) { return cost.one + cost.byte * bytes; }

/* Cells on tensor cores of which each number of the factors is three of fp16; splitting rows comes first. */
typedef struct tamis_gpu_fitted_cells {
    double cell_ps, cell_column_ps, nonzero_ps, begin; /* a cell, each column of A and B in it, a nonzero */
    double wide;     /* so many times a column of K that is more than 128: rows of A are copied for each cell */
    double gathered; /* so many times a cell of columns that do not lie together */
    double split;    /* so many times the time to read and write the rows that are split */
    double value_ps; /* a number of S, if the edge reads it */
    double highs;    /* of numbers of 16 bits, or rounded to TF32: share of cell_column_ps */
} tamis_gpu_fitted_cells;

/* What ends in _ps, and each tamis_gpu_cost, is picoseconds of the whole device and is scaled; other times are seconds
   and are not. */
typedef struct tamis_gpu_fitted {
    const char *chip;
    double l2_gbs; /* of that chip, GB/s: issue is multiplied by this over the rate of the device at hand */

    /* launches */
    double launch;       /* of one kernel */
    double alone;        /* the share of one team of a kernel by itself: less does not fill the device */
    double sparse_times; /* few teams take at most so many times as long as their share of a full device */

    /* a nonzero of SpMM or fused, whose row of B or D is read once */
    tamis_gpu_cost row;
    double halves; /* the costs of a nonzero with rows of 16 bits, which are converted: so many times their bytes' */
    double seen_byte_ps; /* ps of a byte that `row` already contains: only what is slower than this is added */
    double beyond_share; /* of the new rows, those whose way from L2 or memory is not hidden */
    /* a nonzero of a row that one team walks alone: a chain of loads. Not of the whole device but of that team */
    tamis_gpu_cost chain;

    struct {
        tamis_gpu_cost issue;    /* SDDMM: a nonzero with its rows of A and B */
        double issue_new_ps;     /* more if the row of B is new */
        double l1_byte_ps;       /* a byte of a row of B in L1, which the instructions hide */
        double l1_byte_new_ps;   /* more if it is new */
        double a_byte_ps;        /* a byte of a row of A */
        double value_ps;         /* a number of S, if the edge reads it */
        double wide, wide_bytes; /* rows of more bytes leave L1 room for too few: so many times as long */
        double beyond_share;
        double begin;    /* SDDMM: a launch, its start and end */
        double times[3]; /* of `row`, by operation: SpMM and fused carry sums */
        double sums;     /* SpMM and fused: the chunks that a team walks through; see `alone` */
        double merge;    /* the kernels at the end */
    } nonzeros;

    struct {
        tamis_gpu_cost issue;  /* a nonzero; bytes as the lanes take them, of a row of B in shared memory */
        double gather_byte_ps; /* a byte of a row of B brought into shared memory */
        double a_byte_ps;      /* a byte of a row of A, which is read for each cell */
        double value_ps;       /* a number of S, if the edge reads it */
        double steps;          /* rows that pass in several steps: so many times as long */
        double busy;           /* share of a group's teams that had work where `issue` was fitted */
        double uneven;         /* of narrow rows: how much longer the last, partly filled round of groups takes */
        double waits;          /* a multiprocessor's only group waits for each step: so many times as long */
        double begin;
    } panels;

    struct { /* gpu-panels and gpu-tensor: sorting nonzeros into cells */
        double fixed, nonzero_ps;
    } cells;

    struct {
        tamis_gpu_cost nonzero; /* whose row of B is in L1 */
        double new_share;       /* of the time in which L2 brings a new row, and `beyond_share` of what memory takes */
        double beyond_share;    /* longer than that */
        double unlike;          /* rows of different length pass through the columns at their own pace: see lanes.c */
        double row_ps;
        double merge;            /* of rows that are cut */
        double order, order_row; /* set-up: rows in order, the lists of cut rows */
    } rows;

    /* gpu-teams: nonzeros and rows of gpu-rows so many `times`; `even` where rows are of about the same length, `longs`
       where they are long, `large` in groups of more than `group` work-items, whose last team is waited for, `hubs` if
       such a matrix is large, too, `whole` where a large matrix has even rows, which are not split: of columns near
       each other, and of others. */
    struct {
        double begin; /* a launch, its start and end */
        double times, even, longs, large, hubs, group;
        double whole[2];
        double chain; /* share of `chain` */
    } teams;

    struct {                                 /* fused by gpu-teams */
        double one_ps, byte_ps, byte_new_ps; /* a nonzero, a byte of its rows, more if they are new */
        double
            alone; /* of rows that a window of nonzeros has not seen, but rows at the same time have: those not found */
        double row_byte_ps;  /* a byte of a row of A and of E */
        double beyond_share; /* of the new rows, of what they take longer than from L2 */
        double chain, large; /* share of `chain`; so many times in groups of more than `group` work-items */
    } fused_teams;

    double two_steps_apart; /* gpu-two-steps: so many times its steps, if the first is by nonzeros */

    struct { /* gpu-one-pass: a nonzero, whose row is read once for two products; what softmax adds to it; a row */
        tamis_gpu_cost nonzero;
        double softmax_ps, row_ps, row_lane_ps;
    } one_pass;

    /* gpu-long-rows: a nonzero, and a column of rows that share it, by the numbers of rows of B and D; times of reading
       these; seconds of a team's step by itself, of the launch that adds parts, of the lists of a plan */
    struct {
        tamis_gpu_cost row, column;
        double memory, step, merge, lists;
    } long_rows;

    struct {
        double cell_ps,
            cell_column_ps; /* a cell of 128 x 128 products, and each column of A and B: three products of TF32 */
        double tf32;        /* one product: share of cell_column_ps; derived from the instructions */
        double nonzero_ps;
        double begin;
    } tensor;

    double mma;                      /* gpu-tensor's cells by mma.sync: so many times as long as by wgmma */
    tamis_gpu_fitted_cells wgmma[2]; /* gpu-tensor on compute capability 9.0: SDDMM by cells of 128 x 128, of 64 x 64 */
    struct { /* SpMM there, for each 128 columns of C: cells of 128 x 128 numbers of S, nonzeros, panels; and each
                column */
        double cell_ps, cell_column_ps, nonzero_ps, panel_ps;
        double highs;    /* of numbers of 16 bits, or rounded to TF32: share of cell_ps and cell_column_ps */
        double gathered; /* so many times a cell of columns that do not lie together */
        double begin;
    } spmm_wgmma;

    struct { /* fused there, with softmax: cells of 64 x 64, each column of A and B in them, and of D; panels of 64 rows
              */
        double cell_ps, inner_column_ps, column_ps, panel_ps;
        double highs;    /* share of numbers of 16 bits, or rounded to TF32 */
        double gathered; /* so many times a cell of columns that do not lie together */
        double begin;
    } fused_wgmma;
    struct { /* and of 16 bits without values: cells, each column of A and B in them, and of D */
        double cell_ps, column_ps;
        double gathered; /* so many times a cell of columns that do not lie together */
        double begin;
    } fused_narrow;
    struct { /* gradients of fused there, with softmax, K and L up to 64, of fp32: cells of 64 x 64, panels of 64 rows,
                in both orders */
        double cell_ps, panel_ps;
        double highs;    /* share of numbers rounded to TF32 */
        double gathered; /* so many times a cell of columns that do not lie together */
        double begin;
    } backward_wgmma;
    struct { /* and of 16 bits, K and L up to 256: cells, each column of A and B in them, and of D */
        double cell_ps, column_ps;
        double gathered; /* so many times a cell of columns that do not lie together */
        double begin;
    } backward_narrow;
    /* gpu-rounded: the launch that rounds B, and so many times what gpu-nonzeros and gpu-rows would take with rows of
     * fp16 */
    struct {
        double begin, sddmm, spmm;
    } rounded;

    struct { /* softmax.simt */
        double nonzero_ps, row_ps, begin;
    } softmax;
} tamis_gpu_fitted;

/* The row of the problem's chip, else the first one. */
const tamis_gpu_fitted *tamis_gpu_fitted_for(const tamis_problem *problem);

#endif
