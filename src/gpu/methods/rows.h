/* What gpu-rows chooses for a problem, for the cost model too. */
#ifndef TAMIS_GPU_METHODS_ROWS_H
#define TAMIS_GPU_METHODS_ROWS_H

#include "backend/backend.h"

/* Nonzeros from which a row is cut; at least the longest row where none is to be. */
int64_t tamis_gpu_rows_limit(const tamis_problem *problem);

/* Columns of C that a team takes at once: its slice of B is what L2 has to hold. */
int64_t tamis_gpu_rows_slice(const tamis_problem *problem);

/* Lanes of a team. */
int64_t tamis_gpu_rows_team(const tamis_problem *problem);

#endif
