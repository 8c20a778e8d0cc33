/*
 * Our own declarations of OpenCL, of CUDA's driver and of NVRTC against the vendors' headers: numbers, sizes of handles
 * and, of OpenCL, the type of each function. All is checked while this file compiles; running it says what was there.
 *   test_api_headers opencl|cuda|nvrtc     77 with the reason where that header was not found when configuring
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* both sides spell these the same way */
#define CU_EVENT_DEFAULT           TAMIS_CU_EVENT_DEFAULT
#define CU_TENSOR_MAP_SWIZZLE_128B TAMIS_CU_TENSOR_MAP_SWIZZLE_128B
#define NVRTC_SUCCESS              TAMIS_NVRTC_SUCCESS
#define NVRTC_ERROR_COMPILATION    TAMIS_NVRTC_ERROR_COMPILATION
#define NVRTC_ERROR_INVALID_OPTION TAMIS_NVRTC_ERROR_INVALID_OPTION
#include "gpu/runtime/cuda_api.h"
#include "gpu/runtime/opencl_api.h"
#undef CU_EVENT_DEFAULT
#undef CU_TENSOR_MAP_SWIZZLE_128B
#undef NVRTC_SUCCESS
#undef NVRTC_ERROR_COMPILATION
#undef NVRTC_ERROR_INVALID_OPTION

#define SAME(ours, theirs)      _Static_assert((long long)(ours) == (long long)(theirs), #ours " is not " #theirs)
#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours " has not the size of " #theirs)

/* ------------------------------------------------------------------------------------------ OpenCL */

#if defined(TAMIS_HAVE_CL_H)
#define CL_TARGET_OPENCL_VERSION 210
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

/* of cl_ext.h, which older packages of the headers lack in part */
#if !defined(CL_DEVICE_SUB_GROUP_SIZES_INTEL)
#define CL_DEVICE_SUB_GROUP_SIZES_INTEL 0x4108
#endif
#if !defined(CL_PLATFORM_NOT_FOUND_KHR)
#define CL_PLATFORM_NOT_FOUND_KHR (-1001)
#endif

SAME(OCL_SUCCESS, CL_SUCCESS);
SAME(OCL_MEM_OBJECT_ALLOCATION_FAILURE, CL_MEM_OBJECT_ALLOCATION_FAILURE);
SAME(OCL_OUT_OF_RESOURCES, CL_OUT_OF_RESOURCES);
SAME(OCL_OUT_OF_HOST_MEMORY, CL_OUT_OF_HOST_MEMORY);
SAME(OCL_BUILD_PROGRAM_FAILURE, CL_BUILD_PROGRAM_FAILURE);
SAME(OCL_INVALID_CONTEXT, CL_INVALID_CONTEXT);
SAME(OCL_INVALID_BUFFER_SIZE, CL_INVALID_BUFFER_SIZE);
SAME(OCL_PLATFORM_NOT_FOUND_KHR, CL_PLATFORM_NOT_FOUND_KHR);
SAME(OCL_PLATFORM_NAME, CL_PLATFORM_NAME);
SAME(OCL_DEVICE_TYPE, CL_DEVICE_TYPE);
SAME(OCL_DEVICE_MAX_COMPUTE_UNITS, CL_DEVICE_MAX_COMPUTE_UNITS);
SAME(OCL_DEVICE_MAX_WORK_GROUP_SIZE, CL_DEVICE_MAX_WORK_GROUP_SIZE);
SAME(OCL_DEVICE_MAX_MEM_ALLOC_SIZE, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
SAME(OCL_DEVICE_GLOBAL_MEM_CACHE_SIZE, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
SAME(OCL_DEVICE_GLOBAL_MEM_SIZE, CL_DEVICE_GLOBAL_MEM_SIZE);
SAME(OCL_DEVICE_LOCAL_MEM_SIZE, CL_DEVICE_LOCAL_MEM_SIZE);
SAME(OCL_DEVICE_NAME, CL_DEVICE_NAME);
SAME(OCL_DRIVER_VERSION, CL_DRIVER_VERSION);
SAME(OCL_DEVICE_VERSION, CL_DEVICE_VERSION);
SAME(OCL_DEVICE_EXTENSIONS, CL_DEVICE_EXTENSIONS);
SAME(OCL_DEVICE_DOUBLE_FP_CONFIG, CL_DEVICE_DOUBLE_FP_CONFIG);
SAME(OCL_DEVICE_OPENCL_C_VERSION, CL_DEVICE_OPENCL_C_VERSION);
SAME(OCL_DEVICE_SUB_GROUP_SIZES_INTEL, CL_DEVICE_SUB_GROUP_SIZES_INTEL);
SAME(OCL_KERNEL_COMPILE_WORK_GROUP_SIZE, CL_KERNEL_COMPILE_WORK_GROUP_SIZE);
#if defined(CL_VERSION_2_1)
SAME(OCL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE);
#endif
SAME(OCL_PROGRAM_BINARY_SIZES, CL_PROGRAM_BINARY_SIZES);
SAME(OCL_PROGRAM_BINARIES, CL_PROGRAM_BINARIES);
SAME(OCL_PROGRAM_BUILD_LOG, CL_PROGRAM_BUILD_LOG);
SAME(OCL_PROFILING_COMMAND_END, CL_PROFILING_COMMAND_END);
SAME(OCL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_CPU);
SAME(OCL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_ALL);
SAME(OCL_QUEUE_PROFILING_ENABLE, CL_QUEUE_PROFILING_ENABLE);
SAME(OCL_MEM_READ_WRITE, CL_MEM_READ_WRITE);

#define SAME_FUNCTION(ours, theirs)                                                                                    \
    _Static_assert(__builtin_types_compatible_p(__typeof__(((opencl_api *)NULL)->ours), __typeof__(&theirs)),          \
                   #ours " has not the type of " #theirs)
SAME_FUNCTION(platforms, clGetPlatformIDs);
SAME_FUNCTION(platform_information, clGetPlatformInfo);
SAME_FUNCTION(devices, clGetDeviceIDs);
SAME_FUNCTION(device_information, clGetDeviceInfo);
SAME_FUNCTION(context_create, clCreateContext);
SAME_FUNCTION(context_release, clReleaseContext);
SAME_FUNCTION(queue_create, clCreateCommandQueue);
SAME_FUNCTION(buffer_create, clCreateBuffer);
SAME_FUNCTION(memory_release, clReleaseMemObject);
SAME_FUNCTION(program_source, clCreateProgramWithSource);
SAME_FUNCTION(program_binary, clCreateProgramWithBinary);
SAME_FUNCTION(program_build, clBuildProgram);
SAME_FUNCTION(program_information, clGetProgramInfo);
SAME_FUNCTION(build_information, clGetProgramBuildInfo);
SAME_FUNCTION(program_release, clReleaseProgram);
SAME_FUNCTION(kernel_create, clCreateKernel);
SAME_FUNCTION(kernel_argument, clSetKernelArg);
SAME_FUNCTION(kernel_release, clReleaseKernel);
SAME_FUNCTION(launch, clEnqueueNDRangeKernel);
SAME_FUNCTION(write, clEnqueueWriteBuffer);
SAME_FUNCTION(read, clEnqueueReadBuffer);
SAME_FUNCTION(copy, clEnqueueCopyBuffer);
SAME_FUNCTION(fill, clEnqueueFillBuffer);
SAME_FUNCTION(marker, clEnqueueMarkerWithWaitList);
SAME(OCL_EVENT_COMMAND_EXECUTION_STATUS, CL_EVENT_COMMAND_EXECUTION_STATUS);
SAME_FUNCTION(event_information, clGetEventInfo);
SAME_FUNCTION(barrier, clEnqueueBarrierWithWaitList);
SAME_FUNCTION(queue_retain, clRetainCommandQueue);
SAME_FUNCTION(queue_release, clReleaseCommandQueue);
SAME_FUNCTION(finish, clFinish);
SAME_FUNCTION(flush, clFlush);
SAME_FUNCTION(wait, clWaitForEvents);
SAME_FUNCTION(event_profile, clGetEventProfilingInfo);
SAME_FUNCTION(event_release, clReleaseEvent);
SAME_FUNCTION(group_information, clGetKernelWorkGroupInfo);
#if defined(CL_VERSION_2_1)
SAME_FUNCTION(subgroup_information, clGetKernelSubGroupInfo);
#endif
static const char *const opencl_missing = NULL;
#else
static const char *const opencl_missing = "CL/cl.h was not found when configuring (Debian: opencl-c-headers)";
#endif

/* ------------------------------------------------------------------------------------------ CUDA */

#if defined(TAMIS_HAVE_CUDA_H)
#include <cuda.h>
SAME_SIZE(cu_result, CUresult);
SAME_SIZE(cu_device, CUdevice);
SAME_SIZE(cu_pointer, CUdeviceptr);
SAME_SIZE(cu_context, CUcontext);
SAME_SIZE(cu_module, CUmodule);
SAME_SIZE(cu_function, CUfunction);
SAME_SIZE(cu_stream, CUstream);
SAME_SIZE(cu_event, CUevent);
SAME_SIZE(cu_link, CUlinkState);
SAME_SIZE(int, CUdevice_attribute);
SAME_SIZE(int, CUfunction_attribute);
SAME_SIZE(int, CUjit_option);
SAME_SIZE(int, CUjitInputType);
SAME(CU_SUCCESS, CUDA_SUCCESS);
SAME(CU_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(CU_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(CU_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(CU_ERROR_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(CU_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(CU_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
SAME(CU_MAX_GRID_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
SAME(CU_MAX_GRID_DIM_Z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
SAME(CU_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(CU_L2_CACHE_SIZE, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(CU_MAX_THREADS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME(CU_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(CU_COMPUTE_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(CU_MAX_SHARED_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME(CU_MAX_SHARED_PER_BLOCK_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(CU_MEMORY_POOLS_SUPPORTED, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME(CU_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(CU_ERROR_STREAM_CAPTURE_WRONG_THREAD, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
SAME(CU_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(CU_CAPTURE_STATUS_NONE, CU_STREAM_CAPTURE_STATUS_NONE);
SAME(CU_PAGEABLE_MEMORY_ACCESS, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
SAME(CU_POINTER_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(CU_POINTER_IS_MANAGED, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME(CU_POINTER_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(CU_MEMORY_HOST, CU_MEMORYTYPE_HOST);
SAME(CU_MEMORY_DEVICE, CU_MEMORYTYPE_DEVICE);
SAME_SIZE(int, CUpointer_attribute);
SAME_SIZE(unsigned, CUmemorytype);
SAME(CU_ALLOCATION_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(CU_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(CU_HOST_ALLOC_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
SAME(CU_NON_BLOCKING_STREAM, CU_STREAM_NON_BLOCKING);
SAME(CU_POOL_RELEASE_THRESHOLD, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME_SIZE(cu_pool, CUmemoryPool);
SAME_SIZE(cu_pool_properties, CUmemPoolProps);
SAME(offsetof(cu_pool_properties, location_type), offsetof(CUmemPoolProps, location.type));
SAME(offsetof(cu_pool_properties, location_number), offsetof(CUmemPoolProps, location.id));
SAME(offsetof(cu_pool_properties, security_attributes), offsetof(CUmemPoolProps, win32SecurityAttributes));
SAME(CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
SAME_SIZE(cu_launch_attribute, CUlaunchAttribute);
SAME(offsetof(cu_launch_attribute, value), offsetof(CUlaunchAttribute, value.programmaticStreamSerializationAllowed));
SAME_SIZE(cu_launch_config, CUlaunchConfig);
SAME(offsetof(cu_launch_config, stream), offsetof(CUlaunchConfig, hStream));
SAME(offsetof(cu_launch_config, attributes), offsetof(CUlaunchConfig, attrs));
SAME(offsetof(cu_launch_config, attribute_count), offsetof(CUlaunchConfig, numAttrs));
SAME_SIZE(int, CUstreamCaptureMode);
SAME_SIZE(int, CUstreamCaptureStatus);
SAME(TAMIS_CU_EVENT_DEFAULT, CU_EVENT_DEFAULT);
SAME_SIZE(cu_tensor_map, CUtensorMap);
_Static_assert(_Alignof(cu_tensor_map) >= _Alignof(CUtensorMap), "CUtensorMap is aligned further");
SAME(CU_TENSOR_MAP_UINT16, CU_TENSOR_MAP_DATA_TYPE_UINT16);
SAME(TAMIS_CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_SWIZZLE_128B);
SAME(CU_TENSOR_MAP_L2_256B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
SAME(CU_LINK_INPUT_CUBIN, CU_JIT_INPUT_CUBIN);
SAME(CU_LINK_INPUT_LIBRARY, CU_JIT_INPUT_LIBRARY);
SAME(CU_LINK_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER);
SAME(CU_LINK_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
static const char *const cuda_missing = NULL;
#else
static const char *const cuda_missing =
    "cuda.h was not found when configuring (scripts/install-python-packages.sh, or a CUDA toolkit)";
#endif

#if defined(TAMIS_HAVE_NVRTC_H)
#include <nvrtc.h>
SAME_SIZE(nvrtc_result, nvrtcResult);
SAME_SIZE(nvrtc_program, nvrtcProgram);
SAME(TAMIS_NVRTC_SUCCESS, NVRTC_SUCCESS);
SAME(TAMIS_NVRTC_ERROR_COMPILATION, NVRTC_ERROR_COMPILATION);
SAME(TAMIS_NVRTC_ERROR_INVALID_OPTION, NVRTC_ERROR_INVALID_OPTION);
static const char *const nvrtc_missing = NULL;
#else
static const char *const nvrtc_missing =
    "nvrtc.h was not found when configuring (scripts/install-python-packages.sh, or a CUDA toolkit)";
#endif

int main(int argc, char **argv) {
    const char *const which = argc > 1 ? argv[1] : "opencl";
    const char *const missing = strcmp(which, "cuda") == 0    ? cuda_missing
                                : strcmp(which, "nvrtc") == 0 ? nvrtc_missing
                                                              : opencl_missing;
    if (missing) {
        printf("skipped: %s\n", missing);
        return 77;
    }
    printf("%s: our declarations agree with the vendor's header\n", which);
    return 0;
}
