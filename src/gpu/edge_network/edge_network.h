/* The network on edges on a GPU. */
#ifndef TAMIS_GPU_EDGE_NETWORK_H
#define TAMIS_GPU_EDGE_NETWORK_H

#include "backend/edge_network.h"

extern const tamis_edge_network_functions tamis_gpu_edge_network_functions;

#endif
