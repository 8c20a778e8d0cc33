/* Open devices and their properties, for commands. */
#ifndef TOOL_DEVICE_H
#define TOOL_DEVICE_H

#include <tamis/algorithms.h>
#include <tamis/ceilings.h>
#include <tamis/tamis.h>

#include "cli/options.h"

typedef struct tool_device {
    tamis_device *device;
    tamis_device_description description;
    tamis_ceilings ceilings;
    bool gpu;       /* it has its own memory */
    bool addresses; /* its memory supports pointer arithmetic (host, CUDA), unlike cl_mem */
} tool_device;

/* Opens a device. choice: index into tool_devices, 0 for the best. Returns 0 or an exit code, after a message. */
int tool_device_open(int choice, bool ceilings, tool_device *device);
/* Opens a device without a message, and without ceilings. */
tamis_status tool_device_try(int choice, tool_device *device);
void tool_device_close(tool_device *device);

/* Reads the ceilings again: they may have been measured since the device was opened. */
tamis_ceilings tool_device_ceilings(const tool_device *device);

/* Returns the given choices, or all present devices if none was given. */
tool_chosen tool_devices_wanted(const tool_chosen *given);

/* Returns true if the algorithm belongs to the device. The family "gpu" includes every cuda:N and opencl:N. */
bool tool_device_serves(const tool_device *device, const tamis_algorithm_description *algorithm);

/* Finds the device's algorithm with that name; false if there is none. */
bool tool_device_algorithm(const tool_device *device, const char *name, tamis_algorithm_description *algorithm);

/* Sets the algorithm in a plan's options (NULL: auto), and allows any order of sums if the algorithm needs that. */
void tool_device_plan_with(const tool_device *device, const char *name, tamis_options *options);

/* Returns the family of algorithms for a name like "gpu" or "cuda:0": "cpu", "gpu", or the name itself. */
const char *tool_device_family(const char *name);

#endif
