#include "gpu/compile/wanted.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

/* One that is under way. */
typedef struct wanted {
    struct wanted *next;
    pthread_t thread;
    tamis_gpu_device *device;
    const char *name;
    char *definitions;
    bool linked;
    char function[48];
    int64_t shared_bytes;
    tamis_gpu_kernel *kernel, **made; /* *made is set by the thread that wants it alone */
    tamis_status status;
    char said[TAMIS_MESSAGE_MOST];
} wanted;

static _Thread_local wanted *under_way; /* of this thread, the last first */

static void *get(void *context) {
    wanted *const w = context;
    w->status =
        tamis_gpu_kernel_get(w->device, w->name, w->definitions, w->linked, w->function, w->shared_bytes, &w->kernel);
    if (w->status != TAMIS_OK) snprintf(w->said, sizeof w->said, "%s", tamis_last_error());
    return NULL;
}

static bool start(tamis_gpu_device *device, const char *name, const char *definitions, bool linked, const char *kernel,
                  int64_t shared_bytes, tamis_gpu_kernel **made) {
    wanted *const w = calloc(1, sizeof *w); /* of the process, as what it makes */
    char *const copy = malloc(strlen(definitions) + 1);
    if (w && copy) {
        memcpy(copy, definitions, strlen(definitions) + 1);
        *w = (wanted){.next = under_way,
                      .device = device,
                      .name = name,
                      .definitions = copy,
                      .linked = linked,
                      .shared_bytes = shared_bytes,
                      .made = made};
        snprintf(w->function, sizeof w->function, "%s", kernel);
        if (pthread_create(&w->thread, NULL, get, w) == 0) {
            under_way = w;
            return true;
        }
    }
    free(w);
    free(copy);
    return false;
}

tamis_status tamis_gpu_want(tamis_gpu_device *device, const char *name, const char *definitions, bool linked,
                            const char *kernel, int64_t shared_bytes, tamis_gpu_kernel **made) {
    if (device->limits.compiles_beside && !tamis_gpu_is_compiled(device, name, definitions, linked) &&
        start(device, name, definitions, linked, kernel, shared_bytes, made))
        return TAMIS_OK;
    return tamis_gpu_kernel_get(device, name, definitions, linked, kernel, shared_bytes, made);
}

static wanted *join(wanted **at) {
    wanted *const w = *at;
    *at = w->next;
    pthread_join(w->thread, NULL);
    return w;
}

static void forget(wanted *w) {
    free(w->definitions);
    free(w);
}

tamis_status tamis_gpu_await(void) {
    tamis_status status = TAMIS_OK;
    while (under_way) {
        wanted *const w = join(&under_way);
        if (w->status == TAMIS_OK)
            *w->made = w->kernel;
        else
            status = tamis_fail(w->status, "%s", w->said); /* in the end that of the first that was wanted */
        forget(w);
    }
    return status;
}

void tamis_gpu_want_no_more(const void *memory, size_t bytes) {
    for (wanted **at = &under_way; *at;) {
        const uintptr_t place = (uintptr_t)(*at)->made, begin = (uintptr_t)memory;
        if (place < begin || place >= begin + bytes) {
            at = &(*at)->next;
            continue;
        }
        wanted *const w = join(at);
        tamis_gpu_kernel_release(w->kernel);
        forget(w);
    }
}
