/* Compiled kernels on disk: $XDG_CACHE_HOME/tamis/programs. Nothing here is an error: a cache that cannot be used
   costs time only. */
#ifndef TAMIS_GPU_COMPILE_PROGRAM_CACHE_H
#define TAMIS_GPU_COMPILE_PROGRAM_CACHE_H

#include "gpu/runtime/runtime.h"

/* The entry of that key (any text), checked against its checksum; false when there is none that is whole. */
bool tamis_program_cache_load(const char *key, tamis_gpu_binary *binary);

/* Whether there is one, whole or not. */
bool tamis_program_cache_has(const char *key);

/* Keeps an entry, written beside and renamed; the oldest go when the folder grows past its bound (256 MiB, or
   TAMIS_CACHE_BYTES). */
void tamis_program_cache_save(const char *key, const tamis_gpu_binary *binary);

/* Counts what the folder holds; `path` is "" where there is no folder. */
void tamis_program_cache_measure(char *path, size_t path_bytes, int64_t *entries, int64_t *bytes, int64_t *most);

/* Removes all entries; returns how many. */
int64_t tamis_program_cache_clear(void);

#endif
