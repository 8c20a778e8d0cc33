/* Writing: what a failure leaves behind (nothing), links and permissions, and what is refused. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/temporaries.h"
#include "io/files/output.h"
#include "io_folder.h"
#include "test_io_support.h"

enum { MANY = 100000 };

static const int32_t offsets[] = {0, 2, 3}, columns[] = {0, 2, 1};
static const float values[] = {1.5F, -2, 0.1F};
static const tamis_sparse small = {
    .rows = 2, .cols = 3, .nnz = 3, .offsets = offsets, .columns = columns, .values = values};

/* A matrix whose file is larger than any buffer. */
static tamis_sparse large(void) {
    static int32_t row_indices[MANY];
    for (int i = 0; i < MANY; i++) row_indices[i] = (i * 7919) % MANY;
    return coo_of(TAMIS_F32, MANY, MANY, MANY, row_indices, row_indices, NULL);
}

static const char small_market[] = "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1.5\n1 3 -2\n2 2 0.1\n";

TEST(writes_market) {
    char *const path = in_folder("a.mtx");
    works(tamis_write_sparse(path, &small));
    expect_file(path, small_market);
    tamis_sparse pattern = small;
    pattern.values = NULL;
    works(tamis_write_sparse(path, &pattern)); /* over the old file */
    expect_file(path, "%%MatrixMarket matrix coordinate pattern general\n2 3 3\n1 1\n1 3\n2 2\n");
    assert_int_equal(files_in_folder(), 1);
    unlink(path);
}

TEST(writes_nothing_much) {
    static const int32_t zero[] = {0};
    const tamis_sparse empty = {.rows = 0, .cols = 4, .offsets = zero};
    const tamis_dense none = {.rows = 3, .cols = 0};
    static const char *const names[] = {"e.mtx", "e.mtx.gz", "e.npz"};
    for (int i = 0; i < 3; i++) {
        if (!io_can_write(names[i])) continue;
        char *const path = in_folder(names[i]);
        works(tamis_write_sparse(path, &empty));
        io_expect_file(path, NULL, "csr 0x4 0");
        unlink(path);
    }
    char *const path = in_folder("e.npy");
    works(tamis_write_dense(path, &none));
    tamis_owned_dense *array = NULL;
    works(tamis_read_dense(path, TAMIS_F32, &array));
    assert_int_equal(tamis_owned_dense_view(array)->rows, 3);
    assert_int_equal(tamis_owned_dense_view(array)->cols, 0);
    tamis_owned_dense_free(array);
    unlink(path);
}

/* Writing fails while `fault` is on, where there is no file yet and where there is one: nothing changes. */
static void keeps_the_old_file(const tamis_sparse *matrix, void (*fault)(bool on), const char *said, int error) {
    static const char *const names[] = {"f.mtx", "f.mtx.gz", "f.npz"};
    for (int i = 0; i < 3; i++) {
        if (!io_can_write(names[i])) continue;
        char *const path = in_folder(names[i]);
        for (int old = 0; old < 2; old++) {
            if (old) works(tamis_write_sparse(path, &small));
            fault(true);
            REFUSED(FILE, said_of(path, said, error), tamis_write_sparse(path, matrix));
            fault(false);
            assert_int_equal(files_in_folder(), old);
        }
        io_expect_file(path, NULL, "csr 2x3 3| 0 0 1.5| 0 2 -2| 1 1 0.10000000149011612");
        unlink(path);
    }
}

/* A limit on the size of files stands in for a full disk: the write fails in the middle. */
static void fill_disk(bool on) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = on ? 20000 : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST(a_full_disk_leaves_the_old_file) {
    const tamis_sparse big = large();
    signal(SIGXFSZ, SIG_IGN);
    keeps_the_old_file(&big, fill_disk, "cannot write", EFBIG);
}

static bool disk_fails;

static void fail_disk(bool on) { disk_fails = on; }

/* In the place of the C library's: a disk that takes no more says so here, not where the file is written. */
int fsync(int descriptor) {
    errno = EIO;
    return disk_fails ? -1 : (int)syscall(SYS_fsync, descriptor);
}

TEST(a_disk_that_fails_leaves_the_old_file) {
    tamis_sparse pattern = small;
    pattern.values = NULL;
    keeps_the_old_file(&pattern, fail_disk, "cannot write to the disk", EIO);
}

TEST(devices_are_written_to_as_they_are) {
    if (access("/dev/full", W_OK) != 0) skip_because("there is no /dev/full");
    char *const path = in_folder("full.mtx");
    assert_int_equal(symlink("/dev/full", path), 0);
    REFUSED(FILE, said_of(path, "cannot write", ENOSPC), tamis_write_sparse(path, &small));
    struct stat about;
    assert_int_equal(stat("/dev/full", &about), 0);
    assert_true(S_ISCHR(about.st_mode)); /* not replaced by a file */
    assert_int_equal(files_in_folder(), 1);
    unlink(path);
}

/* What takes the file's place while it is being written: the new one cannot go there, and the caller is told. */
TEST(a_rename_that_fails_is_an_error) {
    const int64_t live = tamis_memory_live();
    char *const path = in_folder("taken.mtx");
    for (int gzip = 0; gzip <= TAMIS_HAVE_ZLIB; gzip++) {
        tamis_output output;
        works(tamis_output_open(path, gzip, &output));
        works(tamis_output_write(&output, "text", 4));
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(tamis_output_close(&output, TAMIS_OK), TAMIS_ERROR_FILE);
        assert_true(message_says(tamis_last_error(), said_of(path, "cannot rename the new file to it", EISDIR)));
        assert_int_equal(tamis_memory_live(), live);
        assert_int_equal(files_in_folder(), 1); /* the folder in its place alone */
        assert_int_equal(rmdir(path), 0);
    }
}

/* What is known before the work: a folder, its room, links, and what is there. */
TEST(outputs_are_checked_before) {
    const int64_t live = tamis_memory_live();
    char *const path = in_folder("checked.mtx");
    works(tamis_output_check(path, 1));
    assert_int_equal(files_in_folder(), 0);
    REFUSED(FILE, "checked.mtx: it needs 9.22e+12 MB or more, and its file system has ",
            tamis_output_check(path, INT64_MAX));
    assert_int_equal(symlink("elsewhere.mtx", path), 0); /* to what is not there yet */
    works(tamis_write_sparse(path, &small));
    struct stat about;
    assert_int_equal(lstat(path, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(files_in_folder(), 2);
    assert_int_equal(chmod(path, 0444), 0);
    REFUSED(FILE, said_of(path, "cannot write", EACCES), tamis_write_sparse(path, &small));
    unlink(in_folder("elsewhere.mtx"));
    unlink(in_folder("checked.mtx"));
    assert_int_equal(symlink("round.mtx", in_folder("round.mtx")), 0);
    assert_int_equal(tamis_output_check(in_folder("round.mtx"), 1), TAMIS_ERROR_FILE);
    assert_int_equal(tamis_output_check(in_folder("no/such"), 1), TAMIS_ERROR_FILE);
    unlink(in_folder("round.mtx"));
    assert_int_equal(tamis_memory_live(), live);
}

TEST(refuses) {
    assert_int_equal(tamis_write_sparse(NULL, &small), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_write_sparse("a.mtx", NULL), TAMIS_ERROR_ARGUMENT);
    REFUSED(UNSUPPORTED, "^path = \"a.txt\": expected a name that ends in .mtx, .mtx.gz or .npz$",
            tamis_write_sparse("a.txt", &small));
    tamis_sparse broken = small;
    static const int32_t wrong[] = {0, 2, 9};
    broken.columns = wrong;
    assert_int_equal(tamis_write_sparse(in_folder("a.mtx"), &broken), TAMIS_ERROR_PATTERN);
    float data[4] = {0};
    const tamis_dense good = {.data = data, .rows = 2, .cols = 2};
    const struct {
        tamis_dense dense;
        const char *named;
    } cases[] = {
        {{.data = data, .rows = -1, .cols = 2}, "^dense.rows = -1"},
        {{.rows = 2, .cols = 2}, "^dense.data = NULL"},
        {{.data = data, .rows = 2, .cols = 2, .stride = 1}, "^dense.stride = 1"},
        {{.data = data, .rows = 2, .cols = 2, .type = (tamis_type)9}, "^dense.type = 9"},
        {{.data = data, .rows = 2, .cols = 2, .layout = (tamis_layout)9}, "^dense.layout = 9"},
        {{.data = data, .rows = 2, .cols = 2, .location = TAMIS_DEVICE}, "^dense.location = "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        REFUSED(ARGUMENT, cases[i].named, tamis_write_dense(in_folder("a.npy"), &cases[i].dense));
    assert_int_equal(tamis_write_dense(in_folder("a.npy"), NULL), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_write_dense(NULL, &good), TAMIS_ERROR_ARGUMENT);
    assert_int_equal(tamis_write_dense("a.npz", &good), TAMIS_ERROR_UNSUPPORTED);
    assert_int_equal(tamis_write_sparse(in_folder("no/a.mtx"), &small), TAMIS_ERROR_FILE);
    assert_int_equal(mkdir(in_folder("b.mtx"), 0700), 0);
    assert_int_equal(tamis_write_sparse(in_folder("b.mtx"), &small), TAMIS_ERROR_FILE);
    rmdir(in_folder("b.mtx"));
    assert_int_equal(files_in_folder(), 0);
}

TEST(reads_files_and_pipes) {
    char *const path = in_folder("p.mtx");
    assert_int_equal(mkfifo(path, 0600), 0);
    char command[1200];
    snprintf(command, sizeof command,
             "printf '%%%%%%%%MatrixMarket matrix coordinate pattern general\\n1 1 1\\n1 1\\n' > %s", path);
    FILE *const writer = popen(command, "w");
    assert_non_null(writer);
    io_expect_file(path, NULL, "csr 1x1 1| 0 0");
    pclose(writer);
    unlink(path);
    tamis_owned_sparse *matrix = NULL;
    char *const absent = in_folder("absent.mtx");
    REFUSED(FILE, said_of(absent, "cannot open", ENOENT), tamis_read_sparse(absent, NULL, &matrix));
    REFUSED(FILE, said_of(folder, "cannot read: it is a folder", 0), tamis_read_sparse(folder, NULL, &matrix));
    assert_null(matrix);
}

/* What a program does that a signal ends: all names that are temporary at the moment, and no other. */
TEST(temporary_files_are_removed_at_once) {
    tamis_temporary files[40];
    char names[40][NAME_MAX + 1];
    int listed = 0;
    const int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 40; i++) {
        const int made = tamis_temporary_make(at, "some", NULL, 0600, &files[i]);
        assert_true(made >= 0);
        close(made);
        snprintf(names[i], sizeof names[i], "%s", files[i].name);
        listed += files[i].listed >= 0;
    }
    assert_in_range(listed, 20, 39);
    assert_true(tamis_temporary_move(&files[3], "moved"));
    tamis_temporary_remove(&files[4]);
    close(open(in_folder(names[3]), O_CREAT | O_WRONLY, 0600)); /* others' files now, by chance of that name */
    close(open(in_folder(names[4]), O_CREAT | O_WRONLY, 0600));
    tamis_temporaries_remove();
    for (int i = 0; i < 40; i++) {
        const bool other = i == 3 || i == 4;
        assert_int_equal(faccessat(at, names[i], F_OK, 0) == 0, other || files[i].listed < 0);
        unlinkat(at, names[i], 0);
        if (!other) tamis_temporary_remove(&files[i]);
    }
    assert_int_equal(unlinkat(at, "moved", 0), 0);
    close(at);
    works(tamis_write_sparse(in_folder("after.mtx"), &small));
    tamis_temporaries_remove();
    assert_int_equal(unlink(in_folder("after.mtx")), 0);
}

TEST_FIXTURE(make_folder, remove_folder)
