/* The files of this process that have a temporary name at the moment, so that a program which a signal ends can remove
   them: its handler may not wait for the code that writes them. */
#ifndef TAMIS_BASE_TEMPORARIES_H
#define TAMIS_BASE_TEMPORARIES_H

#include "base/private.h"

/* Before the file is made. Returns a number for tamis_temporary_end, -1 where there is no room for one more: such a
   file would stay. */
int tamis_temporary_begin(const char *path);

/* After the file has its final name, or is removed. */
void tamis_temporary_end(int number);

/* Removes the files. Safe in a signal handler; the process is to end then. */
TAMIS_PRIVATE_API void tamis_temporaries_remove(void);

#endif
