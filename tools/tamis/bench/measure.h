/* Measures several contestants in turns, so that disturbances affect all alike. */
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
    /* `count` executions, each timed by the contestant's own clock; NULL: use the host's clock. */
    tamis_status (*timed)(void *context, int count, double *seconds);
    void *context;
    tool_samples samples; /* seconds */
    tool_samples turns;   /* the median of each turn, as executions within a turn are not independent */
    tamis_status status;  /* not TAMIS_OK: it failed and takes no further turns */
} tool_contestant;

typedef struct tool_measure_options {
    int64_t repeat;            /* executions of each */
    double seconds;            /* budget for all together; at least 5 turns are taken */
    const tool_device *device; /* whose clock measures */
    tool_flush *flush;         /* flushes the caches before each execution; NULL: no flush */
    int threads;
} tool_measure_options;

/*
 * Measures contestants in turns A B C A B C ... In each turn a contestant runs once, fast ones several times, so that
 * each gets about 0.2 seconds in all (or the budget, if it is less) and at least `repeat` samples. On a GPU all
 * executions of one turn are enqueued together, each between two events, so that launch times on the host are not
 * measured. Returns false after Ctrl-C: the samples are then incomplete.
 */
bool tool_measure(tool_contestant *contestants, int count, const tool_measure_options *options, tamis_load *load);

#endif
