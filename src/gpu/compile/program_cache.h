/* Cache of compiled kernels on disk: $XDG_CACHE_HOME/tamis/programs. It reports no errors: a cache that cannot be used
   only costs time. */
#ifndef TAMIS_GPU_COMPILE_PROGRAM_CACHE_H
#define TAMIS_GPU_COMPILE_PROGRAM_CACHE_H

#include "gpu/runtime/runtime.h"

/* Loads the entry of that key (any text) and verifies its checksum. Returns false if there is no intact entry. */
bool tamis_program_cache_load(const char *key, tamis_gpu_binary *binary);

/* True if there is an entry, intact or not. */
bool tamis_program_cache_has(const char *key);

/* Stores an entry atomically (written to a temporary file, then renamed). Evicts the oldest entries when the folder
   exceeds its limit (256 MiB, or TAMIS_CACHE_BYTES). */
void tamis_program_cache_save(const char *key, const tamis_gpu_binary *binary);

/* Counts the entries and bytes in the folder; `path` is "" if there is no folder. */
void tamis_program_cache_measure(char *path, size_t path_bytes, int64_t *entries, int64_t *bytes, int64_t *most);

/* Removes all entries and returns their number. */
int64_t tamis_program_cache_clear(void);

#endif
