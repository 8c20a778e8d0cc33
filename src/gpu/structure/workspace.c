#include "gpu/structure/workspace.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/status.h"

static tamis_gpu_workspace *idle; /* lives as long as the process, so it is not counted */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Allocates the buffers that are still missing. */
static tamis_status allocate(tamis_gpu_workspace *workspace) {
    tamis_gpu_device *const device = workspace->device;
    const tamis_gpu_runtime *const runtime = device->runtime;
    if (!workspace->memory)
        TRY(runtime->allocate(device, TAMIS_ALL_STREAMS, TAMIS_GPU_WORKSPACE_BYTES, &workspace->memory));
    return workspace->host ? TAMIS_OK : runtime->host_memory(device, TAMIS_GPU_WORKSPACE_BYTES, &workspace->host);
}

static void put_back(tamis_gpu_workspace *workspace) {
    pthread_mutex_lock(&lock);
    workspace->next = idle;
    idle = workspace;
    pthread_mutex_unlock(&lock);
}

static tamis_gpu_workspace *take_idle(const tamis_gpu_device *device) {
    pthread_mutex_lock(&lock);
    tamis_gpu_workspace **at = &idle, *found;
    while (*at && (*at)->device != device) at = &(*at)->next;
    found = *at;
    if (found) *at = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

tamis_status tamis_gpu_workspace_acquire(tamis_gpu_device *device, tamis_gpu_workspace **workspace) {
    tamis_gpu_workspace *taken = take_idle(device);
    if (!taken) {
        taken = calloc(1, sizeof *taken);
        if (!taken) return tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory for a workspace", device->limits.name);
        taken->device = device;
    }
    const tamis_status status = allocate(taken);
    if (status == TAMIS_OK)
        *workspace = taken;
    else
        put_back(taken); /* keeps the buffers that it has for the next attempt */
    return status;
}

/* After an error, work in the stream may still write to the workspace: waits for it before anyone else can use it. */
void tamis_gpu_workspace_release(tamis_gpu_workspace *workspace, void *stream, tamis_status status) {
    if (!workspace) return;
    if (status != TAMIS_OK) {
        tamis_message said;
        tamis_message_keep(&said);
        const tamis_status waited = workspace->device->runtime->finish(workspace->device, stream);
        tamis_message_restore(&said);
        if (waited != TAMIS_OK) return; /* leaked: the device is lost */
    }
    put_back(workspace);
}
