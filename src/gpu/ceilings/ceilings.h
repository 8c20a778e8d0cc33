/* A GPU's ceilings: the rates that its memory, caches and arithmetic reach. */
#ifndef TAMIS_GPU_CEILINGS_CEILINGS_H
#define TAMIS_GPU_CEILINGS_CEILINGS_H

#include "gpu/runtime/runtime.h"

tamis_status tamis_gpu_measure_ceilings(const tamis_gpu_runtime *runtime, int number, tamis_ceilings *ceilings);
tamis_ceilings tamis_gpu_default_ceilings(void);

#endif
