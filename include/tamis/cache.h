/*
 * The cache of compiled GPU kernels on disk.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAMIS_CACHE_H
#define TAMIS_CACHE_H

#include <tamis/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Compiled GPU kernels on disk, in $XDG_CACHE_HOME/tamis/programs, at most TAMIS_CACHE_BYTES in total. */
typedef struct tamis_cache_description {
    char path[1024]; /* "" if no folder is available */
    int64_t entries, bytes, most_bytes;
    uint64_t reserved[4];
} tamis_cache_description;
TAMIS_API tamis_status tamis_cache_describe(tamis_cache_description *description);
/* Removes all entries; *removed (may be NULL) is their number. */
TAMIS_API tamis_status tamis_cache_clear(int64_t *removed);

#ifdef __cplusplus
}
#endif

#endif
