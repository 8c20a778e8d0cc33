/* Opens devices and finds their algorithms. */
#include <tamis/algorithms.h>
#include <tamis/ceilings.h>

#include "cli/device.h"

#include <string.h>

#include "cli/exit.h"
#include "cli/ranks.h"

static bool starts(const char *name, const char *with) { return strncmp(name, with, strlen(with)) == 0; }

const char *tool_device_family(const char *name) {
    return starts(name, "cuda") || starts(name, "opencl") ? "gpu" : name;
}

tamis_status tool_device_try(int choice, tool_device *device) {
    *device = (tool_device){0};
    const char *name = choice == 0 ? NULL : tool_choice_name(&tool_devices, choice);
    tamis_status status = tamis_device_open(name, &device->device);
    if (status == TAMIS_OK) status = tamis_device_describe(device->device, &device->description);
    device->gpu = device->description.location == TAMIS_DEVICE;
    device->addresses = !device->gpu || (device->description.name && starts(device->description.name, "cuda"));
    return status;
}

int tool_device_open(int choice, bool ceilings, tool_device *device) {
    tamis_status status = tool_device_try(choice, device);
    if (status == TAMIS_OK && ceilings) status = tamis_device_ceilings(device->device, &device->ceilings);
    status = tool_ranks_agree(status);
    if (status == TAMIS_OK) return 0;
    const int code = tool_library_error(status, NULL);
    tool_device_close(device);
    return code;
}

tamis_ceilings tool_device_ceilings(const tool_device *device) {
    tamis_ceilings now = device->ceilings;
    if (now.threads > 0 && tamis_device_ceilings(device->device, &now) != TAMIS_OK) now = device->ceilings;
    return now;
}

void tool_device_close(tool_device *device) {
    tamis_device_close(device->device);
    *device = (tool_device){0};
}

tool_chosen tool_devices_wanted(const tool_chosen *given) {
    if (given->count > 0) return *given;
    tool_chosen all = {0};
    for (int i = 0; i < tamis_device_count() && all.count < TOOL_LIST_LIMIT; i++) {
        const char *why = "";
        if (tamis_device_at(i, NULL, &why) == TAMIS_OK && !*why) all.at[all.count++] = i + 1;
    }
    return all;
}

bool tool_device_serves(const tool_device *device, const tamis_algorithm_description *algorithm) {
    return strcmp(algorithm->device, tool_device_family(device->description.name)) == 0;
}

bool tool_device_algorithm(const tool_device *device, const char *name, tamis_algorithm_description *algorithm) {
    for (int i = 0; i < tamis_algorithm_count(); i++) {
        if (tamis_algorithm_at(i, algorithm) != TAMIS_OK || !tool_device_serves(device, algorithm)) continue;
        if (strcmp(algorithm->name, name) == 0) return true;
    }
    return false;
}

void tool_device_plan_with(const tool_device *device, const char *name, tamis_options *options) {
    tamis_algorithm_description algorithm;
    options->algorithm = name;
    if (name && tool_device_algorithm(device, name, &algorithm) && algorithm.any_order) options->any_order = true;
}
