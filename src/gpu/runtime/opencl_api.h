/*
 * The part of OpenCL 1.2 that Tamis uses, declared here so that no SDK is needed to build.
 * tests/gpu/test_api_headers.c compares it with CL/cl.h where that is installed.
 */
#ifndef TAMIS_GPU_RUNTIME_OPENCL_API_H
#define TAMIS_GPU_RUNTIME_OPENCL_API_H

#include <stddef.h>
#include <stdint.h>

typedef struct _cl_platform_id *ocl_platform;
typedef struct _cl_device_id *ocl_device;
typedef struct _cl_context *ocl_context;
typedef struct _cl_command_queue *ocl_queue;
typedef struct _cl_program *ocl_program;
typedef struct _cl_kernel *ocl_kernel;
typedef struct _cl_mem *ocl_memory;
typedef struct _cl_event *ocl_event;
typedef struct ocl_name_version {
    uint32_t version; /* version bits, highest first: 10 of the major, 10 of the minor number */
    char name[64];
} ocl_name_version;

enum {
    OCL_SUCCESS = 0,
    OCL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    OCL_OUT_OF_RESOURCES = -5,
    OCL_OUT_OF_HOST_MEMORY = -6,
    OCL_BUILD_PROGRAM_FAILURE = -11,
    OCL_INVALID_CONTEXT = -34,
    OCL_INVALID_BUFFER_SIZE = -61,
    OCL_PLATFORM_NOT_FOUND_KHR = -1001
};
enum {
    OCL_PLATFORM_NAME = 0x0902,
    OCL_DEVICE_TYPE = 0x1000,
    OCL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    OCL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    OCL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    OCL_DEVICE_GLOBAL_MEM_CACHE_SIZE = 0x101E,
    OCL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    OCL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    OCL_DEVICE_NAME = 0x102B,
    OCL_DRIVER_VERSION = 0x102D,
    OCL_DEVICE_VERSION = 0x102F,
    OCL_DEVICE_EXTENSIONS = 0x1030,
    OCL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
    OCL_DEVICE_OPENCL_C_VERSION = 0x103D,
    OCL_DEVICE_OPENCL_C_ALL_VERSIONS = 0x1066, /* array of ocl_name_version; since OpenCL 3.0 */
    OCL_DEVICE_SUB_GROUP_SIZES_INTEL = 0x4108,
    OCL_KERNEL_COMPILE_WORK_GROUP_SIZE = 0x11B1,
    OCL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE = 0x2033,
    OCL_PROGRAM_BINARY_SIZES = 0x1165,
    OCL_PROGRAM_BINARIES = 0x1166,
    OCL_PROGRAM_BUILD_LOG = 0x1183,
    OCL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
    OCL_PROFILING_COMMAND_END = 0x1283
};
#define OCL_DEVICE_TYPE_CPU        ((uint64_t)1 << 1)
#define OCL_DEVICE_TYPE_ALL        ((uint64_t)0xffffffff)
#define OCL_QUEUE_PROFILING_ENABLE ((uint64_t)1 << 1)
#define OCL_MEM_READ_WRITE         ((uint64_t)1 << 0)

typedef struct opencl_api {
    int32_t (*platforms)(uint32_t most, ocl_platform *platforms, uint32_t *count);
    int32_t (*platform_information)(ocl_platform platform, uint32_t what, size_t bytes, void *value, size_t *needed);
    int32_t (*devices)(ocl_platform platform, uint64_t type, uint32_t most, ocl_device *devices, uint32_t *count);
    int32_t (*device_information)(ocl_device device, uint32_t what, size_t bytes, void *value, size_t *needed);
    ocl_context (*context_create)(const intptr_t *properties, uint32_t count, const ocl_device *devices,
                                  void (*notify)(const char *, const void *, size_t, void *), void *user,
                                  int32_t *error);
    int32_t (*context_release)(ocl_context context);
    ocl_queue (*queue_create)(ocl_context context, ocl_device device, uint64_t properties, int32_t *error);
    ocl_memory (*buffer_create)(ocl_context context, uint64_t flags, size_t bytes, void *host, int32_t *error);
    int32_t (*memory_release)(ocl_memory memory);
    ocl_program (*program_source)(ocl_context context, uint32_t count, const char **texts, const size_t *lengths,
                                  int32_t *error);
    ocl_program (*program_binary)(ocl_context context, uint32_t count, const ocl_device *devices, const size_t *lengths,
                                  const unsigned char **binaries, int32_t *status, int32_t *error);
    int32_t (*program_build)(ocl_program program, uint32_t count, const ocl_device *devices, const char *options,
                             void (*notify)(ocl_program, void *), void *user);
    int32_t (*program_information)(ocl_program program, uint32_t what, size_t bytes, void *value, size_t *needed);
    int32_t (*build_information)(ocl_program program, ocl_device device, uint32_t what, size_t bytes, void *value,
                                 size_t *needed);
    int32_t (*program_release)(ocl_program program);
    ocl_kernel (*kernel_create)(ocl_program program, const char *name, int32_t *error);
    int32_t (*kernel_argument)(ocl_kernel kernel, uint32_t number, size_t bytes, const void *value);
    int32_t (*kernel_release)(ocl_kernel kernel);
    int32_t (*launch)(ocl_queue queue, ocl_kernel kernel, uint32_t dimensions, const size_t *offset, const size_t *size,
                      const size_t *group, uint32_t waits, const ocl_event *wait, ocl_event *event);
    int32_t (*write)(ocl_queue queue, ocl_memory memory, uint32_t blocking, size_t offset, size_t bytes,
                     const void *from, uint32_t waits, const ocl_event *wait, ocl_event *event);
    int32_t (*read)(ocl_queue queue, ocl_memory memory, uint32_t blocking, size_t offset, size_t bytes, void *to,
                    uint32_t waits, const ocl_event *wait, ocl_event *event);
    int32_t (*copy)(ocl_queue queue, ocl_memory from, ocl_memory to, size_t from_offset, size_t to_offset, size_t bytes,
                    uint32_t waits, const ocl_event *wait, ocl_event *event);
    int32_t (*fill)(ocl_queue queue, ocl_memory memory, const void *pattern, size_t pattern_bytes, size_t offset,
                    size_t bytes, uint32_t waits, const ocl_event *wait, ocl_event *event);
    int32_t (*barrier)(ocl_queue queue, uint32_t waits, const ocl_event *wait, ocl_event *event);
    int32_t (*queue_retain)(ocl_queue queue);
    int32_t (*queue_release)(ocl_queue queue);
    int32_t (*marker)(ocl_queue queue, uint32_t waits, const ocl_event *wait, ocl_event *event);
    int32_t (*finish)(ocl_queue queue);
    int32_t (*flush)(ocl_queue queue);
    int32_t (*wait)(uint32_t count, const ocl_event *events);
    int32_t (*event_information)(ocl_event event, uint32_t what, size_t bytes, void *value, size_t *needed);
    int32_t (*event_profile)(ocl_event event, uint32_t what, size_t bytes, void *value, size_t *needed);
    int32_t (*event_release)(ocl_event event);
    int32_t (*group_information)(ocl_kernel kernel, ocl_device device, uint32_t what, size_t bytes, void *value,
                                 size_t *needed);
    /* since OpenCL 2.1; NULL: an older loader */
    int32_t (*subgroup_information)(ocl_kernel kernel, ocl_device device, uint32_t what, size_t given_bytes,
                                    const void *given, size_t bytes, void *value, size_t *needed);
} opencl_api;

#endif
