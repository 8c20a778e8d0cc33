/* Opening a vendor's library at run time. */
#include "gpu/runtime/library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void note(char *why, size_t bytes, const char *file, const char *reason) {
    const size_t used = strlen(why);
    snprintf(why + used, bytes - used, "%s%s: %s", used ? "; " : "", file, reason);
}

static bool take(const char *file, const tamis_symbol *symbols, char *why, size_t bytes) {
    void *const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *const error = dlerror();
        note(why, bytes, file, error && strstr(error, "No such file") ? "not found" : error ? error : "does not load");
        return false;
    }
    for (int i = 0; symbols[i].name; i++) {
        const bool optional = symbols[i].name[0] == '?';
        void *const found = dlsym(library, symbols[i].name + optional);
        if (!found && !optional) {
            char reason[96];
            snprintf(reason, sizeof reason, "has no %s: too old", symbols[i].name);
            note(why, bytes, file, reason);
            dlclose(library);
            return false;
        }
        memcpy((void *)symbols[i].function, &found, sizeof found);
    }
    return true;
}

int tamis_library_open(const char *variable, const char *const *candidates, const tamis_symbol *symbols, char *why,
                       size_t bytes) {
    const char *const named = secure_getenv(variable); /* ignored in a setuid process, whose caller has other rights */
    why[0] = 0;
    if (named && named[0]) { /* a file that the user names is the only candidate */
        if (take(named, symbols, why, bytes)) return 1;
        note(why, bytes, variable, "names that file");
        return 0;
    }
    for (int i = 0; candidates[i]; i++)
        if (take(candidates[i], symbols, why, bytes)) {
            why[0] = 0;
            return 1;
        }
    return 0;
}
