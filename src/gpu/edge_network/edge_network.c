/* The network on edges on a GPU: which way takes a job. */
#include "gpu/edge_network/edge_network.h"

#include "gpu/edge_network/slabs.h"

/* A kernel that keeps the layers of an edge on the chip is to be asked first, here and in `workspace`. */
static tamis_status run(const tamis_edge_network_job *job) { return tamis_gpu_network_slabs(job); }

static tamis_status workspace(const tamis_edge_network_job *job, size_t *bytes) {
    return tamis_gpu_network_slabs_workspace(job, bytes);
}

const tamis_edge_network_functions tamis_gpu_edge_network_functions = {.workspace = workspace, .run = run};
