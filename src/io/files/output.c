/* Atomic replacement of files: writes a new file beside the old one and renames it. */
#define _GNU_SOURCE
#include "io/files/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/files/file_error.h"
#include "io/files/standard.h"
#include "io/pack/deflate.h"

enum { BUFFER_BYTES = 1 << 20 };

static tamis_status write_descriptor(const tamis_output *output, const unsigned char *data, int64_t bytes) {
    while (bytes > 0) {
        const ssize_t wrote = write(output->descriptor, data, (size_t)bytes);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return tamis_file_error(output->path, "write");
        data += wrote;
        bytes -= wrote;
    }
    return TAMIS_OK;
}

static tamis_status write_packed(void *context, const void *packed, int64_t bytes) {
    return write_descriptor(context, packed, bytes);
}

/* Writes the buffer, compressed if the file is. */
static tamis_status flush(tamis_output *output, bool last) {
    const int64_t bytes = output->used;
    output->used = 0;
    if (output->gzip) return tamis_deflate_pack(output->gzip, output->buffer, bytes, last, write_packed, output);
    return write_descriptor(output, output->buffer, bytes);
}

/* ---- permissions of a file that replaces another one */

/* ACLs are extended attributes on Linux; their bytes are copied. */
enum { ACL_BYTES = 8 << 10 }; /* a thousand entries */
static const char acl[] = "system.posix_acl_access";

/* Opens the old file for reading, or for writing if it can only be written. */
static int open_old(int folder, const char *name) {
    const int how = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, descriptor = openat(folder, name, O_RDONLY | how);
    return descriptor >= 0 ? descriptor : openat(folder, name, O_WRONLY | how);
}

static bool has_none(void) { return errno == ENODATA || errno == ENOTSUP || errno == ENOSYS; }

/* Copies the old file's ACL, or removes the one that the folder gave to the new file. Returns true if they agree. */
static bool keep_acl(int from, int to, bool copied) {
    char entries[ACL_BYTES];
    const ssize_t bytes = fgetxattr(from, acl, entries, sizeof entries);
    const bool none = bytes < 0 && has_none();
    if (copied && bytes >= 0 && fsetxattr(to, acl, entries, (size_t)bytes, 0) == 0) return true;
    return (fremovexattr(to, acl) == 0 || has_none()) && none;
}

static bool keep(int from, int to) {
    struct stat old, new;
    if (fstat(from, &old) != 0) return false;
    errno = EEXIST;
    if (!S_ISREG(old.st_mode)) return false;
    const bool given = fchown(to, old.st_uid, old.st_gid) == 0 || fchown(to, (uid_t)-1, old.st_gid) == 0;
    (void)given; /* only root may change the owner; the result is checked below */
    if (fstat(to, &new) != 0) return false;
    const bool same_group = new.st_gid == old.st_gid;
    mode_t mode = old.st_mode & 0777;
    if (!same_group) {
        const mode_t both = mode & mode >> 3 & 07;
        mode = (mode & 0700) | both << 3 | both;
    }
    if (!keep_acl(from, to, same_group)) mode &= 0700;
    return fchmod(to, mode) == 0;
}

/*
 * Copies the owner, the group, the ACL and the mode of the file with that name in the folder to a new file, which
 * nobody else may open yet, as far as the process may. Nobody but a new owner gets more rights than the old file gave.
 * Set-user-ID, set-group-ID and sticky bits are dropped. If the group is another one, the group and all others get what
 * both of them had, and there is no ACL. If the old file has an ACL that the new one does not get, only the owner may
 * open it. The mode comes last, so that no moment has more rights than the end. Returns false with errno where the
 * rights cannot be set.
 */
static bool keep_rights(int folder, const char *name, int descriptor) {
    const int old = open_old(folder, name);
    if (old < 0) return false;
    const bool kept = keep(old, descriptor);
    const int error = errno;
    close(old);
    errno = error;
    return kept;
}

/* ---- opening and closing */

static tamis_status check_folder(const char *path, int folder, int64_t bytes) {
    struct statvfs space;
    if (faccessat(folder, ".", W_OK | X_OK, 0) != 0) return tamis_file_error(path, "create a file in its folder");
    if (fstatvfs(folder, &space) != 0 || (double)space.f_bavail * (double)space.f_frsize >= (double)bytes)
        return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_FILE, "%s: it needs %.3g MB or more, and its file system has %.3g MB left", path,
                      1e-6 * (double)bytes, 1e-6 * (double)space.f_bavail * (double)space.f_frsize);
}

/* Finds the target. Refuses targets that are known to fail, or unlikely to be intended. The caller must release the
   target, also after an error. */
static tamis_status look_at_target(const char *path, int64_t bytes, tamis_target *target) {
    TRY(tamis_target_find(path, target));
    const mode_t mode = target->now.st_mode;
    const bool new = mode == 0, read_only = S_ISREG(mode) && !(mode & 0222);
    errno = S_ISDIR(mode) ? EISDIR : EACCES; /* root could write a read-only file, but that is hardly intended */
    if (S_ISDIR(mode) || read_only || (!new &&faccessat(target->folder, target->name, W_OK, 0) != 0))
        return tamis_file_error(path, "write");
    return new || S_ISREG(mode) ? check_folder(path, target->folder, bytes) : TAMIS_OK;
}

tamis_status tamis_output_check(const char *path, int64_t bytes) {
    tamis_target target;
    if (tamis_is_standard(path)) return TAMIS_OK;
    const tamis_status status = look_at_target(path, bytes, &target);
    tamis_target_release(&target);
    return status;
}

bool tamis_output_same(const char *a, const char *b) {
    struct stat files[2];
    const int there[] = {stat(a, &files[0]) == 0, stat(b, &files[1]) == 0};
    if (there[0] != there[1]) return false;
    if (there[0]) return files[0].st_dev == files[1].st_dev && files[0].st_ino == files[1].st_ino;
    tamis_target targets[2];
    const tamis_status found[] = {tamis_target_find(a, &targets[0]), tamis_target_find(b, &targets[1])};
    const bool known = found[0] == TAMIS_OK && found[1] == TAMIS_OK;
    const bool same = known && tamis_target_same(&targets[0], &targets[1]);
    if (!known) tamis_clear_error(); /* writing them reports the error */
    tamis_target_release(&targets[0]);
    tamis_target_release(&targets[1]);
    return same;
}

/* Makes an unnamed file (O_TMPFILE), which vanishes if the process is killed; false if the file system lacks them. */
static bool open_nameless(tamis_output *output, mode_t mode) {
#ifdef O_TMPFILE
    output->descriptor = openat(output->target.folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    snprintf(output->nameless, sizeof output->nameless, "/proc/self/fd/%d", output->descriptor);
    if (output->descriptor >= 0 && access(output->nameless, F_OK) == 0) return true;
    if (output->descriptor >= 0) close(output->descriptor);
    output->descriptor = -1;
#endif
    (void)mode;
    output->nameless[0] = '\0';
    return false;
}

/* Creates the file with a temporary name beside the target, or links the unnamed file to that name. */
static tamis_status name_temporary(tamis_output *output, mode_t mode) {
    const char *const nameless = output->nameless[0] ? output->nameless : NULL;
    const int made =
        tamis_temporary_make(output->target.folder, output->target.name, nameless, mode, &output->temporary);
    if (made < 0) return tamis_file_error(output->path, "create a temporary file beside it");
    if (!nameless) output->descriptor = made;
    return TAMIS_OK;
}

/* Opens a device or pipe, and checks that it is the one that was examined. */
static tamis_status open_direct(tamis_output *output) {
    const tamis_target *const target = &output->target;
    struct stat opened;
    output->direct = true;
    output->descriptor = openat(target->folder, target->name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (output->descriptor < 0 || fstat(output->descriptor, &opened) != 0)
        return tamis_file_error(output->path, "open");
    errno = ESTALE;
    const bool same = opened.st_dev == target->now.st_dev && opened.st_ino == target->now.st_ino;
    return same ? TAMIS_OK : tamis_file_error(output->path, "open");
}

static tamis_status open_target(tamis_output *output) {
    if (tamis_is_standard(output->path)) {
        output->direct = true;
        output->descriptor = tamis_standard_output();
        return output->descriptor >= 0 ? TAMIS_OK : tamis_file_error(output->path, "open standard output");
    }
    tamis_target *const target = &output->target;
    TRY(look_at_target(output->path, 0, target));
    const mode_t mode = target->now.st_mode;
    if (mode != 0 && !S_ISREG(mode)) return open_direct(output);
    const mode_t first = mode == 0 ? 0666 : mode & 0600; /* restrictive until the owner is set */
    if (!open_nameless(output, first)) TRY(name_temporary(output, first));
    if (mode != 0 && !keep_rights(target->folder, target->name, output->descriptor))
        return tamis_file_error(output->path, "keep its permissions");
    return TAMIS_OK;
}

tamis_status tamis_output_open(const char *path, bool gzip, tamis_output *output) {
    *output = (tamis_output){.path = path, .descriptor = -1, .target = {.folder = -1}};
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

/* Syncs the folder's entry to the disk. Errors are ignored, as not every file system supports it. */
static void sync_folder(int target) {
    const int folder = openat(target, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    (void)fsync(folder);
    close(folder);
}

static tamis_status finish(tamis_output *output) {
    TRY(flush(output, true));
    if (!output->direct && fsync(output->descriptor) != 0) return tamis_file_error(output->path, "write to the disk");
    if (output->nameless[0]) TRY(name_temporary(output, 0));
    const int descriptor = output->descriptor;
    output->descriptor = -1;
    if (close(descriptor) != 0) return tamis_file_error(output->path, "write");
    if (output->direct) return TAMIS_OK;
    if (!tamis_temporary_move(&output->temporary, output->target.name))
        return tamis_file_error(output->path, "rename the new file to it");
    sync_folder(output->target.folder);
    return TAMIS_OK;
}

tamis_status tamis_output_close(tamis_output *output, tamis_status status) {
    if (status == TAMIS_OK) status = finish(output);
    if (output->descriptor >= 0) close(output->descriptor);
    tamis_temporary_remove(&output->temporary);
    tamis_deflate_close(output->gzip);
    tamis_release(output->buffer);
    tamis_target_release(&output->target);
    *output = (tamis_output){.descriptor = -1, .target = {.folder = -1}};
    return status;
}
