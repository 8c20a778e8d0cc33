/* Each link is opened before it is checked, so that the checked link is the one that is read (no race). */
#define _GNU_SOURCE
#include "io/files/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/text_buffer.h"
#include "io/files/file_error.h"

enum { MOST_LINKS = 40 };

/* Opens the folder of a path that begins at target->folder. */
static tamis_status enter_folder(const char *path, const char *at, size_t bytes, tamis_target *target) {
    char folder[PATH_MAX + 1];
    snprintf(folder, sizeof folder, "%.*s.", (int)bytes, at); /* the dot triggers automounts */
    const int from = target->folder;
    target->folder = openat(from >= 0 ? from : AT_FDCWD, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int error = errno;
    if (from >= 0) close(from);
    errno = error;
    return target->folder >= 0 ? TAMIS_OK : tamis_file_error(path, "create a file in its folder");
}

/* The rule of fs.protected_symlinks: in a folder such as /tmp anybody may place links that lead where their owner
   wants. */
static tamis_status check_link(const char *path, const char *at, const tamis_target *target) {
    struct stat folder;
    if (fstat(target->folder, &folder) != 0) return tamis_file_error(path, "write");
    const bool shared = (folder.st_mode & S_ISVTX) && (folder.st_mode & S_IWOTH);
    if (!shared || target->now.st_uid == geteuid() || target->now.st_uid == folder.st_uid) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_FILE,
                      "%s: cannot write: %s is a link of another user (%lu) in a folder that all may write; it is not "
                      "followed",
                      path, at, (unsigned long)target->now.st_uid);
}

/* Examines a name in the folder. Sets `text` to the target of a link that may be followed, else to "". */
static tamis_status look(const char *path, const char *at, const char *name, tamis_target *target,
                         char text[PATH_MAX]) {
    tamis_status status = TAMIS_OK;
    ssize_t length = 0;
    const int entry = openat(target->folder, *name ? name : ".", O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (entry < 0) {
        target->now = (struct stat){.st_mode = 0};
        return errno == ENOENT ? TAMIS_OK : tamis_file_error(path, "write");
    }
    if (fstat(entry, &target->now) != 0) TRY_GOTO(done, tamis_file_error(path, "write"));
    if (!S_ISLNK(target->now.st_mode)) goto done;
    TRY_GOTO(done, check_link(path, at, target));
    length = readlinkat(entry, "", text, PATH_MAX - 1);
    if (length < 0) status = tamis_file_error(path, "write");
done:
    text[length > 0 ? length : 0] = '\0';
    close(entry);
    return status;
}

tamis_status tamis_target_find(const char *path, tamis_target *target) {
    char at[PATH_MAX], text[PATH_MAX];
    *target = (tamis_target){.folder = -1};
    errno = ENAMETOOLONG;
    if (strlen(path) >= sizeof at) return tamis_file_error(path, "write");
    memcpy(at, path, strlen(path) + 1);
    for (int links = 0; links < MOST_LINKS; links++) {
        const char *const slash = strrchr(at, '/'), *const name = slash ? slash + 1 : at;
        *text = '\0';
        TRY(enter_folder(path, at, (size_t)(name - at), target));
        TRY(look(path, at, name, target, text));
        if (!*text) return tamis_text_copy(name, "a file name", &target->name);
        memcpy(at, text, strlen(text) + 1);
    }
    errno = ELOOP;
    return tamis_file_error(path, "write");
}

void tamis_target_release(tamis_target *target) {
    if (target->folder >= 0) close(target->folder);
    tamis_release(target->name);
    *target = (tamis_target){.folder = -1};
}

bool tamis_target_same(const tamis_target *a, const tamis_target *b) {
    struct stat folders[2];
    return strcmp(a->name, b->name) == 0 && fstat(a->folder, &folders[0]) == 0 && fstat(b->folder, &folders[1]) == 0 &&
           folders[0].st_dev == folders[1].st_dev && folders[0].st_ino == folders[1].st_ino;
}
