/*
 * The CPU's cost model. A method counts what a call moves and computes, and the machine's probed bandwidths and its
 * rates (cpu/rates.h) turn the counts into seconds. Sizes are in bytes.
 */
#ifndef TAMIS_CPU_PREDICT_H
#define TAMIS_CPU_PREDICT_H

#include "cpu/rates.h"

typedef struct tamis_cpu_counts {
    double far; /* bytes of rows of B and D that come from beyond L2, out of `table` bytes */
    double table;
    double near; /* bytes of rows found in L2, or in a smaller table, but not in L1 */
    double near_table;
    double streamed; /* bytes of S, of A, and of the output, which comes into a cache before it goes out */
    double products; /* multiply-adds at the arithmetic's peak, in flops of the problem's own */
    double issued;   /* seconds of one core beside them: entries, rows, and what else has a rate */
} tamis_cpu_counts;

/* Set-up of an entry of cells, over the rate. */
#define TAMIS_CPU_CELLS_SETUP 1.5

/* Seconds of a call. */
double tamis_cpu_seconds(const tamis_problem *problem, const tamis_cpu_counts *counts);

/* The counts of the walk over whole rows that cpu-nonzeros makes. */
tamis_cpu_counts tamis_cpu_count_walk(const tamis_problem *problem);

/* Bytes per second at which the problem's threads together gather random rows of a table of `bytes`. */
double tamis_cpu_gather_rate(const tamis_problem *problem, double bytes);

/* Bytes of the rows of B (and of D) that one nonzero reads. */
double tamis_cpu_row_bytes(const tamis_problem *problem);

/* Bytes of the rows of B (and of D) that S's columns name: all of them, or fewer than nnz. */
double tamis_cpu_table_bytes(const tamis_problem *problem);

/* Peak rate of the threads together, in flops per second. */
double tamis_cpu_peak(const tamis_problem *problem);

/* How this machine makes products of a type: see TAMIS_CPU_SAMPLED_PAIRS. */
double tamis_cpu_pairs_of(tamis_type type);

/* Flops of the products of all nonzeros, as many as take that long at the peak. */
double tamis_cpu_products(const tamis_problem *problem);

/* Share of the rows of B that come from beyond L2. */
double tamis_cpu_far_share(const tamis_problem *problem);

/* Bytes of S, with the samples if they are stored, of A, and of the output twice: it comes into a cache and goes out.
 */
double tamis_cpu_streamed(const tamis_problem *problem);

#endif
