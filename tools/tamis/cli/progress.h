/* A progress bar on standard error, only when that is a terminal. */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

#include <stdbool.h>

#include "cli/interrupt.h"

/* Shows `share` (0 to 1) and what is being done; draws at most some ten times a second. */
void tool_progress(double share, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Removes the bar, as before any other output. */
void tool_progress_clear(void);

/* The callback of tamis_read_options: shows the bar, and cancels after a signal. context: the file's name. */
bool tool_progress_reading(void *context, double share);

/* Monotonic time in seconds. */
double tool_seconds(void);

#endif
