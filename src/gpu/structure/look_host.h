/*
 * The look at a pattern by the host, from copies: what look.simt and look_panels.simt find, number for number.
 * Compiling those takes a hundred times as long as looking at a pattern of a million nonzeros.
 */
#ifndef TAMIS_GPU_STRUCTURE_LOOK_HOST_H
#define TAMIS_GPU_STRUCTURE_LOOK_HOST_H

#include "backend/backend.h"
#include "sparse/locality.h"

enum { /* as in look.simt and look_panels.simt */
       TAMIS_LOOK_FACTS = 9,
       TAMIS_LOOK_WINDOWS = TAMIS_LOCALITY_WINDOWS,
       TAMIS_LOOK_SLOTS = TAMIS_LOOK_FACTS * 256 * 8,
       TAMIS_LOOK_PANELS = 6,
       TAMIS_LOOK_PANEL_SLOTS = 32 * 4096,
       TAMIS_LOOK_PANEL_MOST = 1 << 18, /* nonzeros of a panel that are looked at */
       TAMIS_LOOK_NUMBERS = (1 + TAMIS_LOOK_WINDOWS) * TAMIS_LOOK_FACTS + 6 * TAMIS_LOOK_PANELS
};

/* facts[0 .. TAMIS_LOOK_NUMBERS): what the kernels leave where one group looks at all rows. `copy`: the problem, whose
   offsets and columns lie in the host's memory. Like the kernels it reads nothing through an offset that is none. */
void tamis_gpu_look_host(const tamis_problem *copy, bool panels, int64_t *facts);

#endif
