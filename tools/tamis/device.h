/* Opened devices with what the commands need to know of them. */
#ifndef TOOL_DEVICE_H
#define TOOL_DEVICE_H

#include <tamis/tamis.h>

#include "options.h"

typedef struct tool_device {
    tamis_device *device;
    tamis_device_description description;
    tamis_ceilings ceilings;
} tool_device;

/* choice: index into tool_devices, 0 for the best. Returns 0 or an exit code, after a message. */
int tool_device_open(int choice, bool ceilings, tool_device *device);
void tool_device_close(tool_device *device);

/* The choices given, or every device that is present when none was given. */
tool_chosen tool_devices_wanted(const tool_chosen *given);

#endif
