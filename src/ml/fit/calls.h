/* Plans and their timed executions. */
#ifndef TAMIS_ML_CALLS_H
#define TAMIS_ML_CALLS_H

#include "ml/model.h"

/* A fit is planned for so many passes: about what the defaults are. Not options.iterations: a fit that goes on with
   more of them must choose as one that had them from the beginning, for another choice has other roundings. */
enum { ML_PASSES = 16 };

/* Makes a plan that will be executed `calls` times, 1 or more: so much set-up pays. edge and inner are SDDMM's and
   fused's, width is SpMM's and fused's. */
tamis_status ml_plan(const tamis_model *model, const tamis_sparse *S, tamis_operation operation, tamis_edge edge,
                     int64_t inner, int64_t width, int64_t calls, tamis_plan **plan);
/* Execute a plan, and record an event before and after it. */
tamis_status ml_sddmm(tamis_model *model, const tamis_plan *plan, const tamis_dense *A, const tamis_dense *B,
                      double alpha, double beta, const tamis_dense *P);
tamis_status ml_spmm(tamis_model *model, const tamis_plan *plan, const tamis_dense *B, double alpha, double beta,
                     const tamis_dense *C);
/* Executes it with D = B, as in every model, which ml_plan promises. */
tamis_status ml_fused(tamis_model *model, const tamis_plan *plan, const tamis_dense *A, const tamis_dense *B,
                      double alpha, double beta, const tamis_dense *E);
/* Makes the events of that many calls, so that an iteration allocates nothing: for begin(). */
tamis_status ml_times_reserve(tamis_model *model, double calls);
/* Adds what the events say to times.seconds and frees them for new calls; waits. */
tamis_status ml_times_add(tamis_model *model);
/* Tells the seconds in each operation since the last call, by tamis_operation; waits. */
tamis_status ml_times_take(tamis_model *model, double seconds[3]);
void ml_times_free(tamis_model *model);

#endif
