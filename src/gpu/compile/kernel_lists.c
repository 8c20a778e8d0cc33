#include "gpu/compile/kernel_lists.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "gpu/compile/jit.h"

/* Lives as long as the process, so it is not counted. */
struct tamis_gpu_shared_kernel {
    tamis_gpu_shared_kernel *next;
    tamis_gpu_device *device;
    tamis_gpu_kernel *kernel;
    pthread_mutex_t launching;
    _Alignas(max_align_t) char key[];
};

static tamis_gpu_shared_kernel **list_of(tamis_gpu_shared_kernels *all, const tamis_gpu_device *device) {
    return &all->lists[device->number % TAMIS_GPU_SHARED_LISTS];
}

tamis_gpu_shared_kernel *tamis_gpu_shared_find(tamis_gpu_shared_kernels *all, const tamis_gpu_device *device,
                                               const void *key) {
    tamis_gpu_shared_kernel *k = __atomic_load_n(list_of(all, device), __ATOMIC_ACQUIRE);
    while (k && (k->device != device || !all->same(k->key, key))) k = k->next;
    return k;
}

/* Adds a kernel. If another thread has added it meanwhile, releases this one. */
static tamis_gpu_shared_kernel *add(tamis_gpu_shared_kernels *all, tamis_gpu_shared_kernel *made) {
    tamis_gpu_shared_kernel **const list = list_of(all, made->device);
    pthread_mutex_lock(&all->lock);
    tamis_gpu_shared_kernel *const other = tamis_gpu_shared_find(all, made->device, made->key);
    if (!other) {
        made->next = *list;
        __atomic_store_n(list, made, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&all->lock);
    if (!other) return made;
    tamis_gpu_kernel_release(made->kernel);
    pthread_mutex_destroy(&made->launching);
    free(made);
    return other;
}

tamis_status tamis_gpu_shared_add(tamis_gpu_shared_kernels *all, tamis_gpu_device *device, const void *key,
                                  const char *file, const char *name, const char *definitions, int64_t shared_bytes,
                                  tamis_gpu_shared_kernel **found) {
    tamis_gpu_kernel *kernel = NULL;
    TRY(tamis_gpu_kernel_get(device, file, definitions, name, shared_bytes, &kernel));
    tamis_gpu_shared_kernel *const made = malloc(sizeof *made + all->key_bytes);
    if (!made) {
        tamis_gpu_kernel_release(kernel);
        return tamis_fail(TAMIS_ERROR_MEMORY, "no memory for kernel %s", name);
    }
    made->device = device;
    made->kernel = kernel;
    pthread_mutex_init(&made->launching, NULL);
    memcpy(made->key, key, all->key_bytes);
    *found = add(all, made);
    return TAMIS_OK;
}

tamis_status tamis_gpu_shared_add_text(tamis_gpu_shared_kernels *all, tamis_gpu_device *device, const void *key,
                                       const char *file, const char *name, const tamis_gpu_definitions *definitions,
                                       const tamis_program *program, const double *scalars, void *kept,
                                       tamis_gpu_shared_kernel **found) {
    char *declarations = NULL, *code = NULL, *whole = NULL;
    tamis_status status = TAMIS_OK;
    bool taken = false;
    TRY_GOTO(done, tamis_edge_text_declare(program, scalars, &declarations));
    TRY_GOTO(done, tamis_gpu_edge_code(declarations, false, &code));
    TRY_GOTO(done, tamis_gpu_with_code(definitions, code, &whole));
    TRY_GOTO(done, tamis_gpu_shared_add(all, device, key, file, name, whole, 0, found));
    taken = memcmp((*found)->key, key, all->key_bytes) == 0; /* another thread's key refers to another text */
done:
    if (!taken) free(kept);
    tamis_release(declarations);
    tamis_release(code);
    tamis_release(whole);
    return status;
}

tamis_status tamis_gpu_shared_launch(tamis_gpu_shared_kernel *kernel, void *stream, const tamis_gpu_launch *grid,
                                     const tamis_gpu_named *arguments) {
    tamis_gpu_kernel *const k = kernel->kernel;
    tamis_gpu_argument values[TAMIS_GPU_PARAMETERS_MOST];
    TRY(tamis_gpu_bind(k, NULL, arguments, values));
    pthread_mutex_lock(&kernel->launching);
    const tamis_status status =
        kernel->device->runtime->launch(kernel->device, stream, k, grid, values, k->signature->count);
    pthread_mutex_unlock(&kernel->launching);
    return status;
}
