/* The cache's folder. It must belong to the user, not be a link, and be writable by nobody else, since code is loaded
   from it. */
#define _GNU_SOURCE
#include "base/cache_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { FOLDER = O_RDONLY | O_DIRECTORY | O_CLOEXEC };

/* Returns the descriptor if the file belongs to the user, has that type and none of the mode bits `without`; else
   closes it. */
static int if_own(int descriptor, mode_t type, mode_t without) {
    struct stat file;
    if (descriptor < 0) return -1;
    if (fstat(descriptor, &file) == 0 && file.st_uid == geteuid() && (file.st_mode & S_IFMT) == type &&
        (file.st_mode & without) == 0)
        return descriptor;
    close(descriptor);
    errno = EPERM;
    return -1;
}

/* Opens the user's folder `name` in the folder `above`, which it closes; makes it if it is absent. */
static int enter(int above, const char *name, mode_t without) {
    if (above < 0) return -1;
    const bool there = mkdirat(above, name, 0700) == 0 || errno == EEXIST;
    const int folder = there ? if_own(openat(above, name, FOLDER | O_NOFOLLOW), S_IFDIR, without) : -1;
    close(above);
    return folder;
}

/* Sets `base` to $XDG_CACHE_HOME or ~/.cache, without trailing slashes. */
static bool find_base(char base[PATH_MAX]) {
    const char *const xdg = secure_getenv("XDG_CACHE_HOME"), *const home = secure_getenv("HOME");
    int length = -1;
    if (xdg && xdg[0] == '/')
        length = snprintf(base, PATH_MAX, "%s", xdg);
    else if (home && home[0] == '/')
        length = snprintf(base, PATH_MAX, "%s/.cache", home);
    while (length > 1 && length < PATH_MAX && base[length - 1] == '/') base[--length] = '\0';
    return length > 0 && length < PATH_MAX;
}

/* Opens the user's folder above the cache. Makes it only in a folder of the user. */
static int open_base(void) {
    char base[PATH_MAX];
    if (!find_base(base)) return -1;
    const int there = if_own(open(base, FOLDER), S_IFDIR, 0);
    if (there >= 0 || errno != ENOENT) return there;
    char *const slash = strrchr(base, '/');
    *slash = '\0';
    return enter(if_own(open(slash == base ? "/" : base, FOLDER), S_IFDIR, 0), slash + 1, 0);
}

static int open_folder(const char *below) {
    const int folder = enter(open_base(), "tamis", 022);
    return below ? enter(folder, below, 022) : folder;
}

bool tamis_cache_path(const char *below, char *path, size_t bytes) {
    char base[PATH_MAX];
    const int folder = open_folder(below);
    if (folder < 0 || !find_base(base)) return false;
    close(folder);
    const int length = snprintf(path, bytes, "%s/tamis%s%s", base, below ? "/" : "", below ? below : "");
    return length > 0 && (size_t)length < bytes;
}

void tamis_cache_refusal(char *why, size_t bytes) {
    char base[PATH_MAX];
    if (getauxval(AT_SECURE)) {
        snprintf(why, bytes, "a setuid process has none");
    } else if (!find_base(base)) {
        snprintf(why, bytes, "neither XDG_CACHE_HOME nor HOME names a folder");
    } else {
        const int folder = open_folder(NULL), error = errno;
        if (folder >= 0) close(folder);
        snprintf(why, bytes, "%s/tamis: %s", base,
                 error == EPERM ? "it belongs to another user, or the folder above it does, or others may write there"
                                : strerror(error));
    }
}

FILE *tamis_cache_open(const char *below, const char *name) {
    const int folder = open_folder(below);
    if (folder < 0) return NULL;
    const int how = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const int descriptor = if_own(openat(folder, name, how), S_IFREG, 022);
    close(folder);
    FILE *const file = descriptor >= 0 ? fdopen(descriptor, "r") : NULL;
    if (!file && descriptor >= 0) close(descriptor);
    return file;
}

bool tamis_cache_has(const char *below, const char *name) {
    struct stat entry;
    const int folder = open_folder(below);
    if (folder < 0) return false;
    const bool has = fstatat(folder, name, &entry, AT_SYMLINK_NOFOLLOW) == 0;
    close(folder);
    return has;
}

bool tamis_cache_remove(const char *below, const char *name) {
    const int folder = open_folder(below);
    if (folder < 0) return false;
    const bool removed = unlinkat(folder, name, 0) == 0;
    close(folder);
    return removed;
}

int64_t tamis_cache_each(const char *below, tamis_cache_visit *visit, void *context) {
    struct stat entry;
    int64_t removed = 0;
    const int folder = open_folder(below);
    DIR *const listing = folder >= 0 ? fdopendir(folder) : NULL;
    if (!listing && folder >= 0) close(folder);
    if (!listing) return 0;
    for (const struct dirent *at = readdir(listing); at; at = readdir(listing)) {
        if (fstatat(folder, at->d_name, &entry, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(entry.st_mode)) continue;
        if (visit(context, at->d_name, &entry) && unlinkat(folder, at->d_name, 0) == 0) removed++;
    }
    closedir(listing);
    return removed;
}

int64_t tamis_cache_bytes(void) {
    const char *const text = getenv("TAMIS_CACHE_BYTES");
    char *end = NULL;
    const long long value = text ? strtoll(text, &end, 10) : 0;
    return text && end != text && *end == 0 && value >= 0 ? value : (int64_t)256 << 20;
}

bool tamis_cache_draft_open(const char *below, const char *name, tamis_cache_draft *draft) {
    const int length = snprintf(draft->name, sizeof draft->name, "%s", name);
    if (length < 0 || (size_t)length >= sizeof draft->name) return false;
    draft->folder = open_folder(below);
    if (draft->folder < 0) return false;
    const int descriptor = tamis_temporary_make(draft->folder, name, NULL, 0600, &draft->temporary);
    draft->file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (draft->file) return true;
    if (descriptor >= 0) close(descriptor);
    tamis_temporary_remove(&draft->temporary);
    close(draft->folder);
    return false;
}

bool tamis_cache_draft_close(tamis_cache_draft *draft) {
    const bool written = ferror(draft->file) == 0;
    const bool whole = fclose(draft->file) == 0 && written;
    const bool moved = whole && tamis_temporary_move(&draft->temporary, draft->name);
    tamis_temporary_remove(&draft->temporary);
    close(draft->folder);
    return moved;
}
