/* Opening a vendor's library at run time: candidates in order, then its functions by name. */
#ifndef TAMIS_GPU_RUNTIME_LIBRARY_H
#define TAMIS_GPU_RUNTIME_LIBRARY_H

#include <stddef.h>

typedef struct tamis_symbol {
    const char *name; /* "?name": stays NULL where the library is too old for it */
    void (**function)(void);
} tamis_symbol;

/*
 * Opens the first of `candidates` (ended by NULL; `variable` names an environment variable whose value comes first)
 * that loads and has all `symbols` (ended by a NULL name), but for those that may be missing. False: `why` says which
 * files were tried and what the last one lacked. The library stays open until the process ends.
 */
int tamis_library_open(const char *variable, const char *const *candidates, const tamis_symbol *symbols, char *why,
                       size_t bytes);

#endif
