/* The folder that keeps between runs what can be made again: compiled kernels and measured plans. */
#ifndef TAMIS_BASE_CACHE_FOLDER_H
#define TAMIS_BASE_CACHE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Finds $XDG_CACHE_HOME/tamis or ~/.cache/tamis, or the folder `below` in it unless that is NULL, and makes it if it is
 * absent. Returns false if that fails, if the folder is a link, belongs to another user or is writable by others, and
 * in setuid processes.
 */
bool tamis_cache_folder(const char *below, char *path, size_t bytes);

/* Opens an entry for reading. Returns NULL if it is absent, a link, another user's, or writable by others. */
FILE *tamis_cache_open(const char *path);

/* Returns what compiled kernels may take: TAMIS_CACHE_BYTES, or 256 MiB. With 0 nothing is kept, measured plans
 * neither. */
int64_t tamis_cache_bytes(void);

/* A file that is written beside its place and moved there when it is complete. Readers see the old file or the new one,
   and several processes may write at the same time. */
typedef struct tamis_cache_draft {
    FILE *file;
    char path[1400], beside[1480];
    int temporary; /* the number that tamis_temporary_begin returned */
} tamis_cache_draft;

bool tamis_cache_draft_open(const char *path, tamis_cache_draft *draft);
bool tamis_cache_draft_close(
    tamis_cache_draft *draft); /* false: the file could not be written, and nothing has changed */

#endif
