/* Which calls of fake_cuda.c and fake_nvrtc.c fail, and how often each was called. */
#include "fake_library.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fake_number(const char *variable, int otherwise) {
    const char *const text = getenv(variable);
    return text ? atoi(text) : otherwise;
}

static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;

static int fault_locked(const char *function) {
    static char last[96], which[64];
    static int code, number, calls;
    static bool on;
    const char *const text = getenv("FAKE_CUDA_FAULT");
    if (strcmp(text ? text : "", last) != 0) { /* another fault: counted from here */
        char plus = 0;
        snprintf(last, sizeof last, "%s", text ? text : "");
        number = calls = 0;
        if (sscanf(last, "%63[^=]=%d@%d%c", which, &code, &number, &plus) < 2) which[0] = 0;
        on = plus == '+' || number == 0;
    }
    if (!which[0] || (strcmp(which, "*") != 0 && strcmp(which, function) != 0)) return SUCCESS;
    calls++;
    return (on ? calls >= number : calls == number) ? code : SUCCESS;
}

int fake_fault(const char *function) { /* kernels are compiled by several threads */
    pthread_mutex_lock(&fault_lock);
    const int code = fault_locked(function);
    pthread_mutex_unlock(&fault_lock);
    return code;
}

/* ------------------------------------------------------------------------------------------ counts */

static pthread_mutex_t counts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const char *function;
    long calls;
} counts[64];

void fake_count_call(const char *function) {
    size_t at = 0;
    pthread_mutex_lock(&counts_lock);
    while (at < 63 && counts[at].function && strcmp(counts[at].function, function) != 0) at++;
    counts[at].function = function;
    counts[at].calls++;
    pthread_mutex_unlock(&counts_lock);
}

/* Calls of the function so far, of all that are counted for "*". */
__attribute__((visibility("default"))) long fake_calls(const char *function);
long fake_calls(const char *function) {
    long calls = 0;
    pthread_mutex_lock(&counts_lock);
    for (size_t i = 0; i < 64 && counts[i].function; i++)
        if (strcmp(function, "*") == 0 || strcmp(function, counts[i].function) == 0) calls += counts[i].calls;
    pthread_mutex_unlock(&counts_lock);
    return calls;
}
