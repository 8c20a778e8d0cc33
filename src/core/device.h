/* An open device. */
#ifndef TAMIS_CORE_DEVICE_H
#define TAMIS_CORE_DEVICE_H

#include "backend/backend.h"
#include "base/source.h"

struct tamis_device {
    const tamis_backend *backend;
    int number;   /* of the backend's devices */
    void *handle; /* the backend's own */
    tamis_device_description description;
};

/* registry.c: the backends that this build has, by number; NULL past the end. */
const tamis_backend *tamis_backend_at(int number);

tamis_status tamis_device_check(const tamis_device *device);

/* A device, and a stream that it can have. */
tamis_status tamis_device_check_stream(const tamis_device *device, const void *stream);

/* The same, and two ends of a copy. */
tamis_status tamis_device_check_copy(const tamis_device *device, const void *stream, const void *to, const void *from,
                                     size_t bytes);

/* Whether a view's data are where the device computes; the error names the argument and the calls that mend it. */
tamis_status tamis_device_check_location(const tamis_device *device, tamis_location location, const char *name);

/* Whether the device can use what is at that address (NULL: nothing); the error names it `name`. */
tamis_status tamis_device_check_place(const tamis_device *device, const void *pointer, const char *name);

/* Whether that is to be asked for each operand: TAMIS_CHECK_POINTERS=1, and builds for debugging. */
bool tamis_device_asks_for_places(void);

/* destroy.c: waits for the device's work where memory goes back to an allocator of the caller's, which knows one stream
   of it; has `release` called when the stream has come to where it is now; those of a device whose time has come;
   all of a device, after waiting for it. */
void tamis_destroy_wait(const tamis_device *device, const tamis_source *source);
void tamis_destroy_later(const tamis_device *device, void *stream, void (*release)(void *object), void *object);
void tamis_destroy_passed(const tamis_device *device);
void tamis_destroy_rest(const tamis_device *device);

static inline tamis_place tamis_place_at(const void *memory, size_t offset) {
    return (tamis_place){(void *)(uintptr_t)memory, (int64_t)offset};
}

#endif
