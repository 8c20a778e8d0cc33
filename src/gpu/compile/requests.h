/*
 * Asynchronous compilation: each kernel that a plan needs is compiled in its own thread while the plan is being made.
 * The plan waits for all of them at its end, or before it launches one itself.
 */
#ifndef TAMIS_GPU_COMPILE_REQUESTS_H
#define TAMIS_GPU_COMPILE_REQUESTS_H

#include "gpu/compile/jit.h"

/* As tamis_gpu_kernel_get, but *made may only be set by tamis_gpu_await_requests, which also reports failures. */
tamis_status tamis_gpu_request_kernel(tamis_gpu_device *device, const char *name, const char *definitions,
                                      const char *kernel, int64_t shared_bytes, tamis_gpu_kernel **made);

/* Waits for all requests of this thread. */
tamis_status tamis_gpu_await_requests(void);

/* Waits for the requests whose `made` lies within these bytes, which the caller is about to release, and releases their
   kernels. */
void tamis_gpu_cancel_requests(const void *memory, size_t bytes);

#endif
