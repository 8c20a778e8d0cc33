/* Points in time before and after executions: by the host's clock on the CPU, by the device's events on a GPU, where a
   call only enqueues work. */
#ifndef TOOL_TIMER_H
#define TOOL_TIMER_H

#include "cli/device.h"

enum { TOOL_TIMER_POINTS = 64 };

typedef struct tool_timer {
    tamis_device *device; /* NULL: the host's clock */
    void *event[TOOL_TIMER_POINTS];
    double clock[TOOL_TIMER_POINTS];
} tool_timer;

/* Makes a timer. device may be NULL, for the host's clock. */
tool_timer tool_timer_create(const tool_device *device);
void tool_timer_free(tool_timer *timer);

/* Records point number i now, or when the device reaches it. */
tamis_status tool_timer_take(tool_timer *timer, int i);
/* Returns the seconds between two points; waits for the device to reach the later one. */
tamis_status tool_timer_between(tool_timer *timer, int from, int to, double *seconds);

#endif
