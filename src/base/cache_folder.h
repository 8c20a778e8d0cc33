/* The cache folder, with compiled kernels and measured plans of earlier runs. Each function opens it, checks the opened
   folder, and works by its descriptor, so that the checked folder is the one used. */
#ifndef TAMIS_BASE_CACHE_FOLDER_H
#define TAMIS_BASE_CACHE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/temporaries.h"

/*
 * The cache is $XDG_CACHE_HOME/tamis or ~/.cache/tamis, and its folder `below` unless that is NULL. Missing folders are
 * made. There is no cache if that fails, in setuid processes, if the folder above tamis belongs to another user (such
 * as a HOME kept by sudo), or if one of the cache's folders belongs to another user, is a link, or is writable by
 * others. Entries are named by their file name.
 */

/* Sets `path` to the folder's path, for messages; false if there is no cache. */
bool tamis_cache_path(const char *below, char *path, size_t bytes);

/* Sets `why` to the reason why there is no cache. */
void tamis_cache_refusal(char *why, size_t bytes);

/* Opens an entry for reading. Returns NULL if it is absent, a link, another user's, or writable by others. */
FILE *tamis_cache_open(const char *below, const char *name);

/* Returns true if the entry exists, even if tamis_cache_open would refuse it. */
bool tamis_cache_has(const char *below, const char *name);

/* Removes an entry; false if nothing was removed. */
bool tamis_cache_remove(const char *below, const char *name);

/* Calls `visit` for each file and removes those for which it returns true. Returns how many were removed. */
typedef bool tamis_cache_visit(void *context, const char *name, const struct stat *file);
int64_t tamis_cache_each(const char *below, tamis_cache_visit *visit, void *context);

/* Returns the limit of compiled kernels: TAMIS_CACHE_BYTES, or 256 MiB. With 0 nothing is cached, not even measured
   plans. */
int64_t tamis_cache_bytes(void);

/* A file that is written under a temporary name and renamed when complete. Readers see the old file or the new one, and
   several processes may write at the same time. */
typedef struct tamis_cache_draft {
    FILE *file;
    int folder;
    char name[NAME_MAX + 1];
    tamis_temporary temporary;
} tamis_cache_draft;

bool tamis_cache_draft_open(const char *below, const char *name, tamis_cache_draft *draft);
bool tamis_cache_draft_close(
    tamis_cache_draft *draft); /* false: the file could not be written; the old one is unchanged */

#endif
