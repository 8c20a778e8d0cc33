/* ACLs are extended attributes on Linux; their bytes are copied. */
#include "io/files/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

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

bool tamis_rights_keep(int folder, const char *name, int descriptor) {
    const int old = open_old(folder, name);
    if (old < 0) return false;
    const bool kept = keep(old, descriptor);
    const int error = errno;
    close(old);
    errno = error;
    return kept;
}
