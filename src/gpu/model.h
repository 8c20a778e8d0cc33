/* The cost model of the GPU: what the methods' predictors share. Times in seconds, sizes in bytes. */
#ifndef TAMIS_GPU_MODEL_H
#define TAMIS_GPU_MODEL_H

#include "gpu/fitted.h"
#include "gpu/method.h"

/* Fitted picoseconds of the whole device as seconds on this one. */
double tamis_gpu_issue(const tamis_problem *p, double picoseconds);

/* Fitted picoseconds of a nonzero whose row has so many bytes, with the conversions of 16-bit types. */
double tamis_gpu_nonzero_ps(const tamis_problem *p, tamis_gpu_cost cost, double bytes);

/* Picoseconds to read a number of S, if the edge does. */
double tamis_gpu_value_ps(const tamis_problem *p, double picoseconds);

/* Seconds of so many launches. */
double tamis_gpu_launches(const tamis_problem *p, double count);

/* Seconds of a member of a batch, one of which alone takes so many, where all share so many of its launches. */
double tamis_gpu_of_member(const tamis_problem *p, double alone, double launches);

/* Bytes a second of random rows out of a table of that many bytes. */
double tamis_gpu_gather_rate(const tamis_problem *p, double bytes);

/* Bytes of a row of A, and of D. */
double tamis_gpu_row_bytes(const tamis_problem *p);

/* A launch of that much work: too few nonzeros leave multiprocessors idle. */
double tamis_gpu_filling(const tamis_problem *p, double seconds);

/* Seconds by which the rows that no cache near by has, bytes of a table with a row for each column, are slower than
   fitted; a nonzero. */
double tamis_gpu_beyond(const tamis_problem *p, double bytes);

/* 90 for compute capability 9.0; 0 for what is not CUDA's. */
int tamis_gpu_compute_capability(const tamis_gpu_device *device);

/* Seconds of a row that one team walks alone. */
double tamis_gpu_chain(const tamis_problem *p, double nonzeros, double bytes);

/* Seconds to read or write so many bytes of memory in order. */
double tamis_gpu_streamed(const tamis_problem *p, double bytes);

/* Seconds of softmax over scores in memory (softmax/softmax.h). */
double tamis_gpu_softmax_seconds(const tamis_problem *p);

/* Seconds to sort the nonzeros into cells (panels_build.h). */
double tamis_gpu_cells_seconds(const tamis_problem *p);

/* Seconds a nonzero whose row is read once, before what an operation adds to it: a share that is the same everywhere,
   and what a row costs that no cache near by has. */
double tamis_gpu_row_each(const tamis_problem *p, double bytes);

/* Launches of K in slices; seconds a nonzero that sums under way take, written and read once for each slice but one. */
double tamis_gpu_slices(const tamis_problem *p, int64_t slice);
double tamis_gpu_sums_each(const tamis_problem *p, double slices);

/* The slice that is cheapest where a nonzero takes each(p, slice): all of K, or of `widest` bytes, or of halves down to
   512; of no more than `most` bytes, but that narrowest one. Narrower ones must pay. */
int64_t tamis_gpu_cheapest_slice(const tamis_problem *p, int64_t widest, int64_t most,
                                 double (*each)(const tamis_problem *p, int64_t slice));

#endif
