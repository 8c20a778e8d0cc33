/*
 * What goes wrong on a device: memory that ends, a kernel that does not compile, and a cache of compiled kernels that
 * is damaged, absent or shared by processes; test_program_cache has what needs no device. Each is a process of its own,
 * on a device that computes (PoCL in CI), and each ends with a clear status or a right result, and with nothing left
 * over. test_gpu_faults [DEVICE]      opencl:0 unless told otherwise
 */
#include "support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/compile/jit.h"
#include "gpu/compile/program_cache.h"
#include "processes.h"
#include "support/mirror.h"

static const char *device_name = "opencl:0";
enum { PATHS = 700, ENTRIES_MOST = 64 };

/* ------------------------------------------------------------------------------------------ a problem */

typedef struct task {
    tamis_operation operation;
    tamis_edge edge;
    bool once;             /* a single call in place of a plan */
    const char *algorithm; /* NULL: the library's choice */
    problem p;
    mirror on;
    tamis_device *device;
} task;

static void task_open(task *t, tamis_operation operation, tamis_edge edge) {
    tamis_random random = tamis_random_start(5, 0);
    const problem_options o = {.rows = 37, .cols = 41, .nnz = 300, .inner = 24, .width = 20, .sorted = true};
    *t = (task){.operation = operation, .edge = edge};
    CHECK(tamis_device_open(device_name, &t->device) == TAMIS_OK);
    t->p = problem_make(&o, &random);
    t->on = mirror_make(t->device, &t->p, operation);
}

static void task_close(task *t) {
    mirror_free(&t->on);
    problem_free(&t->p);
    tamis_device_close(t->device);
}

static test_call call_of_task(const task *t) {
    test_call call = call_of(t->edge, 1, 0);
    call.options.edge_scale = 0.5;
    return call;
}

static tamis_status run_once(task *t) {
    const test_call call = call_of_task(t);
    return mirror_once(&t->on, &call.options, NULL);
}

static tamis_status run_plan(task *t) {
    const test_call call = call_of_task(t);
    OWN(tamis_plan) *plan = NULL;
    tamis_options o = problem_call(&t->p, t->operation, &call.options);
    o.expected_calls = 1000;
    o.algorithm = t->algorithm;
    tamis_status status = tamis_plan_create(t->device, &t->on.S, &o, &plan);
    if (status != TAMIS_OK) {
        CHECK(plan == NULL);
        return status;
    }
    status = mirror_plan(&t->on, plan, NULL);
    return status;
}

static tamis_status run_task(task *t) { return t->once ? run_once(t) : run_plan(t); }

static bool is_right(task *t) {
    const test_call call = call_of_task(t);
    return !mirror_wrong(&t->on, &t->p, &call);
}

/* One operation, from opening the device to closing it, with a right result; by an algorithm of little code, for most
   of what is below compiles it anew. */
static void compute(const void *unused) {
    task t;
    task_open(&t, TAMIS_OP_SDDMM, TAMIS_EDGE_SCALE);
    t.algorithm = "study-nnz-threads";
    CHECK(run_task(&t) == TAMIS_OK);
    CHECK(is_right(&t));
    task_close(&t);
}

/* ------------------------------------------------------------------------------------------ memory */

/* The first, second, ... allocation fails, on the host or on the device, until none is left to fail. */
static void fail_each(task *t) {
    const int64_t most = 400;
    for (int64_t n = 1; n < most; n++) {
        const int64_t live = tamis_memory_live();
        tamis_memory_fail_at(n);
        const tamis_status status = run_task(t);
        tamis_memory_fail_at(0);
        if (status == TAMIS_ERROR_UNSUPPORTED) return; /* nothing on this device does it */
        CHECK(tamis_memory_live() == live);
        if (status == TAMIS_OK) {
            CHECK(n > (t->once ? 2 : 3)); /* a single call: a plan, and what is prepared */
            CHECK(is_right(t));
            return;
        }
        CHECK(status == TAMIS_ERROR_MEMORY);
        CHECK(error_has("no memory for"));
    }
    CHECK(!"it goes through in the end");
}

static void memory_ends(const void *unused) {
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
        for (int way = 0; way < 4; way++) {
            const tamis_edge edge = way & 1 ? TAMIS_EDGE_SOFTMAX : TAMIS_EDGE_SCALE;
            task t;
            if (operation == TAMIS_OP_SPMM && edge != TAMIS_EDGE_SCALE) continue;
            task_open(&t, (tamis_operation)operation, edge);
            t.once = way & 2;
            fail_each(&t);
            task_close(&t);
        }
    tamis_device *device = NULL;
    const int64_t live = tamis_memory_live();
    tamis_memory_fail_at(1);
    CHECK(tamis_device_open(device_name, &device) == TAMIS_ERROR_MEMORY);
    tamis_memory_fail_at(0);
    CHECK(device == NULL && tamis_memory_live() == live);
}

/* More than there is, by the device's own word. */
static void memory_is_too_small(const void *unused) {
    tamis_device *device = NULL;
    void *memory = NULL;
    CHECK(tamis_device_open(device_name, &device) == TAMIS_OK);
    CHECK(tamis_device_allocate(device, (size_t)1 << 58, &memory) == TAMIS_ERROR_MEMORY);
    CHECK(memory == NULL && error_has(device_name));
    CHECK(tamis_device_allocate(device, (size_t)1 << 60, &memory) == TAMIS_ERROR_OVERFLOW);
    tamis_device_close(device);
    compute(NULL);
}

/* ------------------------------------------------------------------------------------------ compiling */

static void kernel_does_not_compile(const void *unused) {
    tamis_gpu_device *device = NULL;
    tamis_gpu_kernel *kernel = NULL;
    const tamis_gpu_runtime *const runtime = strncmp(device_name, "cuda", 4) == 0 ? &tamis_gpu_cuda : &tamis_gpu_opencl;
    CHECK(runtime->open(0, &device) == TAMIS_OK);
    const int64_t live = tamis_memory_live();
    const tamis_status status = tamis_gpu_kernel_get(
        device, "staging.simt", "-D GROUP=256 -D TEAM=32 -D ELEMENT=32 -D INDEX=32 -D OFFSET=32 -D real_of=?broken?",
        "transpose", 0, &kernel);
    CHECK(status == TAMIS_ERROR_DEVICE && kernel == NULL);
    CHECK(error_has("staging.simt") && error_has("does not compile") && error_has("broken"));
    CHECK(error_has("error"));
    CHECK(error_has("simt.h:") || error_has("simt.h(") || error_has("staging.simt:") || error_has("staging.simt("));
    CHECK(tamis_memory_live() == live);
    CHECK(tamis_gpu_kernel_get(device, "no such file", "", "none", 0, &kernel) == TAMIS_ERROR_INTERNAL);
    CHECK(tamis_memory_live() == live);
    compute(NULL);
}

/* ------------------------------------------------------------------------------------------ the cache */

typedef struct entries {
    char paths[ENTRIES_MOST][PATHS + 300];
    struct stat information[ENTRIES_MOST];
    int count, others; /* others: files that are no entries */
} entries;

static void list_entries(entries *e) {
    char folder[PATHS];
    memset(e, 0, sizeof *e);
    const char *const cache = getenv("XDG_CACHE_HOME");
    snprintf(folder, sizeof folder, "%s/tamis/programs", cache ? cache : "");
    DIR *const listing = opendir(folder);
    if (!listing) return;
    for (const struct dirent *at = readdir(listing); at; at = readdir(listing)) {
        const size_t length = strlen(at->d_name);
        if (at->d_name[0] == '.' || e->count == ENTRIES_MOST) continue;
        if (length < 8 || strcmp(at->d_name + length - 8, ".program") != 0) {
            e->others++;
            continue;
        }
        snprintf(e->paths[e->count], sizeof e->paths[0], "%.699s/%.255s", folder, at->d_name);
        if (stat(e->paths[e->count], &e->information[e->count]) == 0) e->count++;
    }
    closedir(listing);
}

/* Whether the entry is the file that it was; numbers of files come again, times do not. */
static bool is_kept(const entries *before, int i) {
    const struct stat *const then = &before->information[i];
    struct stat now;
    return stat(before->paths[i], &now) == 0 && now.st_ino == then->st_ino &&
           memcmp(&now.st_ctim, &then->st_ctim, sizeof now.st_ctim) == 0;
}

static bool all_kept(const entries *before) {
    for (int i = 0; i < before->count; i++)
        if (!is_kept(before, i)) return false;
    return true;
}

static bool all_made_again(const entries *before) {
    for (int i = 0; i < before->count; i++)
        if (access(before->paths[i], R_OK) != 0 || is_kept(before, i)) return false;
    return true;
}

/* A cache that one process has filled. */
static bool filled_cache(char *folder, entries *made) {
    folder_make(folder, PATHS);
    setenv("XDG_CACHE_HOME", folder, 1);
    const bool passed = process_run("    fills the cache", compute, NULL);
    list_entries(made);
    if (made->count == 0) printf("FAILED: nothing is kept in %s\n", folder);
    return passed && made->count > 0 && made->others == 0;
}

static bool cache_is_used(void) {
    char folder[PATHS];
    entries made, after;
    bool passed = filled_cache(folder, &made);
    passed = process_run("    the next process", compute, NULL) && all_kept(&made) && passed;
    list_entries(&after);
    folder_remove(folder);
    return passed && after.count == made.count;
}

static void flip(const char *path, off_t bytes) {
    const int file = open(path, O_RDWR);
    for (off_t at = 0; file >= 0 && at < bytes; at += 1 + bytes / 7) {
        unsigned char byte = 0;
        if (pread(file, &byte, 1, at) != 1) break;
        byte ^= 0x5a;
        if (pwrite(file, &byte, 1, at) != 1) break;
    }
    if (file >= 0) close(file);
}

static void cut(const char *path, off_t bytes) {
    if (truncate(path, bytes / 2) != 0) printf("FAILED: cannot cut %s\n", path);
}

static void empty(const char *path, off_t bytes) {
    if (truncate(path, 0) != 0) printf("FAILED: cannot empty %s\n", path);
}

static void lengthen(const char *path, off_t bytes) {
    if (truncate(path, bytes + 1) != 0) printf("FAILED: cannot lengthen %s\n", path);
}

/* An entry that is whole, under its own key, but whose code no driver takes: another driver's, say. */
static void replace(const char *path, off_t bytes) {
    unsigned long long key_bytes = 0, content = 0, sum = 0;
    char line[64], code[256], *const key = calloc(1, (size_t)bytes + 1);
    FILE *const file = fopen(path, "r");
    memset(code, 0x33, sizeof code);
    if (file && key && fgets(line, sizeof line, file) && fgets(line, sizeof line, file) &&
        sscanf(line, "%llu %llu %llx", &key_bytes, &content, &sum) == 3 && key_bytes < (unsigned long long)bytes &&
        fread(key, 1, key_bytes, file) == key_bytes)
        tamis_program_cache_save(key, &(tamis_gpu_binary){code, sizeof code});
    else
        printf("FAILED: cannot read %s\n", path);
    if (file) fclose(file);
    free(key);
}

static int failures, count;

static void verdict(const char *name, bool passed) {
    count++;
    if (!passed) failures++;
    printf("%s %s\n", passed ? "ok    " : "FAILED", name);
}

/* In a cache that is whole, and is whole again afterwards. */
static bool damage_is_repaired(void (*damage)(const char *path, off_t bytes)) {
    entries made, after;
    list_entries(&made);
    bool passed = made.count > 0;
    for (int i = 0; i < made.count; i++) damage(made.paths[i], made.information[i].st_size);
    /* a file that was replaced is another one already */
    for (int i = 0; i < made.count; i++)
        if (stat(made.paths[i], &made.information[i]) != 0) passed = false;
    passed = process_run("    the next process", compute, NULL) && passed;
    passed = all_made_again(&made) && passed;
    list_entries(&after);
    return passed && after.count == made.count;
}

/* One kind of damage after another; what repaired the last is read by a process more. */
static void damages_are_repaired(void) {
    static const struct {
        const char *what;
        void (*damage)(const char *path, off_t bytes);
    } damages[] = {{"bytes flipped all over", flip},
                   {"an entry cut short", cut},
                   {"an empty entry", empty},
                   {"an entry with something behind it", lengthen},
                   {"whole, but of another driver", replace}};
    char folder[PATHS];
    entries whole;
    verdict("a cache to be damaged", filled_cache(folder, &whole));
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++)
        verdict(damages[i].what, damage_is_repaired(damages[i].damage));
    list_entries(&whole);
    verdict("what was repaired is used", process_run("    the one after them", compute, NULL) && all_kept(&whole));
    folder_remove(folder);
}

/* No folder to be had: slower, and right. */
static bool works_without(const char *name, const char *cache) {
    if (cache)
        setenv("XDG_CACHE_HOME", cache, 1);
    else
        unsetenv("XDG_CACHE_HOME");
    return process_run(name, compute, NULL);
}

static bool folder_is_missing(void) {
    char folder[PATHS], path[PATHS + 32];
    const char *const home = getenv("HOME");
    char *const kept = home ? strdup(home) : NULL;
    bool passed;
    unsetenv("HOME");
    passed = works_without("without HOME and XDG_CACHE_HOME", NULL);
    passed = works_without("with a relative XDG_CACHE_HOME", "here") && access("here/tamis", F_OK) != 0 && passed;
    passed = works_without("with a folder that cannot be made", "/dev/null/x") && passed;
    if (kept) setenv("HOME", kept, 1);
    free(kept);
    folder_make(folder, PATHS);
    snprintf(path, sizeof path, "%s/tamis", folder);
    const int file = open(path, O_WRONLY | O_CREAT, 0600);
    if (file >= 0) close(file);
    passed = works_without("with a file in the folder's place", folder) && passed;
    folder_remove(folder);
    return passed;
}

static bool processes_race(void) {
    enum { RACERS = 4 };
    char folder[PATHS];
    entries after;
    pid_t racers[RACERS];
    bool passed = true;
    folder_make(folder, PATHS);
    setenv("XDG_CACHE_HOME", folder, 1);
    for (int i = 0; i < RACERS; i++) racers[i] = process_start(compute, NULL);
    for (int i = 0; i < RACERS; i++) passed = process_passed(racers[i], "    one of four at once") && passed;
    list_entries(&after);
    passed = process_run("    the one after them", compute, NULL) && all_kept(&after) && passed;
    if (after.others) printf("FAILED: %d files are left that are no entries\n", after.others);
    folder_remove(folder);
    return passed && after.count > 0 && after.others == 0;
}

/* ------------------------------------------------------------------------------------------ all of them */

static void can_be_opened(const void *unused) {
    tamis_device *device = NULL;
    if (tamis_device_open(device_name, &device) == TAMIS_OK) return;
    printf("skipped: %s\n", tamis_last_error());
    fflush(stdout);
    _exit(77);
}

TEST_RUN() {
    char pocl[PATHS];
    if (argc > 1) device_name = argv[1];
    /* PoCL's cache is out of reach of what happens to ours; ours is on beside it, for it takes all that begins with 1
       for on */
    folder_make(pocl, PATHS);
    setenv("POCL_CACHE_DIR", pocl, 0);
    setenv("POCL_KERNEL_CACHE", "11", 1);
    const int there = process_code(process_start(can_be_opened, NULL));
    if (there != 0) {
        folder_remove(pocl);
        return there;
    }
    verdict("memory ends, at each allocation", process_run("    in turn", memory_ends, NULL));
    verdict("more memory than there is", process_run("    at once", memory_is_too_small, NULL));
    verdict("a kernel that does not compile", process_run("    and then one that does", kernel_does_not_compile, NULL));
    verdict("the next process finds the kernels", cache_is_used());
    damages_are_repaired();
    verdict("no folder for the cache", folder_is_missing());
    verdict("four processes fill one cache", processes_race());
    folder_remove(pocl);
    printf("%d of %d failed\n", failures, count);
    return failures != 0;
}
