/* gpu-nonzeros' method of SDDMM. */
#ifndef TAMIS_GPU_NONZEROS_SDDMM_NONZEROS_H
#define TAMIS_GPU_NONZEROS_SDDMM_NONZEROS_H

#include "gpu/method.h"

extern const tamis_gpu_method tamis_gpu_sddmm_nonzeros;

#endif
