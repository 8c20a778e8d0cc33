/* Destroying objects that a GPU may still use. */
#ifndef TAMIS_CORE_DESTROY_H
#define TAMIS_CORE_DESTROY_H

#include "core/device.h"

/* Waits for the device if the memory goes back to the caller's allocator, which only knows one stream. */
void tamis_destroy_wait(const tamis_device *device, const tamis_memory_source *source);

/* Calls `release` once the stream has finished the work that is in it now. */
void tamis_destroy_later(const tamis_device *device, void *stream, void (*release)(void *object), void *object);

/* Releases the objects of the device whose work has finished. */
void tamis_destroy_passed(const tamis_device *device);

#endif
