/* Opening a vendor's library at run time: candidates in order, then its functions by name. */
#ifndef TAMIS_GPU_RUNTIME_LIBRARY_H
#define TAMIS_GPU_RUNTIME_LIBRARY_H

#include <stddef.h>

typedef struct tamis_symbol {
    const char *name; /* "?name": optional, stays NULL if the library is too old */
    void (**function)(void);
} tamis_symbol;

/*
 * Opens the first of `candidates` that loads and has all `symbols` (the list ends with NULL, the symbols with a NULL
 * name), except optional ones. The environment variable `variable` comes first, if set. On failure returns false, and
 * `why` says which files were tried and what the last one lacked. The library stays open until the process ends.
 */
int tamis_library_open(const char *variable, const char *const *candidates, const tamis_symbol *symbols, char *why,
                       size_t bytes);

#endif
