/* SpMM in one launch, long rows by several teams. */
#ifndef TAMIS_GPU_TEAMS_SPMM_TEAMS_H
#define TAMIS_GPU_TEAMS_SPMM_TEAMS_H

#include "gpu/method.h"

extern const tamis_gpu_method tamis_gpu_spmm_teams;

/* Predicted, and how many teams the longest row may get. */
double tamis_gpu_spmm_teams_seconds(const tamis_problem *problem, int64_t *teams);

#endif
