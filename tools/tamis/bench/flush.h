/* Flushes a device's caches between executions. */
#ifndef TOOL_FLUSH_H
#define TOOL_FLUSH_H

#include "cli/device.h"

typedef struct tool_flush tool_flush;

/* Prepares the data that fill the caches of the device. Returns 0 or an exit code, after a message. */
int tool_flush_create(const tool_device *device, int threads, tool_flush **flush);
void tool_flush_free(tool_flush *flush);

/* Reads four times the last cache level (on the CPU every thread reads twice the L3); on a GPU in its default
   stream. */
tamis_status tool_flush_execute(tool_flush *flush);

#endif
