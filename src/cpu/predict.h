/* The CPU's cost model, shared by the methods' predictors. Times in seconds, sizes in bytes. */
#ifndef TAMIS_CPU_PREDICT_H
#define TAMIS_CPU_PREDICT_H

#include "backend/backend.h"

/* Bytes per second at which the problem's threads together gather random rows of a table of `bytes`. */
double tamis_cpu_gather_rate(const tamis_problem *problem, double bytes);

/* Bytes of the rows of B (and of D) that one nonzero reads. */
double tamis_cpu_row_bytes(const tamis_problem *problem);

/* Peak rate of the threads together, in flops per second. */
double tamis_cpu_peak(const tamis_problem *problem);

/* Seconds of the multiply-adds of all nonzeros, with the conversions of fp16. */
double tamis_cpu_arithmetic_seconds(const tamis_problem *problem);

/* Seconds to move S, and the samples if they are stored, once through memory. */
double tamis_cpu_stream_seconds(const tamis_problem *problem);

/* Share of the rows of B that come from beyond L2, with a table of this size; seconds to read `bytes` of the other
   rows. */
double tamis_cpu_far_share(const tamis_problem *problem, double table);
double tamis_cpu_near_seconds(const tamis_problem *problem, double table, double bytes);

/* Bandwidth of A and C, E or the like, `dense` bytes: L3's, if they fit there with the table. */
double tamis_cpu_dense_rate(const tamis_problem *problem, double table, double dense);

/* Seconds of one call without tiles, with rows of B and D in the caches that the profile suggests. `per_nonzero`: a
   core's time per nonzero in addition to moving its rows. */
double tamis_cpu_predict_untiled(const tamis_problem *problem, double per_nonzero);

/* Expected wait of all threads for the longest row, if whole rows are assigned dynamically in a call of `seconds` and
   it is begun last. */
double tamis_cpu_wait_for_longest(const tamis_problem *problem, double seconds);

#endif
