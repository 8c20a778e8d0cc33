/*
 * Kernels that a plan needs and that are not compiled yet. Each is compiled in a thread of its own while the plan is
 * being made. The plan waits for all of them at its end, or before it launches one of its own.
 */
#ifndef TAMIS_GPU_COMPILE_WANTED_H
#define TAMIS_GPU_COMPILE_WANTED_H

#include "gpu/compile/jit.h"

/* tamis_gpu_kernel_get, but *made may be set as late as by tamis_gpu_await, which also tells what has failed. */
tamis_status tamis_gpu_want(tamis_gpu_device *device, const char *name, const char *definitions, bool linked,
                            const char *kernel, int64_t shared_bytes, tamis_gpu_kernel **made);

/* Waits for all that this thread has wanted. */
tamis_status tamis_gpu_await(void);

/* Waits for what would be set within those bytes, which are to be released, and gives it back. */
void tamis_gpu_want_no_more(const void *memory, size_t bytes);

#endif
