/* What tests of single parts share: the device that main() names, opened for all of them, and arrays on it. */
#ifndef TAMIS_TESTS_OPENED_DEVICE_H
#define TAMIS_TESTS_OPENED_DEVICE_H

#define TEST_DEVICE "opencl:0"

#include "core/device.h"
#include "sparse/index.h"
#include "support/matrix.h"
#include "unit/device_fixture.h"

static inline void *host(int64_t count) { return test_room(count, 8); }

static inline void *on_device(const void *from, size_t bytes) {
    void *memory = NULL;
    test_must(tamis_device_allocate(device, bytes ? bytes : 8, &memory));
    if (bytes) test_must(tamis_device_upload(device, NULL, memory, 0, from, bytes));
    return memory;
}

static inline void *numbers_on_device(const int64_t *from, int64_t count, tamis_index_type type) {
    void *const packed = host(count);
    for (int64_t i = 0; i < count; i++) tamis_index_store(packed, type, i, from[i]);
    void *const memory = on_device(packed, (size_t)count * tamis_index_size(type));
    free(packed);
    return memory;
}

static inline void *from_device(const void *memory, int64_t count, size_t size) {
    void *const got = host(count);
    if (count > 0) test_must(tamis_device_download(device, NULL, got, memory, 0, (size_t)count * size));
    return got;
}

#endif
