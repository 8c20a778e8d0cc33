#include "lab/gpu/methods.h"

#include "gpu/methods.h"

#define ADDRESS(name) &tamis_##name,
const tamis_gpu_algorithm *const tamis_lab_gpu_algorithms[] = {TAMIS_LAB_GPU_METHODS(ADDRESS)};
const int tamis_lab_gpu_algorithm_count = sizeof tamis_lab_gpu_algorithms / sizeof tamis_lab_gpu_algorithms[0];
