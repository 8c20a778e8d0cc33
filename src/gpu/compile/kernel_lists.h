/*
 * Lists of kernels shared by plans and calls: each is compiled on first use, kept for the process, and launched by one
 * thread at a time. Each file has its own list with its own key.
 */
#ifndef TAMIS_GPU_COMPILE_KERNEL_LISTS_H
#define TAMIS_GPU_COMPILE_KERNEL_LISTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "expression/program.h"
#include "gpu/compile/jit.h"
#include "gpu/runtime/arguments.h"

typedef struct tamis_gpu_shared_kernel tamis_gpu_shared_kernel;

enum { TAMIS_GPU_SHARED_LISTS = 64 };

/* Lock-free to read; entries are added at the front under the lock. A device's kernels are in one list. */
typedef struct tamis_gpu_shared_kernels {
    size_t key_bytes;
    bool (*same)(const void *key, const void *other);
    pthread_mutex_t lock;
    tamis_gpu_shared_kernel *lists[TAMIS_GPU_SHARED_LISTS];
} tamis_gpu_shared_kernels;

#define TAMIS_GPU_SHARED_KERNELS(key_type, same)                                                                       \
    {                                                                                                                  \
        sizeof(key_type), same, PTHREAD_MUTEX_INITIALIZER, { NULL }                                                    \
    }

/* Returns NULL if there is none of that key. */
tamis_gpu_shared_kernel *tamis_gpu_shared_find(tamis_gpu_shared_kernels *all, const tamis_gpu_device *device,
                                               const void *key);

/* Compiles it and adds it, unless another thread has added it meanwhile. shared_bytes: as in jit.h. */
tamis_status tamis_gpu_shared_add(tamis_gpu_shared_kernels *all, tamis_gpu_device *device, const void *key,
                                  const char *file, const char *name, const char *definitions, int64_t shared_bytes,
                                  tamis_gpu_shared_kernel **found);

/* The same for a kernel that has a program in its code. kept: what the key refers to, from malloc; it is released
   unless the list keeps the key. */
tamis_status tamis_gpu_shared_add_text(tamis_gpu_shared_kernels *all, tamis_gpu_device *device, const void *key,
                                       const char *file, const char *name, const tamis_gpu_definitions *definitions,
                                       const tamis_program *program, const double *scalars, void *kept,
                                       tamis_gpu_shared_kernel **found);

/* The list of arguments ends with one without a name. */
tamis_status tamis_gpu_shared_launch(tamis_gpu_shared_kernel *kernel, void *stream, const tamis_gpu_launch *grid,
                                     const tamis_gpu_named *arguments);

#endif
