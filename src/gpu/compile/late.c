#include "gpu/compile/late.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

struct tamis_gpu_late {
    tamis_gpu_device *device;
    const char *file, *name;
    int64_t shared_bytes;
    pthread_mutex_t making;
    tamis_gpu_kernel *kernel; /* NULL: not yet */
    char definitions[];
};

tamis_status tamis_gpu_late_new(tamis_gpu_device *device, const char *file, const char *definitions, const char *kernel,
                                int64_t shared_bytes, tamis_gpu_late **made) {
    const size_t bytes = strlen(definitions) + 1;
    tamis_gpu_late *late = NULL;
    TRY(tamis_allocate_zeroed(1, sizeof *late + bytes, "a kernel for later", (void **)&late));
    late->device = device;
    late->file = file;
    late->name = kernel;
    late->shared_bytes = shared_bytes;
    memcpy(late->definitions, definitions, bytes);
    pthread_mutex_init(&late->making, NULL);
    *made = late;
    return TAMIS_OK;
}

tamis_status tamis_gpu_late_get(tamis_gpu_late *late, tamis_gpu_kernel **kernel) {
    tamis_status status = TAMIS_OK;
    tamis_gpu_kernel *made = __atomic_load_n(&late->kernel, __ATOMIC_ACQUIRE);
    if (!made) {
        pthread_mutex_lock(&late->making);
        made = late->kernel;
        if (!made)
            status = tamis_gpu_kernel_get(late->device, late->file, late->definitions, false, late->name,
                                          late->shared_bytes, &made);
        if (status == TAMIS_OK) __atomic_store_n(&late->kernel, made, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&late->making);
    }
    *kernel = made;
    return status;
}

void tamis_gpu_late_free(tamis_gpu_late *late) {
    if (!late) return;
    tamis_gpu_kernel_release(late->kernel);
    pthread_mutex_destroy(&late->making);
    tamis_release(late);
}
