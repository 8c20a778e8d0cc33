/* Device memory, counted, including memory that the platform refused to release. */
#include "gpu/runtime/memory.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/memory_source.h"
#include "base/status.h"

/* Memory whose release was refused because a graph is being captured somewhere. */
typedef struct refused {
    struct refused *next;
    tamis_gpu_device *device;
    void *stream, *memory;
} refused;

static refused *list;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int waiting; /* length of the list, read without the lock */

static void keep(refused *entry) {
    pthread_mutex_lock(&lock);
    entry->next = list;
    list = entry;
    pthread_mutex_unlock(&lock);
    __atomic_fetch_add(&waiting, 1, __ATOMIC_RELAXED);
}

static refused *take_one(const tamis_gpu_device *device) {
    refused **at = &list, *found;
    pthread_mutex_lock(&lock);
    while (*at && (*at)->device != device) at = &(*at)->next;
    found = *at;
    if (found) *at = found->next;
    pthread_mutex_unlock(&lock);
    if (found) __atomic_fetch_sub(&waiting, 1, __ATOMIC_RELAXED);
    return found;
}

/* Waits for all streams, unless one is being captured: a capture forbids that and would be invalidated. The default
   stream reports whether a stream that it synchronises with is being captured. Keeps the caller's error message. */
static bool finish_all(tamis_gpu_device *device) {
    tamis_message said;
    tamis_message_keep(&said);
    const bool finished = device->runtime->check_stream(device, NULL) == TAMIS_OK &&
                          device->runtime->finish(device, TAMIS_ALL_STREAMS) == TAMIS_OK;
    tamis_message_restore(&said);
    return finished;
}

/* Retries a release. The original stream may no longer exist, so memory of a single stream waits for all streams. */
static bool try_again(const refused *entry) {
    tamis_gpu_device *const device = entry->device;
    if (entry->stream != TAMIS_ALL_STREAMS && !finish_all(device)) return false;
    return device->runtime->release(device, TAMIS_ALL_STREAMS, entry->memory);
}

/* Retries refused releases; stops at the first that fails again. */
static void release_refused(tamis_gpu_device *device) {
    while (__atomic_load_n(&waiting, __ATOMIC_RELAXED) > 0) {
        refused *const entry = take_one(device);
        if (!entry) return;
        if (!try_again(entry)) {
            keep(entry);
            return;
        }
        tamis_memory_note(-1);
        free(entry);
    }
}

tamis_status tamis_gpu_allocate(tamis_gpu_device *device, void *stream, size_t bytes, const char *what, void **memory) {
    *memory = NULL;
    if (bytes == 0) return TAMIS_OK;
    TRY(tamis_bytes_check(bytes, what));
    if (tamis_memory_source_now())
        return tamis_memory_source_allocate(stream, stream == TAMIS_ALL_STREAMS, bytes, what, memory);
    if (tamis_memory_fails_now())
        return tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory for %s: %zu bytes", device->limits.name, what, bytes);
    release_refused(device);
    const tamis_status status = device->runtime->allocate(device, stream, bytes, memory);
    if (status == TAMIS_OK) tamis_memory_note(1);
    return status;
}

void tamis_gpu_release(tamis_gpu_device *device, void *stream, void *memory) {
    if (!memory || tamis_memory_source_release(stream, stream == TAMIS_ALL_STREAMS, memory)) return;
    if (device->runtime->release(device, stream, memory)) {
        tamis_memory_note(-1);
        release_refused(device);
        return;
    }
    refused *const entry = malloc(sizeof *entry); /* not counted: it stands for memory that is */
    if (!entry) return;                           /* leaked, and still counted */
    *entry = (refused){.device = device, .stream = stream, .memory = memory};
    keep(entry);
}
