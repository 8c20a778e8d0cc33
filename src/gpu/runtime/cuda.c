/*
 * CUDA through the driver API and NVRTC. Every verb pushes the device's primary context, so pointers and streams of
 * PyTorch, CuPy and the CUDA runtime can be used directly.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "gpu/runtime/cuda_api.h"
#include "gpu/runtime/library.h"
#include "gpu/runtime/nvrtc.h"
#include "gpu/runtime/runtime.h"

enum { DEVICES_MOST = 64, ARGUMENTS_MOST = TAMIS_GPU_PARAMETERS_MOST };

typedef struct cuda_device {
    tamis_gpu_device shared; /* first: verbs get a pointer to it */
    cu_device handle;
    cu_context context;
    cu_pool pool; /* NULL: there are no pools; a stream's memory is that of all streams */
    int architecture;
    bool reads_host; /* can read pageable host memory */
    bool opened;
    uint64_t asked; /* one bit per device that it has asked for peer access */
} cuda_device;

static cuda_api api;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char failure[768];
static int found, driver;
static cuda_device devices[DEVICES_MOST];

/* ------------------------------------------------------------------------------------------ errors */

static const char *text_of(cu_result result) {
    const char *text = NULL;
    return api.error_string && api.error_string(result, &text) == CU_SUCCESS && text ? text : "unknown error";
}

static const char *name_of(cu_result result) {
    const char *text = NULL;
    return api.error_name && api.error_name(result, &text) == CU_SUCCESS && text ? text : "CUDA error";
}

static tamis_status check(const tamis_gpu_device *device, cu_result result, const char *what) {
    if (result == CU_SUCCESS) return TAMIS_OK;
    return tamis_fail(result == CU_ERROR_OUT_OF_MEMORY ? TAMIS_ERROR_MEMORY : TAMIS_ERROR_DEVICE, "%s: %s: %s (%s)",
                      device->limits.name, what, text_of(result), name_of(result));
}

/* ------------------------------------------------------------------------------------------ contexts */

static tamis_status enter(tamis_gpu_device *device) {
    return check(device, api.context_push(((cuda_device *)device)->context), "entering its context");
}

static void leave(void) {
    cu_context context;
    api.context_pop(&context);
}

tamis_status tamis_cuda_enter(tamis_gpu_device *device) { return enter(device); }
void tamis_cuda_leave(void) { leave(); }

/* As enter, for calls that a capture in progress forbids to its thread or to all threads, although they are not
   captured: allocation, module loading. `mode` saves the thread's own mode. */
static tamis_status enter_relaxed(tamis_gpu_device *device, int *mode) {
    TRY(enter(device));
    *mode = CU_CAPTURE_MODE_RELAXED;
    if (api.capture_mode) api.capture_mode(mode);
    return TAMIS_OK;
}

static void leave_relaxed(int mode) {
    if (api.capture_mode) api.capture_mode(&mode);
    leave();
}

/* ------------------------------------------------------------------------------------------ devices */

static void find_library(void) {
    static const char *const candidates[] = {"libcuda.so.1", "libcuda.so", NULL};
    const tamis_symbol symbols[] = {{"cuInit", (void (**)(void)) & api.init},
                                    {"cuDriverGetVersion", (void (**)(void)) & api.driver_version},
                                    {"cuDeviceGetCount", (void (**)(void)) & api.device_count},
                                    {"cuDeviceGet", (void (**)(void)) & api.device_get},
                                    {"cuDeviceGetName", (void (**)(void)) & api.device_name},
                                    {"cuDeviceGetAttribute", (void (**)(void)) & api.device_attribute},
                                    {"cuDeviceTotalMem_v2", (void (**)(void)) & api.device_memory},
                                    {"cuDevicePrimaryCtxRetain", (void (**)(void)) & api.context_retain},
                                    {"cuCtxPushCurrent_v2", (void (**)(void)) & api.context_push},
                                    {"cuCtxPopCurrent_v2", (void (**)(void)) & api.context_pop},
                                    {"cuGetErrorName", (void (**)(void)) & api.error_name},
                                    {"cuGetErrorString", (void (**)(void)) & api.error_string},
                                    {"cuMemAlloc_v2", (void (**)(void)) & api.memory_allocate},
                                    {"cuMemFree_v2", (void (**)(void)) & api.memory_free},
                                    {"?cuMemPoolCreate", (void (**)(void)) & api.pool_create},
                                    {"?cuMemPoolSetAttribute", (void (**)(void)) & api.pool_set},
                                    {"?cuMemPoolTrimTo", (void (**)(void)) & api.pool_trim},
                                    {"?cuMemAllocFromPoolAsync", (void (**)(void)) & api.pool_allocate},
                                    {"?cuMemFreeAsync", (void (**)(void)) & api.pool_free},
                                    {"?cuThreadExchangeStreamCaptureMode", (void (**)(void)) & api.capture_mode},
                                    {"?cuStreamIsCapturing", (void (**)(void)) & api.stream_capturing},
                                    {"?cuPointerGetAttributes", (void (**)(void)) & api.pointer_attributes},
                                    {"cuMemGetInfo_v2", (void (**)(void)) & api.memory_info},
                                    {"cuMemcpyHtoDAsync_v2", (void (**)(void)) & api.copy_in},
                                    {"cuMemcpyDtoHAsync_v2", (void (**)(void)) & api.copy_out},
                                    {"cuMemcpyDtoDAsync_v2", (void (**)(void)) & api.copy_within},
                                    {"cuMemcpyPeerAsync", (void (**)(void)) & api.copy_peer},
                                    {"?cuCtxEnablePeerAccess", (void (**)(void)) & api.peer_access},
                                    {"cuMemHostAlloc", (void (**)(void)) & api.host_allocate},
                                    {"cuMemFreeHost", (void (**)(void)) & api.host_free},
                                    {"cuStreamCreateWithPriority", (void (**)(void)) & api.stream_create},
                                    {"cuCtxGetStreamPriorityRange", (void (**)(void)) & api.stream_priorities},
                                    {"cuStreamDestroy_v2", (void (**)(void)) & api.stream_destroy},
                                    {"cuStreamWaitEvent", (void (**)(void)) & api.stream_wait},
                                    {"cuMemsetD8Async", (void (**)(void)) & api.fill},
                                    {"cuStreamSynchronize", (void (**)(void)) & api.stream_synchronize},
                                    {"cuCtxSynchronize", (void (**)(void)) & api.context_synchronize},
                                    {"cuModuleLoadData", (void (**)(void)) & api.module_load},
                                    {"cuModuleUnload", (void (**)(void)) & api.module_unload},
                                    {"cuModuleGetFunction", (void (**)(void)) & api.module_function},
                                    {"cuFuncSetAttribute", (void (**)(void)) & api.function_set},
                                    {"cuLaunchKernel", (void (**)(void)) & api.launch},
                                    {"?cuLaunchKernelEx", (void (**)(void)) & api.launch_with},
                                    {"?cuTensorMapEncodeTiled", (void (**)(void)) & api.tensor_map},
                                    {"cuEventCreate", (void (**)(void)) & api.event_create},
                                    {"cuEventRecord", (void (**)(void)) & api.event_record},
                                    {"cuEventQuery", (void (**)(void)) & api.event_query},
                                    {"cuEventSynchronize", (void (**)(void)) & api.event_synchronize},
                                    {"cuEventElapsedTime", (void (**)(void)) & api.event_elapsed},
                                    {"cuEventDestroy_v2", (void (**)(void)) & api.event_destroy},
                                    {"cuLinkCreate_v2", (void (**)(void)) & api.link_create},
                                    {"cuLinkAddData_v2", (void (**)(void)) & api.link_add_data},
                                    {"cuLinkAddFile_v2", (void (**)(void)) & api.link_add_file},
                                    {"cuLinkComplete", (void (**)(void)) & api.link_complete},
                                    {"cuLinkDestroy", (void (**)(void)) & api.link_destroy},
                                    {NULL, NULL}};
    char why[600];
    if (!tamis_library_open("TAMIS_CUDA_DRIVER", candidates, symbols, why, sizeof why)) {
        snprintf(failure, sizeof failure, "no CUDA driver: %s", why);
        return;
    }
    const cu_result result = api.init(0);
    if (result != CU_SUCCESS) {
        snprintf(failure, sizeof failure, "the CUDA driver does not start: %s (%s)", text_of(result), name_of(result));
        return;
    }
    api.driver_version(&driver);
    if (api.device_count(&found) != CU_SUCCESS || found == 0)
        snprintf(failure, sizeof failure, "the CUDA driver sees no device");
    if (found > DEVICES_MOST) found = DEVICES_MOST;
}

static int count(const char **why) {
    pthread_once(&once, find_library);
    if (why) *why = failure;
    return found;
}

static int64_t attribute(cu_device handle, int which) {
    int value = 0;
    return api.device_attribute(&value, which, handle) == CU_SUCCESS ? value : 0;
}

/* L1 and shared memory are one memory; what groups do not use as shared memory serves as L1. */
static void read_limits(cuda_device *device) {
    tamis_gpu_limits *const l = &device->shared.limits;
    const cu_device handle = device->handle;
    size_t memory = 0;
    int version = 0;
    api.device_name(l->model, (int)sizeof l->model, handle);
    api.device_memory(&memory, handle);
    device->architecture =
        (int)(10 * attribute(handle, CU_COMPUTE_CAPABILITY_MAJOR) + attribute(handle, CU_COMPUTE_CAPABILITY_MINOR));
    device->reads_host = attribute(handle, CU_PAGEABLE_MEMORY_ACCESS) != 0;
    snprintf(l->architecture, sizeof l->architecture, "sm_%d", device->architecture);
    snprintf(l->driver, sizeof l->driver, "CUDA driver %d.%d", driver / 1000, driver % 1000 / 10);
    if (tamis_nvrtc_open(&version) == TAMIS_OK)
        snprintf(l->compiler, sizeof l->compiler, "NVRTC %d.%d", version / 1000, version % 1000);
    tamis_nvrtc_build(l->build, sizeof l->build);
    snprintf(l->about, sizeof l->about, "%s, %s", l->driver, l->compiler[0] ? l->compiler : "no run-time compiler");
    l->has_fp64 = l->compiles_beside = true;
    l->subgroup = 32;
    l->multiprocessors = (int)attribute(handle, CU_MULTIPROCESSOR_COUNT);
    l->group_most = (int)attribute(handle, CU_MAX_THREADS_PER_BLOCK);
    l->shared_most = attribute(handle, CU_MAX_SHARED_PER_BLOCK_OPTIN);
    l->threads_most = attribute(handle, CU_MAX_THREADS_PER_MULTIPROCESSOR);
    l->cache_l1 = attribute(handle, CU_MAX_SHARED_PER_MULTIPROCESSOR);
    l->cache_l2 = attribute(handle, CU_L2_CACHE_SIZE);
    l->memory = (int64_t)memory;
    l->memory_most = (int64_t)memory;
    l->groups_most[0] = attribute(handle, CU_MAX_GRID_DIM_X);
    l->groups_most[1] = attribute(handle, CU_MAX_GRID_DIM_Y);
    l->groups_most[2] = attribute(handle, CU_MAX_GRID_DIM_Z);
}

/* A pool of our own, so that the program's default pool keeps its settings. Memory for making plans is reused without
   system calls, and without waiting for the device. */
static void make_pool(cuda_device *device) {
    cu_pool_properties properties = {.allocation_type = CU_ALLOCATION_PINNED,
                                     .location_type = CU_LOCATION_DEVICE,
                                     .location_number = device->handle};
    uint64_t keep = (uint64_t)device->shared.limits.memory / 64;
    if (!api.pool_create || !api.pool_set || !api.pool_trim || !api.pool_allocate || !api.pool_free ||
        !attribute(device->handle, CU_MEMORY_POOLS_SUPPORTED) || api.context_push(device->context) != CU_SUCCESS)
        return;
    if (api.pool_create(&device->pool, &properties) != CU_SUCCESS)
        device->pool = NULL; /* falls back to plain allocations */
    else
        api.pool_set(device->pool, CU_POOL_RELEASE_THRESHOLD, &keep);
    leave();
}

static tamis_status open_locked(cuda_device *device, int number) {
    int version;
    if (device->opened) return TAMIS_OK;
    device->shared.runtime = &tamis_gpu_cuda;
    device->shared.number = number;
    snprintf(device->shared.limits.name, sizeof device->shared.limits.name, "cuda:%d", number);
    TRY(check(&device->shared, api.device_get(&device->handle, number), "opening the device"));
    TRY(tamis_nvrtc_open(&version));
    read_limits(device);
    if (!tamis_nvrtc_knows(device->architecture))
        return tamis_fail(TAMIS_ERROR_DEVICE, "%s: NVRTC %d.%d does not support %s: a newer or older one is needed",
                          device->shared.limits.name, version / 1000, version % 1000,
                          device->shared.limits.architecture);
    TRY(check(&device->shared, api.context_retain(&device->context, device->handle), "its primary context"));
    make_pool(device);
    device->opened = true;
    return TAMIS_OK;
}

static tamis_status open_device(int number, tamis_gpu_device **device) {
    if (number < 0 || number >= count(NULL))
        return tamis_fail(TAMIS_ERROR_DEVICE, "cuda:%d: %s", number, found ? "no such device" : failure);
    pthread_mutex_lock(&lock);
    const tamis_status status = open_locked(&devices[number], number);
    pthread_mutex_unlock(&lock);
    *device = &devices[number].shared;
    return status;
}

/* ------------------------------------------------------------------------------------------ code */

static tamis_status link_program(tamis_gpu_device *device, const char *name, tamis_gpu_binary *binary) {
    tamis_status status = TAMIS_OK;
    cu_link state = NULL;
    char library[1024], log[1024] = "";
    void *cubin = NULL, *linked = NULL;
    size_t bytes = 0;
    int options[2] = {CU_LINK_ERROR_LOG_BUFFER, CU_LINK_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[2] = {log, (void *)(uintptr_t)sizeof log};
    if (!tamis_nvrtc_device_library(library, sizeof library))
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "kernel %s launches kernels: libcudadevrt.a is neither beside NVRTC "
                          "nor in a CUDA toolkit; name it in TAMIS_CUDADEVRT",
                          name);
    TRY(enter(device));
    TRY_GOTO(done, check(device, api.link_create(2, options, values, &state), "linking"));
    TRY_GOTO(done,
             check(device,
                   api.link_add_data(state, CU_LINK_INPUT_CUBIN, binary->memory, binary->bytes, name, 0, NULL, NULL),
                   "linking"));
    TRY_GOTO(done, check(device, api.link_add_file(state, CU_LINK_INPUT_LIBRARY, library, 0, NULL, NULL), library));
    if (api.link_complete(state, &cubin, &bytes) != CU_SUCCESS)
        TRY_GOTO(done, tamis_fail(TAMIS_ERROR_DEVICE, "kernel %s does not link: %.700s", name, log));
    TRY_GOTO(done, tamis_allocate((int64_t)bytes, 1, "linked code", &linked));
    memcpy(linked, cubin, bytes);
    tamis_release(binary->memory);
    *binary = (tamis_gpu_binary){linked, bytes};
done:
    if (state) api.link_destroy(state);
    leave();
    return status;
}

static tamis_status compile(tamis_gpu_device *device, const char *name, const char *source, const char *definitions,
                            tamis_gpu_binary *binary, tamis_gpu_module **module) {
    *module = NULL;
    const int architecture = ((const cuda_device *)device)->architecture;
    TRY(tamis_nvrtc_compile(architecture, name, source, definitions, binary, NULL));
    if (!tamis_nvrtc_launches(source)) return TAMIS_OK;
    const tamis_status status = link_program(device, name, binary);
    if (status != TAMIS_OK) tamis_release(binary->memory);
    return status;
}

static tamis_status load(tamis_gpu_device *device, const tamis_gpu_binary *binary, tamis_gpu_module **module) {
    cu_module loaded = NULL;
    int mode;
    TRY(enter_relaxed(device, &mode));
    const cu_result result = api.module_load(&loaded, binary->memory);
    leave_relaxed(mode);
    if (result == CU_ERROR_NO_BINARY_FOR_GPU || result == CU_ERROR_UNSUPPORTED_PTX_VERSION)
        return tamis_fail(TAMIS_ERROR_DEVICE,
                          "%s: its driver (%s) cannot load code of %s: a newer driver or an older "
                          "compiler is needed",
                          device->limits.name, device->limits.driver, device->limits.compiler);
    TRY(check(device, result, "loading a kernel"));
    *module = (tamis_gpu_module *)loaded;
    return TAMIS_OK;
}

static void unload(tamis_gpu_device *device, tamis_gpu_module *module) {
    int mode = CU_CAPTURE_MODE_RELAXED;
    if (api.context_push(((cuda_device *)device)->context) != CU_SUCCESS) return;
    if (api.capture_mode) api.capture_mode(&mode);
    api.module_unload((cu_module)module);
    leave_relaxed(mode);
}

static tamis_status find_function(tamis_gpu_device *device, tamis_gpu_module *module, const char *name,
                                  int64_t shared_bytes, void **function) {
    cu_function handle = NULL;
    int mode;
    TRY(enter_relaxed(device, &mode));
    tamis_status status = check(device, api.module_function(&handle, (cu_module)module, name), name);
    if (status == TAMIS_OK && shared_bytes > 0)
        status = check(device, api.function_set(handle, CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared_bytes),
                       "shared memory of a kernel");
    leave_relaxed(mode);
    *function = handle;
    return status;
}

static void release_function(tamis_gpu_device *device, void *function) {
    (void)device;
    (void)function; /* the module owns it */
}

static unsigned members_of(const tamis_gpu_launch *grid) { return grid->members > 1 ? (unsigned)grid->members : 1; }

/* Programmatic dependent launch needs compute capability 9.0; drivers from 12.3 on also keep it in captured graphs. */
static bool launches_early(const tamis_gpu_device *device) {
    return api.launch_with && driver >= 12030 && ((const cuda_device *)device)->architecture >= 90;
}

static cu_result launch_early(cu_function function, const tamis_gpu_launch *grid, void *stream, void **arguments) {
    cu_launch_attribute early = {.id = CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION, .value = 1};
    const cu_launch_config config = {.grid_x = (unsigned)grid->groups[0],
                                     .grid_y = (unsigned)grid->groups[1],
                                     .grid_z = members_of(grid),
                                     .block_x = (unsigned)grid->group_size,
                                     .block_y = 1,
                                     .block_z = 1,
                                     .shared_bytes = (unsigned)grid->shared_bytes,
                                     .stream = stream,
                                     .attributes = &early,
                                     .attribute_count = 1};
    return api.launch_with(&config, function, arguments, NULL);
}

/* With the 128-byte swizzle of hopper.h. */
static bool describe_tiles(tamis_gpu_device *device, tamis_gpu_tiles *tiles) {
    enum { SIZE = 2, LINE = 64 };
    if (!api.tensor_map || ((cuda_device *)device)->architecture < 90) return false;
    if (!tiles) return true;
    const tamis_matrix *const of = tiles->of;
    const bool several = tiles->members > 1 && of->batch_stride != 0;
    const uint64_t sizes[] = {(uint64_t)tiles->numbers, (uint64_t)tiles->rows, several ? (uint64_t)tiles->members : 1};
    const uint64_t row = (uint64_t)of->stride * SIZE;
    const uint64_t strides[] = {row, several ? (uint64_t)of->batch_stride * SIZE : row};
    const uint32_t box[] = {LINE, tiles->tile_rows, 1}, steps[] = {1, 1, 1};
    if (enter(device) != TAMIS_OK) return false;
    const cu_result result =
        api.tensor_map((cu_tensor_map *)tiles->words, CU_TENSOR_MAP_UINT16, 3, (char *)of->at.base + of->at.bytes,
                       sizes, strides, box, steps, 0, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_256B, 0);
    leave();
    return result == CU_SUCCESS;
}

static tamis_status launch(tamis_gpu_device *device, void *stream, tamis_gpu_kernel *kernel,
                           const tamis_gpu_launch *grid, const tamis_gpu_argument *arguments, int arguments_count) {
    void *pointers[ARGUMENTS_MOST];
    cu_pointer places[ARGUMENTS_MOST];
    if (grid->groups[0] == 0 || grid->groups[1] == 0) return TAMIS_OK;
    if (arguments_count > ARGUMENTS_MOST) return tamis_fail(TAMIS_ERROR_INTERNAL, "a kernel of too many arguments");
    for (int i = 0; i < arguments_count; i++) {
        const tamis_gpu_argument *const a = &arguments[i];
        if (a->kind == TAMIS_GPU_PLACE) {
            places[i] = (cu_pointer)a->value.place.base + (cu_pointer)a->value.place.bytes;
            pointers[i] = &places[i];
        } else if (a->kind == TAMIS_GPU_TILES) {
            pointers[i] = (void *)(uintptr_t)a->value.tiles->words;
        } else {
            pointers[i] = (void *)(uintptr_t)&a->value;
        }
    }
    TRY(enter(device));
    const cu_result result = grid->early && launches_early(device)
                                 ? launch_early((cu_function)kernel->function, grid, stream, pointers)
                                 : api.launch((cu_function)kernel->function, (unsigned)grid->groups[0],
                                              (unsigned)grid->groups[1], members_of(grid), (unsigned)grid->group_size,
                                              1, 1, (unsigned)grid->shared_bytes, stream, pointers, NULL);
    leave();
    return check(device, result, "launching a kernel");
}

/* ------------------------------------------------------------------------------------------ memory */

static cu_pointer pointer_of(tamis_place place) { return (cu_pointer)place.base + (cu_pointer)place.bytes; }

static bool is_pooled(const tamis_gpu_device *device, const void *stream) {
    return stream != TAMIS_ALL_STREAMS && ((const cuda_device *)device)->pool;
}

static bool is_captured(void *stream) {
    int status = CU_CAPTURE_STATUS_NONE;
    return stream != TAMIS_ALL_STREAMS && api.stream_capturing && api.stream_capturing(stream, &status) == CU_SUCCESS &&
           status != CU_CAPTURE_STATUS_NONE;
}

/* A pool allocation becomes part of a captured graph; other memory might be released before the graph runs. */
static cu_result take(const cuda_device *device, void *stream, size_t bytes, cu_pointer *pointer) {
    if (is_pooled(&device->shared, stream)) return api.pool_allocate(pointer, bytes, device->pool, stream);
    if (is_captured(stream)) return CU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    cu_result result = api.memory_allocate(pointer, bytes);
    if (result != CU_ERROR_OUT_OF_MEMORY || !device->pool) return result;
    api.pool_trim(device->pool, 0); /* the pool may hold the memory that is missing */
    return api.memory_allocate(pointer, bytes);
}

static tamis_status allocate(tamis_gpu_device *device, void *stream, size_t bytes, void **memory) {
    cu_pointer pointer = 0;
    int mode;
    *memory = NULL;
    if (bytes == 0) return TAMIS_OK;
    TRY(enter_relaxed(device, &mode));
    const cu_result result = take((cuda_device *)device, stream, bytes, &pointer);
    leave_relaxed(mode);
    if (result == CU_ERROR_OUT_OF_MEMORY)
        return tamis_fail(TAMIS_ERROR_MEMORY, "%s: out of memory: %zu bytes needed", device->limits.name, bytes);
    TRY(check(device, result, "allocating memory"));
    *memory = (void *)pointer;
    return TAMIS_OK;
}

/* Returns false only if a capture prevented the release. Any other error is one of the context, and the memory is lost
   with it. */
static bool release(tamis_gpu_device *device, void *stream, void *memory) {
    int mode = CU_CAPTURE_MODE_RELAXED;
    if (!memory || api.context_push(((cuda_device *)device)->context) != CU_SUCCESS) return true;
    if (api.capture_mode) api.capture_mode(&mode);
    const cu_result result =
        is_pooled(device, stream) ? api.pool_free((cu_pointer)memory, stream) : api.memory_free((cu_pointer)memory);
    leave_relaxed(mode);
    return result < CU_ERROR_STREAM_CAPTURE_UNSUPPORTED || result > CU_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

static tamis_status finish(tamis_gpu_device *device, void *stream) {
    TRY(enter(device));
    const cu_result result = stream == TAMIS_ALL_STREAMS ? api.context_synchronize() : api.stream_synchronize(stream);
    leave();
    return check(device, result, "waiting for its work");
}

static tamis_status check_stream(tamis_gpu_device *device, void *stream) {
    int status = CU_CAPTURE_STATUS_NONE;
    if (!api.stream_capturing) return TAMIS_OK;
    TRY(enter(device));
    const cu_result result = api.stream_capturing(stream, &status);
    leave();
    const bool by_capture =
        result >= CU_ERROR_STREAM_CAPTURE_UNSUPPORTED && result <= CU_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (by_capture || (result == CU_SUCCESS && status != CU_CAPTURE_STATUS_NONE))
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "stream = %p is being captured into a graph on %s: make the plan before the capture begins, "
                          "or in another stream that is not blocking",
                          stream, device->limits.name);
    return check(device, result, "looking at a stream");
}

/* A kernel that reads an invalid address destroys its context, and all that the program has on the device. Pinned host
   memory is mapped, managed memory is accessible everywhere. */
static tamis_status check_place(tamis_gpu_device *device, const void *pointer, const char *name) {
    unsigned type = 0, managed = 0;
    int ordinal = -1, attributes[3] = {CU_POINTER_MEMORY_TYPE, CU_POINTER_IS_MANAGED, CU_POINTER_DEVICE_ORDINAL};
    void *values[3] = {&type, &managed, &ordinal};
    if (!pointer || !api.pointer_attributes) return TAMIS_OK;
    TRY(enter(device));
    const cu_result result = api.pointer_attributes(3, attributes, values, (cu_pointer)pointer);
    leave();
    TRY(check(device, result, "looking at a pointer"));
    if (type == CU_MEMORY_DEVICE && !managed && ordinal >= 0 && ordinal != device->number)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s lies on cuda:%d, but the call is for %s", name, ordinal,
                          device->limits.name);
    if (type == 0 && !((const cuda_device *)device)->reads_host)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "%s = %p is host memory, which %s cannot read: tamis_device_allocate and tamis_device_upload "
                          "bring it there",
                          name, pointer, device->limits.name);
    return TAMIS_OK;
}

static tamis_status write_memory(tamis_gpu_device *device, void *stream, tamis_place to, const void *from,
                                 size_t bytes) {
    if (bytes == 0) return TAMIS_OK;
    TRY(enter(device));
    cu_result result = api.copy_in(pointer_of(to), from, bytes, stream);
    if (result == CU_SUCCESS) result = api.stream_synchronize(stream); /* then `from` may be reused by the caller */
    leave();
    return check(device, result, "copying to the device");
}

static tamis_status read_memory(tamis_gpu_device *device, void *stream, void *to, tamis_place from, size_t bytes) {
    if (bytes == 0) return TAMIS_OK;
    TRY(enter(device));
    cu_result result = api.copy_out(to, pointer_of(from), bytes, stream);
    if (result == CU_SUCCESS) result = api.stream_synchronize(stream);
    leave();
    return check(device, result, "copying from the device");
}

static tamis_status copy_memory(tamis_gpu_device *device, void *stream, tamis_place to, tamis_place from,
                                size_t bytes) {
    if (bytes == 0) return TAMIS_OK;
    TRY(enter(device));
    const cu_result result = api.copy_within(pointer_of(to), pointer_of(from), bytes, stream);
    leave();
    return check(device, result, "copying within the device");
}

static tamis_status write_async(tamis_gpu_device *device, void *stream, tamis_place to, const void *from,
                                size_t bytes) {
    if (bytes == 0) return TAMIS_OK;
    TRY(enter(device));
    const cu_result result = api.copy_in(pointer_of(to), from, bytes, stream);
    leave();
    return check(device, result, "copying to the device");
}

static tamis_status read_async(tamis_gpu_device *device, void *stream, void *to, tamis_place from, size_t bytes) {
    if (bytes == 0) return TAMIS_OK;
    TRY(enter(device));
    const cu_result result = api.copy_out(to, pointer_of(from), bytes, stream);
    leave();
    return check(device, result, "copying from the device");
}

/* Enables peer access, with which a copy uses the link between the devices; without it, the copy goes through the host.
   Devices without a link refuse, and the program may have enabled it before: neither is an error of the copy. Called in
   the device's context. */
static void ask_for_access(cuda_device *device, const cuda_device *other) {
    const uint64_t bit = (uint64_t)1 << other->shared.number;
    if (device == other || !api.peer_access || __atomic_fetch_or(&device->asked, bit, __ATOMIC_RELAXED) & bit) return;
    pthread_mutex_lock(&lock); /* the other device may be asking for access to this one */
    (void)api.peer_access(other->context, 0);
    pthread_mutex_unlock(&lock);
}

static tamis_status copy_from(tamis_gpu_device *device, void *stream, tamis_place to, tamis_gpu_device *from_device,
                              tamis_place from, size_t bytes) {
    if (bytes == 0) return TAMIS_OK;
    TRY(enter(device));
    ask_for_access((cuda_device *)device, (const cuda_device *)from_device);
    const cu_result result = api.copy_peer(pointer_of(to), ((const cuda_device *)device)->context, pointer_of(from),
                                           ((const cuda_device *)from_device)->context, bytes, stream);
    leave();
    return check(device, result, "copying from another device");
}

static tamis_status host_memory(tamis_gpu_device *device, size_t bytes, void **memory) {
    int mode;
    TRY(enter_relaxed(device, &mode));
    const cu_result result = api.host_allocate(memory, bytes, CU_HOST_ALLOC_PORTABLE);
    leave_relaxed(mode);
    if (result == CU_ERROR_OUT_OF_MEMORY)
        return tamis_fail(TAMIS_ERROR_MEMORY, "%s: no pinned host memory: %zu bytes needed", device->limits.name,
                          bytes);
    return check(device, result, "allocating pinned host memory");
}

static tamis_status host_allocate(tamis_gpu_device *device, size_t bytes, void **memory) {
    if (bytes == 0) return TAMIS_OK;
    TRY(host_memory(device, bytes, memory));
    tamis_memory_note(1);
    return TAMIS_OK;
}

static void host_release(tamis_gpu_device *device, void *memory) {
    if (api.context_push(((cuda_device *)device)->context) != CU_SUCCESS) return;
    api.host_free(memory);
    leave();
    tamis_memory_note(-1);
}

static tamis_status fill(tamis_gpu_device *device, void *stream, tamis_place to, int byte, size_t bytes) {
    if (bytes == 0) return TAMIS_OK;
    TRY(enter(device));
    const cu_result result = api.fill(pointer_of(to), (unsigned char)byte, bytes, stream);
    leave();
    return check(device, result, "filling memory");
}

static tamis_status memory_free(tamis_gpu_device *device, int64_t *free_bytes) {
    size_t left = 0, total = 0;
    TRY(enter(device));
    const cu_result result = api.memory_info(&left, &total);
    leave();
    *free_bytes = (int64_t)left;
    return check(device, result, "asking for free memory");
}

/* ------------------------------------------------------------------------------------------ streams, events */

static tamis_status stream_create(tamis_gpu_device *device, bool urgent, void **stream) {
    int least = 0, greatest = 0;
    TRY(enter(device));
    cu_result result = api.stream_priorities(&least, &greatest);
    if (result == CU_SUCCESS)
        result = api.stream_create((cu_stream *)stream, CU_NON_BLOCKING_STREAM, urgent ? greatest : 0);
    leave();
    return check(device, result, "making a stream");
}

static void stream_destroy(tamis_gpu_device *device, void *stream) {
    if (api.context_push(((cuda_device *)device)->context) != CU_SUCCESS) return;
    api.stream_synchronize(stream);
    api.stream_destroy(stream);
    leave();
}

static tamis_status stream_wait(tamis_gpu_device *device, void *stream, void *event) {
    TRY(enter(device));
    const cu_result result = api.stream_wait(stream, event, 0);
    leave();
    return check(device, result, "having a stream wait for an event");
}

static tamis_status record(tamis_gpu_device *device, void *stream, void **event) {
    cu_result result = CU_SUCCESS;
    TRY(enter(device));
    if (!*event) result = api.event_create((cu_event *)event, CU_EVENT_DEFAULT);
    if (result == CU_SUCCESS) result = api.event_record(*event, stream);
    leave();
    return check(device, result, "recording an event");
}

/* Querying an event and waiting for one are unsafe during a capture, too. */
static tamis_status elapsed(tamis_gpu_device *device, void *start, void *end, double *seconds) {
    float milliseconds = 0;
    int mode;
    TRY(enter_relaxed(device, &mode));
    cu_result result = api.event_synchronize(end);
    if (result == CU_SUCCESS) result = api.event_elapsed(&milliseconds, start, end);
    leave_relaxed(mode);
    *seconds = 1e-3 * (double)milliseconds;
    return check(device, result, "reading events");
}

static bool event_passed(tamis_gpu_device *device, void *event) {
    int mode = CU_CAPTURE_MODE_RELAXED;
    if (api.context_push(((cuda_device *)device)->context) != CU_SUCCESS) return false;
    if (api.capture_mode) api.capture_mode(&mode);
    const bool passed = api.event_query(event) == CU_SUCCESS;
    leave_relaxed(mode);
    return passed;
}

static void release_event(tamis_gpu_device *device, void *event) {
    if (!event || api.context_push(((cuda_device *)device)->context) != CU_SUCCESS) return;
    api.event_destroy(event);
    leave();
}

const tamis_gpu_runtime tamis_gpu_cuda = {
    .name = "cuda", .check_place = check_place, .describe_tiles = describe_tiles, TAMIS_GPU_RUNTIME_FUNCTIONS};
