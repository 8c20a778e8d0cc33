/* One out-of-core operation, for run and explain with --device-memory. */
#ifndef TOOL_SLABS_H
#define TOOL_SLABS_H

#include <tamis/slabs.h>

#include "cli/device.h"
#include "cli/problem.h"

/* The row of --device-memory. */
#define TOOL_DEVICE_MEMORY(at)                                                                                         \
    TOOL_NUMBER_ROW(                                                                                                   \
        TOOL_INTEGER, "device-memory", 0, "BYTES", NULL, at, 1, 9e18,                                                  \
        "out of core: the matrices stay in host memory, and slabs of them pass through this much of the device's")

/* Makes a plan for the problem, whose operands are on the host. */
tamis_status tool_slabs_open(const tool_device *device, const tool_problem *problem, const tamis_options *planning,
                             int64_t device_memory, tamis_slab_plan **plan);

/* Executes once, and measures the seconds. */
tamis_status tool_slabs_execute(tamis_slab_plan *plan, const tool_problem *problem, double *seconds);

/* Prints the plan's explanation. */
tamis_status tool_slabs_explain(const tamis_slab_plan *plan);

#endif
