#include <tamis/stream.h>

#include "cli/timer.h"

#include "cli/progress.h"

tool_timer tool_timer_create(const tool_device *device) {
    return (tool_timer){.device = device && device->gpu ? device->device : NULL};
}

void tool_timer_free(tool_timer *timer) {
    for (int i = 0; i < TOOL_TIMER_POINTS && timer->device; i++)
        if (timer->event[i]) tamis_event_destroy(timer->device, timer->event[i]);
    *timer = (tool_timer){0};
}

tamis_status tool_timer_take(tool_timer *timer, int i) {
    if (timer->device) return tamis_event_record(timer->device, NULL, &timer->event[i]);
    timer->clock[i] = tool_seconds();
    return TAMIS_OK;
}

tamis_status tool_timer_between(tool_timer *timer, int from, int to, double *seconds) {
    if (timer->device) return tamis_event_elapsed(timer->device, timer->event[from], timer->event[to], seconds);
    *seconds = timer->clock[to] - timer->clock[from];
    return TAMIS_OK;
}
