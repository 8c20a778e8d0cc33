/* NVIDIA's run-time compiler. It needs neither a driver nor a GPU, so CI can compile for chips that it lacks. */
#ifndef TAMIS_GPU_RUNTIME_NVRTC_H
#define TAMIS_GPU_RUNTIME_NVRTC_H

#include "gpu/runtime/runtime.h"

/* Opens libnvrtc; `version` is 1000 * major + minor. TAMIS_ERROR_DEVICE says which files were tried. */
tamis_status tamis_nvrtc_open(int *version);

/* Writes what the compiled code depends on beside the version: options, and the library's file name and size, which
   distinguish patch levels. */
void tamis_nvrtc_build(char *text, size_t bytes);

/* True if it can compile for sm_<architecture>, for example 90. */
bool tamis_nvrtc_knows(int architecture);

/* True if a kernel launches kernels (#define LAUNCHES_KERNELS 1): its code must be linked with the device-side launch
   library. */
bool tamis_nvrtc_launches(const char *source);

/*
 * Compiles to machine code for sm_<architecture>. Calls of the device-side launch library stay unresolved. *log (may be
 * NULL) gets the messages of the compiler and the assembler, with the resources of each kernel; tamis_release frees it.
 */
tamis_status tamis_nvrtc_compile(int architecture, const char *name, const char *source, const char *definitions,
                                 tamis_gpu_binary *binary, char **log);

/* Finds the device-side launch library: next to the compiler's library, or in a toolkit. Returns false if not found. */
bool tamis_nvrtc_device_library(char *path, size_t bytes);

#endif
