/*
 * A workspace: a piece of device memory and a pinned piece of host memory, kept for the process, for the few numbers
 * that a call copies from the device. One user at a time.
 */
#ifndef TAMIS_GPU_STRUCTURE_WORKSPACE_H
#define TAMIS_GPU_STRUCTURE_WORKSPACE_H

#include "gpu/runtime/runtime.h"

enum { TAMIS_GPU_WORKSPACE_BYTES = 1 << 17 }; /* of each */

typedef struct tamis_gpu_workspace {
    tamis_gpu_device *device;
    void *memory, *host;
    struct tamis_gpu_workspace *next;
} tamis_gpu_workspace;

tamis_status tamis_gpu_workspace_acquire(tamis_gpu_device *device, tamis_gpu_workspace **workspace);

/* After the work on it in that stream has been waited for; or, where `status` is an error, perhaps not. */
void tamis_gpu_workspace_release(tamis_gpu_workspace *workspace, void *stream, tamis_status status);

#endif
