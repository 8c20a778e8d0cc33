/* The target of a path: a name in a folder. The folder is opened once, and all operations use its descriptor, so moving
   or replacing the folder has no effect. */
#ifndef TAMIS_IO_TARGET_H
#define TAMIS_IO_TARGET_H

#include <stdbool.h>
#include <sys/stat.h>
#include <tamis/types.h>

typedef struct tamis_target {
    int folder;      /* opened by O_PATH; -1: none */
    char *name;      /* in the folder; not a link when it was examined */
    struct stat now; /* the existing file; st_mode 0: none */
} tamis_target;

/* Resolves the symbolic links at the end of the path; the last may dangle. The kernel resolves the folder. In a sticky,
   world-writable folder other users' links are refused, as with the kernel's fs.protected_symlinks. The caller must
   release the target, also after an error. */
tamis_status tamis_target_find(const char *path, tamis_target *target);
void tamis_target_release(tamis_target *target);

/* Returns true if both are the same name in the same folder. */
bool tamis_target_same(const tamis_target *a, const tamis_target *b);

#endif
