/*
 * Kernels shared by all plans (structure, sorting, staging): compiled on first use and kept for the process. Each is
 * launched by one thread at a time, so plans in several threads can use them. Groups have 256 work-items.
 */
#ifndef TAMIS_GPU_COMPILE_UTILITY_H
#define TAMIS_GPU_COMPILE_UTILITY_H

#include "gpu/compile/definitions.h"
#include "gpu/runtime/arguments.h"
#include "gpu/runtime/memory.h"

/* Refuses types that the device does not compute with. */
tamis_status tamis_gpu_check_type(const tamis_gpu_device *device, tamis_type type);

enum { TAMIS_GPU_GROUP = 256 };

tamis_status tamis_gpu_utility(tamis_gpu_device *device, void *stream, const char *file, const char *kernel,
                               tamis_gpu_kinds kinds, int64_t groups, const tamis_gpu_named *arguments);

/* Compiles the kernel without launching it. */
tamis_status tamis_gpu_utility_ready(tamis_gpu_device *device, const char *file, const char *kernel,
                                     tamis_gpu_kinds kinds);

/* Sets *known if a utility kernel of that file needs no compilation: it is loaded, or (on_disk) cached on disk. */
tamis_status tamis_gpu_utility_known(tamis_gpu_device *device, const char *file, tamis_gpu_kinds kinds, bool on_disk,
                                     bool *known);

/* Starts to compile a kernel that is needed soon, and returns at once (requests.h). *early, set by
   tamis_gpu_await_requests, is to be released after the kernel's first use. */
tamis_status tamis_gpu_utility_early(tamis_gpu_device *device, const char *file, const char *kernel,
                                     tamis_gpu_kinds kinds, tamis_gpu_kernel **early);

/* Number of groups for `count` items, one per work-item, within the launch limit; kernels stride over the rest. */
int64_t tamis_gpu_groups(int64_t count);

#endif
