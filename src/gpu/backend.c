/* The two GPU backends as tables; they differ in their runtime alone. */
#include "gpu/backend.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/threads.h"
#include "gpu/algorithms.h"
#include "gpu/attention/attention.h"
#include "gpu/ceilings/ceilings.h"
#include "gpu/compile/utility.h"
#include "gpu/dense/dense.h"
#include "gpu/edge_network/edge_network.h"
#include "gpu/gradient/gradient.h"
#include "gpu/long_rows/cached.h"
#include "gpu/mask/mask.h"
#include "gpu/messages/messages.h"
#include "gpu/method.h"
#include "gpu/plan.h"
#include "gpu/rates.h"
#include "gpu/runtime/nccl.h"
#include "gpu/staging/staging.h"
#include "gpu/structure/order.h"
#include "gpu/structure/profile.h"
#include "gpu/structure/sort.h"
#include "gpu/structure/validate.h"
#include "gpu/tensor/wgmma.h"

/* ------------------------------------------------------------------------------------------ devices */

/* A child of fork() has no threads of the runtime that its parent started: calls there would fail or never return. */
static bool is_parents(const tamis_gpu_runtime *runtime) {
    static _Atomic unsigned used[2]; /* tamis_fork_count() at the first use, and 1 */
    _Atomic unsigned *const first = &used[runtime == &tamis_gpu_cuda];
    const unsigned now = tamis_fork_count() + 1;
    unsigned before = 0;
    return !atomic_compare_exchange_strong(first, &before, now) && before != now;
}

static const char *const after_fork =
    "this process was forked from one that had used its GPUs, and they do not survive a fork: start it anew (exec; in "
    "Python multiprocessing.get_context('spawn'))";

static tamis_status open_here(const tamis_gpu_runtime *runtime, int number, tamis_gpu_device **device) {
    if (is_parents(runtime)) return tamis_fail(TAMIS_ERROR_DEVICE, "%s", after_fork);
    return runtime->open(number, device);
}

/* A runtime without a device is listed as one absent device, so that users can read what is missing. */
static int listed(const tamis_gpu_runtime *runtime) {
    const int count = is_parents(runtime) ? 0 : runtime->count(NULL);
    return count > 0 ? count : 1;
}

static const char *absence(const tamis_gpu_runtime *runtime, int number) {
    const char *why = "";
    tamis_gpu_device *device;
    if (is_parents(runtime)) return after_fork;
    if (number >= runtime->count(&why)) return why;
    return runtime->open(number, &device) == TAMIS_OK ? "" : tamis_last_error();
}

static tamis_status open_on(const tamis_gpu_runtime *runtime, int number, void **handle) {
    tamis_gpu_device *device = NULL;
    TRY(open_here(runtime, number, &device));
    *handle = device;
    return TAMIS_OK;
}

static tamis_status describe_on(const tamis_gpu_runtime *runtime, int number, tamis_device_description *description) {
    tamis_gpu_device *device = NULL;
    TRY(open_here(runtime, number, &device));
    const tamis_gpu_limits *const l = &device->limits;
    *description = (tamis_device_description){.name = l->name,
                                              .model = l->model,
                                              .instruction_set = l->architecture,
                                              .threads = 1,
                                              .cache_l1 = l->cache_l1,
                                              .cache_l2 = l->cache_l2,
                                              .memory = l->memory,
                                              .location = TAMIS_DEVICE,
                                              .driver = l->about,
                                              .multiprocessors = l->multiprocessors};
    return TAMIS_OK;
}

static int cuda_count(void) { return listed(&tamis_gpu_cuda); }
static int opencl_count(void) { return listed(&tamis_gpu_opencl); }
static const char *cuda_absence(int number) { return absence(&tamis_gpu_cuda, number); }
static const char *opencl_absence(int number) { return absence(&tamis_gpu_opencl, number); }
static tamis_status cuda_open(int number, void **handle) { return open_on(&tamis_gpu_cuda, number, handle); }
static tamis_status opencl_open(int number, void **handle) { return open_on(&tamis_gpu_opencl, number, handle); }
static tamis_status cuda_describe(int number, tamis_device_description *description) {
    return describe_on(&tamis_gpu_cuda, number, description);
}
static tamis_status opencl_describe(int number, tamis_device_description *description) {
    return describe_on(&tamis_gpu_opencl, number, description);
}
static tamis_ceilings default_ceilings(int number, int threads) {
    (void)number;
    (void)threads;
    return tamis_gpu_default_ceilings();
}
/* A probe compiles kernels, so it is never brief. */
static tamis_status ceilings_on(const tamis_gpu_runtime *runtime, int number, bool brief, tamis_ceilings *ceilings) {
    if (!brief) return tamis_gpu_measure_ceilings(runtime, number, ceilings);
    *ceilings = tamis_gpu_default_ceilings();
    return TAMIS_OK;
}
static tamis_status cuda_ceilings(int number, int threads, bool brief, tamis_ceilings *ceilings) {
    (void)threads;
    return ceilings_on(&tamis_gpu_cuda, number, brief, ceilings);
}
static tamis_status opencl_ceilings(int number, int threads, bool brief, tamis_ceilings *ceilings) {
    (void)threads;
    return ceilings_on(&tamis_gpu_opencl, number, brief, ceilings);
}

/* ------------------------------------------------------------------------------------------ memory, time, pattern */

static tamis_status allocate(void *device, void *stream, size_t bytes, const char *what, void **memory) {
    return tamis_gpu_allocate(device, stream, bytes, what, memory);
}
static void release_memory(void *device, void *stream, void *memory) { tamis_gpu_release(device, stream, memory); }
static const tamis_gpu_runtime *runtime_of(void *device) { return ((const tamis_gpu_device *)device)->runtime; }
static tamis_status copy_in(void *device, void *stream, tamis_place to, const void *from, size_t bytes) {
    return runtime_of(device)->write(device, stream, to, from, bytes);
}
static tamis_status copy_out(void *device, void *stream, void *to, tamis_place from, size_t bytes) {
    return runtime_of(device)->read(device, stream, to, from, bytes);
}
static tamis_status copy_in_async(void *device, void *stream, tamis_place to, const void *from, size_t bytes) {
    return runtime_of(device)->write_async(device, stream, to, from, bytes);
}
static tamis_status copy_out_async(void *device, void *stream, void *to, tamis_place from, size_t bytes) {
    return runtime_of(device)->read_async(device, stream, to, from, bytes);
}
static tamis_status copy_from(void *device, void *stream, tamis_place to, void *from_device, tamis_place from,
                              size_t bytes) {
    return runtime_of(device)->copy_from(device, stream, to, from_device, from, bytes);
}
static tamis_status host_allocate(void *device, size_t bytes, void **memory) {
    return runtime_of(device)->host_allocate(device, bytes, memory);
}
static void host_release(void *device, void *memory) { runtime_of(device)->host_release(device, memory); }
static int64_t allocation_most(void *device) {
    const int64_t most = ((const tamis_gpu_device *)device)->limits.memory_most;
    return most > 0 ? most : INT64_MAX;
}

static tamis_status stream_create(void *device, bool urgent, void **stream) {
    return runtime_of(device)->stream_create(device, urgent, stream);
}
static void stream_destroy(void *device, void *stream) { runtime_of(device)->stream_destroy(device, stream); }
static tamis_status stream_wait(void *device, void *stream, void *event) {
    return runtime_of(device)->stream_wait(device, stream, event);
}
static tamis_status copy_within(void *device, void *stream, tamis_place to, tamis_place from, size_t bytes) {
    return runtime_of(device)->copy(device, stream, to, from, bytes);
}
static tamis_status finish(void *device, void *stream) { return runtime_of(device)->finish(device, stream); }
static tamis_status check_stream(void *device, void *stream) {
    return runtime_of(device)->check_stream(device, stream);
}
static tamis_status record(void *device, void *stream, void **point) {
    return runtime_of(device)->record(device, stream, point);
}
static tamis_status elapsed(void *device, void *start, void *end, double *seconds) {
    return runtime_of(device)->elapsed(device, start, end, seconds);
}
static bool event_passed(void *device, void *point) { return runtime_of(device)->event_passed(device, point); }
static void release_event(void *device, void *point) { runtime_of(device)->release_event(device, point); }

static tamis_status check_place(void *device, const void *pointer, const char *name) {
    return runtime_of(device)->check_place(device, pointer, name);
}

#define SHARED_ENTRIES                                                                                                 \
    .algorithm = tamis_gpu_catalogue, .accepts = tamis_gpu_accepts, .predict = tamis_gpu_predict,                      \
    .prepare = tamis_gpu_make, .default_ceilings = default_ceilings, .rates = &tamis_gpu_rate_table,                   \
    .execute = tamis_gpu_execute, .sizes = tamis_gpu_sizes, .call_bytes = tamis_gpu_call_bytes,                        \
    .release = tamis_gpu_prepared_release, .location = TAMIS_DEVICE, .allocation_most = allocation_most,               \
    .allocate = allocate, .release_memory = release_memory, .copy_in = copy_in, .copy_out = copy_out,                  \
    .copy_in_async = copy_in_async, .copy_out_async = copy_out_async, .copy_from = copy_from,                          \
    .copy_within = copy_within, .host_allocate = host_allocate, .host_release = host_release,                          \
    .stream_create = stream_create, .stream_destroy = stream_destroy, .stream_wait = stream_wait, .finish = finish,    \
    .record = record, .elapsed = elapsed, .release_event = release_event, .event_passed = event_passed,                \
    .check_stream = check_stream, .checks_while_profiling = true, .validate = tamis_gpu_validate,                      \
    .order_rows = tamis_gpu_order_rows, .profile = tamis_gpu_profile, .mask_offsets = tamis_gpu_mask_offsets,          \
    .unlisted = tamis_gpu_unlisted, .mask_columns = tamis_gpu_mask_columns, .ready = tamis_gpu_ready,                  \
    .transpose = tamis_gpu_transpose, .permute = tamis_gpu_permute, .gather = tamis_gpu_gather,                        \
    .add_rows = tamis_gpu_add_rows, .dense = &tamis_gpu_dense_functions, .edges = &tamis_gpu_edge_functions,           \
    .messages = &tamis_gpu_message_functions, .attention = &tamis_gpu_attention_functions,                             \
    .cached_attend = tamis_gpu_cached_attend, .edge_network = &tamis_gpu_edge_network_functions

const tamis_backend tamis_cuda_backend = {
    .name = "cuda",
    .device_count = cuda_count,
    .open = cuda_open,
    .describe = cuda_describe,
    .why_absent = cuda_absence,
    .ceilings = cuda_ceilings,
    .check_place = check_place,
    .messenger = &tamis_nccl_messenger,
    .back = &tamis_backward_wgmma,
    SHARED_ENTRIES,
};

const tamis_backend tamis_opencl_backend = {
    .name = "opencl",
    .device_count = opencl_count,
    .open = opencl_open,
    .describe = opencl_describe,
    .why_absent = opencl_absence,
    .ceilings = opencl_ceilings,
    .handles = true,
    SHARED_ENTRIES,
};
