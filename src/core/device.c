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
            if (*end || value >= candidate->device_count())
                return tamis_fail(TAMIS_ERROR_DEVICE, "name = \"%s\": there are %d devices of %s", name,
                                  candidate->device_count(), candidate->name);
            *number = (int)value;
        }
        *backend = candidate;
        return TAMIS_OK;
    }
    return tamis_fail(TAMIS_ERROR_DEVICE, "name = \"%s\": this build has %s", name, list);
}

tamis_status tamis_device_open(const char *name, tamis_device **device) {
    tamis_status status = TAMIS_OK;
    const tamis_backend *backend = NULL;
    int number = 0;
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: where to put the result");
    *device = NULL;
    TRY(find(name ? name : "cpu", &backend, &number));
    tamis_device *opened = NULL;
    TRY(tamis_allocate_zeroed(1, sizeof *opened, "a device", (void **)&opened));
    opened->backend = backend;
    opened->number = number;
    TRY_GOTO(failed, backend->describe(number, &opened->description));
    *device = opened;
    return TAMIS_OK;
failed:
    tamis_release(opened);
    return status;
}

void tamis_device_close(tamis_device *device) {
    tamis_clear_error();
    tamis_release(device);
}

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
