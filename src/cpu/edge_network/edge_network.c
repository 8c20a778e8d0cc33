/* The network on edges on the CPU. */
#include "cpu/parts.h"

#include "base/status.h"

static tamis_status workspace(const tamis_edge_network_job *job, size_t *bytes) {
    (void)job;
    *bytes = 0;
    return TAMIS_OK;
}

static tamis_status run(const tamis_edge_network_job *job) {
    (void)job;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "the network on edges runs on the device \"cpu\"");
}

const tamis_edge_network_functions tamis_cpu_edge_network_functions = {.workspace = workspace, .run = run};
