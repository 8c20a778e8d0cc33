/*
 * A kernel that few executions need: the first of them compiles it. Any number of threads may ask for it at once; the
 * others wait for the one that compiles.
 */
#ifndef TAMIS_GPU_COMPILE_LATE_H
#define TAMIS_GPU_COMPILE_LATE_H

#include "gpu/compile/jit.h"

typedef struct tamis_gpu_late tamis_gpu_late;

/* `file` and `kernel` are string literals of the caller; nothing is compiled. */
tamis_status tamis_gpu_late_new(tamis_gpu_device *device, const char *file, const char *definitions, const char *kernel,
                                int64_t shared_bytes, tamis_gpu_late **made);

/* The kernel, which stays the late one's. After an error the next who asks tries again. */
tamis_status tamis_gpu_late_get(tamis_gpu_late *late, tamis_gpu_kernel **kernel);

void tamis_gpu_late_free(tamis_gpu_late *late); /* NULL is allowed */

#endif
