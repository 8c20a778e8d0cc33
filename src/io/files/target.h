/* Where a path leads: to a name in a folder. The folder is opened once, and all that is done there is done by its
   descriptor: whoever moves it, or puts another one under its name, changes nothing. */
#ifndef TAMIS_IO_TARGET_H
#define TAMIS_IO_TARGET_H

#include <stdbool.h>
#include <sys/stat.h>
#include <tamis/types.h>

typedef struct tamis_target {
    int folder;      /* opened by O_PATH; -1: none */
    char *name;      /* in the folder, and no link when it was looked at */
    struct stat now; /* what is there; st_mode 0: nothing */
} tamis_target;

/* Follows the links that the path ends in, also if the last of them leads to nothing yet. In a sticky folder that all
   may write it refuses those of others, as the kernel does with fs.protected_symlinks. The kernel itself finds the
   folder. The target is to be released in any case. */
tamis_status tamis_target_find(const char *path, tamis_target *target);
void tamis_target_release(tamis_target *target);

/* Whether both are one name in one folder. */
bool tamis_target_same(const tamis_target *a, const tamis_target *b);

#endif
