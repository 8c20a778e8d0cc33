#include "gpu/structure/desk.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/status.h"

static tamis_gpu_desk *idle; /* for the life of the process, and so not counted */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What it has not yet. */
static tamis_status furnish(tamis_gpu_desk *desk) {
    tamis_gpu_device *const device = desk->device;
    const tamis_gpu_runtime *const runtime = device->runtime;
    if (!desk->memory) TRY(runtime->allocate(device, TAMIS_ALL_STREAMS, TAMIS_GPU_DESK_BYTES, &desk->memory));
    return desk->host ? TAMIS_OK : runtime->host_memory(device, TAMIS_GPU_DESK_BYTES, &desk->host);
}

static void put_back(tamis_gpu_desk *desk) {
    pthread_mutex_lock(&lock);
    desk->next = idle;
    idle = desk;
    pthread_mutex_unlock(&lock);
}

static tamis_gpu_desk *take_idle(const tamis_gpu_device *device) {
    pthread_mutex_lock(&lock);
    tamis_gpu_desk **at = &idle, *found;
    while (*at && (*at)->device != device) at = &(*at)->next;
    found = *at;
    if (found) *at = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

tamis_status tamis_gpu_desk_take(tamis_gpu_device *device, tamis_gpu_desk **desk) {
    tamis_gpu_desk *taken = take_idle(device);
    if (!taken) {
        taken = calloc(1, sizeof *taken);
        if (!taken)
            return tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory for what it tells the host", device->limits.name);
        taken->device = device;
    }
    const tamis_status status = furnish(taken);
    if (status == TAMIS_OK)
        *desk = taken;
    else
        put_back(taken); /* what it has serves whoever tries again */
    return status;
}

/* What an error has left undone in the stream may still write there: who takes the desk next must not see that. */
void tamis_gpu_desk_give(tamis_gpu_desk *desk, void *stream, tamis_status status) {
    if (!desk) return;
    if (status != TAMIS_OK) {
        tamis_message said;
        tamis_message_keep(&said);
        const tamis_status waited = desk->device->runtime->finish(desk->device, stream);
        tamis_message_restore(&said);
        if (waited != TAMIS_OK) return; /* lost, as the device is */
    }
    put_back(desk);
}
