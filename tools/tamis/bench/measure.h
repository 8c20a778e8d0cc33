/* Measures several contestants in turn, so that anything else that the machine does hits all alike. */
#ifndef TOOL_MEASURE_H
#define TOOL_MEASURE_H

#include <stdbool.h>
#include <stdint.h>
#include <tamis/tamis.h>

#include "base/load.h"
#include "bench/flush.h"
#include "bench/statistics.h"

typedef struct tool_contestant {
    const char *name;
    tamis_status (*execute)(void *context); /* one execution */
    /* NULL, or: so many executions, each measured by the contestant's own clock. */
    tamis_status (*timed)(void *context, int count, double *seconds);
    void *context;
    tool_samples samples; /* seconds */
    tool_samples turns;   /* the median of each turn: executions within a turn are not independent of each other */
    tamis_status status;  /* not TAMIS_OK: it failed, and takes no further turn */
} tool_contestant;

typedef struct tool_measure_options {
    int64_t repeat;            /* executions of each */
    double seconds;            /* budget for all together; at least 5 turns are taken in any case */
    const tool_device *device; /* whose clock measures */
    tool_flush *flush;         /* empties the caches before each execution; NULL: they stay as they are */
    int threads;
} tool_measure_options;

/*
 * Turns A B C A B C ...: in each turn a contestant runs once, quick ones several times, so that each comes to about
 * 0.2 seconds in all (or the budget, if it is less) and at least `repeat` samples. On a GPU those of one turn are put
 * into its queue together, each between two of its events, so that what the host takes to launch them is not measured.
 * False after Ctrl-C: the samples are then incomplete.
 */
bool tool_measure(tool_contestant *contestants, int count, const tool_measure_options *options, tamis_load *load);

#endif
