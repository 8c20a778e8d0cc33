/* Devices by name: "cpu" is the first and only one of its backend, "name:N" is number N of backend "name". */
#include "core/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "core/registry.h"

static tamis_status find(const char *name, const tamis_backend **backend, int *number) {
    char list[160] = "";
    for (int b = 0; tamis_backend_at(b); b++) {
        const tamis_backend *const candidate = tamis_backend_at(b);
        const size_t length = strlen(candidate->name);
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", candidate->name);
        if (strncmp(name, candidate->name, length) != 0) continue;
        if (name[length] == 0) {
            *number = 0;
        } else {
            char *end = NULL;
            if (name[length] != ':' || name[length + 1] < '0' || name[length + 1] > '9') continue;
            const long value = strtol(name + length + 1, &end, 10);
            if (*end)
                return tamis_fail(TAMIS_ERROR_DEVICE, "name = \"%s\": \"%s\" is not a number", name, name + length + 1);
            const int count = candidate->device_count();
            if (value >= count) {
                const char *const why = candidate->why_absent(0);
                return tamis_fail(TAMIS_ERROR_DEVICE, "name = \"%s\": there %s %d device%s of %s%s%s", name,
                                  count == 1 ? "is" : "are", count, count == 1 ? "" : "s", candidate->name,
                                  why[0] ? ": " : "", why);
            }
            *number = (int)value;
        }
        *backend = candidate;
        return TAMIS_OK;
    }
    return tamis_fail(TAMIS_ERROR_DEVICE, "name = \"%s\": this build has %s", name, list);
}

/* Returns CUDA's first device if it is usable, else the CPU. OpenCL devices must be named. */
static const char *best_present(void) {
    for (int b = 0; tamis_backend_at(b); b++) {
        const tamis_backend *const candidate = tamis_backend_at(b);
        if (strcmp(candidate->name, "cuda") == 0 && candidate->device_count() > 0 && !candidate->why_absent(0)[0])
            return "cuda:0";
    }
    return "cpu";
}

tamis_status tamis_device_check_location(const tamis_device *device, tamis_location location, const char *name) {
    if (location == device->backend->location) return TAMIS_OK;
    if (location == TAMIS_DEVICE)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.location = device, but %s uses host memory", name,
                          device->description.name);
    return tamis_fail(TAMIS_ERROR_ARGUMENT,
                      "%s.location = host, but %s uses its own memory: copy the arrays there with "
                      "tamis_device_allocate and tamis_device_upload",
                      name, device->description.name);
}

/* Each check costs a driver call, so release builds make it only on request by the environment. */
bool tamis_device_asks_for_places(void) {
#ifndef NDEBUG
    return true;
#else
    static int known; /* 1: no, 2: yes */
    int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (answer == 0) {
        const char *const text = getenv("TAMIS_CHECK_POINTERS");
        answer = text && strcmp(text, "1") == 0 ? 2 : 1;
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer == 2;
#endif
}

tamis_status tamis_device_check_place(const tamis_device *device, const void *pointer, const char *name) {
    if (!pointer || !device->backend->check_place) return TAMIS_OK;
    return device->backend->check_place(device->handle, pointer, name);
}

tamis_status tamis_device_open(const char *name, tamis_device **device) {
    tamis_status status = TAMIS_OK;
    const tamis_backend *backend = NULL;
    int number = 0;
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: expected an address for the result");
    *device = NULL;
    TRY(find(name ? name : best_present(), &backend, &number));
    tamis_device *opened = NULL;
    TRY(tamis_allocate_zeroed(1, sizeof *opened, "a device", (void **)&opened));
    opened->backend = backend;
    opened->number = number;
    opened->forks = tamis_fork_count();
    TRY_GOTO(failed, backend->open(number, &opened->handle));
    TRY_GOTO(failed, backend->describe(number, &opened->description));
    *device = opened;
    return TAMIS_OK;
failed:
    tamis_release(opened);
    return status;
}

tamis_status tamis_device_describe(const tamis_device *device, tamis_device_description *description) {
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    if (!description) return tamis_fail(TAMIS_ERROR_ARGUMENT, "description = NULL: expected an address for the result");
    *description = device->description;
    return TAMIS_OK;
}

tamis_status tamis_device_set_threads(tamis_device *device, int threads) {
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    if (threads < 0 || threads > 1024)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "threads = %d is not in 0 .. 1024", threads);
    device->description.threads = threads ? threads : tamis_threads_default();
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ memory */

tamis_status tamis_device_check(const tamis_device *device) {
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    if (device->forks != tamis_fork_count() && device->backend->location == TAMIS_DEVICE)
        return tamis_fail(TAMIS_ERROR_DEVICE,
                          "%s was opened before this process was forked, and GPUs do not survive a fork: open it after "
                          "the fork, in a process that has not used it before",
                          device->description.name);
    return TAMIS_OK;
}

tamis_status tamis_device_check_stream(const tamis_device *device, const void *stream) {
    TRY(tamis_device_check(device));
    if (stream && device->backend->location == TAMIS_HOST)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "stream = %p: %s has none, expected NULL", stream,
                          device->description.name);
    return TAMIS_OK;
}

tamis_status tamis_device_check_copy(const tamis_device *device, const void *stream, const void *to, const void *from,
                                     size_t bytes) {
    TRY(tamis_device_check_stream(device, stream));
    if (bytes > 0 && !to)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "to = NULL: expected an address for %zu bytes", bytes);
    if (bytes > 0 && !from)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "from = NULL: expected the address of %zu bytes", bytes);
    return TAMIS_OK;
}

tamis_status tamis_device_allocate(tamis_device *device, size_t bytes, void **memory) {
    tamis_clear_error();
    TRY(tamis_device_check(device));
    if (!memory) return tamis_fail(TAMIS_ERROR_ARGUMENT, "memory = NULL: expected an address for the result");
    *memory = NULL;
    return device->backend->allocate(device->handle, TAMIS_ALL_STREAMS, bytes, "the caller", memory);
}

void tamis_device_free(tamis_device *device, void *memory) {
    if (device && memory) device->backend->release_memory(device->handle, TAMIS_ALL_STREAMS, memory);
}

tamis_status tamis_device_upload(tamis_device *device, void *stream, void *to, size_t offset, const void *from,
                                 size_t bytes) {
    tamis_clear_error();
    TRY(tamis_device_check_copy(device, stream, to, from, bytes));
    return device->backend->copy_in(device->handle, stream, (tamis_place){to, (int64_t)offset}, from, bytes);
}

tamis_status tamis_device_download(tamis_device *device, void *stream, void *to, const void *from, size_t offset,
                                   size_t bytes) {
    tamis_clear_error();
    TRY(tamis_device_check_copy(device, stream, to, from, bytes));
    return device->backend->copy_out(device->handle, stream, to, tamis_place_at(from, offset), bytes);
}

void tamis_row_order_release(const tamis_device *device, void *stream, const tamis_row_order *order) {
    void *const arrays[] = {order->offsets, order->own_columns, order->permutation, order->rows};
    for (int i = 0; i < 4; i++) device->backend->release_memory(device->handle, stream, arrays[i]);
}

/* ------------------------------------------------------------------------------------------ all that there are */

int tamis_device_count(void) {
    int total = 0;
    for (int b = 0; tamis_backend_at(b); b++) total += tamis_backend_at(b)->device_count();
    return total;
}

tamis_status tamis_device_at(int number, const char **name, const char **why) {
    tamis_clear_error();
    int left = number;
    for (int b = 0; tamis_backend_at(b) && left >= 0; b++) {
        const tamis_backend *const backend = tamis_backend_at(b);
        if (left < backend->device_count()) {
            tamis_device_description description = {.name = backend->name};
            if (backend->describe(left, &description) != TAMIS_OK) description.name = backend->name;
            if (name) *name = description.name;
            if (why) *why = backend->why_absent(left);
            if (!why) tamis_clear_error();
            return TAMIS_OK;
        }
        left -= backend->device_count();
    }
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "number = %d is not in 0 .. %d", number, tamis_device_count() - 1);
}
