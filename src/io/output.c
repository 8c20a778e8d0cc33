/* Writing beside and renaming. */
#define _GNU_SOURCE
#include "io/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/temporaries.h"
#include "io/deflate.h"
#include "io/standard.h"

enum { BUFFER_BYTES = 1 << 20, NAME_TRIES = 100, MOST_LINKS = 40 };

static tamis_status file_error(const char *path, const char *doing) {
    return tamis_fail(TAMIS_ERROR_FILE, "%s: cannot %s: %s", path, doing, strerror(errno));
}

static tamis_status write_descriptor(const tamis_output *output, const unsigned char *data, int64_t bytes) {
    while (bytes > 0) {
        const ssize_t wrote = write(output->descriptor, data, (size_t)bytes);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return file_error(output->path, "write");
        data += wrote;
        bytes -= wrote;
    }
    return TAMIS_OK;
}

static tamis_status write_packed(void *context, const void *packed, int64_t bytes) {
    return write_descriptor(context, packed, bytes);
}

/* Writes what is in the buffer, packed on the way if the file is. */
static tamis_status flush(tamis_output *output, bool last) {
    const int64_t bytes = output->used;
    output->used = 0;
    if (output->gzip) return tamis_deflate_pack(output->gzip, output->buffer, bytes, last, write_packed, output);
    return write_descriptor(output, output->buffer, bytes);
}

/* ---- opening and closing */

static tamis_status copy_name(const char *name, const char *ending, char **copy) {
    const size_t length = strlen(name), more = strlen(ending);
    void *memory = NULL;
    TRY(tamis_allocate((int64_t)(length + more + 1), 1, "a file name", &memory));
    *copy = memory;
    memcpy(*copy, name, length);
    memcpy(*copy + length, ending, more + 1);
    return TAMIS_OK;
}

/* Finds what the path leads to, through links, also if the last of them leads to nothing yet. */
static tamis_status find_target(const char *path, char **target) {
    char at[PATH_MAX], to[PATH_MAX];
    errno = ENAMETOOLONG;
    if (strlen(path) >= sizeof at) return file_error(path, "write");
    memcpy(at, path, strlen(path) + 1);
    for (int links = 0; links < MOST_LINKS; links++) {
        if (realpath(at, to)) return copy_name(to, "", target);
        const ssize_t length = readlink(at, to, sizeof to - 1);
        if (length < 0) return copy_name(at, "", target);
        to[length] = '\0';
        const char *const slash = strrchr(at, '/');
        const size_t before = slash && to[0] != '/' ? (size_t)(slash + 1 - at) : 0;
        if (before + (size_t)length >= sizeof at) break;
        memcpy(at + before, to, (size_t)length + 1);
    }
    errno = ELOOP;
    return file_error(path, "write");
}

/* Puts the folder that holds a file in the place of its name. */
static const char *folder_of(char *path) {
    char *const slash = strrchr(path, '/');
    if (slash) slash[slash == path] = '\0';
    return slash ? path : ".";
}

static tamis_status check_folder(const char *path, const char *folder, int64_t bytes) {
    struct statvfs space;
    if (access(folder, W_OK | X_OK) != 0) return file_error(path, "create a file in its folder");
    if (statvfs(folder, &space) != 0 || (double)space.f_bavail * (double)space.f_frsize >= (double)bytes)
        return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_FILE, "%s: it needs %.3g MB or more, and its file system has %.3g MB left", path,
                      1e-6 * (double)bytes, 1e-6 * (double)space.f_bavail * (double)space.f_frsize);
}

/* Finds the target and what is there now (st_mode 0: nothing). Refuses what is known to fail, or not to be meant. */
static tamis_status look_at_target(const char *path, int64_t bytes, char **target, struct stat *now) {
    TRY(find_target(path, target));
    if (stat(*target, now) != 0) now->st_mode = 0;
    const bool new = now->st_mode == 0, read_only = S_ISREG(now->st_mode) && !(now->st_mode & 0222);
    errno = S_ISDIR(now->st_mode) ? EISDIR : EACCES; /* root may write what is read-only, but nobody means it */
    if (S_ISDIR(now->st_mode) || read_only || (!new &&access(*target, W_OK) != 0)) return file_error(path, "write");
    if (!new && !S_ISREG(now->st_mode)) return TAMIS_OK;
    char *folder = NULL;
    TRY(copy_name(*target, "", &folder));
    const tamis_status status = check_folder(path, folder_of(folder), bytes);
    tamis_release(folder);
    return status;
}

tamis_status tamis_output_check(const char *path, int64_t bytes) {
    char *target = NULL;
    struct stat now;
    if (tamis_is_standard(path)) return TAMIS_OK;
    const tamis_status status = look_at_target(path, bytes, &target, &now);
    tamis_release(target);
    return status;
}

/* Whether two files that are not there yet would have one name in one folder. Cuts the names. */
static bool is_same_place(char *a, char *b) {
    const char *const slashes[] = {strrchr(a, '/'), strrchr(b, '/')};
    if (strcmp(slashes[0] ? slashes[0] + 1 : a, slashes[1] ? slashes[1] + 1 : b) != 0) return false;
    struct stat folders[2];
    return stat(folder_of(a), &folders[0]) == 0 && stat(folder_of(b), &folders[1]) == 0 &&
           folders[0].st_dev == folders[1].st_dev && folders[0].st_ino == folders[1].st_ino;
}

bool tamis_output_same(const char *a, const char *b) {
    struct stat files[2];
    char *targets[2] = {NULL, NULL};
    const int there[] = {stat(a, &files[0]) == 0, stat(b, &files[1]) == 0};
    if (there[0] != there[1]) return false;
    if (there[0]) return files[0].st_dev == files[1].st_dev && files[0].st_ino == files[1].st_ino;
    bool same = false;
    if (find_target(a, &targets[0]) == TAMIS_OK && find_target(b, &targets[1]) == TAMIS_OK)
        same = is_same_place(targets[0], targets[1]);
    else
        tamis_clear_error(); /* writing them says what is wrong */
    tamis_release(targets[0]);
    tamis_release(targets[1]);
    return same;
}

/* Makes a file without a name, of which nothing stays if the process is killed; false if the file system has none. */
static bool open_nameless(tamis_output *output, mode_t mode) {
#ifdef O_TMPFILE
    char *folder = NULL;
    if (copy_name(output->target, "", &folder) != TAMIS_OK) return false;
    output->descriptor = open(folder_of(folder), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    tamis_release(folder);
    snprintf(output->nameless, sizeof output->nameless, "/proc/self/fd/%d", output->descriptor);
    if (output->descriptor >= 0 && access(output->nameless, F_OK) == 0) return true;
    if (output->descriptor >= 0) close(output->descriptor);
    output->descriptor = -1;
#endif
    (void)mode;
    output->nameless[0] = '\0';
    return false;
}

static void forget_temporary(tamis_output *output) {
    const int error = errno;
    if (output->temporary) tamis_temporary_end(output->listed);
    tamis_release(output->temporary);
    output->temporary = NULL;
    errno = error;
}

/* Makes the file under a temporary name beside the target, or gives the nameless one that name. */
static tamis_status name_temporary(tamis_output *output, mode_t mode) {
    static _Atomic unsigned counter;
    for (int i = 0; i < NAME_TRIES; i++) {
        char ending[64];
        snprintf(ending, sizeof ending, ".%ld-%u.part", (long)getpid(), atomic_fetch_add(&counter, 1u));
        TRY(copy_name(output->target, ending, &output->temporary));
        output->listed = tamis_temporary_begin(output->temporary);
        if (output->nameless[0]) {
            if (linkat(AT_FDCWD, output->nameless, AT_FDCWD, output->temporary, AT_SYMLINK_FOLLOW) == 0)
                return TAMIS_OK;
        } else {
            output->descriptor = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
            if (output->descriptor >= 0) return TAMIS_OK;
        }
        forget_temporary(output);
        if (errno != EEXIST && errno != EINTR) break;
    }
    return file_error(output->path, "create a temporary file beside it");
}

static tamis_status open_target(tamis_output *output) {
    struct stat now;
    if (tamis_is_standard(output->path)) {
        output->direct = true;
        output->descriptor = tamis_standard_output();
        return output->descriptor >= 0 ? TAMIS_OK : file_error(output->path, "open standard output");
    }
    TRY(look_at_target(output->path, 0, &output->target, &now));
    output->direct = now.st_mode != 0 && !S_ISREG(now.st_mode);
    if (output->direct) {
        output->descriptor = open(output->target, O_WRONLY | O_CLOEXEC);
        return output->descriptor >= 0 ? TAMIS_OK : file_error(output->path, "open");
    }
    if (!open_nameless(output, 0666)) TRY(name_temporary(output, 0666));
    if (now.st_mode != 0 && fchmod(output->descriptor, now.st_mode & 07777) != 0)
        return file_error(output->path, "keep its permissions");
    return TAMIS_OK;
}

tamis_status tamis_output_open(const char *path, bool gzip, tamis_output *output) {
    *output = (tamis_output){.path = path, .descriptor = -1};
    tamis_status status = TAMIS_OK;
    void *buffer = NULL;
    TRY_GOTO(failed, tamis_allocate(BUFFER_BYTES, 1, "writing", &buffer));
    output->buffer = buffer;
    TRY_GOTO(failed, open_target(output));
    if (gzip) TRY_GOTO(failed, tamis_deflate_open(path, true, &output->gzip));
    return TAMIS_OK;
failed:
    return tamis_output_close(output, status);
}

tamis_status tamis_output_write(tamis_output *output, const void *data, int64_t bytes) {
    const unsigned char *from = data;
    output->position += bytes;
    while (bytes > 0) {
        if (output->used == BUFFER_BYTES) TRY(flush(output, false));
        const int64_t room = BUFFER_BYTES - output->used, part = bytes < room ? bytes : room;
        memcpy(output->buffer + output->used, from, (size_t)part);
        output->used += part;
        from += part;
        bytes -= part;
    }
    return TAMIS_OK;
}

/* Sends the folder's entry to the disk too. Not every file system can do that: its answer does not matter. */
static void sync_folder(char *target) {
    const int folder = open(folder_of(target), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    (void)fsync(folder);
    close(folder);
}

static tamis_status finish(tamis_output *output) {
    TRY(flush(output, true));
    if (!output->direct && fsync(output->descriptor) != 0) return file_error(output->path, "write to the disk");
    if (output->nameless[0]) TRY(name_temporary(output, 0));
    const int descriptor = output->descriptor;
    output->descriptor = -1;
    if (close(descriptor) != 0) return file_error(output->path, "write");
    if (output->direct) return TAMIS_OK;
    if (rename(output->temporary, output->target) != 0) return file_error(output->path, "rename the new file to it");
    forget_temporary(output);
    sync_folder(output->target);
    return TAMIS_OK;
}

tamis_status tamis_output_close(tamis_output *output, tamis_status status) {
    if (status == TAMIS_OK) status = finish(output);
    if (output->descriptor >= 0) close(output->descriptor);
    if (output->temporary) unlink(output->temporary);
    tamis_deflate_close(output->gzip);
    tamis_release(output->buffer);
    tamis_release(output->target);
    forget_temporary(output);
    *output = (tamis_output){.descriptor = -1};
    return status;
}
