/* The table of names is never freed, since a handler may read it at any moment, on any thread. */
#include "base/temporaries.h"

#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 32, NAME_BYTES = PATH_MAX + 64 };
enum { FREE = 0, TAKEN, NAMED };

static struct {
    atomic_int state;
    char path[NAME_BYTES];
} files[MOST];

int tamis_temporary_begin(const char *path) {
    const size_t length = strlen(path);
    if (length >= NAME_BYTES) return -1;
    for (int i = 0; i < MOST; i++) {
        int expected = FREE;
        if (!atomic_compare_exchange_strong(&files[i].state, &expected, TAKEN)) continue;
        memcpy(files[i].path, path, length + 1);
        atomic_store(&files[i].state, NAMED);
        return i;
    }
    return -1;
}

void tamis_temporary_end(int number) {
    if (number >= 0) atomic_store(&files[number].state, FREE);
}

void tamis_temporaries_remove(void) {
    for (int i = 0; i < MOST; i++)
        if (atomic_load(&files[i].state) == NAMED) unlink(files[i].path);
}
