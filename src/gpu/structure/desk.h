/*
 * A desk: a piece of device memory and a pinned piece of host memory, kept for the process, for the few numbers that a
 * call copies from the device. One user at a time.
 */
#ifndef TAMIS_GPU_STRUCTURE_DESK_H
#define TAMIS_GPU_STRUCTURE_DESK_H

#include "gpu/runtime/runtime.h"

enum { TAMIS_GPU_DESK_BYTES = 1 << 17 }; /* of each */

typedef struct tamis_gpu_desk {
    tamis_gpu_device *device;
    void *memory, *host;
    struct tamis_gpu_desk *next;
} tamis_gpu_desk;

tamis_status tamis_gpu_desk_take(tamis_gpu_device *device, tamis_gpu_desk **desk);

/* After the work on it in that stream has been waited for; or, where `status` is an error, perhaps not. */
void tamis_gpu_desk_give(tamis_gpu_desk *desk, void *stream, tamis_status status);

#endif
