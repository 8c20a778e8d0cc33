/*
 * Destroying what a GPU may still use. tamis_plan_destroy waits. The _async calls record an event at the end of their
 * stream and put the object on a list; a later call on the same device destroys it once the event has passed. On the
 * CPU no work is pending when a call returns.
 */
#include "core/destroy.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/fork_lock.h"
#include "base/memory.h"
#include "base/status.h"

typedef struct leaving {
    struct leaving *next;
    const tamis_device *device;
    void *event;
    void (*release)(void *object);
    void *object;
} leaving;

static leaving *list;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
TAMIS_FORK_LOCK(lock)
static int waiting; /* entries of the list, read without the lock */

/* The platform releases its own memory only after the work that uses it. Only a caller's allocator needs the wait. */
void tamis_destroy_wait(const tamis_device *device, const tamis_memory_source *source) {
    tamis_message said;
    if (!source || device->backend->location == TAMIS_HOST) return;
    tamis_message_keep(&said);
    device->backend->finish(device->handle, TAMIS_ALL_STREAMS);
    tamis_message_restore(&said); /* destroying does not change the last error */
}

static void let_go(leaving *entry) {
    entry->release(entry->object);
    entry->device->backend->release_event(entry->device->handle, entry->event);
    free(entry);
}

/* Takes from the list an entry of this device whose event has passed or, with `any`, the first one. */
static leaving *take_one(const tamis_device *device, bool any) {
    leaving *found = NULL;
    pthread_mutex_lock(&lock);
    for (leaving **at = &list; *at && !found; at = found ? at : &(*at)->next) {
        const tamis_backend *const backend = (*at)->device->backend;
        if ((*at)->device->handle != device->handle || backend != device->backend) continue;
        if (any || backend->event_passed(device->handle, (*at)->event)) {
            found = *at;
            *at = found->next;
        }
    }
    pthread_mutex_unlock(&lock);
    if (found) __atomic_fetch_sub(&waiting, 1, __ATOMIC_RELAXED);
    return found;
}

void tamis_destroy_passed(const tamis_device *device) {
    if (__atomic_load_n(&waiting, __ATOMIC_RELAXED) == 0 || device->backend->location == TAMIS_HOST) return;
    for (leaving *entry = take_one(device, false); entry; entry = take_one(device, false)) let_go(entry);
}

void tamis_destroy_later(const tamis_device *device, void *stream, void (*release)(void *object), void *object) {
    leaving *const entry = device->backend->location == TAMIS_DEVICE ? malloc(sizeof *entry) : NULL;
    void *event = NULL;
    if (!entry || device->backend->record(device->handle, stream, &event) != TAMIS_OK) { /* release it now */
        free(entry);
        release(object);
        return;
    }
    *entry = (leaving){.device = device, .event = event, .release = release, .object = object};
    pthread_mutex_lock(&lock);
    entry->next = list;
    list = entry;
    pthread_mutex_unlock(&lock);
    __atomic_fetch_add(&waiting, 1, __ATOMIC_RELAXED);
}

void tamis_device_close(tamis_device *device) {
    if (device && device->backend->location == TAMIS_DEVICE && __atomic_load_n(&waiting, __ATOMIC_RELAXED) > 0) {
        device->backend->finish(device->handle, TAMIS_ALL_STREAMS);
        for (leaving *entry = take_one(device, true); entry; entry = take_one(device, true)) let_go(entry);
    }
    tamis_release(device);
}
