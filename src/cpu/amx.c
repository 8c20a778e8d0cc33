/* Checks whether this process may use AMX's tiles. Linux grants them to processes that ask (5.16 and later). */
#include "cpu/amx.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    GET_SUPPORTED = 0x1021,
    REQUEST = 0x1023,
    TILE_DATA = 18
}; /* arch_prctl() codes, and the number of the tile state */

static bool look(void) {
    unsigned a, b, c, d;
    unsigned long supported = 0;
    const unsigned bf16 = 1u << 22, tiles = 1u << 24;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & (bf16 | tiles)) != (bf16 | tiles)) return false;
    return syscall(SYS_arch_prctl, GET_SUPPORTED, &supported) == 0 && supported >> TILE_DATA & 1;
}

/* Cached: in a virtual machine each cpuid traps, which takes about 20 us, and every call asks. */
bool tamis_cpu_amx_runs(void) {
    static _Atomic int known; /* 0: unknown; 1: no; 2: yes */
    if (known == 0) known = look() ? 2 : 1;
    return known == 2;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char refused[160];

static void request(void) {
    if (syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0) return;
    snprintf(refused, sizeof refused, "the system does not let this process use AMX (arch_prctl: %s)", strerror(errno));
}

const char *tamis_cpu_amx_refused(void) {
    pthread_once(&once, request);
    return refused[0] ? refused : NULL;
}

#else

bool tamis_cpu_amx_runs(void) { return false; }
const char *tamis_cpu_amx_refused(void) { return "this system has no AMX"; }

#endif
