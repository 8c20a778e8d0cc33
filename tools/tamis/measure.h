/* Measuring several contestants in turn, so that whatever the machine does meanwhile hits all alike. */
#ifndef TOOL_MEASURE_H
#define TOOL_MEASURE_H

#include <stdbool.h>
#include <stdint.h>
#include <tamis/tamis.h>

#include "statistics.h"

typedef struct tool_contestant {
    const char *name;
    tamis_status (*execute)(void *context); /* one execution */
    void *context;
    tool_samples samples; /* seconds */
    tamis_status status;  /* not TAMIS_OK: it failed, and is left out from then on */
} tool_contestant;

typedef struct tool_measure_options {
    int64_t repeat;      /* executions wanted of each */
    double seconds;      /* budget for all together; at least 5 turns are taken whatever it is */
    int64_t flush_bytes; /* > 0: caches of that size are emptied before each execution */
    int threads;         /* of the flush */
} tool_measure_options;

/*
 * Turns A B C A B C ...: in each turn a contestant runs once, quick ones several times, so that each comes to about
 * 0.2 seconds in all and at least `repeat` samples. False after Ctrl-C: the samples are then incomplete.
 */
bool tool_measure(tool_contestant *contestants, int count, const tool_measure_options *options);

/* How many processors other processes kept busy, on the average over all tool_measure so far; 0 when there was room for
   them beside this one's threads, or when it is not known. Above some tenths the medians are doubtful. */
double tool_measure_disturbance(void);

#endif
