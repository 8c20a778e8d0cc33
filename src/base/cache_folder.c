/* The cache's folder: the user's own, no link, and writable by nobody else, since code is loaded from it. */
#include "base/cache_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temporaries.h"

static bool own_folder(const char *path) {
    struct stat folder;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
    return lstat(path, &folder) == 0 && S_ISDIR(folder.st_mode) && folder.st_uid == geteuid() &&
           (folder.st_mode & 022) == 0;
}

bool tamis_cache_folder(const char *below, char *path, size_t bytes) {
    const char *const xdg = secure_getenv("XDG_CACHE_HOME"), *const home = secure_getenv("HOME");
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

FILE *tamis_cache_open(const char *path) {
    struct stat entry;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) return NULL;
    const bool ours = fstat(descriptor, &entry) == 0 && S_ISREG(entry.st_mode) && entry.st_uid == geteuid() &&
                      (entry.st_mode & 022) == 0;
    FILE *const file = ours ? fdopen(descriptor, "r") : NULL;
    if (!file) close(descriptor);
    return file;
}

int64_t tamis_cache_bytes(void) {
    const char *const text = getenv("TAMIS_CACHE_BYTES");
    char *end = NULL;
    const long long value = text ? strtoll(text, &end, 10) : 0;
    return text && end != text && *end == 0 && value >= 0 ? value : (int64_t)256 << 20;
}

bool tamis_cache_draft_open(const char *path, tamis_cache_draft *draft) {
    static int serial;
    const int n = snprintf(draft->path, sizeof draft->path, "%s", path);
    if (n < 0 || (size_t)n >= sizeof draft->path) return false;
    snprintf(draft->beside, sizeof draft->beside, "%s.%ld.%d", path, (long)getpid(),
             __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED));
    draft->temporary = tamis_temporary_begin(draft->beside);
    const int descriptor = open(draft->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    draft->file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (draft->file) return true;
    if (descriptor >= 0) {
        close(descriptor);
        unlink(draft->beside);
    }
    tamis_temporary_end(draft->temporary);
    return false;
}

bool tamis_cache_draft_close(tamis_cache_draft *draft) {
    const bool written = ferror(draft->file) == 0;
    const bool moved = fclose(draft->file) == 0 && written && rename(draft->beside, draft->path) == 0;
    if (!moved) unlink(draft->beside);
    tamis_temporary_end(draft->temporary);
    return moved;
}
