/* The CPU's cost model: what the methods' predictions share. Times in seconds, sizes in bytes. */
#ifndef TAMIS_CPU_PREDICT_H
#define TAMIS_CPU_PREDICT_H

#include "backend/backend.h"

/* The bytes per second at which the problem's threads together read random rows of a table of `bytes`. */
double tamis_cpu_gather_rate(const tamis_problem *problem, double bytes);

/* Bytes of the rows of B (and of D) that one nonzero reads. */
double tamis_cpu_row_bytes(const tamis_problem *problem);

/* Multiply-adds of the threads together, in flops a second. */
double tamis_cpu_peak(const tamis_problem *problem);

/* Seconds of the multiply-adds of all nonzeros, with the conversions of fp16. */
double tamis_cpu_arithmetic_seconds(const tamis_problem *problem);

/* Seconds to move S, and the samples if they are stored, once through memory. */
double tamis_cpu_stream_seconds(const tamis_problem *problem);

/* Rows of B, of a table of so many bytes: the share of the rows that come from beyond L2; seconds to read `bytes` of
   those that do not. */
double tamis_cpu_far_share(const tamis_problem *problem, double table);
double tamis_cpu_near_seconds(const tamis_problem *problem, double table, double bytes);

/* The rate of A and C, E or the like, `dense` bytes: L3's if they fit there beside the table. */
double tamis_cpu_dense_rate(const tamis_problem *problem, double table, double dense);

/* Seconds of one call without tiles, if rows of B and D are in the caches that the profile says. `per_nonzero` is the
   time that one nonzero costs a core in addition to moving its rows. */
double tamis_cpu_predict_untiled(const tamis_problem *problem, double per_nonzero);

/* Where rows are assigned whole in a call of so many seconds, all threads wait for a longest row that was begun last.
 */
double tamis_cpu_wait_for_longest(const tamis_problem *problem, double seconds);

#endif
