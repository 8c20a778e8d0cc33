/* Opens devices. */
#include "device.h"

#include "exit.h"

int tool_device_open(int choice, bool ceilings, tool_device *device) {
    *device = (tool_device){0};
    const char *name = choice == 0 ? NULL : tool_devices.name(choice);
    tamis_status status = tamis_device_open(name, &device->device);
    if (status == TAMIS_OK) status = tamis_device_describe(device->device, &device->description);
    if (status == TAMIS_OK && ceilings) status = tamis_device_ceilings(device->device, &device->ceilings);
    if (status == TAMIS_OK) return 0;
    const int code = tool_library_error(status, name);
    tool_device_close(device);
    return code;
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
