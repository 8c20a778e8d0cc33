/* The folder of compiled kernels, without a device: what is kept comes back, the oldest go, and clearing counts. */
#include "support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tamis/cache.h>

#include "base/cache_folder.h"
#include "base/fnv.h"
#include "gpu/compile/program_cache.h"
#include "processes.h"

enum { CODE_BYTES = 1000, PATH_BYTES = 1024, OTHER = 1000 };
static char folder[256];

static int make_folder(void **state) {
    folder_make(folder, sizeof folder);
    return setenv("XDG_CACHE_HOME", folder, 1);
}

static int remove_folder(void **state) {
    folder_remove(folder);
    return unsetenv("TAMIS_CACHE_BYTES");
}

static void save(const char *key, int content) {
    unsigned char code[CODE_BYTES];
    memset(code, content, sizeof code);
    tamis_program_cache_save(key, &(tamis_gpu_binary){code, sizeof code});
}

/* The byte that the entry's code consists of, -1 for no entry. */
static int content_of(const char *key) {
    tamis_gpu_binary binary;
    if (!tamis_program_cache_load(key, &binary)) return -1;
    const unsigned char *const code = binary.memory;
    assert_int_equal(binary.bytes, CODE_BYTES);
    for (int i = 1; i < CODE_BYTES; i++) assert_int_equal(code[i], code[0]);
    const int content = code[0];
    tamis_release(binary.memory);
    return content;
}

static tamis_cache_description described(void) {
    tamis_cache_description description;
    works(tamis_cache_describe(&description));
    return description;
}

TEST_AS(entries_come_back, .setup_func = make_folder, .teardown_func = remove_folder) {
    assert_int_equal(content_of("one"), -1);
    save("one", 1);
    save("two\nwith lines", 2);
    assert_int_equal(content_of("one"), 1);
    assert_int_equal(content_of("two\nwith lines"), 2);
    assert_int_equal(content_of("two"), -1);
    save("one", 3);
    assert_int_equal(content_of("one"), 3);
    assert_int_equal(described().entries, 2);
    assert_true(described().bytes > 2 * CODE_BYTES && described().bytes < 3 * CODE_BYTES);
}

TEST_AS(clearing_counts, .setup_func = make_folder, .teardown_func = remove_folder) {
    char other[PATH_BYTES + 64];
    int64_t removed = -1;
    for (int i = 0; i < 3; i++) save((const char *[]){"one", "two", "three"}[i], i);
    snprintf(other, sizeof other, "%s/other", described().path);
    const int file = open(other, O_WRONLY | O_CREAT, 0600);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(described().entries, 3);
    works(tamis_cache_clear(&removed));
    assert_int_equal(removed, 3);
    assert_int_equal(described().entries, 0);
    assert_int_equal(described().bytes, 0);
    assert_int_equal(content_of("one"), -1);
    assert_int_equal(access(other, R_OK), 0);
    works(tamis_cache_clear(&removed));
    assert_int_equal(removed, 0);
    works(tamis_cache_clear(NULL));
}

/* The entry that is not dated yet gets that time. */
static void date(time_t when) {
    const struct timespec then[2] = {{when, 0}, {when, 0}};
    char path[2 * PATH_BYTES];
    struct stat information;
    const tamis_cache_description cache = described();
    DIR *const listing = opendir(cache.path);
    assert_non_null(listing);
    for (const struct dirent *at = readdir(listing); at; at = readdir(listing)) {
        snprintf(path, sizeof path, "%s/%s", cache.path, at->d_name);
        if (at->d_name[0] == '.' || stat(path, &information) != 0 || information.st_mtime < 1000000000) continue;
        assert_int_equal(utimensat(AT_FDCWD, path, then, 0), 0);
    }
    closedir(listing);
}

/* A fourth entry is one too many for the bound, a fifth again: neither the first that was saved goes nor the last. */
TEST_AS(the_oldest_goes, .setup_func = make_folder, .teardown_func = remove_folder) {
    static const struct {
        const char *key;
        time_t when;
    } saved[] = {{"young", 3000}, {"oldest", 1000}, {"old", 2000}};
    char text[32];
    for (int i = 0; i < 3; i++) {
        save(saved[i].key, i);
        date(saved[i].when);
    }
    snprintf(text, sizeof text, "%lld", (long long)described().bytes + CODE_BYTES / 2);
    setenv("TAMIS_CACHE_BYTES", text, 1);
    save("a fourth", 3);
    assert_int_equal(content_of("oldest"), -1);
    assert_int_equal(described().entries, 3);
    save("a fifth", 4);
    assert_int_equal(content_of("old"), -1);
    assert_int_equal(content_of("young"), 0);
    assert_int_equal(content_of("a fourth"), 3);
    assert_int_equal(content_of("a fifth"), 4);
    setenv("TAMIS_CACHE_BYTES", "0", 1); /* nothing is kept; what there is stays */
    save("a sixth", 5);
    assert_int_equal(content_of("a sixth"), -1);
    assert_int_equal(described().entries, 3);
}

static void path_of_entry(char *path, size_t bytes) {
    const tamis_cache_description cache = described();
    DIR *const listing = opendir(cache.path);
    assert_non_null(listing);
    *path = 0;
    for (const struct dirent *at = readdir(listing); at; at = readdir(listing))
        if (at->d_name[0] != '.') snprintf(path, bytes, "%s/%s", cache.path, at->d_name);
    closedir(listing);
    assert_true(*path != 0);
}

static void change_byte(const char *path, off_t where, unsigned char to) {
    const int file = open(path, O_WRONLY);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, &to, 1, where), 1);
    close(file);
}

/* One byte of the code, or its last one, which no length tells: made anew. */
TEST_AS(damaged_entries_are_made_again, .setup_func = make_folder, .teardown_func = remove_folder) {
    char path[2 * PATH_BYTES];
    struct stat entry;
    for (int back = 1; back <= 10; back += 9) {
        save("one", 1);
        path_of_entry(path, sizeof path);
        assert_int_equal(stat(path, &entry), 0);
        change_byte(path, entry.st_size - back, 2);
        assert_int_equal(content_of("one"), -1);
        assert_int_equal(described().entries, 0);
    }
}

/* A whole entry where that of another key of the same length belongs. */
TEST_AS(entries_of_other_keys_are_not_taken, .setup_func = make_folder, .teardown_func = remove_folder) {
    char one[2 * PATH_BYTES], two[2 * PATH_BYTES];
    save("two", 2);
    path_of_entry(two, sizeof two);
    works(tamis_cache_clear(NULL));
    save("one", 1);
    path_of_entry(one, sizeof one);
    assert_int_equal(rename(one, two), 0);
    assert_int_equal(content_of("two"), -1);
}

/* Code is loaded from the folder and put there: not one that others may write, nor through a link. */
TEST_AS(folders_of_others_are_refused, .setup_func = make_folder, .teardown_func = remove_folder) {
    char tamis[PATH_BYTES], moved[PATH_BYTES], programs[PATH_BYTES + 16];
    save("one", 1);
    snprintf(tamis, sizeof tamis, "%s/tamis", folder);
    snprintf(moved, sizeof moved, "%s/moved", folder);
    snprintf(programs, sizeof programs, "%s/programs", tamis);
    for (int i = 0; i < 6; i++) {
        const char *const opened = i % 2 ? tamis : programs;
        assert_int_equal(chmod(opened, (mode_t[]){0720, 0702, 0777}[i / 2]), 0);
        assert_int_equal(content_of("one"), -1);
        save("two", 2);
        assert_string_equal(described().path, "");
        assert_int_equal(chmod(opened, 0700), 0);
    }
    assert_int_equal(content_of("one"), 1);
    assert_int_equal(content_of("two"), -1);
    assert_int_equal(chmod(programs, 0500), 0);
    save("two", 2);
    assert_int_equal(chmod(programs, 0700), 0);
    if (geteuid() != 0) assert_int_equal(content_of("two"), -1); /* root may write anywhere */
    assert_int_equal(rename(tamis, moved), 0);
    assert_int_equal(symlink(moved, tamis), 0);
    assert_int_equal(content_of("one"), -1);
    assert_int_equal(unlink(tamis), 0);
    assert_int_equal(rename(moved, tamis), 0);
    assert_int_equal(content_of("one"), 1);
}

/* The same of an entry. */
TEST_AS(entries_of_others_are_refused, .setup_func = make_folder, .teardown_func = remove_folder) {
    char path[2 * PATH_BYTES], moved[PATH_BYTES];
    save("one", 1);
    path_of_entry(path, sizeof path);
    snprintf(moved, sizeof moved, "%s/entry", folder);
    assert_int_equal(chmod(path, 0620), 0);
    assert_int_equal(content_of("one"), -1);
    save("one", 1);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(symlink(moved, path), 0);
    assert_int_equal(content_of("one"), -1);
}

/* The cache's folders, and the one above them, whatever slashes its name ends in. */
TEST_AS(folders_that_are_absent_are_made, .setup_func = make_folder, .teardown_func = remove_folder) {
    char above[PATH_BYTES];
    snprintf(above, sizeof above, "%s/above//", folder);
    setenv("XDG_CACHE_HOME", above, 1);
    save("one", 1);
    assert_int_equal(content_of("one"), 1);
    snprintf(above, sizeof above, "%s/above/tamis/programs", folder);
    assert_string_equal(described().path, above);
    snprintf(above, sizeof above, "%s/no/above", folder);
    setenv("XDG_CACHE_HOME", above, 1);
    save("one", 1);
    assert_string_equal(described().path, "");
}

static void expect_no_cache(const char *home) {
    save("one", 1);
    assert_int_equal(content_of("one"), -1);
    assert_string_equal(described().path, "");
    assert_int_equal(rmdir(home), 0); /* nothing was made there */
    assert_int_equal(mkdir(home, 0700), 0);
    assert_int_equal(chown(home, OTHER, OTHER), 0);
}

/* sudo may keep the HOME of who called it: what root made there would shut its owner out. */
TEST_AS(root_makes_no_cache_for_others, .setup_func = make_folder, .teardown_func = remove_folder) {
    char home[PATH_BYTES], cache[PATH_BYTES + 8];
    const char *const before = getenv("HOME");
    char *const kept = before ? strdup(before) : NULL;
    if (geteuid() != 0) skip_because("only root makes folders of other users");
    snprintf(home, sizeof home, "%s/home", folder);
    snprintf(cache, sizeof cache, "%s/cache", home);
    assert_int_equal(mkdir(home, 0700), 0);
    assert_int_equal(chown(home, OTHER, OTHER), 0);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", home, 1);
    expect_no_cache(home);
    setenv("XDG_CACHE_HOME", home, 1);
    expect_no_cache(home);
    setenv("XDG_CACHE_HOME", cache, 1);
    expect_no_cache(home);
    assert_int_equal(chown(home, 0, 0), 0);
    save("one", 1);
    assert_int_equal(content_of("one"), 1);
    if (kept) setenv("HOME", kept, 1);
    free(kept);
}

/* Somebody puts a link in the place of the folder that was checked. */
TEST_AS(a_folder_that_is_swapped_changes_nothing, .setup_func = make_folder, .teardown_func = remove_folder) {
    char tamis[PATH_BYTES], moved[PATH_BYTES], path[2 * PATH_BYTES];
    tamis_cache_draft draft;
    snprintf(tamis, sizeof tamis, "%s/tamis", folder);
    snprintf(moved, sizeof moved, "%s/moved", folder);
    assert_true(tamis_cache_draft_open("programs", "entry", &draft));
    assert_int_equal(rename(tamis, moved), 0);
    assert_int_equal(symlink(folder, tamis), 0);
    snprintf(path, sizeof path, "%s/programs", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_true(tamis_cache_draft_close(&draft));
    assert_int_equal(rmdir(path), 0);
    snprintf(path, sizeof path, "%s/programs/entry", moved);
    assert_int_equal(access(path, R_OK), 0);
}

/* What names and checks entries, and what models keep of their data: the published answers of FNV-1a, and one by words,
   which files of earlier versions have. */
TEST(sums_stay_what_they_are) {
    static const char text[] = " The quick brown fox"; /* from an odd address on */
    assert_true(tamis_fnv_bytes(TAMIS_FNV_START, "", 0) == 0xcbf29ce484222325u);
    assert_true(tamis_fnv_bytes(TAMIS_FNV_START, "a", 1) == 0xaf63dc4c8601ec8cu);
    assert_true(tamis_fnv_bytes(TAMIS_FNV_START, "foobar", 6) == 0x85944171f73967e8u);
    assert_true(tamis_fnv_words(TAMIS_FNV_START, text + 1, 19) == 0xe88c884545aef3du);
    assert_true(tamis_fnv_words(TAMIS_FNV_START, NULL, 8) == TAMIS_FNV_START);
}
