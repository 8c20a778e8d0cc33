/* The network on edges on a GPU: which way takes a job. */
#include "gpu/edge_network/edge_network.h"

#include "base/status.h"
#include "gpu/edge_network/fused.h"
#include "gpu/edge_network/slabs.h"

static tamis_status run(const tamis_edge_network_job *job) {
    if (tamis_gpu_network_fused_takes(job)) return tamis_gpu_network_fused(job);
    if (job->back && job->o.share_dE && tamis_gpu_network_fused_shares(job))
        return tamis_fail(
            TAMIS_ERROR_UNSUPPORTED,
            "options.share_dE: a matrix is not at multiples of 16 bytes, or the driver cannot copy tiles");
    return tamis_gpu_network_slabs(job);
}

static tamis_status finish(const tamis_edge_network_job *job) {
    return tamis_gpu_network_fused_takes(job) ? tamis_gpu_network_fused_finish(job) : TAMIS_OK;
}

/* Addresses decide between the ways, and are not known here: enough for both. */
static tamis_status workspace(const tamis_edge_network_job *job, size_t *bytes) {
    const size_t other = tamis_gpu_network_fused_workspace(job);
    TRY(tamis_gpu_network_slabs_workspace(job, bytes));
    if (other > *bytes) *bytes = other;
    return TAMIS_OK;
}

const tamis_edge_network_functions tamis_gpu_edge_network_functions = {
    .workspace = workspace, .run = run, .finish = finish, .shares = tamis_gpu_network_fused_shares};
