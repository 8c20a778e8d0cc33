/* The number of threads that the user requests, else that the system grants this process. */
#include "base/processors.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/control_groups.h"

enum { THREADS_MOST = 1024 };

/* Returns the first number of a list such as OMP_NUM_THREADS=8,2; 0 if there is none. */
static int asked(const char *name) {
    const char *const text = getenv(name);
    const long number = text ? strtol(text, NULL, 10) : 0;
    return number < 1 ? 0 : number > THREADS_MOST ? THREADS_MOST : (int)number;
}

static int affinity(void) {
    cpu_set_t one;
    if (sched_getaffinity(0, sizeof one, &one) == 0) return CPU_COUNT(&one);
    int count = 0; /* grows for more processors than cpu_set_t holds */
    cpu_set_t *const many = CPU_ALLOC(1 << 16);
    if (many && sched_getaffinity(0, CPU_ALLOC_SIZE(1 << 16), many) == 0)
        count = CPU_COUNT_S(CPU_ALLOC_SIZE(1 << 16), many);
    CPU_FREE(many);
    return count;
}

static struct { int threads, limit, quota; /* 0: not said */ } given;

/* Reads the environment once, since other threads may change it later. */
static void read_given(void) {
    given.threads = asked("OMP_NUM_THREADS");
    given.limit = asked("OMP_THREAD_LIMIT");
    given.quota = tamis_processors_quota("/proc/self/cgroup", "/sys/fs/cgroup");
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

int tamis_processors(void) {
    pthread_once(&once, read_given);
    const int processors = affinity();
    return processors < 1 ? 1 : given.quota > 0 && processors > given.quota ? given.quota : processors;
}

int tamis_threads_default(void) {
    pthread_once(&once, read_given);
    int threads = given.threads;
    if (threads == 0) threads = tamis_processors();
    if (given.limit > 0 && threads > given.limit) threads = given.limit;
    return threads < 1 ? 1 : threads > THREADS_MOST ? THREADS_MOST : threads;
}
