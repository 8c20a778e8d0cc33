/*
 * A CUDA driver, in one library with the run-time compiler of fake_nvrtc.c, over the host's memory: kernels are taken
 * and launched without effect. TAMIS_CUDA_DRIVER and TAMIS_NVRTC name it, so that what stands on the real ones can be
 * tested where there are none. The environment says what it is and what goes wrong, read at every call:
 *
 *   FAKE_CUDA_CHIP    capability of its devices, 90 unless set; 0: it has none
 *   FAKE_CUDA_VERSION the driver's, 13000 unless set
 *   FAKE_CUDA_DEVICES how many there are, 1 unless set
 *   FAKE_CUDA_POOLS   0: a driver without memory pools
 *   FAKE_CUDA_PAGEABLE 1: devices that read all of the host's memory
 *   FAKE_CUDA_FAULT   "cuLaunchKernel=719@3": the third call from now on fails with 719; "...@3+": and all after it;
 *                     without @ all. "*" stands for every call that a program may see fail.
 *   FAKE_CUDA_CAPTURE the stream that is being captured, as a number: waiting for it, and using the legacy stream, is
 *                     refused, and so is, in a thread whose mode is not relaxed, what is unsafe beside a capture
 *   FAKE_CUDA_SLOW    milliseconds that having a stream wait for an event takes, 0 unless set
 *   FAKE_NVRTC_OLD    1: a compiler that does not know --Ofast-compile; 2: nor --minimal
 *   FAKE_NVRTC_TOGETHER so many compilations wait for each other, and fail where the others do not come
 * fake_calls tells how often a function was called, fake_note what memory there is and what was done wrongly.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_library.h"
#include "gpu/runtime/cuda_api.h"

#ifdef EMULATED /* kernels run, one thread after another: emulated/emulate.h */
#include "emulated/emulate.h"
#endif

static int chip(void) { return fake_number("FAKE_CUDA_CHIP", 90); }

/* ------------------------------------------------------------------------------------------ devices */

EXPORT(cuInit, unsigned flags) {
    MAY_FAIL;
    return SUCCESS;
}

EXPORT(cuDriverGetVersion, int *version) {
    *version = fake_number("FAKE_CUDA_VERSION", 13000);
    return SUCCESS;
}

EXPORT(cuDeviceGetCount, int *count) {
    MAY_FAIL;
    *count = chip() > 0 ? fake_number("FAKE_CUDA_DEVICES", 1) : 0;
    return SUCCESS;
}

EXPORT(cuDeviceGet, int *device, int number) {
    MAY_FAIL;
    *device = number;
    return SUCCESS;
}

EXPORT(cuDeviceGetName, char *name, int length, int device) {
    snprintf(name, (size_t)length, "no GPU at all");
    return SUCCESS;
}

/* KiB of shared memory of the chip's multiprocessors, and of a group one less. */
static int shared(void) {
    const int small = chip() == 86 || chip() == 89 || chip() == 120;
    return small ? 100 : chip() == 80 ? 164 : 228;
}

/* By number, as in cuda.h: limits of a large chip. */
EXPORT(cuDeviceGetAttribute, int *value, int attribute, int device) {
    const int pageable = fake_number("FAKE_CUDA_PAGEABLE", 0), pools = fake_number("FAKE_CUDA_POOLS", 1);
    const int values[][2] = {{1, 1024},
                             {5, 0x7fffffff},
                             {6, 65535},
                             {7, 65535},
                             {16, 132},
                             {38, 50 << 20},
                             {39, 2048},
                             {75, chip() / 10},
                             {76, chip() % 10},
                             {81, shared() << 10},
                             {97, (shared() - 1) << 10},
                             {88, pageable},
                             {115, pools}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (values[i][0] == attribute) {
            *value = values[i][1];
            return SUCCESS;
        }
    return INVALID_VALUE;
}

EXPORT(cuDeviceTotalMem_v2, size_t *bytes, int device) {
    *bytes = (size_t)1 << 30;
    return SUCCESS;
}

static char something; /* whatever is asked for is here */

enum { DEVICES_MOST = 8 };
static char contexts[DEVICES_MOST];
static __thread struct {
    char *stack[16];
    int depth, capture_mode;
} thread;

EXPORT(cuDevicePrimaryCtxRetain, void **context, int device) {
    MAY_FAIL;
    *context = &contexts[device % DEVICES_MOST];
    return SUCCESS;
}

EXPORT(cuCtxPushCurrent_v2, void *context) {
    MAY_FAIL;
    if (thread.depth == 16) return INVALID_VALUE;
    thread.stack[thread.depth++] = context;
    return SUCCESS;
}

EXPORT(cuCtxPopCurrent_v2, void **context) {
    if (thread.depth == 0) return INVALID_CONTEXT;
    *context = thread.stack[--thread.depth];
    return SUCCESS;
}

static int device_now(void) { return thread.depth ? (int)(thread.stack[thread.depth - 1] - contexts) : -1; }

EXPORT(cuGetErrorName, int error, const char **text) {
    static _Thread_local char name[32];
    snprintf(name, sizeof name, "FAKE_ERROR_%d", error);
    *text = name;
    return SUCCESS;
}

EXPORT(cuGetErrorString, int error, const char **text) {
    *text = error == 719 ? "unspecified launch failure" : "what it is told to say";
    return SUCCESS;
}

/* ------------------------------------------------------------------------------------------ memory */

/* Every piece that lives. */
typedef struct piece {
    struct piece *next;
    char *at;
    size_t bytes;
    int device, pooled;
} piece;

static piece *pieces;
static pthread_mutex_t pieces_lock = PTHREAD_MUTEX_INITIALIZER;
static long wrong_releases, invalidated, gone_events;

/* "live": pieces of memory; "wrong": releases of what is none, uses of events that are gone; "gone": events that were
   destroyed; "invalidated": calls that spoil a capture. */
__attribute__((visibility("default"))) long fake_note(const char *what);
long fake_note(const char *what) {
    long count = 0;
    pthread_mutex_lock(&pieces_lock);
    for (const piece *p = pieces; p; p = p->next) count++;
    pthread_mutex_unlock(&pieces_lock);
    if (strcmp(what, "gone") == 0) return gone_events;
    return strcmp(what, "live") == 0 ? count : strcmp(what, "wrong") == 0 ? wrong_releases : invalidated;
}

static void *captured(void) {
    const char *const text = getenv("FAKE_CUDA_CAPTURE");
    return text && text[0] ? (void *)(uintptr_t)strtoull(text, NULL, 0) : NULL;
}

static int refuse(int yes) {
    if (yes) invalidated++;
    return yes ? REFUSED_BY_CAPTURE : SUCCESS;
}

/* What is not allowed beside a capture, but to a thread that says that it knows what it does. */
#define UNSAFE                                                                                                         \
    do {                                                                                                               \
        if (refuse(captured() && thread.capture_mode != 2)) return REFUSED_BY_CAPTURE;                                 \
    } while (0)

/* What cannot be while the stream is being captured, or the legacy one at all while any is. */
#define NOT_CAPTURED(stream)                                                                                           \
    do {                                                                                                               \
        if (refuse(captured() && (!(stream) || (stream) == captured()))) return REFUSED_BY_CAPTURE;                    \
    } while (0)

static int make_piece(void **memory, size_t bytes, int pooled) {
    piece *const p = calloc(1, sizeof *p);
    *memory = NULL;
    if (!p || device_now() < 0) {
        free(p);
        return INVALID_CONTEXT;
    }
    p->at = bytes <= (size_t)1 << 30 ? aligned_alloc(256, (bytes + 255) / 256 * 256) : NULL; /* as CUDA's lies */
    if (!p->at) {
        free(p);
        return OUT_OF_MEMORY;
    }
    memset(p->at, 0, bytes);
    p->bytes = bytes;
    p->device = device_now();
    p->pooled = pooled;
    pthread_mutex_lock(&pieces_lock);
    p->next = pieces;
    pieces = p;
    pthread_mutex_unlock(&pieces_lock);
    *memory = p->at;
    return SUCCESS;
}

static int end_piece(void *memory, int pooled) {
    pthread_mutex_lock(&pieces_lock);
    piece **at = &pieces;
    while (*at && (*at)->at != memory) at = &(*at)->next;
    piece *const found = *at;
    const int good = found && found->device == device_now() && (!pooled || found->pooled);
    if (good)
        *at = found->next;
    else
        wrong_releases++;
    pthread_mutex_unlock(&pieces_lock);
    if (!good) return INVALID_VALUE;
    free(found->at);
    free(found);
    return SUCCESS;
}

EXPORT(cuMemAlloc_v2, void **memory, size_t bytes) {
    MAY_FAIL;
    UNSAFE;
    return make_piece(memory, bytes, 0);
}

EXPORT(cuMemFree_v2, void *memory) {
    MAY_FAIL_ALONE;
    UNSAFE;
    return end_piece(memory, 0);
}

EXPORT(cuMemPoolCreate, void **pool, const int *properties) {
    MAY_FAIL;
    if (properties[0] != 1 || properties[1] != 0 || properties[2] != 1 || properties[3] != device_now())
        return INVALID_VALUE;
    *pool = &contexts[properties[3]];
    return SUCCESS;
}

EXPORT(cuMemPoolSetAttribute, void *pool, int attribute, void *value) {
    COUNTED;
    return attribute == 4 ? SUCCESS : INVALID_VALUE;
}

EXPORT(cuMemPoolTrimTo, void *pool, size_t bytes) {
    COUNTED;
    return SUCCESS;
}

EXPORT(cuMemAllocFromPoolAsync, void **memory, size_t bytes, void *pool, void *stream) {
    MAY_FAIL;
    NOT_CAPTURED(stream);
    if (pool != thread.stack[thread.depth - 1]) return INVALID_VALUE;
    return make_piece(memory, bytes, 1);
}

EXPORT(cuMemFreeAsync, void *memory, void *stream) {
    MAY_FAIL_ALONE;
    NOT_CAPTURED(stream);
    return end_piece(memory, 1);
}

static char *managed;

/* What lies there is managed from now on. */
__attribute__((visibility("default"))) void fake_manage(void *memory);
void fake_manage(void *memory) { managed = memory; }

/* Memory type, whether it is managed, and the device's number. */
EXPORT(cuPointerGetAttributes, unsigned count, int *attributes, void **values, char *pointer) {
    MAY_FAIL;
    if (count != 3 || attributes[0] != 2 || attributes[1] != 8 || attributes[2] != 9) return INVALID_VALUE;
    pthread_mutex_lock(&pieces_lock);
    const piece *p = pieces;
    while (p && (pointer < p->at || pointer >= p->at + p->bytes)) p = p->next;
    *(unsigned *)values[0] = p ? 2 : 0;
    *(unsigned *)values[1] = p && p->at == managed;
    *(int *)values[2] = p ? p->device : -2;
    pthread_mutex_unlock(&pieces_lock);
    return SUCCESS;
}

EXPORT(cuThreadExchangeStreamCaptureMode, int *mode) {
    const int before = thread.capture_mode;
    thread.capture_mode = *mode;
    *mode = before;
    return SUCCESS;
}

EXPORT(cuStreamIsCapturing, void *stream, int *status) {
    *status = captured() && stream == captured();
    return captured() && !stream ? 906 : SUCCESS; /* the legacy stream beside one that waits for it */
}

EXPORT(cuMemGetInfo_v2, size_t *free_bytes, size_t *total) {
    MAY_FAIL;
    *free_bytes = *total = (size_t)1 << 30;
    return SUCCESS;
}

#define COPIES(name)                                                                                                   \
    EXPORT(name, void *to, const void *from, size_t bytes, void *stream) {                                             \
        MAY_FAIL;                                                                                                      \
        NOT_CAPTURED(stream);                                                                                          \
        memcpy(to, from, bytes);                                                                                       \
        return SUCCESS;                                                                                                \
    }
COPIES(cuMemcpyHtoDAsync_v2)
COPIES(cuMemcpyDtoHAsync_v2)
COPIES(cuMemcpyDtoDAsync_v2)

EXPORT(cuMemcpyPeerAsync, void *to, void *to_context, const void *from, void *from_context, size_t bytes,
       void *stream) {
    MAY_FAIL;
    memcpy(to, from, bytes);
    return SUCCESS;
}

/* Between devices that differ, once: 704 is that it was given already. */
EXPORT(cuCtxEnablePeerAccess, void *other, unsigned flags) {
    static int given[DEVICES_MOST][DEVICES_MOST];
    const int to = (int)((char *)other - contexts);
    MAY_FAIL_ALONE;
    if (flags != 0 || device_now() < 0 || to < 0 || to >= DEVICES_MOST || to == device_now()) return INVALID_VALUE;
    return __atomic_fetch_add(&given[device_now()][to], 1, __ATOMIC_RELAXED) ? 704 : SUCCESS;
}

/* None is ever freed, so that uses of those that are gone are noticed. */
typedef struct moment {
    struct moment *next;
    int gone;
} moment;

static moment *moments;

static int look_at(const moment *e) {
    if (!e) return INVALID_VALUE;
    pthread_mutex_lock(&pieces_lock);
    const int gone = e->gone;
    wrong_releases += gone;
    pthread_mutex_unlock(&pieces_lock);
    return gone ? INVALID_VALUE : SUCCESS;
}

EXPORT(cuEventQuery, void *event) {
    UNSAFE;
    return look_at(event);
}

EXPORT(cuMemHostAlloc, void **memory, size_t bytes, unsigned flags) {
    MAY_FAIL;
    UNSAFE;
    *memory = malloc(bytes);
    return *memory ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT(cuMemFreeHost, void *memory) {
    MAY_FAIL_ALONE;
    free(memory);
    return SUCCESS;
}

EXPORT(cuCtxGetStreamPriorityRange, int *least, int *greatest) {
    MAY_FAIL;
    *least = 0;
    *greatest = -5;
    return SUCCESS;
}

EXPORT(cuStreamCreateWithPriority, void **stream, unsigned flags, int priority) {
    static _Thread_local char streams[16];
    static _Thread_local int made;
    MAY_FAIL;
    if (flags != 1 || priority > 0 || priority < -5) return INVALID_VALUE;
    *stream = &streams[made++ % 16];
    return SUCCESS;
}

EXPORT(cuStreamDestroy_v2, void *stream) {
    MAY_FAIL_ALONE;
    return SUCCESS;
}

EXPORT(cuStreamWaitEvent, void *stream, void *event, unsigned flags) {
    const struct timespec slow = {.tv_nsec = 1000000L * fake_number("FAKE_CUDA_SLOW", 0)};
    MAY_FAIL;
    if (slow.tv_nsec > 0) nanosleep(&slow, NULL);
    return flags == 0 ? look_at(event) : INVALID_VALUE;
}

EXPORT(cuMemsetD8Async, void *to, unsigned char byte, size_t bytes, void *stream) {
    MAY_FAIL;
    NOT_CAPTURED(stream);
    memset(to, byte, bytes);
    return SUCCESS;
}

EXPORT(cuStreamSynchronize, void *stream) {
    MAY_FAIL;
    NOT_CAPTURED(stream);
    return SUCCESS;
}

EXPORT(cuCtxSynchronize, void) {
    MAY_FAIL;
    return refuse(captured() != NULL);
}

/* ------------------------------------------------------------------------------------------ kernels */

/* Of a module that is gone nothing may be launched; so none is ever freed. */
typedef struct module {
    int loaded;
    void *library; /* of kernels that run */
} module;

typedef struct kernel {
    const module *of;
    void *launch;
} kernel;

EXPORT(cuModuleLoadData, void **made, const void *image) {
    MAY_FAIL;
    UNSAFE;
    if (memcmp(image, "code", 4) != 0) return 200; /* of another compiler */
    module *const m = calloc(1, sizeof *m);
    if (!m) return OUT_OF_MEMORY;
    m->loaded = 1;
#ifdef EMULATED
    size_t bytes;
    memcpy(&bytes, (const char *)image + 8, sizeof bytes);
    m->library = emulate_load((const char *)image + 16, bytes);
    if (!m->library) return 200;
#endif
    *made = m;
    return SUCCESS;
}

EXPORT(cuModuleUnload, module *m) {
    COUNTED;
    UNSAFE;
    if (!m->loaded) return INVALID_VALUE;
    m->loaded = 0;
    return SUCCESS;
}

EXPORT(cuModuleGetFunction, void **function, module *m, const char *name) {
    MAY_FAIL;
    if (!m->loaded) return INVALID_VALUE;
    kernel *const found = calloc(1, sizeof *found); /* never freed, either */
    if (!found) return OUT_OF_MEMORY;
    found->of = m;
#ifdef EMULATED
    found->launch = emulate_kernel(m->library, name);
    if (!found->launch) return INVALID_VALUE;
#endif
    *function = found;
    return SUCCESS;
}

EXPORT(cuFuncSetAttribute, void *function, int attribute, int value) {
    MAY_FAIL;
    return attribute == 8 && value > (shared() - 1) << 10 ? INVALID_VALUE : SUCCESS;
}

static int launch(const kernel *k, const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                  void **arguments, bool early) {
    if (!k->of->loaded) return 400;
    const bool good = grid[0] > 0 && grid[1] > 0 && grid[1] < 65536 && grid[2] > 0 && grid[2] < 65536 && block[0] > 0 &&
                      block[0] * block[1] * block[2] <= 1024 && arguments;
#ifdef EMULATED
    if (good) return emulate_launch(k->launch, grid, block[0], shared_bytes, arguments, early);
#endif
    return good ? SUCCESS : INVALID_VALUE;
}

/* Keeps what emulated.h needs to copy a tile: the address, sizes, strides, and the rows of a tile. */
EXPORT(cuTensorMapEncodeTiled, uint64_t *map, int type, unsigned rank, void *address, const uint64_t *sizes,
       const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave, int swizzle, int l2,
       int outside) {
    const bool aligned = (uintptr_t)address % 16 == 0 && strides[0] % 16 == 0 && strides[1] % 16 == 0;
    if (type != CU_TENSOR_MAP_UINT16 || rank != 3 || !aligned || (uintptr_t)map % 64 || box[0] != 64 || box[1] > 256 ||
        box[2] != 1 || steps[0] != 1 || interleave || swizzle != CU_TENSOR_MAP_SWIZZLE_128B || outside)
        return INVALID_VALUE;
    (void)l2;
    const uint64_t kept[] = {
        (uint64_t)(uintptr_t)address, sizes[0], sizes[1], sizes[2], strides[0], strides[1], box[1]};
    memcpy(map, kept, sizeof kept);
    return SUCCESS;
}

EXPORT(cuLaunchKernel, void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
       unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments, void **extra) {
    MAY_FAIL;
    return launch(function, (const unsigned[3]){grid_x, grid_y, grid_z}, (const unsigned[3]){block_x, block_y, block_z},
                  shared_bytes, arguments, false);
}

/* With the one attribute that there is use for: may begin while the launch before ends. */
EXPORT(cuLaunchKernelEx, const cu_launch_config *config, void *function, void **arguments, void **extra) {
    MAY_FAIL;
    if (config->attribute_count != 1 || config->attributes[0].id != CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION)
        return INVALID_VALUE;
    return launch(function, (const unsigned[3]){config->grid_x, config->grid_y, config->grid_z},
                  (const unsigned[3]){config->block_x, config->block_y, config->block_z}, config->shared_bytes,
                  arguments, config->attributes[0].value != 0);
}

EXPORT(cuEventCreate, void **made, unsigned flags) {
    MAY_FAIL;
    moment *const e = calloc(1, sizeof *e);
    if (!e) return OUT_OF_MEMORY;
    pthread_mutex_lock(&pieces_lock);
    e->next = moments;
    moments = e;
    pthread_mutex_unlock(&pieces_lock);
    *made = e;
    return SUCCESS;
}

EXPORT(cuEventRecord, void *event, void *stream) {
    MAY_FAIL;
    return look_at(event);
}

EXPORT(cuEventSynchronize, void *event) {
    MAY_FAIL;
    UNSAFE;
    return look_at(event);
}

EXPORT(cuEventElapsedTime, float *milliseconds, void *start, void *end) {
    MAY_FAIL;
    *milliseconds = 1;
    return SUCCESS;
}

EXPORT(cuEventDestroy_v2, moment *e) {
    const int result = look_at(e);
    if (result != SUCCESS) return result;
    pthread_mutex_lock(&pieces_lock);
    e->gone = 1;
    gone_events++;
    pthread_mutex_unlock(&pieces_lock);
    return SUCCESS;
}

EXPORT(cuLinkCreate_v2, unsigned count, int *options, void **values, void **state) {
    MAY_FAIL;
    *state = &something;
    return SUCCESS;
}

EXPORT(cuLinkAddData_v2, void *state, int type, void *data, size_t bytes, const char *name, unsigned count,
       int *options, void **values) {
    MAY_FAIL;
    return type == 0 && data && bytes ? SUCCESS : INVALID_VALUE;
}

EXPORT(cuLinkAddFile_v2, void *state, int type, const char *path, unsigned count, int *options, void **values) {
    MAY_FAIL;
    return type == 4 && path ? SUCCESS : INVALID_VALUE;
}

EXPORT(cuLinkComplete, void *state, void **cubin, size_t *bytes) {
    static char code[] = "code, linked";
    MAY_FAIL;
    *cubin = code;
    *bytes = sizeof code;
    return SUCCESS;
}

EXPORT(cuLinkDestroy, void *state) { return SUCCESS; }
