/* A file of timings that a command reads, adds to, and writes anew while it works. */
#ifndef TOOL_BENCH_TIMINGS_H
#define TOOL_BENCH_TIMINGS_H

#include <tamis/ceilings.h>

#include "cli/device.h"

typedef struct tool_timings {
    tamis_timings *list;
    const char *path; /* NULL: none is kept */
    int64_t measured; /* cases that were timed */
    int64_t added;    /* of these, since the file was written */
    int64_t skipped;  /* cases that were there, and were not measured again */
    int disturbed;    /* cases that other processes disturbed, and that are left out */
    bool foreign;     /* the file is of another machine */
    double written;   /* when, by tool_seconds() */
} tool_timings;

/* Makes the list of a device, and reads the file, if it is there. Returns 0, or an exit code after a message. */
int tool_timings_open(const tool_device *device, const char *path, tool_timings *timings);

/* Writes the file, if cases were added: not more often than every few seconds unless it is the last time. */
int tool_timings_save(tool_timings *timings, bool last);

/* Writes the fitted rates as a profile. */
int tool_timings_export(const tool_timings *timings, const char *path);

#endif
