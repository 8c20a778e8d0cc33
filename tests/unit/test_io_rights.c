/* Writing where other users are: rights of a file that is replaced, links and folders that others put there, and names
   that others have taken. What needs files of other users needs root, which makes them. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/temporaries.h"
#include "io/files/output.h"
#include "io_folder.h"

enum { OWNER = 1000, WRITER = 65534, SKIPPED = 77 };

#define NEEDS_ROOT()                                                                                                   \
    if (geteuid() != 0) skip_because("only root makes files of other users")

static tamis_status put(const char *path, const char *text) {
    tamis_output output;
    tamis_status status = tamis_output_open(path, false, &output);
    if (status != TAMIS_OK) return status;
    status = tamis_output_write(&output, text, (int64_t)strlen(text));
    return tamis_output_close(&output, status);
}

/* A file of that user, who is the group's only member. */
static void make_file(const char *path, int user, mode_t mode) {
    write_text(path, "old");
    if (geteuid() == 0) assert_int_equal(chown(path, (uid_t)user, (gid_t)user), 0);
    assert_int_equal(chmod(path, mode), 0);
}

/* A link, and not what it leads to, of that user. */
static void make_link(const char *to, const char *path, int user) {
    assert_int_equal(symlink(to, path), 0);
    if (user > 0) assert_int_equal(lchown(path, (uid_t)user, (gid_t)user), 0);
}

static void expect_rights(const char *path, int user, int group, mode_t mode) {
    struct stat about;
    assert_int_equal(lstat(path, &about), 0);
    assert_int_equal(about.st_mode, S_IFREG | mode);
    assert_int_equal(about.st_uid, user);
    assert_int_equal(about.st_gid, group);
}

/* Writes the file in a process of WRITER's, who is in the OWNER's group or in no other. Returns its status, or SKIPPED
   where that user cannot come to the folder. */
static int put_as_writer(const char *path, bool member) {
    int status = -1;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const gid_t groups[] = {OWNER};
        if (setgroups(member, groups) != 0 || setgid(WRITER) != 0 || setuid(WRITER) != 0) _exit(SKIPPED);
        if (access(folder, X_OK) != 0) _exit(SKIPPED);
        _exit(put(path, "new"));
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* ------------------------------------------------------------------------------------------ rights */

static int own_steps, wide_steps;

/* In the place of the C library's: before each of these two, the group and others may do nothing. */
static void look_before(int descriptor) {
    struct stat about;
    own_steps++;
    if (fstat(descriptor, &about) != 0 || about.st_mode & 077) wide_steps++;
}

int fchown(int descriptor, uid_t user, gid_t group) {
    look_before(descriptor);
    return (int)syscall(SYS_fchown, descriptor, user, group);
}

int fchmod(int descriptor, mode_t mode) {
    look_before(descriptor);
    return (int)syscall(SYS_fchmod, descriptor, mode);
}

TEST_AS(no_moment_has_more_rights_than_the_end, .setup_func = make_folder, .teardown_func = remove_folder) {
    char *const path = in_folder("file");
    make_file(path, 0, 0664);
    own_steps = wide_steps = 0;
    works(put(path, "new"));
    assert_true(own_steps > 0);
    assert_int_equal(wide_steps, 0);
    expect_rights(path, (int)geteuid(), (int)getegid(), 0664);
    make_file(path, 0, 06755);
    works(put(path, "new"));
    expect_rights(path, (int)geteuid(), (int)getegid(), 0755);
    unlink(path);
}

TEST_AS(root_keeps_the_owner_and_no_set_user_id, .setup_func = make_folder, .teardown_func = remove_folder) {
    NEEDS_ROOT();
    static const mode_t modes[][2] = {{04777, 0777}, {06755, 0755}, {01640, 0640}, {0600, 0600}};
    char *const path = in_folder("file");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        make_file(path, OWNER, modes[i][0]);
        works(put(path, "new"));
        expect_rights(path, OWNER, OWNER, modes[i][1]);
        expect_file(path, "new");
        unlink(path);
    }
}

/* Who may not give a file away owns it, and gives nobody else more than the old one gave. */
TEST_AS(root_sees_others_lose_rights_only, .setup_func = make_folder, .teardown_func = remove_folder) {
    NEEDS_ROOT();
    static const struct {
        int owner;
        mode_t before;
        bool member; /* is the writer, of the old file's group? */
        mode_t after;
    } rows[] = {
        {OWNER, 0666, false, 0666},  {OWNER, 0662, false, 0622},  {OWNER, 0626, false, 0622},
        {OWNER, 0602, false, 0600},  {OWNER, 0660, true, 0660},   {OWNER, 06777, true, 0777},
        {OWNER, 0460, true, 0460},   {WRITER, 0640, false, 0600}, {WRITER, 0664, false, 0644},
        {WRITER, 0646, false, 0644}, {WRITER, 04750, true, 0750},
    };
    char *const path = in_folder("file");
    assert_int_equal(chmod(folder, 0777), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_file(path, rows[i].owner, rows[i].before);
        assert_int_equal(chown(path, (uid_t)-1, OWNER), 0);
        assert_int_equal(chmod(path, rows[i].before), 0); /* that of a file which gets a group loses bits */
        const int status = put_as_writer(path, rows[i].member);
        if (status == SKIPPED) {
            unlink(path);
            skip_because("other users cannot come to %s", folder);
        }
        works(status);
        expect_rights(path, WRITER, rows[i].member ? OWNER : WRITER, rows[i].after);
        unlink(path);
    }
}

/* The owner and the group rw, one user rw, a mask and others. */
typedef struct acl {
    uint32_t version;
    struct entry {
        uint16_t tag, rights;
        uint32_t who;
    } entries[5];
} acl;

static acl acl_of(int user, int mask, int others) {
    return (acl){2,
                 {{0x01, 6, UINT32_MAX},
                  {0x02, 6, (uint32_t)user},
                  {0x04, 6, UINT32_MAX},
                  {0x10, (uint16_t)mask, UINT32_MAX},
                  {0x20, (uint16_t)others, UINT32_MAX}}};
}

static void set_acl(const char *path, const char *kind, const acl *rights) {
    if (setxattr(path, kind, rights, sizeof *rights, 0) == 0) return;
    const int error = errno;
    unlink(path);
    if (error == ENOTSUP) skip_because("the file system has no ACLs");
    fail_msg("no ACL: %s", strerror(error));
}

static const char access_acl[] = "system.posix_acl_access", default_acl[] = "system.posix_acl_default";

TEST_AS(acls_are_kept, .setup_func = make_folder, .teardown_func = remove_folder) {
    char *const path = in_folder("file");
    const acl rights = acl_of(OWNER + 1, 4, 0);
    acl found;
    make_file(path, 0, 0600);
    set_acl(path, access_acl, &rights);
    works(put(path, "new"));
    assert_int_equal(getxattr(path, access_acl, &found, sizeof found), sizeof found);
    assert_memory_equal(&found, &rights, sizeof found);
    unlink(path);
}

/* A file that had no ACL gets none, though the folder gives one to its new files. */
TEST_AS(an_acl_of_the_folder_opens_no_old_file, .setup_func = make_folder, .teardown_func = remove_folder) {
    char *const path = in_folder("file");
    const acl rights = acl_of(OWNER + 1, 6, 6);
    make_file(path, 0, 0660);
    set_acl(folder, default_acl, &rights);
    works(put(path, "new"));
    assert_int_equal(removexattr(folder, default_acl), 0);
    assert_int_equal(getxattr(path, access_acl, NULL, 0), -1);
    assert_int_equal(errno, ENODATA);
    expect_rights(path, (int)geteuid(), (int)getegid(), 0660);
    unlink(path);
}

/* Without its group an ACL means something else: nobody but the owner may open the file. */
TEST_AS(root_sees_an_acl_without_its_group_dropped, .setup_func = make_folder, .teardown_func = remove_folder) {
    NEEDS_ROOT();
    char *const path = in_folder("file");
    const acl rights = acl_of(OWNER + 1, 6, 6);
    assert_int_equal(chmod(folder, 0777), 0);
    make_file(path, OWNER, 0666);
    set_acl(path, access_acl, &rights);
    const int status = put_as_writer(path, false);
    if (status == SKIPPED) {
        unlink(path);
        skip_because("other users cannot come to %s", folder);
    }
    works(status);
    expect_rights(path, WRITER, WRITER, 0600);
    assert_int_equal(getxattr(path, access_acl, NULL, 0), -1);
    unlink(path);
}

/* ------------------------------------------------------------------------------------------ links */

static bool is_link(const char *path) {
    struct stat about;
    return lstat(path, &about) == 0 && S_ISLNK(about.st_mode);
}

/* Through the link, which stays, to the target. */
static void expect_follows(const char *link, const char *target, const char *text) {
    if (tamis_output_check(link, 1) != TAMIS_OK || put(link, text) != TAMIS_OK) fail_msg("%s", tamis_last_error());
    assert_true(is_link(link));
    assert_false(is_link(target));
    expect_file(target, text);
}

/* One's own, in such a folder as /tmp: relative, absolute, to another link, and to what is not there yet. */
TEST_AS(own_links_are_followed, .setup_func = make_folder, .teardown_func = remove_folder) {
    char *const target = in_folder("target"), *const link = in_folder("link"), *const chain = in_folder("chain");
    static const mode_t modes[] = {0700, 01777};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(folder, modes[i]), 0);
        make_link("target", link, 0);
        expect_follows(link, target, "first");
        expect_follows(link, target, "second");
        make_link(link, chain, 0);
        expect_follows(chain, target, "third");
        unlink(target);
        expect_follows(chain, target, "fourth");
        assert_true(is_link(link));
        assert_int_equal(files_in_folder(), 3);
        unlink(chain);
        unlink(link);
        unlink(target);
    }
}

static void expect_refuses(const char *path, const char *link) {
    char message[1200];
    snprintf(message, sizeof message,
             "%s: cannot write: %s is a link of another user (%d) in a folder that all may write; it is not followed",
             path, link, OWNER);
    assert_int_equal(tamis_output_check(path, 1), TAMIS_ERROR_FILE);
    assert_string_equal(tamis_last_error(), message);
    assert_int_equal(put(path, "new"), TAMIS_ERROR_FILE);
    assert_string_equal(tamis_last_error(), message);
}

/* The kernel refuses them as well where fs.protected_symlinks is 1; this must hold where it is 0. */
TEST_AS(root_follows_no_links_of_others_in_shared_folders, .setup_func = make_folder, .teardown_func = remove_folder) {
    NEEDS_ROOT();
    char *const target = in_folder("target"), *const link = in_folder("link"), *const own = in_folder("own");
    assert_int_equal(chmod(folder, 01777), 0);
    make_link("target", link, OWNER);
    make_link(link, own, 0);
    for (int there = 0; there < 2; there++) {
        if (there) make_file(target, 0, 0644);
        expect_refuses(link, link);
        expect_refuses(own, link);
        assert_int_equal(access(target, F_OK) == 0, there);
        if (there) expect_file(target, "old");
        assert_int_equal(files_in_folder(), 2 + there);
    }
    unlink(target);
    make_link("/dev/null", target, OWNER); /* nor to devices */
    expect_refuses(target, target);
    unlink(target);
    assert_int_equal(chmod(folder, 0777), 0); /* in these two the kernel follows */
    expect_follows(link, target, "a shared folder");
    assert_int_equal(chmod(folder, 01777), 0);
    assert_int_equal(chown(folder, OWNER, 0), 0);
    expect_follows(own, target, "that of the link's owner");
    assert_int_equal(look_into_folder(true), 3);
}

/* Somebody else puts a link in the folder's place while the file is written. */
TEST_AS(a_folder_that_is_swapped_changes_nothing, .setup_func = make_folder, .teardown_func = remove_folder) {
    tamis_output output;
    char *const in = in_folder("in"), *const moved = in_folder("moved"), *const victim = in_folder("victim");
    assert_int_equal(mkdir(in, 0700), 0);
    assert_int_equal(mkdir(victim, 0700), 0);
    works(tamis_output_open(in_folder("in/file"), false, &output));
    works(tamis_output_write(&output, "new", 3));
    assert_int_equal(rename(in, moved), 0);
    make_link("victim", in, 0);
    works(tamis_output_close(&output, TAMIS_OK));
    assert_int_equal(access(in_folder("victim/file"), F_OK), -1);
    expect_file(in_folder("moved/file"), "new");
    unlink(in_folder("moved/file"));
    assert_int_equal(rmdir(in_folder("moved")), 0);
    assert_int_equal(rmdir(in_folder("victim")), 0);
    unlink(in_folder("in"));
}

/* ------------------------------------------------------------------------------------------ temporary names */

static enum { QUIET = 0, SIGNAL_BEFORE, SIGNAL_AFTER } signal_comes;
static char taken[NAME_MAX + 1];

static void clean_up(int number) { tamis_temporaries_remove(); }

/* SIGNAL_BEFORE: another user's file has the name already, and a signal comes. */
static void before_naming(int in, const char *name) {
    if (signal_comes != SIGNAL_BEFORE) return;
    signal_comes = QUIET;
    snprintf(taken, sizeof taken, "%s", strrchr(name, '/') ? strrchr(name, '/') + 1 : name);
    close(openat(in, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    raise(SIGUSR1);
}

static void after_naming(void) {
    if (signal_comes == SIGNAL_AFTER) raise(SIGUSR1);
    signal_comes = QUIET;
}

/* These two in the place of the C library's: a file gets its temporary name by one of them. */
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    before_naming(to_folder, to);
    const int done = (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    after_naming();
    return done;
}

static bool none_is_nameless; /* as on file systems that have no files without a name */

int openat(int in, const char *name, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;
    va_end(more);
    errno = EOPNOTSUPP;
    if (none_is_nameless && (flags & O_TMPFILE) == O_TMPFILE) return -1;
    if (flags & O_EXCL) before_naming(in, name);
    const int made = (int)syscall(SYS_openat, in, name, flags, mode);
    if (flags & O_EXCL) after_naming();
    return made;
}

/* A signal whose handler removes the temporary files comes when the file is being named. */
static void put_with_signal(int when) {
    const struct sigaction action = {.sa_handler = clean_up};
    struct sigaction before;
    signal_comes = when;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    const tamis_status status = put(in_folder("file"), "new");
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    assert_int_equal(signal_comes, QUIET);
    assert_int_equal(status, TAMIS_ERROR_FILE); /* the handler has removed it; a program ends there */
}

TEST_AS(a_file_of_the_temporary_name_survives, .setup_func = make_folder, .teardown_func = remove_folder) {
    put_with_signal(SIGNAL_BEFORE);
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(unlink(in_folder(taken)), 0);
}

TEST_AS(no_signal_leaves_a_file_that_was_just_made, .setup_func = make_folder, .teardown_func = remove_folder) {
    put_with_signal(SIGNAL_AFTER);
    assert_int_equal(files_in_folder(), 0);
}

TEST_RUN() {
    umask(022);
    const int failed = test_run("nameless", NULL, NULL, NULL);
    none_is_nameless = true;
    return failed + test_run("named", NULL, NULL, NULL);
}
