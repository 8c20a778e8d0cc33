/* An open device. */
#ifndef TAMIS_CORE_DEVICE_H
#define TAMIS_CORE_DEVICE_H

#include "base/backend.h"

struct tamis_device {
    const tamis_backend *backend;
    int number;   /* of the backend's devices */
    void *handle; /* the backend's own */
    tamis_device_description description;
};

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

static inline tamis_place tamis_place_at(const void *memory, size_t offset) {
    return (tamis_place){(void *)(uintptr_t)memory, (int64_t)offset};
}

#endif
