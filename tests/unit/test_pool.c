/* The pool of threads: shares, callers at once, forked children, too few threads, and what a thread takes over. */
#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/control_groups.h"
#include "base/float_mode.h"
#include "base/threads.h"
#include "support/bytes.h"

enum { SHARES_MOST = 3000, CHILD_SECONDS = 600 };

/* ------------------------------------------------------------------------------------------ shares */

typedef struct counts {
    _Atomic int times[SHARES_MOST];
    int depth; /* bodies that call bodies */
} counts;

static void count_share(void *context, int share, int shares) {
    counts *const c = context;
    if (c->depth > 0) {
        counts *const inner = calloc(1, sizeof *inner);
        inner->depth = c->depth - 1;
        tamis_threads_run(5, count_share, inner);
        for (int i = 0; i < 5; i++)
            if (inner->times[i] != 1) shares = 0;
        free(inner);
    }
    if (share < shares) atomic_fetch_add(&c->times[share], 1);
}

static bool each_once(int shares, int depth) {
    counts *const c = calloc(1, sizeof *c);
    bool right = true;
    c->depth = depth;
    tamis_threads_run(shares, count_share, c);
    for (int i = 0; i < SHARES_MOST; i++) right &= c->times[i] == (i < shares);
    free(c);
    return right;
}

TEST_TAG(each_share_runs_once, "tests") {
    static const int shares[] = {1, 2, 3, 4, 7, 64, 1023, 1024, 1025, 3000};
    for (int round = 0; round < 30; round++)
        for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) assert_true(each_once(shares[i], 0));
}

TEST_TAG(bodies_may_call_it, "tests") {
    for (int round = 0; round < 30; round++) assert_true(each_once(6, 3));
}

static void *call_often(void *context) {
    _Atomic bool *const wrong = context;
    for (int round = 0, rounds = test_rounds(300, 100); round < rounds; round++)
        if (!each_once(2 + round % 7, round % 50 == 0)) atomic_store(wrong, true);
    return NULL;
}

TEST_TAG(callers_at_once_advance, "tests") {
    enum { CALLERS = 8 };
    pthread_t threads[CALLERS];
    _Atomic bool wrong = false;
    for (int i = 0; i < CALLERS; i++) assert_int_equal(pthread_create(&threads[i], NULL, call_often, &wrong), 0);
    for (int i = 0; i < CALLERS; i++) pthread_join(threads[i], NULL);
    assert_false(wrong);
}

/* One caller is in a body that waits for the other caller to be through. */
static _Atomic bool may_go_on;
static void wait_for_other(void *context, int share, int shares) {
    while (!may_go_on) sched_yield();
}
static void *call_waiting(void *context) {
    tamis_threads_run(4, wait_for_other, NULL);
    return NULL;
}
TEST_TAG(a_caller_waits_for_no_other, "tests") {
    pthread_t other;
    may_go_on = false;
    assert_int_equal(pthread_create(&other, NULL, call_waiting, NULL), 0);
    for (int round = 0; round < 100; round++) assert_true(each_once(4, 0));
    may_go_on = true;
    pthread_join(other, NULL);
}

/* ------------------------------------------------------------------------------------------ children */

/* What a child finds wrong is its exit code; one that hangs is ended by its alarm. */
static int child(int (*work)(void)) {
    int status = 0;
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(CHILD_SECONDS);
        _exit(work());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_false(WIFSIGNALED(status));
    return WEXITSTATUS(status);
}

/* Threads that were created but have not begun may hold a lock of a sanitizer's allocator, which a child would find
   closed for ever. So all of them meet before a fork. */
static void meet(void *context, int share, int shares) {
    _Atomic int *const here = context;
    atomic_fetch_add(here, 1);
    for (int64_t i = 0; *here < shares && i < 20000000; i++) sched_yield();
}
static void let_threads_begin(int threads) {
    _Atomic int here = 0;
    tamis_threads_run(threads, meet, &here);
}

static int compute(void) { return each_once(4, 0) && each_once(100, 1) ? 0 : 1; }

static int compute_and_fork(void) {
    int status = 0;
    const int before = compute();
    let_threads_begin(100);
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(CHILD_SECONDS);
        _exit(compute());
    }
    return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0 ? 2 : before;
}

TEST_TAG(children_compute, "forks") {
    assert_true(each_once(8, 0));
    let_threads_begin(1024);
    assert_int_equal(child(compute), 0);
    assert_int_equal(child(compute_and_fork), 0);
    assert_true(each_once(8, 0));
}

/* Forks at any moment of regions of other threads. */
static _Atomic bool enough;
static void *call_on(void *context) {
    _Atomic bool *const wrong = context;
    while (!enough)
        if (!each_once(3, 0)) atomic_store(wrong, true);
    return NULL;
}
TEST_TAG(forks_while_others_compute, "more_forks") {
    pthread_t threads[2];
    _Atomic bool wrong = false;
    enough = false;
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, call_on, &wrong), 0);
    for (int i = 0; i < 40; i++) assert_int_equal(child(compute), 0);
    enough = true;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert_false(wrong);
}

/* A plan of the parent, in the child: the public calls. */
static int32_t offsets[2001], columns[2000 * 20];
static float values[2000 * 20], b[2000 * 8], c[2000 * 8], again[2000 * 8];
static tamis_plan *plan;
static const tamis_dense B = {.data = b, .rows = 2000, .cols = 8}, C = {.data = c, .rows = 2000, .cols = 8};
static const tamis_dense AGAIN = {.data = again, .rows = 2000, .cols = 8};

static int execute_again(void) {
    if (tamis_plan_spmm(plan, &B, &AGAIN, NULL) != TAMIS_OK) return 1;
    return memcmp(c, again, sizeof c) ? 2 : 0;
}

TEST_TAG(plans_work_in_children, "forks") {
    tamis_device *device = NULL;
    for (int i = 0; i <= 2000; i++) offsets[i] = 20 * i;
    for (int i = 0; i < 2000 * 20; i++) {
        columns[i] = i * 31 % 2000;
        values[i] = (float)(i % 7);
    }
    for (int i = 0; i < 2000 * 8; i++) b[i] = (float)(i % 5) - 2;
    const tamis_sparse S = csr_of(TAMIS_F32, 2000, 2000, 2000 * 20, offsets, columns, values);
    tamis_options options = options_for(TAMIS_OP_SPMM, 0, 8);
    options.threads = 4;
    works(tamis_device_open("cpu", &device));
    works(tamis_plan_create(device, &S, &options, &plan));
    works(tamis_plan_spmm(plan, &B, &C, NULL));
    assert_int_equal(child(execute_again), 0);
    tamis_plan_destroy(plan);
    tamis_device_close(device);
}

/* ------------------------------------------------------------------------------------------ too few threads */

/* Processes of one user may have so many threads; root's have no limit. */
static int few_processes(void) {
    const struct rlimit few = {4, 4};
    if (geteuid() == 0 && setuid(65534) != 0) return 77;
    if (setrlimit(RLIMIT_NPROC, &few) != 0) return 77;
    for (int round = 0; round < 3; round++)
        if (!each_once(1000, 0)) return 1;
    return 0;
}

static int little_memory(void) {
    char text[64] = "";
    long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "re");
    if (!file || !fgets(text, sizeof text, file)) return 77;
    fclose(file);
    pages = strtol(text, NULL, 10);
    const rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (20 << 20);
    if (setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) != 0) return 77;
    for (int round = 0; round < 3; round++)
        if (!each_once(1000, 0)) return 1;
    return 0;
}

TEST_TAG(few_threads_take_more_shares, "forks") {
    const int result = child(few_processes);
    if (result == 77) skip();
    assert_int_equal(result, 0);
}

TEST_TAG(without_memory_for_threads, "more_forks") { assert_int_equal(child(little_memory), 0); }

/* ------------------------------------------------------------------------------------------ how a thread computes */

typedef struct modes {
    _Atomic int here;
    tamis_float_mode want;
    _Atomic bool wrong;
} modes;

static void look_at_mode(void *context, int share, int shares) {
    modes *const m = context;
    atomic_fetch_add(&m->here, 1);
    for (int64_t i = 0; m->here < shares && i < 20000000; i++) sched_yield(); /* so that others take shares, too */
    if (tamis_float_mode_get() != m->want) m->wrong = true;
}

TEST_TAG(shares_compute_as_their_caller, "tests") {
    const tamis_float_mode before = tamis_float_mode_get();
#if defined(__x86_64__)
    const tamis_float_mode other = before | 0x8040; /* denormal numbers are zero */
#elif defined(__aarch64__)
    const tamis_float_mode other = before | 1UL << 24;
#else
    const tamis_float_mode other = before;
#endif
    for (int round = 0; round < 4; round++) {
        modes m = {.want = round % 2 ? other : before};
        tamis_float_mode_write(m.want);
        tamis_threads_run(2, look_at_mode, &m);
        tamis_float_mode_write(before);
        assert_false(m.wrong);
    }
}

static void look_at_signals(void *context, int share, int shares) {
    modes *const m = context;
    sigset_t blocked;
    atomic_fetch_add(&m->here, 1);
    for (int64_t i = 0; m->here < shares && i < 20000000; i++) sched_yield();
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    if (getpid() != gettid() && !sigismember(&blocked, SIGINT)) m->wrong = true;
}

TEST_TAG(signals_are_for_the_program, "tests") {
    modes m = {.here = 0};
    tamis_threads_run(2, look_at_signals, &m);
    assert_false(m.wrong);
}

/* ------------------------------------------------------------------------------------------ how many */

static void write_file(const char *folder, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    write_text(path, text);
}

TEST_TAG(control_groups_limit_processors_and_memory, "tests") {
    static const struct {
        const char *groups, *folder, *name, *text, *name_2, *text_2;
        int processors;
        int64_t memory;
    } cases[] = {
        {"0::/a/b\n", "/a/b", "cpu.max", "150000 100000\n", NULL, NULL, 2, 0},
        {"0::/a/b\n", "/a", "cpu.max", "100000 100000\n", NULL, NULL, 1, 0},
        {"0::/a/b\n", "/a/b", "cpu.max", "max 100000\n", NULL, NULL, 0, 0},
        {"0::/elsewhere\n", "", "cpu.max", "50000 100000\n", NULL, NULL, 1, 0},
        {"4:cpu,cpuacct:/x\n3:memory:/y\n", "/cpu/x", "cpu.cfs_quota_us", "350000", "cpu.cfs_period_us", "100000", 4,
         0},
        {"4:cpu,cpuacct:/x\n", "/cpu/x", "cpu.cfs_quota_us", "-1", "cpu.cfs_period_us", "100000", 0, 0},
        {"9:cpuset:/x\n", "/cpu/x", "cpu.cfs_quota_us", "100000", "cpu.cfs_period_us", "100000", 0, 0},
        {"nonsense\n", "", "cpu.max", "100000 100000\n", NULL, NULL, 0, 0},
        {"4:cpuacct,cpu:/x\n", "/cpu/x", "cpu.cfs_quota_us", "200000", "cpu.cfs_period_us", "100000", 2, 0},
        {"4:cpuacct:/x\n", "/cpu/x", "cpu.cfs_quota_us", "200000", "cpu.cfs_period_us", "100000", 0, 0},
        {"0::/a/b\n", "/a/b", "memory.max", "max\n", "cpu.max", "250000 100000\n", 3, 0},
        {"0::/a/b\n", "/a", "memory.max", "536870912\n", NULL, NULL, 0, 512 << 20},
        {"3:memory:/y\n", "/memory/y", "memory.limit_in_bytes", "1048576\n", NULL, NULL, 0, 1 << 20},
        {"3:memory:/y\n", "/memory/y", "memory.limit_in_bytes", "9223372036854771712\n", NULL, NULL, 0, 0},
        {"3:cpu:/y\n", "/memory/y", "memory.limit_in_bytes", "1048576\n", NULL, NULL, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char root[] = "/tmp/tamis-groups-XXXXXX", folder[300], command[400], groups[300];
        assert_non_null(mkdtemp(root));
        snprintf(folder, sizeof folder, "%s%s", root, cases[i].folder);
        snprintf(command, sizeof command, "mkdir -p '%s'", folder);
        assert_int_equal(system(command), 0);
        write_file(folder, cases[i].name, cases[i].text);
        if (cases[i].name_2) write_file(folder, cases[i].name_2, cases[i].text_2);
        write_file(root, "groups", cases[i].groups);
        snprintf(groups, sizeof groups, "%s/groups", root);
        assert_int_equal(tamis_processors_quota(groups, root), cases[i].processors);
        assert_int_equal(tamis_memory_limit(groups, root), cases[i].memory);
        snprintf(command, sizeof command, "rm -rf '%s'", root);
        assert_int_equal(system(command), 0);
    }
    assert_int_equal(tamis_processors_quota("/nowhere/at/all", "/nowhere"), 0);
    assert_int_equal(tamis_memory_limit("/nowhere/at/all", "/nowhere"), 0);
}

static int one_processor(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    unsetenv("OMP_NUM_THREADS");
    if (sched_setaffinity(0, sizeof one, &one) != 0) return 77;
    return tamis_threads_default() == 1 ? 0 : 1;
}

static int five_asked_for(void) {
    setenv("OMP_NUM_THREADS", "5,2", 1);
    return tamis_threads_default() == 5 ? 0 : 1;
}

static int four_at_most(void) {
    setenv("OMP_NUM_THREADS", "5", 1);
    setenv("OMP_THREAD_LIMIT", "4", 1);
    return tamis_threads_default() == 4 ? 0 : 1;
}

/* Run first: what the environment says is read once. */
TEST_TAG(the_default_is_what_the_process_is_given, "first") {
    assert_int_equal(child(one_processor), 0);
    assert_int_equal(child(five_asked_for), 0);
    assert_int_equal(child(four_at_most), 0);
}

#if defined(__SANITIZE_THREAD__)
enum { MAY_FORK = 0, MAY_FORK_AT_WILL = 0 }; /* a child of several threads may make none there */
#elif defined(__SANITIZE_ADDRESS__)
enum {
    MAY_FORK = 1,
    MAY_FORK_AT_WILL = 0
}; /* its own locks are not for such forks, and it needs terabytes of addresses */
#else
enum { MAY_FORK = 1, MAY_FORK_AT_WILL = 1 };
#endif

TEST_RUN() {
    int failed = test_run("processors", "first", NULL, NULL);
    failed += test_run("pool", "tests", NULL, NULL);
    if (MAY_FORK) failed += test_run("pool_forks", "forks", NULL, NULL);
    if (MAY_FORK_AT_WILL) failed += test_run("pool_forks_at_will", "more_forks", NULL, NULL);
    return failed;
}
