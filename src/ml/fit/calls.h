/* Plans and their timed executions. */
#ifndef TAMIS_ML_CALLS_H
#define TAMIS_ML_CALLS_H

#include "ml/model.h"

/* Number of passes that the plans of a fit expect; close to the default iterations. It is not options.iterations: a fit
   that is resumed with more iterations must choose the same algorithms as an uninterrupted one, since another algorithm
   rounds differently. */
enum { ML_PASSES = 16 };

/* Makes a plan, of the scope, that will be executed `calls` times (1 or more), over which its set-up is amortised.
   SDDMM and fused use edge and inner; SpMM and fused use width. */
tamis_status ml_plan(const tamis_model *model, const tamis_sparse *S, tamis_operation operation, tamis_edge edge,
                     int64_t inner, int64_t width, int64_t calls, tamis_plan **plan);
/* Execute a plan, and record an event before and after it. */
tamis_status ml_sddmm(tamis_model *model, const tamis_plan *plan, const tamis_dense *A, const tamis_dense *B,
                      double alpha, double beta, const tamis_dense *P);
tamis_status ml_spmm(tamis_model *model, const tamis_plan *plan, const tamis_dense *B, double alpha, double beta,
                     const tamis_dense *C);
/* Executes the fused operation with D = B, as in every model; ml_plan promises this to the plan. */
tamis_status ml_fused(tamis_model *model, const tamis_plan *plan, const tamis_dense *A, const tamis_dense *B,
                      double alpha, double beta, const tamis_dense *E);
/* Creates the events for that many calls. begin() calls this, so that iterations allocate nothing. */
tamis_status ml_times_reserve(tamis_model *model, double calls);
/* Waits for the events, adds their times to times.seconds, and makes them available to new calls. */
tamis_status ml_times_add(tamis_model *model);
/* Waits, and returns the seconds spent in each operation (index: tamis_operation) since the last call. */
tamis_status ml_times_take(tamis_model *model, double seconds[3]);
void ml_times_free(tamis_model *model);

#endif
