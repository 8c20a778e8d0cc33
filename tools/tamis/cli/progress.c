/* The progress bar, and the clock. */
#include "cli/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "cli/visible.h"

static bool shown = false;
static double last_drawn = -1;

double tool_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void tool_progress(double share, const char *format, ...) {
    static int terminal = -1;
    if (terminal < 0) terminal = isatty(STDERR_FILENO);
    if (!terminal) return;
    const double now = tool_seconds();
    if (shown && now - last_drawn < 0.08) return;
    last_drawn = now;
    shown = true;
    enum { CELLS = 24 };
    char bar[CELLS + 1];
    if (!(share > 0)) share = 0;
    if (share > 1) share = 1;
    const int filled = (int)(share * CELLS);
    memset(bar, '.', CELLS);
    memset(bar, '#', (size_t)filled);
    bar[CELLS] = 0;
    char what[64], shown_what[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    tool_visible_copy(what, shown_what, sizeof shown_what);
    fprintf(stderr, "\r\033[K[%s] %3.0f %%  %s", bar, 100 * share, shown_what);
    fflush(stderr);
}

void tool_progress_clear(void) {
    if (!shown) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    shown = false;
}

bool tool_progress_reading(void *context, double share) {
    const char *name = context;
    tool_progress(share, "reading %s", name);
    return !tool_interrupted();
}
