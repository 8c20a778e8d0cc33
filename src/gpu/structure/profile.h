/*
 * What a plan must know of a pattern in device memory: two launches, one copy to the host, one wait; or, where that
 * would have to be compiled first and S is not large, a copy of S that the host profiles, with the same result.
 */
#ifndef TAMIS_GPU_STRUCTURE_PROFILE_H
#define TAMIS_GPU_STRUCTURE_PROFILE_H

#include "gpu/runtime/runtime.h"

/* tamis_backend's profile: sets the shares of what is fresh too, and checks the pattern where that is `unchecked`. */
tamis_status tamis_gpu_profile(const tamis_problem *problem, tamis_evidence *evidence);

/* The same, by the host or by the device. */
tamis_status tamis_gpu_profile_by(const tamis_problem *problem, bool host, tamis_evidence *evidence);

/* Tells which indices of a COO matrix rise; where it is `unchecked`, checks that they are in range. */
typedef struct tamis_gpu_rising {
    bool rows, columns;
} tamis_gpu_rising;

tamis_status tamis_gpu_check_entries(const tamis_problem *problem, const tamis_sparse *S, tamis_gpu_rising *rise);

#endif
