/*
 * CUDA's threads as contexts of one thread: see emulated.h. A group's threads run in turn, each until it waits. A
 * launch holds a lock, since what kernels see of their place is global.
 */
#include "emulate.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    THREADS = 1024,
    STACK = 256 << 10,
    SHARED = 256 << 10,
    ROUNDS = 1 << 20,
    COMPILATION = 6,
    TIMEOUT = 702,
    LAUNCH_FAILED = 719
};

struct emulated_dimensions {
    unsigned x, y, z;
};

typedef struct meeting { /* of a group's or a warp's threads */
    unsigned here, turns, alive;
} meeting;

#define VISIBLE __attribute__((visibility("default")))
VISIBLE struct emulated_dimensions emulated_group, emulated_grid, emulated_thread;
VISIBLE char *emulated_shared_memory;

static struct {
    jmp_buf scheduler, waiting[THREADS];
    ucontext_t begin[THREADS];
    bool started[THREADS], ended[THREADS];
    char *stacks;
    meeting group, warps[THREADS / 32];
    long met;      /* meetings that all have come to */
    size_t waited; /* threads that have waited for the launch before */
    char slots[THREADS][64];
    void (*kernel)(void **arguments);
    void **arguments;
} run;

VISIBLE void emulated_wait(void);
void emulated_wait(void) {
    if (_setjmp(run.waiting[emulated_thread.x]) == 0) _longjmp(run.scheduler, 1);
}

static void meet(meeting *all) {
    const unsigned turn = all->turns;
    if (++all->here >= all->alive) {
        all->here = 0;
        all->turns++;
        run.met++;
        return;
    }
    while (all->turns == turn) emulated_wait();
}

VISIBLE void emulated_barrier(void);
void emulated_barrier(void) { meet(&run.group); }

VISIBLE void emulated_warp(void);
void emulated_warp(void) { meet(&run.warps[emulated_thread.x / 32]); }

VISIBLE void *emulated_slot(int lane);
void *emulated_slot(int lane) { return run.slots[emulated_thread.x / 32 * 32 + (unsigned)lane]; }

VISIBLE void emulated_last_launch(void);
void emulated_last_launch(void) { run.waited++; }

/* Those that wait for a thread that has ended wait no more. */
static void leave(meeting *all) {
    if (--all->alive > 0 && all->here >= all->alive) {
        all->here = 0;
        all->turns++;
    }
}

/* A thread of one group after another: making contexts asks the system twice each. */
static void thread_body(void) {
    for (;;) {
        run.kernel(run.arguments);
        run.ended[emulated_thread.x] = true;
        leave(&run.group);
        leave(&run.warps[emulated_thread.x / 32]);
        emulated_wait();
    }
}

/* Not inlined: what its caller keeps in registers would not outlast the jump. */
static __attribute__((noinline)) void resume(unsigned thread) {
    emulated_thread = (struct emulated_dimensions){.x = thread};
    if (_setjmp(run.scheduler) != 0) return;
    if (run.started[thread]) _longjmp(run.waiting[thread], 1);
    run.started[thread] = true;
    setcontext(&run.begin[thread]);
}

static __attribute__((noinline)) void prepare(unsigned thread) {
    ucontext_t *const context = &run.begin[thread];
    getcontext(context);
    context->uc_stack.ss_sp = run.stacks + (size_t)thread * STACK;
    context->uc_stack.ss_size = STACK;
    context->uc_link = NULL;
    makecontext(context, thread_body, 0);
}

static int run_group(unsigned threads) {
    run.group = (meeting){.alive = threads};
    for (unsigned i = 0; i < threads; i++) {
        run.ended[i] = false;
        run.warps[i / 32] = (meeting){.alive = threads - i / 32 * 32 < 32 ? threads - i / 32 * 32 : 32};
        if (!run.started[i]) prepare(i);
    }
    for (long round = 0; round < ROUNDS && run.group.alive > 0; round++)
        for (unsigned first = 0; first < threads; first += 32) {
            long met; /* a warp goes on while its own threads are all that it waits for */
            do {
                met = run.met;
                for (unsigned i = first; i < first + 32 && i < threads; i++)
                    if (!run.ended[i]) resume(i);
            } while (met != run.met && run.warps[first / 32].alive > 0);
        }
    if (run.group.alive == 0) return 0;
    memset(run.started, 0, sizeof run.started); /* they wait within the kernel */
    return TIMEOUT;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool have_memory(void) {
    if (!run.stacks) {
        void *const stacks = mmap(NULL, (size_t)THREADS * STACK, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        run.stacks = stacks == MAP_FAILED ? NULL : stacks;
        emulated_shared_memory = aligned_alloc(1024, SHARED);
    }
    return run.stacks && emulated_shared_memory;
}

int emulate_launch(void *kernel, const unsigned grid[3], unsigned threads, unsigned shared_bytes, void **arguments,
                   bool early) {
    int status = 0;
    pthread_mutex_lock(&lock);
    if (!have_memory() || shared_bytes > SHARED) status = 2;
    *(void **)&run.kernel = kernel;
    run.arguments = arguments;
    run.waited = 0;
    emulated_grid = (struct emulated_dimensions){grid[0], grid[1], grid[2]};
    for (unsigned z = 0; z < grid[2] && status == 0; z++)
        for (unsigned y = 0; y < grid[1] && status == 0; y++)
            for (unsigned x = 0; x < grid[0] && status == 0; x++) {
                emulated_group = (struct emulated_dimensions){x, y, z};
                memset(emulated_shared_memory, 0xa5, shared_bytes); /* as whoever was here before has left it */
                status = run_group(threads);
            }
    const size_t all = (size_t)grid[0] * grid[1] * grid[2] * threads;
    if (status == 0 && early && run.waited != all) {
        fprintf(stderr, "%zu of %zu threads wait for the launch before theirs\n", run.waited, all);
        status = LAUNCH_FAILED;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* ------------------------------------------------------------------------------------------ compiling */

static bool write_all(int file, const char *bytes, size_t count) {
    while (count > 0) {
        const ssize_t written = write(file, bytes, count);
        if (written <= 0) return false;
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

static char *read_all(const char *path, size_t *bytes) {
    FILE *const file = fopen(path, "rb");
    char *text = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0 && (*bytes = (size_t)ftell(file)) > 0 && (text = malloc(*bytes))) {
        rewind(file);
        if (fread(text, 1, *bytes, file) != *bytes) {
            free(text);
            text = NULL;
        }
    }
    if (file) fclose(file);
    return text;
}

/* The process of translate.py that compiles for this one. */
static struct {
    pid_t owner; /* a child has its own */
    FILE *to, *from;
} translator;

static bool have_translator(void) {
    int to[2], from[2];
    if (translator.owner == getpid()) return true;
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) return false;
    const pid_t child = fork();
    if (child == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        execlp("python3", "python3", "-IS", EMULATED_TRANSLATE, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    translator.to = fdopen(to[1], "w");
    translator.from = fdopen(from[0], "r");
    if (child > 0 && translator.to && translator.from) translator.owner = getpid();
    return translator.owner == getpid();
}

static bool translate(const char *path, const char *library, int options, const char *const *texts) {
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one);
    bool right = have_translator();
    if (right) {
        fprintf(translator.to, "%s\t%s", path, library);
        for (int i = 0; i < options; i++)
            if (strncmp(texts[i], "-D", 2) == 0)
                fprintf(translator.to, "\t%s", texts[i]);
            else if (i > 0 && strcmp(texts[i - 1], "-D") == 0)
                fprintf(translator.to, "%s", texts[i]);
        fprintf(translator.to, "\n");
        char answer[8] = "";
        right = fflush(translator.to) == 0 && fgets(answer, sizeof answer, translator.from) && answer[0] == '0';
    }
    pthread_mutex_unlock(&one);
    return right;
}

int emulate_compile(const char *source, int options, const char *const *texts, char **code, size_t *bytes) {
    static const char *const made[] = {"kernel.cu", "kernel.cpp", "kernel.so"};
    char folder[] = "/tmp/tamis-emulated-XXXXXX", paths[3][64];
    *code = NULL;
    if (!mkdtemp(folder)) return COMPILATION;
    for (int i = 0; i < 3; i++) snprintf(paths[i], sizeof paths[i], "%s/%s", folder, made[i]);
    FILE *const file = fopen(paths[0], "w");
    const bool written = file && fputs(source, file) >= 0;
    if (file) fclose(file);
    if (written && translate(paths[0], paths[2], options, texts)) *code = read_all(paths[2], bytes);
    for (int i = 0; i < 3 && !getenv("EMULATED_KEEP"); i++) unlink(paths[i]);
    rmdir(folder);
    return *code ? 0 : COMPILATION;
}

void *emulate_load(const char *code, size_t bytes) {
    char path[] = "/tmp/tamis-emulated-XXXXXX"; /* one by one: a library of the same path would not be loaded anew */
    const int file = mkstemp(path);
    void *library = NULL;
    Dl_info here; /* kernels use what this library has */
    if (dladdr((void *)(uintptr_t)&emulate_load, &here)) dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    if (file >= 0 && write_all(file, code, bytes)) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (file >= 0 && !library) fprintf(stderr, "%s\n", dlerror());
    if (file >= 0) close(file);
    if (file >= 0) unlink(path);
    return library;
}

void *emulate_kernel(void *library, const char *name) {
    char symbol[160];
    snprintf(symbol, sizeof symbol, "launch_%s", name);
    return dlsym(library, symbol);
}
