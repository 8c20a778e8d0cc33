/* Fused in one launch; long rows are divided among several teams. */
#ifndef TAMIS_GPU_TEAMS_FUSED_TEAMS_H
#define TAMIS_GPU_TEAMS_FUSED_TEAMS_H

#include "gpu/method.h"

extern const tamis_gpu_method tamis_gpu_fused_teams;

/* True if a team has registers for rows of A, B, D and E. */
bool tamis_gpu_fused_teams_takes(const tamis_problem *problem, char *reason, size_t bytes);

/* Predicted seconds, and the most teams that the longest row may get. */
double tamis_gpu_fused_teams_seconds(const tamis_problem *problem, int64_t *teams);

#endif
