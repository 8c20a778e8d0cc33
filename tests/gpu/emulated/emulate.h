/* Kernels of CUDA on this processor: what the driver and the run-time compiler of fake_cuda.c do with them. */
#ifndef TAMIS_TEST_EMULATE_H
#define TAMIS_TEST_EMULATE_H

#include <stdbool.h>
#include <stddef.h>

/* Compiles a kernel's text with its -D options into a library, whose bytes are the code; 0, or an error of NVRTC. */
int emulate_compile(const char *source, int options, const char *const *texts, char **code, size_t *bytes);

/* The library of such code, and a kernel in it; NULL if that fails. */
void *emulate_load(const char *code, size_t bytes);
void *emulate_kernel(void *library, const char *name);

/* Runs all groups; 0, or an error of the driver: 702 where threads wait for each other for ever, 719 where not each
   waits for the launch before, which it must if it may begin `early`. */
int emulate_launch(void *kernel, const unsigned grid[3], unsigned threads, unsigned shared_bytes, void **arguments,
                   bool early);

#endif
