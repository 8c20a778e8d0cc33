/* Replaces the laboratory's table by an empty one in a library without it. */
#include "gpu/methods.h"

#if !TAMIS_LAB
const tamis_gpu_algorithm *const tamis_lab_gpu_algorithms[] = {NULL};
const int tamis_lab_gpu_algorithm_count = 0;
#endif
