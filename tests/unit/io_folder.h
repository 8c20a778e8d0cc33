/* A folder of a test's own, which must be empty at the end. */
#ifndef TAMIS_TEST_IO_FOLDER_H
#define TAMIS_TEST_IO_FOLDER_H

#include <dirent.h>
#include <sys/stat.h>

#include "support/bytes.h"
#include "test_io_support.h"

static char *folder;

static inline int make_folder(void **state) {
    folder = io_temporary("");
    return mkdir(folder, 0700);
}

static inline int remove_folder(void **state) {
    const int status = rmdir(folder); /* fails when a test left something */
    free(folder);
    return status;
}

/* The path of a name in it; the next call but three has its memory. */
static inline char *in_folder(const char *name) {
    static char paths[4][1024];
    static int next;
    char *const path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* The number of its files, which are removed if so wanted. */
static inline int look_into_folder(bool remove_them) {
    int count = 0;
    DIR *const listing = opendir(folder);
    assert_non_null(listing);
    for (const struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        count++;
        if (remove_them) unlink(in_folder(entry->d_name));
    }
    closedir(listing);
    return count;
}

static inline int files_in_folder(void) { return look_into_folder(false); }

/* What a message about a file is, with the system's words for the error; for REFUSED. */
static inline const char *said_of(const char *path, const char *what, int error) {
    static char words[1400];
    snprintf(words, sizeof words, "^%s: %s%s%s$", path, what, error ? ": " : "", error ? strerror(error) : "");
    return words;
}

#endif
