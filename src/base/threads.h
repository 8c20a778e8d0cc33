/* The one place that knows where threads come from. */
#ifndef TAMIS_BASE_THREADS_H
#define TAMIS_BASE_THREADS_H

#include "base/private.h"

/* OMP_NUM_THREADS or all cores; 1 in builds without threads. */
int tamis_threads_default(void);

/* Runs body(context, thread, threads) once for each thread 0 .. threads - 1, in parallel where that many are to be had
   (the bodies then run at the same time) and returns when all are done. In builds without threads, or when fewer are to
   be had, the bodies run one after another: a body must never wait for another. threads <= 0 means the default. */
typedef void tamis_thread_body(void *context, int thread, int threads);
TAMIS_PRIVATE_API void tamis_threads_run(int threads, tamis_thread_body *body, void *context);

#endif
