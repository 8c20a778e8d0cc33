/* The cache's folder: the user's own, and writable by nobody else, since code is loaded from it. */
#include "base/cache_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool own_folder(const char *path) {
    struct stat folder;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
    return stat(path, &folder) == 0 && S_ISDIR(folder.st_mode) && folder.st_uid == geteuid() &&
           (folder.st_mode & 022) == 0;
}

bool tamis_cache_folder(const char *below, char *path, size_t bytes) {
    const char *const xdg = getenv("XDG_CACHE_HOME"), *const home = getenv("HOME");
    const size_t extra = sizeof "/tamis/" + (below ? strlen(below) : 0);
    int n;
    if (xdg && xdg[0] == '/')
        n = snprintf(path, bytes, "%s", xdg);
    else if (home && home[0] == '/')
        n = snprintf(path, bytes, "%s/.cache", home);
    else
        return false;
    if (n < 0 || (size_t)n + extra >= bytes) return false;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
    memcpy(path + n, "/tamis", sizeof "/tamis");
    if (!own_folder(path)) return false;
    if (!below) return true;
    snprintf(path + n, bytes - (size_t)n, "/tamis/%s", below);
    return own_folder(path);
}
