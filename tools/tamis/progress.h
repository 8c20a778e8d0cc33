/* A progress bar on standard error, only when that is a terminal, and what interrupts: Ctrl-C, and the signals TERM and
   HUP. */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

#include <stdbool.h>

/* Shows `share` (0 to 1) and what is being done; draws at most some ten times a second. */
void tool_progress(double share, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Removes the bar, as before any other output. */
void tool_progress_clear(void);

/* The callback of tamis_read_options: shows the bar, and cancels after Ctrl-C. context: the file's name. */
bool tool_progress_reading(void *context, double share);

/* From now on the first of them only sets the flag, so that work stops at a clean point; a second one, some
   tenths of a second later, ends at once. */
void tool_interrupt_catch(void);
bool tool_interrupted(void);
/* The exit code: 128 and the number of the signal, so 130 after Ctrl-C. */
int tool_interrupted_code(void);

/* Monotonic time in seconds. */
double tool_seconds(void);

#endif
