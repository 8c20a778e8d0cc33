/*
 * The profile of a pattern on the host, from copies: the same numbers as profile.simt and profile_panels.simt.
 * Compiling those takes a hundred times as long as profiling a pattern of a million nonzeros.
 */
#ifndef TAMIS_GPU_STRUCTURE_PROFILE_HOST_H
#define TAMIS_GPU_STRUCTURE_PROFILE_HOST_H

#include "backend/backend.h"
#include "sparse/locality.h"

enum { /* as in profile.simt and profile_panels.simt */
       TAMIS_GPU_PROFILE_FACTS = 10,
       TAMIS_GPU_PROFILE_WINDOWS = TAMIS_LOCALITY_WINDOWS,
       TAMIS_GPU_PROFILE_SLOTS = TAMIS_GPU_PROFILE_FACTS * 256 * 8,
       TAMIS_GPU_PROFILE_PANELS = 6,
       TAMIS_GPU_PROFILE_ALIKE_ROWS = 4096, /* the most rows that are compared with the previous row */
       TAMIS_GPU_PROFILE_PANEL_SLOTS = 32 * 4096,
       TAMIS_GPU_PROFILE_PANEL_MOST = 1 << 18, /* most nonzeros of a panel that are read */
       TAMIS_GPU_PROFILE_NUMBERS =
           (1 + TAMIS_GPU_PROFILE_WINDOWS) * TAMIS_GPU_PROFILE_FACTS + 6 * TAMIS_GPU_PROFILE_PANELS
};

/* Sampling step: one of this many nonzeros of a panel of `count` is read. */
static inline int64_t tamis_gpu_profile_apart(int64_t count) {
    return count > TAMIS_GPU_PROFILE_PANEL_MOST ? (count - 1) / TAMIS_GPU_PROFILE_PANEL_MOST + 1 : 1;
}

/* facts[0 .. TAMIS_GPU_PROFILE_NUMBERS): as the kernels write them if one group reads all rows. `copy`: the problem,
   with offsets and columns in host memory. Like the kernels it uses no invalid offset as an address. */
void tamis_gpu_profile_host(const tamis_problem *copy, bool panels, int64_t *facts);

/* The same for a mask without a list of columns, whose arrays are in host memory, but for panels: fresh[0] and fresh[1]
   are the distinct columns per nonzero of panels of 128 and of 256 rows. *nnz: what the mask keeps. */
tamis_status tamis_gpu_profile_runs(const tamis_problem *copy, int64_t *facts, double *fresh, int64_t *nnz);

#endif
