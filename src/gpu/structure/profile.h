/*
 * Profile of a pattern in device memory, for a plan: two launches, one copy to the host, one wait. If the kernels would
 * have to be compiled first and S is not large, the host profiles a copy of S instead, with the same result.
 */
#ifndef TAMIS_GPU_STRUCTURE_PROFILE_H
#define TAMIS_GPU_STRUCTURE_PROFILE_H

#include "gpu/runtime/runtime.h"

/* Implements the profile of tamis_backend: also sets the shares of fresh columns, and checks the pattern if it is
   `unchecked`. */
tamis_status tamis_gpu_profile(const tamis_problem *problem, tamis_evidence *evidence);

/* The same, on the host or on the device. */
tamis_status tamis_gpu_profile_by(const tamis_problem *problem, bool host, tamis_evidence *evidence);

/* Tells which indices of a COO matrix are sorted; if it is `unchecked`, checks that they are in range. */
typedef struct tamis_gpu_rising {
    bool rows, columns;
} tamis_gpu_rising;

tamis_status tamis_gpu_check_entries(const tamis_problem *problem, const tamis_sparse *S, tamis_gpu_rising *rise);

#endif
