/* Lists the files of this process that have a temporary name, so that a program which a signal ends can remove them: a
   signal handler must not wait for the code that writes them. */
#ifndef TAMIS_BASE_TEMPORARIES_H
#define TAMIS_BASE_TEMPORARIES_H

#include "base/private.h"

/* Is called before the file is made. Returns a number for tamis_temporary_end, or -1 if the list is full: a signal
   would leave this file. */
int tamis_temporary_begin(const char *path);

/* Is called after the file has its final name or is removed. */
void tamis_temporary_end(int number);

/* Removes the files. It is safe in a signal handler; the process must end afterwards. */
TAMIS_PRIVATE_API void tamis_temporaries_remove(void);

#endif
