#include "processes.h"

#include <dlfcn.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tamis/tamis.h>

static bool failed;

pid_t process_start(void (*run)(const void *context), const void *context) {
    fflush(stdout);
    const pid_t child = fork();
    if (child < 0) abort();
    if (child > 0) return child;
    failed = false;
    run(context);
    fflush(stdout);
    _exit(failed); /* a vendor's library need not come to its own end */
}

int process_code(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child) abort();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool process_passed(pid_t child, const char *name) {
    const int code = process_code(child);
    if (code >= 128) printf("FAILED %s: died of signal %d\n", name, code - 128);
    printf("%s %s\n", code == 0 ? "ok    " : "FAILED", name);
    return code == 0;
}

bool process_run(const char *name, void (*run)(const void *context), const void *context) {
    return process_passed(process_start(run, context), name);
}

void process_check(bool holds, const char *text, const char *file, int line) {
    if (holds) return;
    failed = true;
    printf("%s:%d: not so: %s; the last message: %s\n", file, line, text, tamis_last_error());
}

bool error_has(const char *part) { return strstr(tamis_last_error(), part) != NULL; }

long (*calls)(const char *function), (*note)(const char *what);
void (*manage)(void *memory);

void use_fake(const char *path) {
    setenv("TAMIS_CUDA_DRIVER", path, 1);
    setenv("TAMIS_NVRTC", path, 1);
    setenv("XDG_CACHE_HOME", "", 1);
    unsetenv("HOME");
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    static const char *const names[] = {"fake_calls", "fake_note", "fake_manage"};
    void *const to[] = {&calls, &note, &manage};
    for (int i = 0; i < 3; i++) {
        void *const function = library ? dlsym(library, names[i]) : NULL;
        if (!function) abort();
        memcpy(to[i], &function, sizeof function);
    }
}

void folder_make(char *path, int bytes) {
    const char *const below = getenv("TMPDIR");
    snprintf(path, (size_t)bytes, "%s/tamis-gpu-XXXXXX", below && below[0] ? below : "/tmp");
    if (!mkdtemp(path)) abort();
}

static int erase(const char *path, const struct stat *information, int kind, struct FTW *place) { return remove(path); }

void folder_remove(const char *path) { nftw(path, erase, 16, FTW_DEPTH | FTW_PHYS); }
