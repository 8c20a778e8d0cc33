/* The one place that knows where threads come from: a pool of the library's own. */
#ifndef TAMIS_BASE_THREADS_H
#define TAMIS_BASE_THREADS_H

#include "base/private.h"
#include "base/processors.h"

/* Runs body(context, share, shares) once for each share 0 .. shares - 1, at most that many at the same time, and
   returns when all are done. The caller runs shares itself. Where fewer threads are to be had, each runs more of them:
   a body must never wait for another. Several callers, and bodies that call it, are fine. shares <= 0 means the
   default. */
typedef void tamis_thread_body(void *context, int share, int shares);
TAMIS_PRIVATE_API void tamis_threads_run(int shares, tamis_thread_body *body, void *context);

/* Changes in a child of fork(): what belongs to threads or devices of the parent is of no use there. */
unsigned tamis_fork_count(void);

#endif
