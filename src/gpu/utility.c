/* Shared kernels and counted device memory. */
#include "gpu/utility.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "gpu/definitions.h"
#include "gpu/jit.h"

typedef struct entry {
    struct entry *next;
    const tamis_gpu_device *device;
    const char *file, *name; /* string literals of the callers */
    tamis_gpu_kinds kinds;
    tamis_gpu_kernel *kernel;
} entry;

static entry *entries;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool same(const tamis_gpu_kinds *x, const tamis_gpu_kinds *y) {
    return x->type == y->type && x->index == y->index && x->offset == y->offset;
}

static tamis_status get(tamis_gpu_device *device, const char *file, const char *name, tamis_gpu_kinds kinds,
                        tamis_gpu_kernel **kernel) {
    for (const entry *e = entries; e; e = e->next)
        if (e->device == device && same(&e->kinds, &kinds) && strcmp(e->name, name) == 0 &&
            strcmp(e->file, file) == 0) {
            *kernel = e->kernel;
            return TAMIS_OK;
        }
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define(&definitions, "GROUP", TAMIS_GPU_GROUP);
    tamis_gpu_define(&definitions, "TEAM", 32);
    tamis_gpu_define_kinds(&definitions, kinds);
    if (device->limits.has_fp64) tamis_gpu_define(&definitions, "HAS_FP64", 1);
    TRY(tamis_gpu_kernel_get(device, file, definitions.text, false, name, 0, kernel));
    entry *const e = malloc(sizeof *e); /* for the life of the process, and so not counted */
    if (!e) return TAMIS_OK;
    *e = (entry){entries, device, file, name, kinds, *kernel};
    entries = e;
    tamis_memory_note(-1); /* the kernel's handle, likewise */
    return TAMIS_OK;
}

tamis_status tamis_gpu_utility(tamis_gpu_device *device, void *stream, const char *file, const char *name,
                               tamis_gpu_kinds kinds, int64_t groups, const tamis_gpu_call *call) {
    tamis_gpu_kernel *kernel = NULL;
    const tamis_gpu_launch grid = {.groups = {groups, 1}, .group_size = TAMIS_GPU_GROUP};
    pthread_mutex_lock(&lock);
    tamis_status status = get(device, file, name, kinds, &kernel);
    if (status == TAMIS_OK)
        status = device->runtime->launch(device, stream, kernel, &grid, call->arguments, call->count);
    pthread_mutex_unlock(&lock);
    return status;
}

tamis_status tamis_gpu_utility_ready(tamis_gpu_device *device, const char *file, const char *name,
                                     tamis_gpu_kinds kinds) {
    tamis_gpu_kernel *kernel = NULL;
    pthread_mutex_lock(&lock);
    const tamis_status status = get(device, file, name, kinds, &kernel);
    pthread_mutex_unlock(&lock);
    return status;
}

int64_t tamis_gpu_groups(int64_t count) {
    const int64_t groups = (count + TAMIS_GPU_GROUP - 1) / TAMIS_GPU_GROUP;
    return groups < 1 ? 1 : groups > 65535 ? 65535 : groups;
}

tamis_status tamis_gpu_allocate(tamis_gpu_device *device, size_t bytes, const char *what, void **memory) {
    *memory = NULL;
    if (bytes == 0) return TAMIS_OK;
    if (tamis_memory_fails_now())
        return tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory for %s: %zu bytes", device->limits.name, what, bytes);
    const tamis_status status = device->runtime->allocate(device, bytes, memory);
    if (status == TAMIS_OK) tamis_memory_note(1);
    return status;
}

void tamis_gpu_release(tamis_gpu_device *device, void *memory) {
    if (!memory) return;
    tamis_memory_note(-1);
    device->runtime->release(device, memory);
}
