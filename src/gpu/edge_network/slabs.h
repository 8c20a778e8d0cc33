/*
 * The general way of the network on edges on a GPU: slabs of edges, one after another, whose layers are in the
 * workspace. It takes all types and widths.
 */
#ifndef TAMIS_GPU_EDGE_NETWORK_SLABS_H
#define TAMIS_GPU_EDGE_NETWORK_SLABS_H

#include "backend/edge_network.h"

tamis_status tamis_gpu_network_slabs_workspace(const tamis_edge_network_job *job, size_t *bytes);
tamis_status tamis_gpu_network_slabs(const tamis_edge_network_job *job);

#endif
