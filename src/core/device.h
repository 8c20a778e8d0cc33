/* An open device. */
#ifndef TAMIS_CORE_DEVICE_H
#define TAMIS_CORE_DEVICE_H

#include "backend/backend.h"
#include "base/memory_source.h"

struct tamis_device {
    const tamis_backend *backend;
    int number;     /* number among the backend's devices */
    void *handle;   /* the backend's handle */
    unsigned forks; /* tamis_fork_count() when it was opened */
    tamis_device_description description;
};

/* Rejects NULL, and a GPU in a child of the process that opened it. */
tamis_status tamis_device_check(const tamis_device *device);

/* Checks the device, and that the stream can be one of its streams. */
tamis_status tamis_device_check_stream(const tamis_device *device, const void *stream);

/* Checks the device, the stream, and both ends of a copy. */
tamis_status tamis_device_check_copy(const tamis_device *device, const void *stream, const void *to, const void *from,
                                     size_t bytes);

/* Checks that a view's data are in memory that the device uses. The error names the argument and the calls that copy it
   there. */
tamis_status tamis_device_check_location(const tamis_device *device, tamis_location location, const char *name);

/* Checks that the device can use the memory at that address (NULL is allowed). The error calls it `name`. */
tamis_status tamis_device_check_place(const tamis_device *device, const void *pointer, const char *name);

/* True if every operand gets that check: in debug builds, and with TAMIS_CHECK_POINTERS=1. */
bool tamis_device_asks_for_places(void);

/* Releases the arrays of an order of rows, which the backend made for that stream. */
void tamis_row_order_release(const tamis_device *device, void *stream, const tamis_row_order *order);

static inline tamis_place tamis_place_at(const void *memory, size_t offset) {
    return (tamis_place){(void *)(uintptr_t)memory, (int64_t)offset};
}

#endif
