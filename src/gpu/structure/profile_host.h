/*
 * The profile of a pattern by the host, from copies: what profile.simt and profile_panels.simt find, number for number.
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
       TAMIS_GPU_PROFILE_ALIKE_ROWS = 4096, /* the most that are compared with the row before */
       TAMIS_GPU_PROFILE_PANEL_SLOTS = 32 * 4096,
       TAMIS_GPU_PROFILE_PANEL_MOST = 1 << 18, /* nonzeros of a panel that are read */
       TAMIS_GPU_PROFILE_NUMBERS =
           (1 + TAMIS_GPU_PROFILE_WINDOWS) * TAMIS_GPU_PROFILE_FACTS + 6 * TAMIS_GPU_PROFILE_PANELS
};

/* One of how many nonzeros of a panel of `count` is read. */
static inline int64_t tamis_gpu_profile_apart(int64_t count) {
    return count > TAMIS_GPU_PROFILE_PANEL_MOST ? (count - 1) / TAMIS_GPU_PROFILE_PANEL_MOST + 1 : 1;
}

/* facts[0 .. TAMIS_GPU_PROFILE_NUMBERS): what the kernels leave where one group reads all rows. `copy`: the problem,
   whose offsets and columns lie in the host's memory. Like the kernels it reads nothing through an offset that is none.
 */
void tamis_gpu_profile_host(const tamis_problem *copy, bool panels, int64_t *facts);

#endif
