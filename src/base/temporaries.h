/* The files of this process that have a temporary name. They are listed, so that a program which a signal ends can
   remove them: a signal handler must not wait for the code that writes them. Only files that this process made are ever
   removed. */
#ifndef TAMIS_BASE_TEMPORARIES_H
#define TAMIS_BASE_TEMPORARIES_H

#include "base/private.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct tamis_temporary {
    int folder;              /* a descriptor, which stays the caller's, and open as long as the file is temporary */
    int listed;              /* its number in the list; -1: the list is full, and a signal would leave this file */
    char name[NAME_MAX + 1]; /* "": there is none */
} tamis_temporary;

/*
 * Makes a file of that mode in the folder, for writing, under a new name: BESIDE.PROCESS-NUMBER.part. `nameless`: NULL,
 * or the path of an open file that has no name yet and gets this one. Returns the descriptor, 0 for a nameless file, or
 * -1 with errno. No signal comes to this thread between the making and the listing.
 */
int tamis_temporary_make(int folder, const char *beside, const char *nameless, mode_t mode, tamis_temporary *file);

/* Gives the file its final name in the folder. If that fails, removes it and returns false with errno. */
bool tamis_temporary_move(tamis_temporary *file, const char *name);

/* Removes the file, if there is one; errno stays. */
void tamis_temporary_remove(tamis_temporary *file);

/* Removes all files. It is safe in a signal handler; the process must end afterwards. */
TAMIS_PRIVATE_API void tamis_temporaries_remove(void);

#endif
