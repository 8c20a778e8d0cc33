/*
 * The part of CUDA's driver API and of NVRTC that Tamis uses, declared here so that no toolkit is needed to build.
 * tests/gpu/test_api_headers.c compares it with cuda.h and nvrtc.h where those are installed.
 */
#ifndef TAMIS_GPU_RUNTIME_CUDA_API_H
#define TAMIS_GPU_RUNTIME_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

typedef int cu_result;
typedef int cu_device;
typedef uintptr_t cu_pointer; /* CUdeviceptr */
typedef struct CUctx_st *cu_context;
typedef struct CUmod_st *cu_module;
typedef struct CUfunc_st *cu_function;
typedef struct CUstream_st *cu_stream;
typedef struct CUevent_st *cu_event;
typedef struct CUlinkState_st *cu_link;
typedef struct CUmemPoolHandle_st *cu_pool;

enum {
    CU_SUCCESS = 0,
    CU_ERROR_OUT_OF_MEMORY = 2,
    CU_ERROR_NO_DEVICE = 100,
    CU_ERROR_NO_BINARY_FOR_GPU = 209,
    CU_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CU_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900, /* the first of the errors due to a capture ... */
    CU_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908 /* ... and the last */
};

enum { /* CUdevice_attribute */
       CU_MAX_THREADS_PER_BLOCK = 1,
       CU_MAX_GRID_DIM_X = 5,
       CU_MAX_GRID_DIM_Y = 6,
       CU_MAX_GRID_DIM_Z = 7,
       CU_MULTIPROCESSOR_COUNT = 16,
       CU_L2_CACHE_SIZE = 38,
       CU_MAX_THREADS_PER_MULTIPROCESSOR = 39,
       CU_COMPUTE_CAPABILITY_MAJOR = 75,
       CU_COMPUTE_CAPABILITY_MINOR = 76,
       CU_MAX_SHARED_PER_MULTIPROCESSOR = 81,
       CU_PAGEABLE_MEMORY_ACCESS = 88,
       CU_MAX_SHARED_PER_BLOCK_OPTIN = 97,
       CU_MEMORY_POOLS_SUPPORTED = 115
};
enum { CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };
enum { CU_EVENT_DEFAULT = 0 };
enum { CU_HOST_ALLOC_PORTABLE = 1 };
enum { CU_NON_BLOCKING_STREAM = 1 };
enum { CU_CAPTURE_MODE_RELAXED = 2 };
enum { CU_CAPTURE_STATUS_NONE = 0 };
enum { CU_ALLOCATION_PINNED = 1, CU_LOCATION_DEVICE = 1, CU_POOL_RELEASE_THRESHOLD = 4 };
enum { CU_POINTER_MEMORY_TYPE = 2, CU_POINTER_IS_MANAGED = 8, CU_POINTER_DEVICE_ORDINAL = 9 };
enum { CU_MEMORY_HOST = 1, CU_MEMORY_DEVICE = 2 }; /* 0: unknown to the driver */
enum { CU_TENSOR_MAP_UINT16 = 1, CU_TENSOR_MAP_SWIZZLE_128B = 3, CU_TENSOR_MAP_L2_256B = 3 };
enum { CU_LINK_INPUT_CUBIN = 0, CU_LINK_INPUT_LIBRARY = 4 };
enum { CU_LINK_ERROR_LOG_BUFFER = 5, CU_LINK_ERROR_LOG_BUFFER_SIZE_BYTES = 6 };

/* CUlaunchAttribute (attributes with a numeric value only) and CUlaunchConfig */
enum { CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION = 6 };
typedef struct cu_launch_attribute {
    int id, unused, value, others[15];
} cu_launch_attribute;
typedef struct cu_launch_config {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    cu_stream stream;
    cu_launch_attribute *attributes;
    unsigned attribute_count;
} cu_launch_config;

/* CUtensorMap */
typedef struct cu_tensor_map {
    _Alignas(128) uint64_t words[16];
} cu_tensor_map;

/* CUmemPoolProps; older drivers know only the first four fields */
typedef struct cu_pool_properties {
    int allocation_type, handle_types;
    int location_type, location_number;
    void *security_attributes;
    unsigned char others[64]; /* zeros: defaults */
} cu_pool_properties;

typedef struct cuda_api {
    cu_result (*init)(unsigned flags);
    cu_result (*driver_version)(int *version);
    cu_result (*device_count)(int *count);
    cu_result (*device_get)(cu_device *device, int number);
    cu_result (*device_name)(char *name, int length, cu_device device);
    cu_result (*device_attribute)(int *value, int attribute, cu_device device);
    cu_result (*device_memory)(size_t *bytes, cu_device device);
    cu_result (*context_retain)(cu_context *context, cu_device device);
    cu_result (*context_push)(cu_context context);
    cu_result (*context_pop)(cu_context *context);
    cu_result (*error_name)(cu_result error, const char **name);
    cu_result (*error_string)(cu_result error, const char **text);
    cu_result (*memory_allocate)(cu_pointer *pointer, size_t bytes);
    cu_result (*memory_free)(cu_pointer pointer);
    /* optional, in this order: from CUDA 11.2, 10.1 and 7.0 */
    cu_result (*pool_create)(cu_pool *pool, const cu_pool_properties *properties);
    cu_result (*pool_set)(cu_pool pool, int attribute, void *value);
    cu_result (*pool_trim)(cu_pool pool, size_t bytes_to_keep);
    cu_result (*pool_allocate)(cu_pointer *pointer, size_t bytes, cu_pool pool, cu_stream stream);
    cu_result (*pool_free)(cu_pointer pointer, cu_stream stream);
    cu_result (*capture_mode)(int *mode); /* exchanges the thread's mode */
    cu_result (*stream_capturing)(cu_stream stream, int *status);
    cu_result (*pointer_attributes)(unsigned count, int *attributes, void **values, cu_pointer pointer);
    cu_result (*memory_info)(size_t *free_bytes, size_t *total);
    cu_result (*copy_in)(cu_pointer to, const void *from, size_t bytes, cu_stream stream);
    cu_result (*copy_out)(void *to, cu_pointer from, size_t bytes, cu_stream stream);
    cu_result (*copy_within)(cu_pointer to, cu_pointer from, size_t bytes, cu_stream stream);
    cu_result (*copy_peer)(cu_pointer to, cu_context to_context, cu_pointer from, cu_context from_context, size_t bytes,
                           cu_stream stream);
    cu_result (*peer_access)(cu_context other, unsigned flags); /* NULL: too old a driver */
    cu_result (*host_allocate)(void **memory, size_t bytes, unsigned flags);
    cu_result (*host_free)(void *memory);
    cu_result (*stream_create)(cu_stream *stream, unsigned flags, int priority);
    cu_result (*stream_priorities)(int *least, int *greatest);
    cu_result (*stream_destroy)(cu_stream stream);
    cu_result (*stream_wait)(cu_stream stream, cu_event event, unsigned flags);
    cu_result (*fill)(cu_pointer to, unsigned char byte, size_t bytes, cu_stream stream);
    cu_result (*stream_synchronize)(cu_stream stream);
    cu_result (*context_synchronize)(void);
    cu_result (*module_load)(cu_module *module, const void *image);
    cu_result (*module_unload)(cu_module module);
    cu_result (*module_function)(cu_function *function, cu_module module, const char *name);
    cu_result (*function_set)(cu_function function, int attribute, int value);
    cu_result (*launch)(cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, cu_stream stream, void **arguments,
                        void **extra);
    cu_result (*launch_with)(const cu_launch_config *config, cu_function function, void **arguments,
                             void **extra); /* NULL: a driver before 11.8 */
    cu_result (*tensor_map)(cu_tensor_map *map, int type, uint32_t rank, void *address, const uint64_t *sizes,
                            const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,
                            int swizzle, int l2, int outside); /* NULL: a driver before 12.0 */
    cu_result (*event_create)(cu_event *event, unsigned flags);
    cu_result (*event_record)(cu_event event, cu_stream stream);
    cu_result (*event_synchronize)(cu_event event);
    cu_result (*event_query)(cu_event event);
    cu_result (*event_elapsed)(float *milliseconds, cu_event start, cu_event end);
    cu_result (*event_destroy)(cu_event event);
    cu_result (*link_create)(unsigned count, int *options, void **values, cu_link *state);
    cu_result (*link_add_data)(cu_link state, int type, void *data, size_t bytes, const char *name, unsigned count,
                               int *options, void **values);
    cu_result (*link_add_file)(cu_link state, int type, const char *path, unsigned count, int *options, void **values);
    cu_result (*link_complete)(cu_link state, void **cubin, size_t *bytes);
    cu_result (*link_destroy)(cu_link state);
} cuda_api;

typedef int nvrtc_result;
typedef struct _nvrtcProgram *nvrtc_program;

enum { NVRTC_SUCCESS = 0, NVRTC_ERROR_INVALID_OPTION = 5, NVRTC_ERROR_COMPILATION = 6 };

typedef struct nvrtc_api {
    nvrtc_result (*version)(int *major, int *minor);
    const char *(*error_string)(nvrtc_result result);
    nvrtc_result (*create)(nvrtc_program *program, const char *source, const char *name, int headers,
                           const char *const *texts, const char *const *names);
    nvrtc_result (*destroy)(nvrtc_program *program);
    nvrtc_result (*compile)(nvrtc_program program, int options, const char *const *texts);
    nvrtc_result (*log_size)(nvrtc_program program, size_t *bytes);
    nvrtc_result (*log)(nvrtc_program program, char *text);
    nvrtc_result (*cubin_size)(nvrtc_program program, size_t *bytes);
    nvrtc_result (*cubin)(nvrtc_program program, char *code);
    nvrtc_result (*architecture_count)(int *count);
    nvrtc_result (*architectures)(int *numbers);
} nvrtc_api;

#endif
