/* The folder that keeps between runs what can be made again: compiled kernels and measured plans. Each function opens
   it, checks what it opened, and works by that descriptor: what was checked is what is used. */
#ifndef TAMIS_BASE_CACHE_FOLDER_H
#define TAMIS_BASE_CACHE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/temporaries.h"

/*
 * The cache is $XDG_CACHE_HOME/tamis or ~/.cache/tamis, and the folder `below` in it unless that is NULL. A folder that
 * is absent is made. There is no cache where that fails, in setuid processes, where the folder above tamis belongs to
 * another user, such as the HOME that sudo kept, and where one of the cache's own does, is a link, or is writable by
 * others. An entry is named by its name in the folder.
 */

/* Puts the folder's path, for messages; false if there is no cache. */
bool tamis_cache_path(const char *below, char *path, size_t bytes);

/* Puts why there is no cache. */
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

/* Returns what compiled kernels may take: TAMIS_CACHE_BYTES, or 256 MiB. With 0 nothing is kept, measured plans
 * neither. */
int64_t tamis_cache_bytes(void);

/* A file that is written beside its place and moved there when it is complete. Readers see the old file or the new one,
   and several processes may write at the same time. */
typedef struct tamis_cache_draft {
    FILE *file;
    int folder;
    char name[NAME_MAX + 1];
    tamis_temporary temporary;
} tamis_cache_draft;

bool tamis_cache_draft_open(const char *below, const char *name, tamis_cache_draft *draft);
bool tamis_cache_draft_close(
    tamis_cache_draft *draft); /* false: the file could not be written, and nothing has changed */

#endif
