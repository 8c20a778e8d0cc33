/* The GPU's algorithms, shared by CUDA and OpenCL. */
#ifndef TAMIS_GPU_ALGORITHMS_H
#define TAMIS_GPU_ALGORITHMS_H

#include "backend/backend.h"

const tamis_algorithm *tamis_gpu_algorithm_table(int *count);

#endif
