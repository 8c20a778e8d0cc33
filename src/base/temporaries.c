/* The table of names is never freed, since a signal handler may read it at any moment, on any thread. A file is in it
   only while it certainly exists: from after its creation until before it is moved or removed. During these two steps
   all signals are blocked, so that a handler on the same thread finds each file. */
#define _GNU_SOURCE
#include "base/temporaries.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 32, NAME_TRIES = 100 };
enum { FREE = 0, TAKEN, NAMED };

static struct {
    atomic_int state;
    int folder;
    char name[NAME_MAX + 1];
} files[MOST];

static void hold_signals(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
}

static void let_signals(const sigset_t *before) {
    const int error = errno;
    pthread_sigmask(SIG_SETMASK, before, NULL);
    errno = error;
}

static int list(const tamis_temporary *file) {
    for (int i = 0; i < MOST; i++) {
        int expected = FREE;
        if (!atomic_compare_exchange_strong(&files[i].state, &expected, TAKEN)) continue;
        files[i].folder = file->folder;
        memcpy(files[i].name, file->name, sizeof file->name);
        atomic_store(&files[i].state, NAMED);
        return i;
    }
    return -1;
}

static void unlist(const tamis_temporary *file) {
    if (file->listed >= 0) atomic_store(&files[file->listed].state, FREE);
}

static int make_once(const tamis_temporary *file, const char *nameless, mode_t mode) {
    if (nameless) return linkat(AT_FDCWD, nameless, file->folder, file->name, AT_SYMLINK_FOLLOW);
    return openat(file->folder, file->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

int tamis_temporary_make(int folder, const char *beside, const char *nameless, mode_t mode, tamis_temporary *file) {
    static _Atomic unsigned counter;
    sigset_t before;
    int made = -1;
    *file = (tamis_temporary){.folder = folder, .listed = -1};
    hold_signals(&before);
    errno = EEXIST;
    for (int i = 0; i < NAME_TRIES && made < 0 && (errno == EEXIST || errno == EINTR); i++) {
        const int length = snprintf(file->name, sizeof file->name, "%s.%ld-%u.part", beside, (long)getpid(),
                                    atomic_fetch_add(&counter, 1u));
        errno = ENAMETOOLONG;
        if (length < (int)sizeof file->name) made = make_once(file, nameless, mode);
    }
    if (made >= 0)
        file->listed = list(file);
    else
        *file->name = '\0';
    let_signals(&before);
    return made;
}

bool tamis_temporary_move(tamis_temporary *file, const char *name) {
    sigset_t before;
    hold_signals(&before);
    unlist(file);
    const bool moved = renameat(file->folder, file->name, file->folder, name) == 0;
    const int error = errno;
    if (!moved) unlinkat(file->folder, file->name, 0);
    errno = error;
    *file->name = '\0';
    let_signals(&before);
    return moved;
}

void tamis_temporary_remove(tamis_temporary *file) {
    const int error = errno;
    sigset_t before;
    if (!*file->name) return;
    hold_signals(&before);
    unlist(file);
    unlinkat(file->folder, file->name, 0);
    *file->name = '\0';
    let_signals(&before);
    errno = error;
}

void tamis_temporaries_remove(void) {
    for (int i = 0; i < MOST; i++)
        if (atomic_load(&files[i].state) == NAMED) unlinkat(files[i].folder, files[i].name, 0);
}
