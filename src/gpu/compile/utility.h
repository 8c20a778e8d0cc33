/*
 * The kernels that all plans share (structure, sorting, staging): compiled on first use and kept for the process. Each
 * is launched by one thread at a time, so that plans in several threads can use them. Groups have 256 work-items.
 */
#ifndef TAMIS_GPU_COMPILE_UTILITY_H
#define TAMIS_GPU_COMPILE_UTILITY_H

#include "gpu/compile/definitions.h"
#include "gpu/runtime/arguments.h"
#include "gpu/runtime/memory.h"

enum { TAMIS_GPU_GROUP = 256 };

tamis_status tamis_gpu_utility(tamis_gpu_device *device, void *stream, const char *file, const char *kernel,
                               tamis_gpu_kinds kinds, int64_t groups, const tamis_gpu_named *arguments);

/* Makes the kernel without launching it. */
tamis_status tamis_gpu_utility_ready(tamis_gpu_device *device, const char *file, const char *kernel,
                                     tamis_gpu_kinds kinds);

/* Whether a utility of that file needs no compiling: its code is loaded or, if that is asked, on disk. */
tamis_status tamis_gpu_utility_known(tamis_gpu_device *device, const char *file, tamis_gpu_kinds kinds, bool on_disk,
                                     bool *known);

/* Begins to compile one that is needed soon, while this thread goes on (requests.h). *early, set by
   tamis_gpu_await_requests, is to be released after the kernel's first use. */
tamis_status tamis_gpu_utility_early(tamis_gpu_device *device, const char *file, const char *kernel,
                                     tamis_gpu_kinds kinds, tamis_gpu_kernel **early);

/* Groups for `count` items, one a work-item, within what a launch may have; kernels stride over the rest. */
int64_t tamis_gpu_groups(int64_t count);

#endif
