/* List of this process's files with temporary names, so that a program ended by a signal can remove them; a signal
   handler must not wait for the code that writes them. Only files that this process made are removed. */
#ifndef TAMIS_BASE_TEMPORARIES_H
#define TAMIS_BASE_TEMPORARIES_H

#include "base/private.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct tamis_temporary {
    int folder; /* a descriptor, owned by the caller, and open as long as the file is temporary */
    int listed; /* its index in the list; -1: the list is full, and a signal would leave this file behind */
    char name[NAME_MAX + 1]; /* "": there is none */
} tamis_temporary;

/*
 * Creates a file with that mode in the folder, for writing, under a new name: BESIDE.PROCESS-NUMBER.part. nameless:
 * NULL, or the path of an open unnamed file, which gets this name instead. Returns the descriptor, 0 for an unnamed
 * file, or -1 with errno. Signals are blocked in this thread between creation and listing.
 */
int tamis_temporary_make(int folder, const char *beside, const char *nameless, mode_t mode, tamis_temporary *file);

/* Gives the file its final name in the folder. If that fails, removes it and returns false with errno. */
bool tamis_temporary_move(tamis_temporary *file, const char *name);

/* Removes the file, if there is one; preserves errno. */
void tamis_temporary_remove(tamis_temporary *file);

/* Removes all listed files. Async-signal-safe; the process must end afterwards. */
TAMIS_PRIVATE_API void tamis_temporaries_remove(void);

#endif
