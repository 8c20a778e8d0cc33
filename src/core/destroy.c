/*
 * Destroying objects that a GPU may still use. tamis_plan_destroy waits. The _async calls record an event at the end of
 * their stream and put the object on a list; a later call on the same device object destroys it once the event has
 * passed. On the CPU no work is pending when a call returns. A child of fork() has none of its parent's work, and never
 * waits for it.
 */
#include "core/destroy.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/fork_lock.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"

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
static int waiting; /* length of the list, read without the lock */

/* True if this process must wait for the device: not on the CPU, and not in a child of the process that opened it. */
static bool has_work(const tamis_device *device) {
    return device->backend->location == TAMIS_DEVICE && device->forks == tamis_fork_count();
}

/* Waits for the work in a stream, or in all of them. Keeps the last error. */
static void wait_for_stream(const tamis_device *device, void *stream) {
    tamis_message said;
    tamis_message_keep(&said);
    device->backend->finish(device->handle, stream);
    tamis_message_restore(&said);
}

/* Waits only for a caller's allocator: the platform itself releases memory after the work that uses it. */
void tamis_destroy_wait(const tamis_device *device, const tamis_memory_source *source) {
    if (source && has_work(device)) wait_for_stream(device, TAMIS_ALL_STREAMS);
}

static void let_go(leaving *entry) {
    entry->release(entry->object);
    entry->device->backend->release_event(entry->device->handle, entry->event);
    free(entry);
}

/* Waits for the entry's event through `elapsed`, since its stream may be unknown to the device. */
static void wait_for(const leaving *entry) {
    const tamis_device *const device = entry->device;
    double seconds;
    tamis_message said;
    tamis_message_keep(&said);
    if (device->backend->elapsed(device->handle, entry->event, entry->event, &seconds) != TAMIS_OK)
        device->backend->finish(device->handle, TAMIS_ALL_STREAMS);
    tamis_message_restore(&said);
}

/* Removes from the list an entry of this device object whose event has passed or, with `any`, the first one. Another
   object of the same device may be closed while its entry is released. */
static leaving *take_one(const tamis_device *device, bool any) {
    leaving *found = NULL;
    pthread_mutex_lock(&lock);
    for (leaving **at = &list; *at && !found; at = found ? at : &(*at)->next) {
        if ((*at)->device != device) continue;
        if (any || device->backend->event_passed(device->handle, (*at)->event)) {
            found = *at;
            *at = found->next;
            __atomic_fetch_sub(&waiting, 1, __ATOMIC_RELAXED);
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void tamis_destroy_passed(const tamis_device *device) {
    if (__atomic_load_n(&waiting, __ATOMIC_RELAXED) == 0 || !has_work(device)) return;
    for (leaving *entry = take_one(device, false); entry; entry = take_one(device, false)) let_go(entry);
}

/* Makes an entry with an event at the end of the stream; NULL if memory is lacking or the device refuses. */
static leaving *make_entry(const tamis_device *device, void *stream) {
    leaving *const entry = calloc(1, sizeof *entry);
    tamis_message said;
    if (!entry) return NULL;
    tamis_message_keep(&said);
    entry->device = device;
    const tamis_status status = device->backend->record(device->handle, stream, &entry->event);
    tamis_message_restore(&said);
    if (status == TAMIS_OK) return entry;
    device->backend->release_event(device->handle, entry->event); /* created, but not recorded */
    free(entry);
    return NULL;
}

void tamis_destroy_later(const tamis_device *device, void *stream, void (*release)(void *object), void *object) {
    leaving *const entry = has_work(device) ? make_entry(device, stream) : NULL;
    if (!entry) {
        if (has_work(device)) wait_for_stream(device, stream);
        release(object);
        return;
    }
    entry->release = release;
    entry->object = object;
    pthread_mutex_lock(&lock);
    entry->next = list;
    list = entry;
    __atomic_fetch_add(&waiting, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

void tamis_device_close(tamis_device *device) {
    if (device && device->backend->location == TAMIS_DEVICE && __atomic_load_n(&waiting, __ATOMIC_RELAXED) > 0)
        for (leaving *entry = take_one(device, true); entry; entry = take_one(device, true)) {
            if (has_work(device)) wait_for(entry);
            let_go(entry);
        }
    tamis_release(device);
}
