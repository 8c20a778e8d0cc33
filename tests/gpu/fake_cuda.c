/*
 * A CUDA driver and a run-time compiler in one library, over the host's memory: kernels are taken and launched without
 * effect. TAMIS_CUDA_DRIVER and TAMIS_NVRTC name it, so that what stands on the real ones can be tested where there are
 * none. The environment says what it is and what goes wrong, read at every call:
 *   FAKE_CUDA_CHIP    capability of its one device, 90 unless set; 0: it has no device
 *   FAKE_CUDA_FAULT   "cuLaunchKernel=719@3": the third call from now on fails with 719; "...@3+": and all after it;
 *                     without @ all. "*" stands for every call that a program may see fail.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name, ...)                                                                                              \
    __attribute__((visibility("default"))) int name(__VA_ARGS__);                                                      \
    int name(__VA_ARGS__)

enum { SUCCESS = 0, INVALID_VALUE = 1 };

static int fault(const char *function) {
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

#define MAY_FAIL                                                                                                       \
    do {                                                                                                               \
        const int wrong = fault(__func__);                                                                             \
        if (wrong != SUCCESS) return wrong;                                                                            \
    } while (0)

static int chip(void) {
    const char *const text = getenv("FAKE_CUDA_CHIP");
    return text ? atoi(text) : 90;
}

/* ------------------------------------------------------------------------------------------ devices */

EXPORT(cuInit, unsigned flags) {
    (void)flags;
    MAY_FAIL;
    return SUCCESS;
}

EXPORT(cuDriverGetVersion, int *version) {
    *version = 13000;
    return SUCCESS;
}

EXPORT(cuDeviceGetCount, int *count) {
    MAY_FAIL;
    *count = chip() > 0;
    return SUCCESS;
}

EXPORT(cuDeviceGet, int *device, int number) {
    MAY_FAIL;
    *device = number;
    return SUCCESS;
}

EXPORT(cuDeviceGetName, char *name, int length, int device) {
    (void)device;
    snprintf(name, (size_t)length, "no GPU at all");
    return SUCCESS;
}

/* By number, as in cuda.h: limits of a large chip. */
EXPORT(cuDeviceGetAttribute, int *value, int attribute, int device) {
    static const int values[][2] = {{1, 1024},      {5, 0x7fffffff}, {6, 65535},      {16, 132},
                                    {38, 50 << 20}, {39, 2048},      {81, 228 << 10}, {97, 227 << 10}};
    (void)device;
    if (attribute == 75 || attribute == 76) {
        *value = attribute == 75 ? chip() / 10 : chip() % 10;
        return SUCCESS;
    }
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (values[i][0] == attribute) {
            *value = values[i][1];
            return SUCCESS;
        }
    return INVALID_VALUE;
}

EXPORT(cuDeviceTotalMem_v2, size_t *bytes, int device) {
    (void)device;
    *bytes = (size_t)1 << 30;
    return SUCCESS;
}

static char something; /* whatever is asked for is here */

EXPORT(cuDevicePrimaryCtxRetain, void **context, int device) {
    (void)device;
    MAY_FAIL;
    *context = &something;
    return SUCCESS;
}

EXPORT(cuCtxPushCurrent_v2, void *context) {
    (void)context;
    MAY_FAIL;
    return SUCCESS;
}

EXPORT(cuCtxPopCurrent_v2, void **context) {
    *context = &something;
    return SUCCESS;
}

EXPORT(cuGetErrorName, int error, const char **text) {
    static char name[32];
    snprintf(name, sizeof name, "FAKE_ERROR_%d", error);
    *text = name;
    return SUCCESS;
}

EXPORT(cuGetErrorString, int error, const char **text) {
    *text = error == 719 ? "unspecified launch failure" : "what it is told to say";
    return SUCCESS;
}

/* ------------------------------------------------------------------------------------------ memory */

EXPORT(cuMemAlloc_v2, void **memory, size_t bytes) {
    MAY_FAIL;
    *memory = bytes <= (size_t)1 << 30 ? calloc(1, bytes) : NULL;
    return *memory ? SUCCESS : 2;
}

EXPORT(cuMemFree_v2, void *memory) {
    free(memory);
    return SUCCESS;
}

EXPORT(cuMemGetInfo_v2, size_t *free_bytes, size_t *total) {
    MAY_FAIL;
    *free_bytes = *total = (size_t)1 << 30;
    return SUCCESS;
}

EXPORT(cuMemcpyHtoDAsync_v2, void *to, const void *from, size_t bytes, void *stream) {
    (void)stream;
    MAY_FAIL;
    memcpy(to, from, bytes);
    return SUCCESS;
}

EXPORT(cuMemcpyDtoHAsync_v2, void *to, const void *from, size_t bytes, void *stream) {
    (void)stream;
    MAY_FAIL;
    memcpy(to, from, bytes);
    return SUCCESS;
}

EXPORT(cuMemcpyDtoDAsync_v2, void *to, const void *from, size_t bytes, void *stream) {
    (void)stream;
    MAY_FAIL;
    memcpy(to, from, bytes);
    return SUCCESS;
}

EXPORT(cuMemsetD8Async, void *to, unsigned char byte, size_t bytes, void *stream) {
    (void)stream;
    MAY_FAIL;
    memset(to, byte, bytes);
    return SUCCESS;
}

EXPORT(cuStreamSynchronize, void *stream) {
    (void)stream;
    MAY_FAIL;
    return SUCCESS;
}

/* ------------------------------------------------------------------------------------------ kernels */

EXPORT(cuModuleLoadData, void **module, const void *image) {
    MAY_FAIL;
    if (memcmp(image, "code", 4) != 0) return 200; /* of another compiler */
    *module = &something;
    return SUCCESS;
}

EXPORT(cuModuleUnload, void *module) {
    (void)module;
    return SUCCESS;
}

EXPORT(cuModuleGetFunction, void **function, void *module, const char *name) {
    (void)module;
    (void)name;
    MAY_FAIL;
    *function = &something;
    return SUCCESS;
}

EXPORT(cuFuncSetAttribute, void *function, int attribute, int value) {
    (void)function;
    MAY_FAIL;
    return attribute == 8 && value > 227 << 10 ? INVALID_VALUE : SUCCESS;
}

EXPORT(cuLaunchKernel, void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
       unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments, void **extra) {
    (void)function;
    (void)shared_bytes;
    (void)stream;
    (void)extra;
    MAY_FAIL;
    const bool good = grid_x > 0 && grid_y > 0 && grid_y < 65536 && grid_z == 1 && block_x > 0 &&
                      block_x * block_y * block_z <= 1024 && arguments;
    return good ? SUCCESS : INVALID_VALUE;
}

EXPORT(cuEventCreate, void **event, unsigned flags) {
    (void)flags;
    MAY_FAIL;
    *event = calloc(1, 1);
    return SUCCESS;
}

EXPORT(cuEventRecord, void *event, void *stream) {
    (void)event;
    (void)stream;
    MAY_FAIL;
    return SUCCESS;
}

EXPORT(cuEventSynchronize, void *event) {
    (void)event;
    MAY_FAIL;
    return SUCCESS;
}

EXPORT(cuEventElapsedTime, float *milliseconds, void *start, void *end) {
    (void)start;
    (void)end;
    MAY_FAIL;
    *milliseconds = 1;
    return SUCCESS;
}

EXPORT(cuEventDestroy_v2, void *event) {
    free(event);
    return SUCCESS;
}

EXPORT(cuLinkCreate_v2, unsigned count, int *options, void **values, void **state) {
    (void)count;
    (void)options;
    (void)values;
    MAY_FAIL;
    *state = &something;
    return SUCCESS;
}

EXPORT(cuLinkAddData_v2, void *state, int type, void *data, size_t bytes, const char *name, unsigned count,
       int *options, void **values) {
    (void)state;
    (void)name;
    (void)count;
    (void)options;
    (void)values;
    MAY_FAIL;
    return type == 0 && data && bytes ? SUCCESS : INVALID_VALUE;
}

EXPORT(cuLinkAddFile_v2, void *state, int type, const char *path, unsigned count, int *options, void **values) {
    (void)state;
    (void)count;
    (void)options;
    (void)values;
    MAY_FAIL;
    return type == 4 && path ? SUCCESS : INVALID_VALUE;
}

EXPORT(cuLinkComplete, void *state, void **cubin, size_t *bytes) {
    static char code[] = "code, linked";
    (void)state;
    MAY_FAIL;
    *cubin = code;
    *bytes = sizeof code;
    return SUCCESS;
}

EXPORT(cuLinkDestroy, void *state) {
    (void)state;
    return SUCCESS;
}

/* ------------------------------------------------------------------------------------------ the compiler */

EXPORT(nvrtcVersion, int *major, int *minor) {
    *major = 13;
    *minor = 0;
    return SUCCESS;
}

__attribute__((visibility("default"))) const char *nvrtcGetErrorString(int error);
const char *nvrtcGetErrorString(int error) { return error == 6 ? "NVRTC_ERROR_COMPILATION" : "an error of NVRTC"; }

EXPORT(nvrtcCreateProgram, void **program, const char *source, const char *name, int headers, const char *const *texts,
       const char *const *names) {
    (void)headers;
    (void)texts;
    (void)names;
    MAY_FAIL;
    *program = source && name ? calloc(1, 1) : NULL;
    return *program ? SUCCESS : INVALID_VALUE;
}

EXPORT(nvrtcDestroyProgram, void **program) {
    free(*program);
    *program = NULL;
    return SUCCESS;
}

EXPORT(nvrtcCompileProgram, void *program, int options, const char *const *texts) {
    (void)program;
    MAY_FAIL;
    return options > 0 && strncmp(texts[0], "--gpu-architecture=", 19) == 0 ? SUCCESS : INVALID_VALUE;
}

static const char log_text[] = "kernel(1): error: what it is told to say\n";

EXPORT(nvrtcGetProgramLogSize, void *program, size_t *bytes) {
    (void)program;
    *bytes = sizeof log_text;
    return SUCCESS;
}

EXPORT(nvrtcGetProgramLog, void *program, char *text) {
    (void)program;
    memcpy(text, log_text, sizeof log_text);
    return SUCCESS;
}

EXPORT(nvrtcGetCUBINSize, void *program, size_t *bytes) {
    (void)program;
    MAY_FAIL;
    *bytes = 5;
    return SUCCESS;
}

EXPORT(nvrtcGetCUBIN, void *program, char *code) {
    (void)program;
    memcpy(code, "code", 5);
    return SUCCESS;
}

EXPORT(nvrtcGetNumSupportedArchs, int *count) {
    *count = 3;
    return SUCCESS;
}

EXPORT(nvrtcGetSupportedArchs, int *numbers) {
    memcpy(numbers, (const int[]){80, 90, 100}, 3 * sizeof *numbers);
    return SUCCESS;
}
