/* The methods that gpudynamic-dynamic chooses between (Costa et al.: Efficient SDDMM Algorithms on GPU, s.7). */
#ifndef TAMIS_LAB_GPU_GPUDYNAMIC_GPUDYNAMIC_H
#define TAMIS_LAB_GPU_GPUDYNAMIC_GPUDYNAMIC_H

#include "gpu/method.h"

extern const tamis_gpu_method tamis_gpudynamic_shared_method, tamis_gpudynamic_preprocessing_method,
    tamis_gpudynamic_convert_method;

#endif
