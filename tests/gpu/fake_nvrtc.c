/* A run-time compiler in the place of NVRTC: what it makes of a program is "code", or with EMULATED a library of this
   processor. fake_cuda.c says what the environment tells it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_library.h"

#ifdef EMULATED
#include "emulated/emulate.h"
#endif

EXPORT(nvrtcVersion, int *major, int *minor) {
    *major = 13;
    *minor = 0;
    return SUCCESS;
}

__attribute__((visibility("default"))) const char *nvrtcGetErrorString(int error);
const char *nvrtcGetErrorString(int error) { return error == 6 ? "NVRTC_ERROR_COMPILATION" : "an error of NVRTC"; }

typedef struct program {
    char *source, *code;
    size_t bytes; /* of the code */
} program;

EXPORT(nvrtcCreateProgram, program **made, const char *source, const char *name, int headers, const char *const *texts,
       const char *const *names) {
    MAY_FAIL;
    *made = source && name ? calloc(1, sizeof **made) : NULL;
    if (*made) (*made)->source = strdup(source);
    return *made ? SUCCESS : INVALID_VALUE;
}

EXPORT(nvrtcDestroyProgram, program **made) {
    free((*made)->source);
    free((*made)->code);
    free(*made);
    *made = NULL;
    return SUCCESS;
}

/* FAKE_NVRTC_TOGETHER compilations wait for each other; one that waits too long fails. */
static int meet(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t all = PTHREAD_COND_INITIALIZER;
    static int here, met;
    const int wanted = fake_number("FAKE_NVRTC_TOGETHER", 1);
    struct timespec until;
    int late = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    pthread_mutex_lock(&lock);
    const int round = met;
    if (++here >= wanted) {
        here = 0;
        met++;
        pthread_cond_broadcast(&all);
    }
    while (met == round && !late) late = pthread_cond_timedwait(&all, &lock, &until);
    pthread_mutex_unlock(&lock);
    return !late;
}

/* "code", the number of bytes, and what was compiled. */
static int compile(program *p, int options, const char *const *texts) {
    char *made = NULL;
    size_t bytes = 0;
#ifdef EMULATED
    const int status = emulate_compile(p->source, options, texts, &made, &bytes);
    if (status != SUCCESS) return status;
#endif
    p->bytes = 16 + bytes;
    p->code = calloc(1, p->bytes);
    if (!p->code) return 1;
    memcpy(p->code, "code", 4);
    memcpy(p->code + 8, &bytes, sizeof bytes);
    if (made) memcpy(p->code + 16, made, bytes);
    free(made);
    return SUCCESS;
}

EXPORT(nvrtcCompileProgram, program *p, int options, const char *const *texts) {
    MAY_FAIL;
    for (int i = 0; i < options; i++)
        if ((strcmp(texts[i], "--minimal") == 0 && fake_number("FAKE_NVRTC_OLD", 0) > 1) ||
            (strncmp(texts[i], "--Ofast", 7) == 0 && fake_number("FAKE_NVRTC_OLD", 0) > 0))
            return 5;
    if (!meet()) return 6;
    return options > 0 && strncmp(texts[0], "--gpu-architecture=", 19) == 0 ? compile(p, options, texts)
                                                                            : INVALID_VALUE;
}

static const char log_text[] = "kernel(1): error: what it is told to say\n";

EXPORT(nvrtcGetProgramLogSize, void *p, size_t *bytes) {
    *bytes = sizeof log_text;
    return SUCCESS;
}

EXPORT(nvrtcGetProgramLog, void *p, char *text) {
    memcpy(text, log_text, sizeof log_text);
    return SUCCESS;
}

EXPORT(nvrtcGetCUBINSize, const program *p, size_t *bytes) {
    MAY_FAIL;
    *bytes = p->bytes;
    return SUCCESS;
}

EXPORT(nvrtcGetCUBIN, const program *p, char *code) {
    memcpy(code, p->code, p->bytes);
    return SUCCESS;
}

EXPORT(nvrtcGetNumSupportedArchs, int *count) {
    *count = 6;
    return SUCCESS;
}

EXPORT(nvrtcGetSupportedArchs, int *numbers) {
    memcpy(numbers, (const int[]){80, 86, 89, 90, 100, 120}, 6 * sizeof *numbers);
    return SUCCESS;
}
