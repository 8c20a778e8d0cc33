/* NVIDIA's run-time compiler on its own: it needs no driver and no GPU, so that CI can compile for chips it lacks. */
#ifndef TAMIS_GPU_RUNTIME_NVRTC_H
#define TAMIS_GPU_RUNTIME_NVRTC_H

#include "gpu/runtime/runtime.h"

/* Opens libnvrtc; `version` is 1000 * major + minor. TAMIS_ERROR_DEVICE says which files were tried. */
tamis_status tamis_nvrtc_open(int *version);

/* What its code depends on beside the version: options, and the library's file by name and size, which tells patch
   levels apart. */
void tamis_nvrtc_build(char *text, size_t bytes);

/* Whether it can make code for sm_<architecture>, for example 90. */
bool tamis_nvrtc_knows(int architecture);

/* Whether a kernel says that it launches kernels (#define LAUNCHES_KERNELS 1): its code must be linked with the
   device-side launch library. */
bool tamis_nvrtc_launches(const char *source);

/*
 * Machine code for sm_<architecture>. It leaves calls of the device-side launch library open. *log (may be NULL) gets
 * what the compiler and the assembler said, with the resources of each kernel; tamis_release frees it.
 */
tamis_status tamis_nvrtc_compile(int architecture, const char *name, const char *source, const char *definitions,
                                 tamis_gpu_binary *binary, char **log);

/* Where the device-side launch library is: beside the compiler's library, or in a toolkit. False: not found. */
bool tamis_nvrtc_device_library(char *path, size_t bytes);

#endif
