/* SpMM in one launch; long rows are divided among several teams. */
#ifndef TAMIS_GPU_TEAMS_SPMM_TEAMS_H
#define TAMIS_GPU_TEAMS_SPMM_TEAMS_H

#include "gpu/method.h"

extern const tamis_gpu_method tamis_gpu_spmm_teams;

/* Predicted seconds, and the most teams that the longest row may get. */
double tamis_gpu_spmm_teams_seconds(const tamis_problem *problem, int64_t *teams);

#endif
