/* The GPU's cost model, shared by the methods' predictors. Times in seconds, sizes in bytes. */
#ifndef TAMIS_GPU_MODEL_H
#define TAMIS_GPU_MODEL_H

#include "gpu/method.h"
#include "gpu/rates.h"

/* Converts fitted picoseconds of the whole device to seconds on this one. */
double tamis_gpu_issue(const tamis_problem *p, double picoseconds);

/* Picoseconds of a nonzero: `entry_ps`, and a row of this many bytes, with the conversion of 16-bit types. */
double tamis_gpu_nonzero_ps(const tamis_problem *p, double entry_ps, double bytes);

/* Seconds of this many launches. */
double tamis_gpu_launches(const tamis_problem *p, double count);

/* Seconds of a batch member: `alone` by itself, but all members share `launches` launches. */
double tamis_gpu_of_member(const tamis_problem *p, double alone, double launches);

/* Bytes per second of random row reads (gathers) from a table of this size. */
double tamis_gpu_gather_rate(const tamis_problem *p, double bytes);

/* Bytes of a row of A, and of D. */
double tamis_gpu_row_bytes(const tamis_problem *p);

/* Seconds of a kernel with its launch. */
double tamis_gpu_launched(const tamis_problem *p, double seconds);

/* 90 for compute capability 9.0; 0 without CUDA. */
int tamis_gpu_compute_capability(const tamis_gpu_device *device);

/* Seconds of a row that one team walks alone, in steps of `at_once` nonzeros: each waits for the loads of its own. */
double tamis_gpu_chain(const tamis_problem *p, double nonzeros, int64_t at_once);

/* Seconds to stream this many bytes from or to memory. */
double tamis_gpu_streamed(const tamis_problem *p, double bytes);

/* Seconds of softmax over scores in memory (softmax/softmax.h). */
double tamis_gpu_softmax_seconds(const tamis_problem *p);

/* Seconds to sort the nonzeros into cells (panels_build.h). */
double tamis_gpu_cells_seconds(const tamis_problem *p);

/* Seconds of an entry of SpMM or fused by gpu-nonzeros, whose chunks read each row of `bytes` past L1: twice as long.
 */
double tamis_gpu_row_each(const tamis_problem *p, double bytes);

/* Number of launches for K in slices; seconds per nonzero to write and read partial sums between slices. */
double tamis_gpu_slices(const tamis_problem *p, int64_t slice);
double tamis_gpu_sums_each(const tamis_problem *p, double slices);

/* The cheapest slice if a nonzero takes each(p, slice). Candidates: all of K, `widest` bytes, and halves of it down to
   512; none above `most` bytes except the narrowest. A narrower slice must save 10 %. */
int64_t tamis_gpu_cheapest_slice(const tamis_problem *p, int64_t widest, int64_t most,
                                 double (*each)(const tamis_problem *p, int64_t slice));

#endif
