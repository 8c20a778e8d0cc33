/*
 * A workspace: a device buffer and a pinned host buffer, kept for the process, for the few numbers that a call copies
 * from the device. One user at a time.
 */
#ifndef TAMIS_GPU_STRUCTURE_WORKSPACE_H
#define TAMIS_GPU_STRUCTURE_WORKSPACE_H

#include "gpu/runtime/runtime.h"

enum { TAMIS_GPU_WORKSPACE_BYTES = 1 << 17 }; /* bytes of each buffer */

typedef struct tamis_gpu_workspace {
    tamis_gpu_device *device;
    void *memory, *host;
    struct tamis_gpu_workspace *next;
} tamis_gpu_workspace;

tamis_status tamis_gpu_workspace_acquire(tamis_gpu_device *device, tamis_gpu_workspace **workspace);

/* Releases it once its work in the stream has been waited for; if `status` is an error, waits for the stream first. */
void tamis_gpu_workspace_release(tamis_gpu_workspace *workspace, void *stream, tamis_status status);

#endif
