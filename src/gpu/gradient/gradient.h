/* Edges and their gradients for existing samples, on a GPU. */
#ifndef TAMIS_GPU_GRADIENT_GRADIENT_H
#define TAMIS_GPU_GRADIENT_GRADIENT_H

#include "backend/edge.h"

extern const tamis_edge_functions tamis_gpu_edge_functions;

#endif
