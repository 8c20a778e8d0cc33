/* The network on edges with the layers of an edge kept on the chip: tensor cores of CUDA. */
#ifndef TAMIS_GPU_EDGE_NETWORK_FUSED_H
#define TAMIS_GPU_EDGE_NETWORK_FUSED_H

#include "backend/edge_network.h"

/* True if the kernels take the job: its type, widths, addresses and reduction. */
bool tamis_gpu_network_fused_takes(const tamis_edge_network_job *job);

/* Bytes of workspace of a call with this job's options and order, which the kernels may take; else 0. */
size_t tamis_gpu_network_fused_workspace(const tamis_edge_network_job *job);

/* True if dA may be where dE will be (options.share_dE). */
bool tamis_gpu_network_fused_shares(const tamis_edge_network_job *job);

tamis_status tamis_gpu_network_fused(const tamis_edge_network_job *job);

/* The rest of a backward call, when the sums of dA are made. */
tamis_status tamis_gpu_network_fused_finish(const tamis_edge_network_job *job);

#endif
