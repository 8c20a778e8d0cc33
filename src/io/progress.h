/* The caller's progress callback, with the current step's share of the whole. */
#ifndef TAMIS_IO_PROGRESS_H
#define TAMIS_IO_PROGRESS_H

#include <stdbool.h>

#include "base/status.h"

typedef struct tamis_progress {
    bool (*report)(void *context, double share);
    void *context;
    double low, high;
} tamis_progress;

/* Reports that `part` (0 to 1) of this step is done; false: the caller wants to stop. */
static inline bool tamis_progress_go_on(const tamis_progress *progress, double part) {
    if (!progress->report) return true;
    return progress->report(progress->context, progress->low + part * (progress->high - progress->low));
}

static inline tamis_status tamis_progress_cancelled(const char *name) {
    return tamis_fail(TAMIS_ERROR_CANCELLED, "%s: reading was cancelled by the progress callback", name);
}

static inline tamis_status tamis_progress_step(const tamis_progress *progress, double part, const char *name) {
    return tamis_progress_go_on(progress, part) ? TAMIS_OK : tamis_progress_cancelled(name);
}

#endif
