/* Plans and their timed executions. */
#ifndef TAMIS_ML_CALLS_H
#define TAMIS_ML_CALLS_H

#include "ml/model.h"

/* Passes that a fit is planned for: about what the defaults are. Not options.iterations: a fit that goes on with more
   of them must choose as one that had them from the beginning, for another choice has other roundings. */
enum { ML_PASSES = 16 };

/* A plan that will be executed `calls` times, 1 or more: so much set-up pays. edge and inner are SDDMM's and fused's,
   width is SpMM's and fused's. */
tamis_status ml_plan(const tamis_model *model, const tamis_sparse *S, tamis_operation operation, tamis_edge edge,
                     int64_t inner, int64_t width, int64_t calls, tamis_plan **plan);
/* The plan's executions, timed. */
tamis_status ml_sddmm(tamis_model *model, const tamis_plan *plan, const tamis_dense *A, const tamis_dense *B,
                      double alpha, double beta, const tamis_dense *P);
tamis_status ml_spmm(tamis_model *model, const tamis_plan *plan, const tamis_dense *B, double alpha, double beta,
                     const tamis_dense *C);
/* D is B in every model, which ml_plan promises. */
tamis_status ml_fused(tamis_model *model, const tamis_plan *plan, const tamis_dense *A, const tamis_dense *B,
                      double alpha, double beta, const tamis_dense *E);
/* For begin(): room for the marks of that many calls, so that those of an iteration allocate nothing. */
tamis_status ml_times_reserve(tamis_model *model, double calls);
/* Adds what the marks say to times.seconds and frees them for new calls; waits. */
tamis_status ml_times_add(tamis_model *model);
/* Seconds in each operation since the last call, by tamis_operation; waits. */
tamis_status ml_times_take(tamis_model *model, double seconds[3]);
void ml_times_free(tamis_model *model);

#endif
