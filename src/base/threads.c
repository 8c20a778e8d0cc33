/* Threads by OpenMP, or one after another. */
#include "base/threads.h"

#include <stdlib.h>

#if defined(_OPENMP)
#include <omp.h>
#endif

int tamis_threads_default(void) {
#if defined(_OPENMP)
    const int threads = omp_get_max_threads();
    return threads < 1 ? 1 : threads > 1024 ? 1024 : threads;
#else
    return 1;
#endif
}

void tamis_threads_run(int threads, tamis_thread_body *body, void *context) {
    if (threads <= 0) threads = tamis_threads_default();
    if (threads == 1) {
        body(context, 0, 1);
        return;
    }
#if defined(_OPENMP)
/* a team may be smaller than asked for: its members then take several shares */
#pragma omp parallel num_threads(threads)
    {
        const int team = omp_get_num_threads();
        for (int share = omp_get_thread_num(); share < threads; share += team) body(context, share, threads);
    }
#else
    for (int share = 0; share < threads; share++) body(context, share, threads);
#endif
}
