/*
 * OpenCL 1.2 and up through the ICD loader. Each device has a context and an in-order queue of its own; device memory
 * is a cl_mem, and a place within it is that handle and a byte offset.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "gpu/runtime/library.h"
#include "gpu/runtime/opencl_api.h"
#include "gpu/runtime/runtime.h"

enum { DEVICES_MOST = 32 };

typedef struct opencl_device {
    tamis_gpu_device shared; /* first */
    ocl_device handle;
    ocl_platform platform;
    ocl_context context;
    ocl_queue queue;
    char options[256]; /* compiler options of every build */
    bool caches;       /* its platform caches compiled code */
    bool looks;        /* tests each kernel's subgroups, since their size is not guaranteed */
    bool opened;
} opencl_device;

static opencl_api api;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char failure[768];
static int found;
static opencl_device devices[DEVICES_MOST];

/* ------------------------------------------------------------------------------------------ errors */

static tamis_status check(const tamis_gpu_device *device, int32_t result, const char *what) {
    if (result == OCL_SUCCESS) return TAMIS_OK;
    const bool memory = result == OCL_MEM_OBJECT_ALLOCATION_FAILURE || result == OCL_OUT_OF_HOST_MEMORY ||
                        result == OCL_OUT_OF_RESOURCES;
    return tamis_fail(memory ? TAMIS_ERROR_MEMORY : TAMIS_ERROR_DEVICE, "%s: %s: OpenCL error %d", device->limits.name,
                      what, (int)result);
}

/* ------------------------------------------------------------------------------------------ devices */

static void find_library(void) {
    static const char *const candidates[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
    const tamis_symbol symbols[] = {{"clGetPlatformIDs", (void (**)(void)) & api.platforms},
                                    {"clGetPlatformInfo", (void (**)(void)) & api.platform_information},
                                    {"clGetDeviceIDs", (void (**)(void)) & api.devices},
                                    {"clGetDeviceInfo", (void (**)(void)) & api.device_information},
                                    {"clCreateContext", (void (**)(void)) & api.context_create},
                                    {"clReleaseContext", (void (**)(void)) & api.context_release},
                                    {"clCreateCommandQueue", (void (**)(void)) & api.queue_create},
                                    {"clRetainCommandQueue", (void (**)(void)) & api.queue_retain},
                                    {"clCreateBuffer", (void (**)(void)) & api.buffer_create},
                                    {"clReleaseMemObject", (void (**)(void)) & api.memory_release},
                                    {"clCreateProgramWithSource", (void (**)(void)) & api.program_source},
                                    {"clCreateProgramWithBinary", (void (**)(void)) & api.program_binary},
                                    {"clBuildProgram", (void (**)(void)) & api.program_build},
                                    {"clGetProgramInfo", (void (**)(void)) & api.program_information},
                                    {"clGetProgramBuildInfo", (void (**)(void)) & api.build_information},
                                    {"clReleaseProgram", (void (**)(void)) & api.program_release},
                                    {"clCreateKernel", (void (**)(void)) & api.kernel_create},
                                    {"clSetKernelArg", (void (**)(void)) & api.kernel_argument},
                                    {"clReleaseKernel", (void (**)(void)) & api.kernel_release},
                                    {"clEnqueueNDRangeKernel", (void (**)(void)) & api.launch},
                                    {"clEnqueueWriteBuffer", (void (**)(void)) & api.write},
                                    {"clEnqueueReadBuffer", (void (**)(void)) & api.read},
                                    {"clEnqueueCopyBuffer", (void (**)(void)) & api.copy},
                                    {"clEnqueueFillBuffer", (void (**)(void)) & api.fill},
                                    {"clEnqueueBarrierWithWaitList", (void (**)(void)) & api.barrier},
                                    {"clReleaseCommandQueue", (void (**)(void)) & api.queue_release},
                                    {"clEnqueueMarkerWithWaitList", (void (**)(void)) & api.marker},
                                    {"clFinish", (void (**)(void)) & api.finish},
                                    {"clFlush", (void (**)(void)) & api.flush},
                                    {"clWaitForEvents", (void (**)(void)) & api.wait},
                                    {"clGetEventInfo", (void (**)(void)) & api.event_information},
                                    {"clGetEventProfilingInfo", (void (**)(void)) & api.event_profile},
                                    {"clReleaseEvent", (void (**)(void)) & api.event_release},
                                    {"clGetKernelWorkGroupInfo", (void (**)(void)) & api.group_information},
                                    {"?clGetKernelSubGroupInfo", (void (**)(void)) & api.subgroup_information},
                                    {NULL, NULL}};
    char why[600];
    ocl_platform platforms[16];
    uint32_t platform_count = 0;
    if (!tamis_library_open("TAMIS_OPENCL", candidates, symbols, why, sizeof why)) {
        snprintf(failure, sizeof failure, "no OpenCL loader: %s", why);
        return;
    }
    const int32_t result = api.platforms(16, platforms, &platform_count);
    if (result != OCL_SUCCESS || platform_count == 0) {
        snprintf(failure, sizeof failure, "the OpenCL loader finds no platform (error %d): no driver has an .icd file",
                 (int)result);
        return;
    }
    if (platform_count > 16) platform_count = 16;
    for (uint32_t p = 0; p < platform_count; p++) {
        ocl_device handles[DEVICES_MOST];
        uint32_t here = 0;
        if (api.devices(platforms[p], OCL_DEVICE_TYPE_ALL, DEVICES_MOST, handles, &here) != OCL_SUCCESS) continue;
        for (uint32_t d = 0; d < here && d < DEVICES_MOST && found < DEVICES_MOST; d++) {
            devices[found].handle = handles[d];
            devices[found++].platform = platforms[p];
        }
    }
    if (found == 0) snprintf(failure, sizeof failure, "the OpenCL platforms have no device");
}

static int count(const char **why) {
    pthread_once(&once, find_library);
    if (why) *why = failure;
    return found;
}

static uint64_t number_of(ocl_device handle, uint32_t what) {
    uint64_t value = 0; /* little-endian: narrower values fill the low bytes */
    return api.device_information(handle, what, sizeof value, &value, NULL) == OCL_SUCCESS ? value : 0;
}

static uint64_t within(uint64_t value, uint64_t least, uint64_t most) {
    return value < least ? least : value > most ? most : value;
}

static void text_of(ocl_device handle, uint32_t what, char *text, size_t bytes) {
    char whole[1024] = "";
    if (api.device_information(handle, what, sizeof whole, whole, NULL) != OCL_SUCCESS) whole[0] = 0;
    const char *start = whole;
    while (*start == ' ') start++;
    snprintf(text, bytes, "%s", start);
}

/*
 * How lanes shuffle. Teams have up to LANES lanes. A subgroup of LANES lanes or a multiple (AMD's waves of 64) contains
 * whole teams. `required`: the subgroup size that kernels request, 0 if they cannot.
 */
enum { LANES = 32, WAVE = 64 };
typedef struct shuffles {
    bool any, khronos; /* cl_khr_subgroup_shuffle; else Intel's extension */
    int required;
} shuffles;

static bool has_size(ocl_device handle, const char *extensions, size_t size) {
    size_t sizes[16] = {0}, bytes = 0;
    if (!strstr(extensions, "cl_intel_required_subgroup_size") ||
        api.device_information(handle, OCL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes, &bytes) != OCL_SUCCESS)
        return false;
    for (size_t i = 0; i < bytes / sizeof sizes[0] && i < 16; i++)
        if (sizes[i] == size) return true;
    return false;
}

/* True if a kernel's subgroups contain whole teams; *size: the subgroup size, 0 if the device does not say. */
static bool has_teams(const opencl_device *device, ocl_kernel kernel, size_t *size) {
    size_t group[3] = {0, 0, 0};
    *size = 0;
    if (!api.subgroup_information ||
        api.group_information(kernel, device->handle, OCL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof group, group, NULL) !=
            OCL_SUCCESS ||
        api.subgroup_information(kernel, device->handle, OCL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof group, group,
                                 sizeof *size, size, NULL) != OCL_SUCCESS)
        return false;
    return *size > 0 && (*size % LANES == 0 || *size >= group[0]);
}

/* Tests the subgroups with a small kernel, for devices that do not report their size beforehand. */
static bool shows_teams(const opencl_device *device, const char *standard) {
    const char *source =
        "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
        "#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable\n"
        "__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void shows(__global float *x) {\n"
        "    x[get_local_id(0)] = sub_group_shuffle_xor(x[get_local_id(0)], get_sub_group_size() / 2);\n"
        "}\n";
    char options[32];
    int32_t error = OCL_SUCCESS;
    size_t size;
    ocl_program program = api.program_source(device->context, 1, &source, NULL, &error);
    if (error != OCL_SUCCESS) return false;
    snprintf(options, sizeof options, "-cl-std=%s", standard);
    bool shown = api.program_build(program, 1, &device->handle, options, NULL, NULL) == OCL_SUCCESS;
    if (shown) {
        ocl_kernel kernel = api.kernel_create(program, "shows", &error);
        shown = error == OCL_SUCCESS && has_teams(device, kernel, &size);
        if (error == OCL_SUCCESS) api.kernel_release(kernel);
    }
    api.program_release(program);
    return shown;
}

/* TAMIS_OPENCL_SHUFFLES=khronos: prefers that extension and waves of 64, if there is a choice. PoCL 6.0 reports
   subgroups, but our kernels crash its compiler or get wrong sums: so teams exchange through local memory there. */
static shuffles shuffles_of(const opencl_device *device, bool is_pocl, const char *extensions, const char *standard) {
    const char *const wish = getenv("TAMIS_OPENCL_SHUFFLES");
    if (is_pocl && !wish) return (shuffles){.any = false};
    const bool asked = wish && strcmp(wish, "khronos") == 0;
    const bool whole = has_size(device->handle, extensions, LANES), waves = has_size(device->handle, extensions, WAVE);
    if (!asked && whole && strstr(extensions, "cl_intel_subgroups")) return (shuffles){.any = true, .required = LANES};
    if (!strstr(extensions, "cl_khr_subgroup_shuffle")) return (shuffles){.any = false};
    const int required = waves && (asked || !whole) ? WAVE : whole ? LANES : 0;
    return (shuffles){.any = required || shows_teams(device, standard), .khronos = true, .required = required};
}

/* True if the compiler supports OpenCL C 2.0, which is optional for a device of 3.0. */
static bool takes_2(ocl_device handle, const char *version) {
    enum { MOST = 32 };
    ocl_name_version all[MOST];
    size_t bytes = 0;
    if (strncmp(version, "OpenCL 2", 8) == 0) return true;
    if (api.device_information(handle, OCL_DEVICE_OPENCL_C_ALL_VERSIONS, sizeof all, all, &bytes) != OCL_SUCCESS)
        return false;
    for (size_t i = 0; i < bytes / sizeof *all; i++)
        if (all[i].version >> 22 == 2) return true;
    return false;
}

static void read_limits(opencl_device *device) {
    tamis_gpu_limits *const l = &device->shared.limits;
    const ocl_device handle = device->handle;
    char platform[64] = "", version[64], extensions[4096] = "";
    text_of(handle, OCL_DEVICE_NAME, l->model, sizeof l->model);
    text_of(handle, OCL_DEVICE_OPENCL_C_VERSION, l->architecture, sizeof l->architecture);
    text_of(handle, OCL_DRIVER_VERSION, version, sizeof version);
    api.device_information(handle, OCL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, NULL);
    api.platform_information(device->platform, OCL_PLATFORM_NAME, sizeof platform - 1, platform, NULL);
    snprintf(l->driver, sizeof l->driver, "%s, driver %s", platform, version);
    snprintf(l->about, sizeof l->about, "%s", l->driver);
    l->is_cpu = (number_of(handle, OCL_DEVICE_TYPE) & OCL_DEVICE_TYPE_CPU) != 0;
    l->has_fp64 = number_of(handle, OCL_DEVICE_DOUBLE_FP_CONFIG) != 0;
    text_of(handle, OCL_DEVICE_VERSION, version, sizeof version); /* "OpenCL 3.0 ..." */
    const char *const standard = strncmp(version, "OpenCL 2", 8) == 0 ? "CL2.0" : "CL3.0";
    const bool is_pocl = strstr(platform, "Portable Computing Language");
    const shuffles by = shuffles_of(device, is_pocl, extensions, standard);
    device->looks = by.any && !by.required;
    l->subgroup = by.any ? LANES : 0;
    l->multiprocessors = (int)within(number_of(handle, OCL_DEVICE_MAX_COMPUTE_UNITS), 1, 1 << 16);
    l->group_most = (int)within(number_of(handle, OCL_DEVICE_MAX_WORK_GROUP_SIZE), 1, 1024);
    l->shared_most = (int64_t)number_of(handle, OCL_DEVICE_LOCAL_MEM_SIZE);
    if (l->shared_most > 48 << 10) l->shared_most = 48 << 10;                    /* on a processor it is only cache */
    if (!l->subgroup) l->shared_most -= l->group_most * (int64_t)sizeof(double); /* teams exchange through it */
    l->threads_most = l->is_cpu ? l->group_most : 2048;
    l->cache_l2 = (int64_t)number_of(handle, OCL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    l->memory = (int64_t)number_of(handle, OCL_DEVICE_GLOBAL_MEM_SIZE);
    l->memory_most = (int64_t)number_of(handle, OCL_DEVICE_MAX_MEM_ALLOC_SIZE);
    l->groups_most[0] = l->groups_most[1] = l->groups_most[2] = INT32_MAX / 1024;
    /* PoCL has its own cache, and recompiles each kernel when asked for a program's binary; setting the variable to
       another value than 1 enables our cache */
    const char *const own_cache = getenv("POCL_KERNEL_CACHE");
    device->caches = is_pocl && (!own_cache || strcmp(own_cache, "1") == 0);
    const char *const more = secure_getenv("TAMIS_OPENCL_OPTIONS"); /* "-cl-opt-disable": tests that compile a lot */
    snprintf(
        device->options, sizeof device->options,
        "-D SIMT_OPENCL=1 -D SIMT_SUBGROUP=%d -D SIMT_KHRONOS=%d -D SIMT_REQUIRED=%d -D SIMT_CPU=%d -cl-std=%s %s ",
        l->subgroup, by.khronos, by.required, l->is_cpu,
        !l->subgroup                              ? "CL1.2"
        : by.khronos || !takes_2(handle, version) ? standard
                                                  : "CL2.0",
        more ? more : "");
    snprintf(l->compiler, sizeof l->compiler, "its OpenCL compiler with %s",
             device->options); /* part of the cache's keys */
}

/* Some implementations shut down at exit while their threads still work. This handler, registered after they were
   loaded, runs before, and waits until the threads are idle. */
static unsigned opened_in; /* fork count at that time: a child has none of their threads, and would wait for ever */
static bool is_child(void) { return tamis_fork_count() != __atomic_load_n(&opened_in, __ATOMIC_RELAXED); }

static void leave_quiet(void) {
    if (is_child()) return;
    for (int i = 0; i < found; i++)
        if (devices[i].opened) api.finish(devices[i].queue);
}

static tamis_status open_locked(opencl_device *device, int number) {
    int32_t error = OCL_SUCCESS;
    if (device->opened) return TAMIS_OK;
    device->shared.runtime = &tamis_gpu_opencl;
    device->shared.number = number;
    snprintf(device->shared.limits.name, sizeof device->shared.limits.name, "opencl:%d", number);
    device->context = api.context_create(NULL, 1, &device->handle, NULL, NULL, &error);
    TRY(check(&device->shared, error, "creating a context"));
    read_limits(device);
    device->queue = api.queue_create(device->context, device->handle, OCL_QUEUE_PROFILING_ENABLE, &error);
    if (error != OCL_SUCCESS) api.context_release(device->context);
    TRY(check(&device->shared, error, "creating a queue"));
    device->opened = true;
    static bool registered;
    if (!registered) atexit(leave_quiet);
    __atomic_store_n(&opened_in, tamis_fork_count(), __ATOMIC_RELAXED);
    registered = true;
    return TAMIS_OK;
}

static tamis_status open_device(int number, tamis_gpu_device **device) {
    if (number < 0 || number >= count(NULL))
        return tamis_fail(TAMIS_ERROR_DEVICE, "opencl:%d: %s", number, found ? "no such device" : failure);
    pthread_mutex_lock(&lock);
    const tamis_status status = open_locked(&devices[number], number);
    pthread_mutex_unlock(&lock);
    *device = &devices[number].shared;
    return status;
}

static opencl_device *own(tamis_gpu_device *device) { return (opencl_device *)device; }

/* The caller's queues are unknown, so all streams means the default one here; `finish` also knows the made ones. */
static ocl_queue queue_of(tamis_gpu_device *device, void *stream) {
    return stream && stream != TAMIS_ALL_STREAMS ? stream : own(device)->queue;
}

/* ------------------------------------------------------------------------------------------ code */

static tamis_status build(tamis_gpu_device *device, ocl_program program, const char *name, const char *options) {
    if (api.program_build(program, 1, &own(device)->handle, options, NULL, NULL) == OCL_SUCCESS) return TAMIS_OK;
    size_t bytes = 0; /* a log is returned whole or not at all */
    char *log = NULL;
    api.build_information(program, own(device)->handle, OCL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    TRY(tamis_allocate_zeroed((int64_t)bytes + 1, 1, "a compiler's log", (void **)&log));
    if (bytes > 0) api.build_information(program, own(device)->handle, OCL_PROGRAM_BUILD_LOG, bytes, log, NULL);
    const tamis_status status =
        tamis_fail(TAMIS_ERROR_DEVICE, "kernel %s does not compile: %s (with %s)", name, log, options);
    tamis_release(log);
    return status;
}

static tamis_status read_binary(tamis_gpu_device *device, ocl_program program, tamis_gpu_binary *binary) {
    TRY(check(device,
              api.program_information(program, OCL_PROGRAM_BINARY_SIZES, sizeof binary->bytes, &binary->bytes, NULL),
              "asking for a binary's size"));
    TRY(tamis_allocate((int64_t)binary->bytes, 1, "compiled code", &binary->memory));
    return check(device,
                 api.program_information(program, OCL_PROGRAM_BINARIES, sizeof binary->memory, &binary->memory, NULL),
                 "asking for a binary");
}

static tamis_status compile(tamis_gpu_device *device, const char *name, const char *source, const char *definitions,
                            tamis_gpu_binary *binary, tamis_gpu_module **module) {
    tamis_status status = TAMIS_OK;
    int32_t error = OCL_SUCCESS;
    char *options = NULL;
    *binary = (tamis_gpu_binary){NULL, 0};
    *module = NULL;
    ocl_program program = api.program_source(own(device)->context, 1, &source, NULL, &error);
    TRY(check(device, error, "taking a kernel's source"));
    const int64_t length = (int64_t)(strlen(own(device)->options) + strlen(definitions) + 1);
    TRY_GOTO(done, tamis_allocate(length, 1, "compiler options", (void **)&options));
    snprintf(options, (size_t)length, "%s%s", own(device)->options, definitions);
    TRY_GOTO(done, build(device, program, name, options));
    if (!own(device)->caches) TRY_GOTO(done, read_binary(device, program, binary));
    *module = (tamis_gpu_module *)program;
done:
    tamis_release(options);
    if (status != TAMIS_OK) {
        tamis_release(binary->memory);
        api.program_release(program);
    }
    return status;
}

static tamis_status load(tamis_gpu_device *device, const tamis_gpu_binary *binary, tamis_gpu_module **module) {
    int32_t error = OCL_SUCCESS, status = OCL_SUCCESS;
    const unsigned char *const code = binary->memory;
    const unsigned char *codes[1] = {code};
    ocl_program program =
        api.program_binary(own(device)->context, 1, &own(device)->handle, &binary->bytes, codes, &status, &error);
    TRY(check(device, error ? error : status, "loading compiled code"));
    const tamis_status built = build(device, program, "of the cache", own(device)->options);
    if (built != TAMIS_OK) {
        api.program_release(program);
        return built;
    }
    *module = (tamis_gpu_module *)program;
    return TAMIS_OK;
}

static void unload(tamis_gpu_device *device, tamis_gpu_module *module) {
    (void)device;
    api.program_release((ocl_program)module);
}

static tamis_status find_function(tamis_gpu_device *device, tamis_gpu_module *module, const char *name,
                                  int64_t shared_bytes, void **function) {
    int32_t error = OCL_SUCCESS;
    size_t size;
    (void)shared_bytes; /* it is declared in the kernel */
    *function = api.kernel_create((ocl_program)module, name, &error);
    TRY(check(device, error, name));
    if (!own(device)->looks || has_teams(own(device), *function, &size)) return TAMIS_OK;
    api.kernel_release(*function);
    *function = NULL;
    return tamis_fail(TAMIS_ERROR_DEVICE, "%s: kernel %s was compiled for subgroups of %zu, which split teams of %d",
                      device->limits.name, name, size, LANES);
}

static void release_function(tamis_gpu_device *device, void *function) {
    (void)device;
    api.kernel_release(function);
}

static int32_t set_arguments(ocl_kernel kernel, const tamis_gpu_argument *arguments, int count) {
    uint32_t at = 0;
    int32_t result = OCL_SUCCESS;
    for (int i = 0; i < count && result == OCL_SUCCESS; i++) {
        const tamis_gpu_argument *const a = &arguments[i];
        switch (a->kind) {
        case TAMIS_GPU_PLACE: {
            const ocl_memory memory = a->value.place.base;
            const int64_t offset = a->value.place.bytes;
            result = api.kernel_argument(kernel, at++, sizeof(void *), memory ? (const void *)&memory : NULL);
            if (result == OCL_SUCCESS) result = api.kernel_argument(kernel, at++, sizeof offset, &offset);
            break;
        }
        case TAMIS_GPU_INT32:
        case TAMIS_GPU_FLOAT32: result = api.kernel_argument(kernel, at++, 4, &a->value); break;
        case TAMIS_GPU_INT64:
        case TAMIS_GPU_FLOAT64: result = api.kernel_argument(kernel, at++, 8, &a->value); break;
        case TAMIS_GPU_TILES: break; /* no kernel of the dialect takes them, so that the launch fails */
        }
    }
    return result;
}

/* Arguments are part of the kernel object until launch, and threads share kernels: hence the lock. */
static tamis_status launch(tamis_gpu_device *device, void *stream, tamis_gpu_kernel *kernel,
                           const tamis_gpu_launch *grid, const tamis_gpu_argument *arguments, int arguments_count) {
    static pthread_mutex_t launching = PTHREAD_MUTEX_INITIALIZER;
    const size_t group[3] = {(size_t)grid->group_size, 1, 1};
    const size_t size[3] = {(size_t)grid->groups[0] * group[0], (size_t)grid->groups[1],
                            grid->members > 1 ? (size_t)grid->members : 1};
    int32_t launched = OCL_SUCCESS;
    if (grid->groups[0] == 0 || grid->groups[1] == 0) return TAMIS_OK;
    pthread_mutex_lock(&launching);
    const int32_t set = set_arguments(kernel->function, arguments, arguments_count);
    if (set == OCL_SUCCESS)
        launched = api.launch(queue_of(device, stream), kernel->function, 3, NULL, size, group, 0, NULL, NULL);
    pthread_mutex_unlock(&launching);
    TRY(check(device, set, "setting a kernel's arguments"));
    return check(device, launched, "launching a kernel");
}

/* ------------------------------------------------------------------------------------------ memory */

static tamis_status allocate(tamis_gpu_device *device, void *stream, size_t bytes, void **memory) {
    int32_t error = OCL_SUCCESS;
    (void)stream;
    *memory = NULL;
    if (bytes == 0) return TAMIS_OK;
    ocl_memory made = api.buffer_create(own(device)->context, OCL_MEM_READ_WRITE, bytes, NULL, &error);
    if (error == OCL_MEM_OBJECT_ALLOCATION_FAILURE || error == OCL_INVALID_BUFFER_SIZE)
        return tamis_fail(TAMIS_ERROR_MEMORY, "%s: out of memory: %zu bytes needed, %lld in one piece at most",
                          device->limits.name, bytes, (long long)device->limits.memory_most);
    TRY(check(device, error, "allocating memory"));
    *memory = made;
    return TAMIS_OK;
}

/* Pending commands keep a reference to the memory that they use. */
static bool release(tamis_gpu_device *device, void *stream, void *memory) {
    (void)device;
    (void)stream;
    if (memory) api.memory_release(memory);
    return true;
}

static tamis_status host_memory(tamis_gpu_device *device, size_t bytes, void **memory) {
    *memory = malloc(bytes);
    return *memory ? TAMIS_OK : tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory for copies", device->limits.name);
}

static tamis_status write_memory(tamis_gpu_device *device, void *stream, tamis_place to, const void *from,
                                 size_t bytes) {
    if (bytes == 0) return TAMIS_OK;
    return check(device, api.write(queue_of(device, stream), to.base, 1, (size_t)to.bytes, bytes, from, 0, NULL, NULL),
                 "copying to the device");
}

static tamis_status read_memory(tamis_gpu_device *device, void *stream, void *to, tamis_place from, size_t bytes) {
    if (bytes == 0) return TAMIS_OK;
    return check(device, api.read(queue_of(device, stream), from.base, 1, (size_t)from.bytes, bytes, to, 0, NULL, NULL),
                 "copying from the device");
}

static tamis_status copy_memory(tamis_gpu_device *device, void *stream, tamis_place to, tamis_place from,
                                size_t bytes) {
    if (bytes == 0) return TAMIS_OK;
    return check(device,
                 api.copy(queue_of(device, stream), from.base, to.base, (size_t)from.bytes, (size_t)to.bytes, bytes, 0,
                          NULL, NULL),
                 "copying within the device");
}

static tamis_status write_async(tamis_gpu_device *device, void *stream, tamis_place to, const void *from,
                                size_t bytes) {
    if (bytes == 0) return TAMIS_OK;
    return check(device, api.write(queue_of(device, stream), to.base, 0, (size_t)to.bytes, bytes, from, 0, NULL, NULL),
                 "copying to the device");
}

static tamis_status read_async(tamis_gpu_device *device, void *stream, void *to, tamis_place from, size_t bytes) {
    if (bytes == 0) return TAMIS_OK;
    return check(device, api.read(queue_of(device, stream), from.base, 0, (size_t)from.bytes, bytes, to, 0, NULL, NULL),
                 "copying from the device");
}

/* Each device has its own context, and no command copies between contexts: the bytes pass through the host, which waits
   for both. */
static tamis_status copy_from(tamis_gpu_device *device, void *stream, tamis_place to, tamis_gpu_device *from_device,
                              tamis_place from, size_t bytes) {
    void *passing = NULL;
    if (from_device == device) return copy_memory(device, stream, to, from, bytes);
    TRY(tamis_allocate((int64_t)bytes, 1, "a copy between devices", &passing));
    tamis_status status = read_memory(from_device, NULL, passing, from, bytes);
    if (status == TAMIS_OK) status = write_memory(device, stream, to, passing, bytes);
    tamis_release(passing);
    return status;
}

static tamis_status host_allocate(tamis_gpu_device *device, size_t bytes, void **memory) {
    (void)device;
    return bytes ? tamis_allocate((int64_t)bytes, 1, "host memory", memory) : TAMIS_OK;
}

static void host_release(tamis_gpu_device *device, void *memory) {
    (void)device;
    tamis_release(memory);
}

static tamis_status fill(tamis_gpu_device *device, void *stream, tamis_place to, int byte, size_t bytes) {
    const unsigned char pattern = (unsigned char)byte;
    if (bytes == 0) return TAMIS_OK;
    return check(device,
                 api.fill(queue_of(device, stream), to.base, &pattern, 1, (size_t)to.bytes, bytes, 0, NULL, NULL),
                 "filling memory");
}

/* Queues made by stream_create, newest first. These and the device's own queue are all streams. */
typedef struct made_queue {
    struct made_queue *next;
    const tamis_gpu_device *device;
    ocl_queue queue;
    int64_t number;
} made_queue;

static made_queue *made_queues;
static pthread_mutex_t queues_lock = PTHREAD_MUTEX_INITIALIZER; /* a child does not take it */

static tamis_status note_queue(const tamis_gpu_device *device, ocl_queue queue) {
    static int64_t number;
    made_queue *made = NULL;
    TRY(tamis_allocate(1, sizeof *made, "a note of a queue", (void **)&made));
    *made = (made_queue){.device = device, .queue = queue};
    pthread_mutex_lock(&queues_lock);
    made->number = ++number;
    made->next = made_queues;
    made_queues = made;
    pthread_mutex_unlock(&queues_lock);
    return TAMIS_OK;
}

static void forget_queue(ocl_queue queue) {
    pthread_mutex_lock(&queues_lock);
    made_queue **at = &made_queues;
    while (*at && (*at)->queue != queue) at = &(*at)->next;
    made_queue *const found_one = *at;
    if (found_one) *at = found_one->next;
    pthread_mutex_unlock(&queues_lock);
    tamis_release(found_one);
}

/* The newest queue of the device with a smaller number, retained, since another thread may destroy it. NULL: none. */
static ocl_queue queue_before(const tamis_gpu_device *device, int64_t *number) {
    pthread_mutex_lock(&queues_lock);
    const made_queue *at = made_queues;
    while (at && (at->device != device || at->number >= *number)) at = at->next;
    ocl_queue queue = at ? at->queue : NULL;
    if (at) {
        api.queue_retain(queue);
        *number = at->number;
    }
    pthread_mutex_unlock(&queues_lock);
    return queue;
}

/* Does not hold the lock while waiting: streams may come and go meanwhile. */
static int32_t finish_made_queues(const tamis_gpu_device *device) {
    int32_t result = OCL_SUCCESS;
    int64_t number = INT64_MAX;
    for (ocl_queue queue = queue_before(device, &number); queue; queue = queue_before(device, &number)) {
        const int32_t finished = api.finish(queue);
        if (result == OCL_SUCCESS) result = finished;
        api.queue_release(queue);
    }
    return result;
}

static tamis_status finish(tamis_gpu_device *device, void *stream) {
    const int32_t made = stream == TAMIS_ALL_STREAMS ? finish_made_queues(device) : OCL_SUCCESS;
    const int32_t result = api.finish(queue_of(device, stream));
    return check(device, result ? result : made, "waiting for its work");
}

static tamis_status check_stream(tamis_gpu_device *device, void *stream) {
    (void)device;
    (void)stream;
    return TAMIS_OK;
}

static tamis_status memory_free(tamis_gpu_device *device, int64_t *free_bytes) {
    (void)device;
    *free_bytes = -1;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ streams, events */

static tamis_status stream_create(tamis_gpu_device *device, bool urgent, void **stream) {
    (void)urgent; /* queue priorities are an extension */
    int32_t error = OCL_SUCCESS;
    ocl_queue queue = api.queue_create(own(device)->context, own(device)->handle, OCL_QUEUE_PROFILING_ENABLE, &error);
    TRY(check(device, error, "making a command queue"));
    const tamis_status status = note_queue(device, queue);
    if (status != TAMIS_OK) {
        api.queue_release(queue);
        return status;
    }
    *stream = queue;
    return TAMIS_OK;
}

/* A child of fork() does not touch the parent's queue: it would wait for ever. */
static void stream_destroy(tamis_gpu_device *device, void *stream) {
    (void)device;
    if (is_child()) return;
    forget_queue(stream);
    api.finish(stream);
    api.queue_release(stream);
}

/* Only the host can wait for an event of another context. */
static tamis_status stream_wait(tamis_gpu_device *device, void *stream, void *event) {
    const ocl_event events[1] = {event};
    int32_t result = api.barrier(queue_of(device, stream), 1, events, NULL);
    if (result == OCL_INVALID_CONTEXT) result = api.wait(1, events);
    return check(device, result, "having a queue wait for an event");
}

static tamis_status record(tamis_gpu_device *device, void *stream, void **event) {
    if (*event) api.event_release(*event);
    *event = NULL;
    TRY(check(device, api.marker(queue_of(device, stream), 0, NULL, (ocl_event *)event), "recording an event"));
    return check(device, api.flush(queue_of(device, stream)), "flushing a queue"); /* another queue may wait for it */
}

static tamis_status elapsed(tamis_gpu_device *device, void *start, void *end, double *seconds) {
    const ocl_event events[2] = {start, end};
    uint64_t times[2] = {0, 0};
    int32_t result = api.wait(2, events);
    for (int i = 0; i < 2 && result == OCL_SUCCESS; i++)
        result = api.event_profile(events[i], OCL_PROFILING_COMMAND_END, sizeof times[i], &times[i], NULL);
    *seconds = 1e-9 * (double)(times[1] - times[0]);
    return check(device, result, "reading events");
}

static bool event_passed(tamis_gpu_device *device, void *event) {
    enum { COMPLETE = 0 };
    int32_t status = 1;
    (void)device;
    return api.event_information(event, OCL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) ==
               OCL_SUCCESS &&
           status == COMPLETE;
}

static void release_event(tamis_gpu_device *device, void *event) {
    (void)device;
    if (event) api.event_release(event);
}

const tamis_gpu_runtime tamis_gpu_opencl = {.name = "opencl", TAMIS_GPU_RUNTIME_FUNCTIONS};
