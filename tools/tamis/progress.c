/* The progress bar, the signals that interrupt, and the clock. */
#include "progress.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted = 0;
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
    char what[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\r\033[K[%s] %3.0f %%  %s", bar, 100 * share, what);
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
    return !interrupted;
}

/* What one Ctrl-C, or timeout(1), sends to a process and to its group arrives as two signals in a moment. */
static const double SAME_INTERRUPT = 0.3;

static void handle_interrupt(int number) {
    static double first = 0;
    const double now = tool_seconds();
    if (!interrupted) {
        first = now;
        interrupted = number;
    } else if (now - first > SAME_INTERRUPT) {
        signal(number, SIG_DFL);
        raise(number); /* it comes through when this returns */
    }
}

void tool_interrupt_catch(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle_interrupt;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction before;
    const bool ignored = sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler == SIG_IGN; /* by nohup(1) */
    if (!ignored) sigaction(SIGHUP, &action, NULL);
}

bool tool_interrupted(void) { return interrupted != 0; }

int tool_interrupted_code(void) { return 128 + (interrupted ? (int)interrupted : SIGINT); }
