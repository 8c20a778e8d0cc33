/* The number of threads that the user asks for, else that the system gives this process. */
#include "base/processors.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MOST = 1024, PATH_BYTES = 1024 };

/* Returns the first number of a list such as OMP_NUM_THREADS=8,2; 0 if there is none. */
static int asked(const char *name) {
    const char *const text = getenv(name);
    const long number = text ? strtol(text, NULL, 10) : 0;
    return number < 1 ? 0 : number > THREADS_MOST ? THREADS_MOST : (int)number;
}

/* Returns the processors that `quota` microseconds in each `period` are, rounded up; 0 for no limit. */
static int processors_of(double quota, double period) {
    const double processors = quota > 0 && period > 0 ? quota / period : THREADS_MOST;
    return processors >= THREADS_MOST ? 0 : (int)processors + (processors > (int)processors);
}

static double read_number(const char *folder, const char *name) {
    char path[PATH_BYTES + 64];
    double number = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "re");
    if (!file) return 0;
    if (fscanf(file, "%lf", &number) != 1) number = 0; /* "max": no limit */
    fclose(file);
    return number;
}

/* Version 2 has both numbers in one file, "200000 100000"; version 1 has a file for each. */
static int quota_of(const char *folder, bool unified) {
    char path[PATH_BYTES + 64];
    double quota = 0, period = 0;
    if (!unified)
        return processors_of(read_number(folder, "cpu.cfs_quota_us"), read_number(folder, "cpu.cfs_period_us"));
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    FILE *const file = fopen(path, "re");
    if (!file) return 0;
    const bool limited = fscanf(file, "%lf %lf", &quota, &period) == 2;
    fclose(file);
    return limited ? processors_of(quota, period) : 0;
}

/* Returns the least quota of a group and of the groups around it; 0 if none limits. In a container the path may be that
   of the host, which does not exist inside; the folders above it may exist all the same. */
static int least_quota(const char *root, char *group, bool unified) {
    int least = 0;
    for (bool more = true; more;) {
        char folder[PATH_BYTES];
        snprintf(folder, sizeof folder, "%s%s", root, group);
        const int quota = quota_of(folder, unified);
        if (quota > 0 && (least == 0 || quota < least)) least = quota;
        char *const slash = strrchr(group, '/');
        more = slash != NULL;
        if (slash) *slash = 0;
    }
    return least;
}

/* Lines are such as "0::/user.slice" in version 2 and "4:cpu,cpuacct:/docker/1f" in version 1. */
int tamis_processors_quota(const char *groups, const char *root) {
    char line[PATH_BYTES / 2], top[PATH_BYTES / 2];
    int least = 0;
    FILE *const file = fopen(groups, "re");
    if (!file) return 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *const controllers = strchr(line, ':');
        char *const group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group = 0;
        const bool unified = controllers[1] == 0;
        if (!unified && !strstr(controllers + 1, "cpu,") && strcmp(controllers + 1, "cpu") != 0) continue;
        snprintf(top, sizeof top, "%s%s", root, unified ? "" : "/cpu");
        const int quota = least_quota(top, group + 1, unified);
        if (quota > 0 && (least == 0 || quota < least)) least = quota;
    }
    fclose(file);
    return least;
}

static int affinity(void) {
    cpu_set_t one;
    if (sched_getaffinity(0, sizeof one, &one) == 0) return CPU_COUNT(&one);
    int count = 0; /* more processors than cpu_set_t has room for */
    cpu_set_t *const many = CPU_ALLOC(1 << 16);
    if (many && sched_getaffinity(0, CPU_ALLOC_SIZE(1 << 16), many) == 0)
        count = CPU_COUNT_S(CPU_ALLOC_SIZE(1 << 16), many);
    CPU_FREE(many);
    return count;
}

static struct { int threads, limit, quota; /* 0: not said */ } given;

/* Runs once, since other threads may change the environment later. */
static void read_given(void) {
    given.threads = asked("OMP_NUM_THREADS");
    given.limit = asked("OMP_THREAD_LIMIT");
    given.quota = tamis_processors_quota("/proc/self/cgroup", "/sys/fs/cgroup");
}

int tamis_threads_default(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_given);
    int threads = given.threads;
    if (threads == 0) {
        threads = affinity();
        if (given.quota > 0 && threads > given.quota) threads = given.quota;
    }
    if (given.limit > 0 && threads > given.limit) threads = given.limit;
    return threads < 1 ? 1 : threads > THREADS_MOST ? THREADS_MOST : threads;
}
