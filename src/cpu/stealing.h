/* Parts of threads' work, numbered by thread: a thread begins with its own, then steals those that others have not
   begun. So a thread that is late, or whose processor others occupy, leaves some to the rest. */
#ifndef TAMIS_CPU_STEALING_H
#define TAMIS_CPU_STEALING_H

#include <stdatomic.h>

/* The next part that nobody has begun; -1 if none is left. begun[]: per thread, how many of its `each` parts have been
   begun. *victim, at first 0: whose parts are tried, relative to the thread. */
static inline int tamis_cpu_next_part(atomic_int *begun, int each, int thread, int threads, int *victim) {
    for (; *victim < threads; ++*victim) {
        const int whose = (thread + *victim) % threads;
        if (atomic_load_explicit(&begun[whose], memory_order_relaxed) >= each) continue;
        const int part = atomic_fetch_add_explicit(&begun[whose], 1, memory_order_relaxed);
        if (part < each) return whose * each + part;
    }
    return -1;
}

#endif
