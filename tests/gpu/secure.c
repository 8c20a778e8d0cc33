/* Whether a library that a variable names is opened: secure VARIABLE [setuid]. With `setuid` this file, copied, belongs
   to another user and has the set-user-ID bit: such a process must not load what its starter names. */
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/cache_folder.h"
#include "gpu/runtime/library.h"

int main(int count, char **arguments) {
    static double (*cosine)(double);
    static const char *const none[] = {NULL};
    const tamis_symbol symbols[] = {{"cos", (void (**)(void)) & cosine}, {NULL, NULL}};
    char why[600], folder[1024];
    const bool wanted = !(count > 2 && strcmp(arguments[2], "setuid") == 0);
    if (count < 2) return 2;
    if (!wanted && !getauxval(AT_SECURE)) {
        puts("skipped: set-user-ID bits have no effect here");
        return 77;
    }
    const bool opened = tamis_library_open(arguments[1], none, symbols, why, sizeof why) != 0;
    const bool cached = tamis_cache_path(NULL, folder, sizeof folder);
    printf("%s: %s; %s\n", arguments[1], opened ? "opened" : why, cached ? folder : "no cache");
    return opened == wanted && cached == wanted ? 0 : 1;
}
