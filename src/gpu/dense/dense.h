/* The dense companions on a GPU. */
#ifndef TAMIS_GPU_DENSE_DENSE_H
#define TAMIS_GPU_DENSE_DENSE_H

#include "backend/dense.h"

extern const tamis_dense_functions tamis_gpu_dense_functions;

#endif
