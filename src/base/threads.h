/* Runs work in threads of the library's pool. */
#ifndef TAMIS_BASE_THREADS_H
#define TAMIS_BASE_THREADS_H

#include "base/private.h"
#include "base/processors.h"

#include <stdint.h>

/* Runs body(context, share, shares) once for each share 0 .. shares - 1, at most that many at the same time, and
   returns when all are done. The caller runs shares itself. If there are fewer threads, each runs more shares, so a
   body must never wait for another one. Several callers at once, and bodies that call this function, are allowed.
   shares <= 0 means tamis_threads_default(). */
typedef void tamis_thread_body(void *context, int share, int shares);
TAMIS_PRIVATE_API void tamis_threads_run(int shares, tamis_thread_body *body, void *context);

/* Returns `threads` (<= 0: the default), or fewer if `work` has not one share of that size for each. */
int tamis_threads_for(int threads, int64_t work, int64_t share);

/* Returns a number that changes in a child of fork(), which cannot use threads and devices of the parent. */
unsigned tamis_fork_count(void);

#endif
