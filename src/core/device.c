/* Devices by name: "cpu" is the first and only one of its backend, "name:N" is number N of backend "name". */
#include "core/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "core/registry.h"
#include "select/ceilings.h"

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
                return tamis_fail(TAMIS_ERROR_DEVICE, "name = \"%s\": \"%s\" is no number", name, name + length + 1);
            if (value >= candidate->device_count()) {
                const char *const why = candidate->why_absent(0);
                return tamis_fail(TAMIS_ERROR_DEVICE, "name = \"%s\": there are %d devices of %s%s%s", name,
                                  candidate->device_count(), candidate->name, why[0] ? ": " : "", why);
            }
            *number = (int)value;
        }
        *backend = candidate;
        return TAMIS_OK;
    }
    return tamis_fail(TAMIS_ERROR_DEVICE, "name = \"%s\": this build has %s", name, list);
}

/* CUDA's first device where one can be used, else the processor. OpenCL only where it is asked for. */
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
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.location = device, but %s computes on host memory", name,
                          device->description.name);
    return tamis_fail(TAMIS_ERROR_ARGUMENT,
                      "%s.location = host, but %s computes on its own memory: "
                      "tamis_device_allocate and tamis_device_write bring the arrays there",
                      name, device->description.name);
}

tamis_status tamis_device_open(const char *name, tamis_device **device) {
    tamis_status status = TAMIS_OK;
    const tamis_backend *backend = NULL;
    int number = 0;
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: where to put the result");
    *device = NULL;
    TRY(find(name ? name : best_present(), &backend, &number));
    tamis_device *opened = NULL;
    TRY(tamis_allocate_zeroed(1, sizeof *opened, "a device", (void **)&opened));
    opened->backend = backend;
    opened->number = number;
    TRY_GOTO(failed, backend->open(number, &opened->handle));
    TRY_GOTO(failed, backend->describe(number, &opened->description));
    *device = opened;
    return TAMIS_OK;
failed:
    tamis_release(opened);
    return status;
}

void tamis_device_close(tamis_device *device) { tamis_release(device); }

tamis_status tamis_device_describe(const tamis_device *device, tamis_device_description *description) {
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    if (!description) return tamis_fail(TAMIS_ERROR_ARGUMENT, "description = NULL: where to put the result");
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

tamis_status tamis_device_ceilings(tamis_device *device, tamis_ceilings *ceilings) {
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    if (!ceilings) return tamis_fail(TAMIS_ERROR_ARGUMENT, "ceilings = NULL: where to put the result");
    tamis_ceilings_get(device->backend, device->number, device->description.threads, true, ceilings);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ memory and time */

static tamis_status need_device(const tamis_device *device) {
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    return TAMIS_OK;
}

tamis_status tamis_device_allocate(tamis_device *device, size_t bytes, void **memory) {
    tamis_clear_error();
    TRY(need_device(device));
    if (!memory) return tamis_fail(TAMIS_ERROR_ARGUMENT, "memory = NULL: where to put the result");
    *memory = NULL;
    return device->backend->allocate(device->handle, bytes, "the caller", memory);
}

void tamis_device_free(tamis_device *device, void *memory) {
    if (device) device->backend->release_memory(device->handle, memory);
}

static tamis_status check_copy(const tamis_device *device, const void *to, const void *from, size_t bytes) {
    TRY(need_device(device));
    if (bytes > 0 && !to) return tamis_fail(TAMIS_ERROR_ARGUMENT, "to = NULL: %zu bytes have nowhere to go", bytes);
    if (bytes > 0 && !from)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "from = NULL: %zu bytes have nowhere to come from", bytes);
    return TAMIS_OK;
}

tamis_status tamis_device_write(tamis_device *device, void *stream, void *to, size_t offset, const void *from,
                                size_t bytes) {
    tamis_clear_error();
    TRY(check_copy(device, to, from, bytes));
    return device->backend->copy_in(device->handle, stream, (tamis_place){to, (int64_t)offset}, from, bytes);
}

tamis_status tamis_device_read(tamis_device *device, void *stream, void *to, const void *from, size_t offset,
                               size_t bytes) {
    tamis_clear_error();
    TRY(check_copy(device, to, from, bytes));
    const tamis_place place = {(void *)(uintptr_t)from, (int64_t)offset};
    return device->backend->copy_out(device->handle, stream, to, place, bytes);
}

tamis_status tamis_device_copy(tamis_device *device, void *stream, void *to, size_t to_offset, const void *from,
                               size_t from_offset, size_t bytes) {
    tamis_clear_error();
    TRY(check_copy(device, to, from, bytes));
    const size_t apart = to_offset > from_offset ? to_offset - from_offset : from_offset - to_offset;
    if (to == from && apart < bytes)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "to_offset = %zu, from_offset = %zu: %zu bytes from each of them overlap, and to = from",
                          to_offset, from_offset, bytes);
    const tamis_place place = {(void *)(uintptr_t)from, (int64_t)from_offset};
    return device->backend->copy_within(device->handle, stream, (tamis_place){to, (int64_t)to_offset}, place, bytes);
}

tamis_status tamis_device_finish(tamis_device *device, void *stream) {
    tamis_clear_error();
    TRY(need_device(device));
    return device->backend->finish(device->handle, stream);
}

tamis_status tamis_device_mark(tamis_device *device, void *stream, void **mark) {
    tamis_clear_error();
    TRY(need_device(device));
    if (!mark) return tamis_fail(TAMIS_ERROR_ARGUMENT, "mark = NULL: where to put the result");
    return device->backend->mark(device->handle, stream, mark);
}

tamis_status tamis_device_between(tamis_device *device, void *start, void *end, double *seconds) {
    tamis_clear_error();
    TRY(need_device(device));
    if (!start) return tamis_fail(TAMIS_ERROR_ARGUMENT, "start = NULL: a mark of tamis_device_mark is needed");
    if (!end) return tamis_fail(TAMIS_ERROR_ARGUMENT, "end = NULL: a mark of tamis_device_mark is needed");
    if (!seconds) return tamis_fail(TAMIS_ERROR_ARGUMENT, "seconds = NULL: where to put the result");
    return device->backend->between(device->handle, start, end, seconds);
}

void tamis_device_forget(tamis_device *device, void *mark) {
    if (device) device->backend->release_mark(device->handle, mark);
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
