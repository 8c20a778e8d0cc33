#include "gpu/compile/requests.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

/* A kernel that is being compiled. */
typedef struct request {
    struct request *next;
    pthread_t thread;
    tamis_gpu_device *device;
    const char *name;
    char *definitions;
    char function[48];
    int64_t shared_bytes;
    tamis_gpu_kernel *kernel, **made; /* *made is set only by the requesting thread */
    tamis_status status;
    char said[TAMIS_MESSAGE_MOST];
} request;

static _Thread_local request *under_way; /* requests of this thread, newest first */

/* Gets a plan's kernel; may evict idle kernels of earlier plans. */
static tamis_status get_kernel(tamis_gpu_device *device, const char *name, const char *definitions, const char *kernel,
                               int64_t shared_bytes, tamis_gpu_kernel **made) {
    TRY(tamis_gpu_kernel_get(device, name, definitions, kernel, shared_bytes, made));
    tamis_gpu_unload_idle(device);
    return TAMIS_OK;
}

static void *get(void *context) {
    request *const r = context;
    r->status = get_kernel(r->device, r->name, r->definitions, r->function, r->shared_bytes, &r->kernel);
    if (r->status != TAMIS_OK) snprintf(r->said, sizeof r->said, "%s", tamis_last_error());
    return NULL;
}

static bool start(tamis_gpu_device *device, const char *name, const char *definitions, const char *kernel,
                  int64_t shared_bytes, tamis_gpu_kernel **made) {
    request *const r = calloc(1, sizeof *r); /* not counted: it belongs to the process, like the kernel */
    char *const copy = malloc(strlen(definitions) + 1);
    if (r && copy) {
        memcpy(copy, definitions, strlen(definitions) + 1);
        *r = (request){.next = under_way,
                       .device = device,
                       .name = name,
                       .definitions = copy,
                       .shared_bytes = shared_bytes,
                       .made = made};
        snprintf(r->function, sizeof r->function, "%s", kernel);
        if (pthread_create(&r->thread, NULL, get, r) == 0) {
            under_way = r;
            return true;
        }
    }
    free(r);
    free(copy);
    return false;
}

tamis_status tamis_gpu_request_kernel(tamis_gpu_device *device, const char *name, const char *definitions,
                                      const char *kernel, int64_t shared_bytes, tamis_gpu_kernel **made) {
    if (device->limits.compiles_beside && !tamis_gpu_is_compiled(device, name, definitions) &&
        start(device, name, definitions, kernel, shared_bytes, made))
        return TAMIS_OK;
    return get_kernel(device, name, definitions, kernel, shared_bytes, made);
}

static request *join(request **at) {
    request *const r = *at;
    *at = r->next;
    pthread_join(r->thread, NULL);
    return r;
}

static void forget(request *r) {
    free(r->definitions);
    free(r);
}

tamis_status tamis_gpu_await_requests(void) {
    tamis_status status = TAMIS_OK;
    while (under_way) {
        request *const r = join(&under_way);
        if (r->status == TAMIS_OK)
            *r->made = r->kernel;
        else
            status = tamis_fail(r->status, "%s", r->said); /* after the loop: the first request's failure */
        forget(r);
    }
    return status;
}

void tamis_gpu_cancel_requests(const void *memory, size_t bytes) {
    for (request **at = &under_way; *at;) {
        const uintptr_t place = (uintptr_t)(*at)->made, begin = (uintptr_t)memory;
        if (place < begin || place >= begin + bytes) {
            at = &(*at)->next;
            continue;
        }
        request *const r = join(at);
        tamis_gpu_kernel_release(r->kernel);
        forget(r);
    }
}
