/* The cache on disk: compiled GPU kernels, choices of measured plans, and ceilings of devices. */
#ifndef TAMIS_CACHE_H
#define TAMIS_CACHE_H

#include <tamis/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Compiled GPU kernels are in $XDG_CACHE_HOME/tamis/programs, at most TAMIS_CACHE_BYTES in total. The last thousand
   choices of measured plans (tamis_options.effort) are in $XDG_CACHE_HOME/tamis/plans.txt. With TAMIS_CACHE_BYTES=0
   neither is kept. Ceilings (tamis/ceilings.h) are small files beside them. */
typedef struct tamis_cache_description {
    char path[1024];                    /* "" if no folder is available: see `refused` */
    int64_t entries, bytes, most_bytes; /* of the kernels */
    int64_t plans;                      /* number of plans measured */
    int64_t ceilings;                   /* combinations of processor, instruction set and threads with ceilings */
    const char *refused; /* why no folder is available, until the thread's next such call; NULL if one is */
    uint64_t reserved[1];
} tamis_cache_description;
TAMIS_API tamis_status tamis_cache_describe(tamis_cache_description *description);
/* Removes all kernels, plans and ceilings; *removed (may be NULL) is their number. */
TAMIS_API tamis_status tamis_cache_clear(int64_t *removed);

#ifdef __cplusplus
}
#endif

#endif
