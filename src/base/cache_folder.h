/* Where things that can be made again are kept between runs. */
#ifndef TAMIS_BASE_CACHE_FOLDER_H
#define TAMIS_BASE_CACHE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * $XDG_CACHE_HOME/tamis or ~/.cache/tamis, and the folder `below` in it unless that is NULL; made where absent. False
 * when there is none to be had, when it is not the user's own and closed to others, or a link, and in setuid processes.
 */
bool tamis_cache_folder(const char *below, char *path, size_t bytes);

/* An entry for reading; NULL where there is none, and where it is a link, not the user's own, or writable by others. */
FILE *tamis_cache_open(const char *path);

/* TAMIS_CACHE_BYTES, or 256 MiB: what compiled kernels may take. With 0 neither kernels nor measured plans are kept. */
int64_t tamis_cache_bytes(void);

/* A file that is written beside its place and moved there when it is complete: readers see the old one or the new one,
   and several processes may write at the same time. */
typedef struct tamis_cache_draft {
    FILE *file;
    char path[1400], beside[1480];
    int temporary; /* of tamis_temporary_begin */
} tamis_cache_draft;

bool tamis_cache_draft_open(const char *path, tamis_cache_draft *draft);
bool tamis_cache_draft_close(tamis_cache_draft *draft); /* false: it could not be written, nothing has changed */

#endif
