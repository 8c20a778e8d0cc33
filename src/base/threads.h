/* The one place that knows where threads come from: a pool of the library's own. */
#ifndef TAMIS_BASE_THREADS_H
#define TAMIS_BASE_THREADS_H

#include "base/private.h"

/* How many threads to use: OMP_NUM_THREADS if it is set, else the processors that this thread may run on, or fewer
   where a control group limits the processor time. At most 1024. */
int tamis_threads_default(void);

/* Processors that the groups of a file like /proc/self/cgroup leave, rounded up, by the folders under `root`; 0 where
   none limits. */
int tamis_processors_quota(const char *groups, const char *root);

/* Runs body(context, share, shares) once for each share 0 .. shares - 1, at most that many at the same time, and
   returns when all are done. The caller runs shares itself. Where fewer threads are to be had, each runs more of them:
   a body must never wait for another. Several callers, and bodies that call it, are fine. shares <= 0 means the
   default. */
typedef void tamis_thread_body(void *context, int share, int shares);
TAMIS_PRIVATE_API void tamis_threads_run(int shares, tamis_thread_body *body, void *context);

/* Changes in a child of fork(): what belongs to threads or devices of the parent is of no use there. */
unsigned tamis_fork_count(void);

#endif
