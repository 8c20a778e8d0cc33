/* Threads by OpenMP, by POSIX in builds for ThreadSanitizer, which does not see into OpenMP, or one after another. */
#include "base/threads.h"

#include <stdbool.h>
#include <stdlib.h>

#if defined(_OPENMP)
#include <omp.h>
#elif defined(TAMIS_PTHREADS)
#include <pthread.h>
#include <unistd.h>
#endif

enum { THREADS_MOST = 1024 };

static int available(void) {
#if defined(_OPENMP)
    return omp_get_max_threads();
#elif defined(TAMIS_PTHREADS)
    const char *const asked = getenv("OMP_NUM_THREADS");
    return asked ? atoi(asked) : (int)sysconf(_SC_NPROCESSORS_ONLN);
#else
    return 1;
#endif
}

int tamis_threads_default(void) {
    const int threads = available();
    return threads < 1 ? 1 : threads > THREADS_MOST ? THREADS_MOST : threads;
}

#if defined(_OPENMP)

/* A team may be smaller than asked for: its members then take several shares. */
static void run(int threads, tamis_thread_body *body, void *context) {
#pragma omp parallel num_threads(threads)
    {
        const int team = omp_get_num_threads();
        for (int share = omp_get_thread_num(); share < threads; share += team) body(context, share, threads);
    }
}

#elif defined(TAMIS_PTHREADS)

typedef struct share {
    tamis_thread_body *body;
    void *context;
    int number, threads;
    pthread_t thread;
    bool started;
} share;

static void *run_share(void *memory) {
    const share *const s = memory;
    s->body(s->context, s->number, s->threads);
    return NULL;
}

/* Threads of their own for all shares but the last of each group. They come and go, which takes longer than a pool
   would, and leaves nothing that could be ordered by chance. */
static void run(int threads, tamis_thread_body *body, void *context) {
    enum { GROUP = 32 };
    share shares[GROUP];
    for (int first = 0; first < threads; first += GROUP) {
        const int count = threads - first < GROUP ? threads - first : GROUP;
        for (int i = 0; i < count; i++) {
            share *const s = &shares[i];
            *s = (share){.body = body, .context = context, .number = first + i, .threads = threads};
            s->started = i < count - 1 && pthread_create(&s->thread, NULL, run_share, s) == 0;
            if (!s->started) run_share(s);
        }
        for (int i = 0; i < count; i++)
            if (shares[i].started) pthread_join(shares[i].thread, NULL);
    }
}

#else

static void run(int threads, tamis_thread_body *body, void *context) {
    for (int share = 0; share < threads; share++) body(context, share, threads);
}

#endif

void tamis_threads_run(int threads, tamis_thread_body *body, void *context) {
    if (threads <= 0) threads = tamis_threads_default();
    if (threads == 1)
        body(context, 0, 1);
    else
        run(threads, body, context);
}
