/*
 * INT, TERM and HUP in each phase of the commands: the process ends by the signal and soon, files are whole or as they
 * were, and no temporary file stays. A command that waits for a FIFO is in a known phase; computations are so long that
 * the signal comes in the middle of them.
 */
#define _GNU_SOURCE
#include "support/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/bytes.h"

/* Seconds: the program has one, and the machine may be busy. */
static const double SOON = 200, LONG = 600;

static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); }

/* A command in a folder of its own, so that many can run side by side. */
typedef struct one_run {
    const char *command;
    char folder[32];
    pid_t process;
    int number; /* the signal */
    int end;    /* of the FIFO that it reads or writes */
} one_run;

static void enter(const char *folder) { assert_int_equal(chdir(folder), 0); }

static void make_fifo(const char *path) { assert_int_equal(mkfifo(path, 0600), 0); }

static const char old_text[] = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 7\n";

/* So that no child stays, asleep, if this process is ended. */
static void end_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }

/* In a shell that becomes the program, in a group of its own, as of a terminal. `fifo`: made before, unless it is NULL;
   `ignored`: a signal that is ignored at the start, or 0. */
static one_run start(const char *command, const char *fifo, int ignored) {
    static int count;
    char line[2048];
    one_run run = {.command = command, .end = -1};
    snprintf(run.folder, sizeof run.folder, "%d", count++);
    assert_int_equal(mkdir(run.folder, 0700), 0);
    enter(run.folder);
    write_text("old.mtx", old_text);
    if (fifo) make_fifo(fifo);
    snprintf(line, sizeof line, "exec %s %s >out.txt 2>err.txt", TAMIS_PROGRAM, command);
    run.process = fork();
    assert_true(run.process >= 0);
    if (run.process == 0) {
        end_with_parent();
        setpgid(0, 0);
        if (ignored) signal(ignored, SIG_IGN);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(99);
    }
    enter("..");
    return run;
}

static bool has_ended(pid_t child, int *status) { return waitpid(child, status, WNOHANG) == child; }

/* How it ends; one that does not is killed, and the test fails. */
static int wait_for(pid_t child, double seconds) {
    int status = 0;
    const double until = test_seconds() + seconds;
    while (!has_ended(child, &status)) {
        if (test_seconds() > until) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            fail_msg("it has not ended after %g seconds", seconds);
        }
        rest();
    }
    return status;
}

static void show_output(const one_run *run) {
    char line[256];
    snprintf(line, sizeof line, "cd %s; for file in out.txt err.txt; do [ ! -f $file ] || cat $file; done",
             run->folder);
    if (system(line)) print_message("no output\n");
}

static bool is_there(const char *path) { return access(path, F_OK) == 0; }

static void send(one_run *run, int number) {
    run->number = number;
    assert_int_equal(kill(run->process, number), 0);
}

/* Ended by the signal; the old file as it was, no new one, and no name such as x.mtx.123-0.part. */
static void check_end(one_run *run) {
    const int status = wait_for(run->process, SOON);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != run->number) {
        show_output(run);
        fail_msg("'%s' after signal %d: %s %d", run->command, run->number,
                 WIFSIGNALED(status) ? "ended by signal" : "code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    if (run->end >= 0) close(run->end);
    enter(run->folder);
    expect_file("old.mtx", old_text);
    static const char *const none[] = {"new.npz", "new.npy", "new.model", "new.txt", "new.svg", "new.mtx"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (is_there(none[i])) fail_msg("'%s' left %s", run->command, none[i]);
    if (system("ls -a | grep -q '[.][0-9]*-[0-9]*[.]part$'") == 0) fail_msg("'%s' left a temporary file", run->command);
    enter("..");
}

/* The other end of its FIFO, once the program has opened it. */
static void open_end(one_run *run, const char *fifo, int flags) {
    char path[64];
    int status = 0;
    snprintf(path, sizeof path, "%s/%s", run->folder, fifo);
    for (const double until = test_seconds() + LONG; run->end < 0 && test_seconds() < until; rest()) {
        run->end = open(path, flags | O_NONBLOCK | O_CLOEXEC);
        if (run->end < 0 && has_ended(run->process, &status)) {
            show_output(run);
            fail_msg("'%s' ended before it opened %s", run->command, fifo);
        }
    }
    assert_true(run->end >= 0);
}

static void await_bytes(const one_run *run, int least, int most) {
    int waiting = -1;
    for (const double until = test_seconds() + LONG; test_seconds() < until; rest()) {
        if (ioctl(run->end, FIONREAD, &waiting) == 0 && waiting >= least && waiting <= most) return;
    }
    fail_msg("'%s': %d bytes are in the pipe", run->command, waiting);
}

static void write_end(const one_run *run, const char *text) {
    assert_int_equal(write(run->end, text, strlen(text)), strlen(text));
}

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

/* ------------------------------------------------------------------------------------------ waiting for a file */

/* Each wants more than what it is given first, and waits for it. */
static const char *const readers[] = {
    "info in.fifo",
    "info --json ../small.mtx in.fifo",
    "convert in.fifo new.npz",
    "convert in.fifo old.mtx --from matrix-market",
    "convert --dense in.fifo new.npy",
    "explain in.fifo --device cpu",
    "run spmm in.fifo --device cpu -o new.npy",
    "run spmm ../small.mtx --inner 2 --b in.fifo --device cpu -o new.npy",
    "check in.fifo --device cpu",
    "bench in.fifo --device cpu --json new.jsonl",
    "train als in.fifo -o new.model",
    "train lda in.fifo -o old.mtx --from matrix-market",
    "predict in.fifo ../small.mtx -o new.txt",
    "spy in.fifo -o new.svg",
    "compare in.fifo ../small.mtx", /* Python's */
};
enum { READERS = sizeof readers / sizeof *readers };
static const char first_lines[] = "%%MatrixMarket matrix coordinate real general\n100 100 1000000\n1 1 1\n2 2 2\n";
static const char first_word[] = "{\"record\": "; /* Python's would end at a line that is wrong */

static int reader_count(void) { return system("python3 --version >python.txt 2>&1") == 0 ? READERS : READERS - 1; }

/* A process that waits in the open of a FIFO is asleep, and stays so. */
static void await_sleep(const one_run *run) {
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)run->process);
    int asleep = 0;
    for (const double until = test_seconds() + LONG; asleep < 10 && test_seconds() < until; rest()) {
        FILE *file = fopen(path, "r");
        if (!file) break;
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 0;
        fclose(file);
        asleep = state == 'S' ? asleep + 1 : 0;
    }
}

TEST(a_blocked_open_ends) {
    one_run runs[READERS];
    const int count = reader_count();
    for (int i = 0; i < count; i++) runs[i] = start(readers[i], "in.fifo", 0);
    for (int i = 0; i < count; i++) await_sleep(&runs[i]);
    for (int i = 0; i < count; i++) send(&runs[i], numbers[i % 3]);
    for (int i = 0; i < count; i++) check_end(&runs[i]);
}

TEST(a_blocked_read_ends) {
    one_run runs[READERS];
    const int count = reader_count();
    for (int i = 0; i < count; i++) runs[i] = start(readers[i], "in.fifo", 0);
    for (int i = 0; i < count; i++) {
        open_end(&runs[i], "in.fifo", O_WRONLY);
        write_end(&runs[i], i == READERS - 1 ? first_word : first_lines);
    }
    for (int i = 0; i < count; i++) await_bytes(&runs[i], 0, 0);
    for (int i = 0; i < count; i++) send(&runs[i], numbers[(i + 1) % 3]);
    for (int i = 0; i < count; i++) check_end(&runs[i]);
}

/* ------------------------------------------------------------------------------------------ writing */

TEST(a_blocked_write_ends) {
    static const char *const writers[][2] = {
        {"convert ../large.mtx out.mtx", "out.mtx"},
        {"convert ../large.mtx out.npz", "out.npz"},
        {"generate uniform --rows 5000 --nnz 100k -o out.mtx", "out.mtx"},
        {"run spmm ../large.mtx --device cpu -o out.npy", "out.npy"},
        {"train als ../large.mtx -o out.model --iterations 1", "out.model"},
        {"predict ../films.model ../large.mtx", "out.txt"},
    };
    enum { WRITERS = sizeof writers / sizeof *writers };
    one_run runs[WRITERS];
    for (int i = 0; i < WRITERS; i++) runs[i] = start(writers[i][0], writers[i][1], 0);
    for (int i = 0; i < WRITERS; i++) {
        open_end(&runs[i], writers[i][1], O_RDONLY);
        await_bytes(&runs[i], 4096, INT32_MAX);
        send(&runs[i], numbers[i % 3]);
    }
    for (int i = 0; i < WRITERS; i++) check_end(&runs[i]);
}

/* ------------------------------------------------------------------------------------------ computing */

/* Each takes seconds at least, whatever the machine. */
static const char *const computations[] = {
    "generate uniform --rows 2M --nnz 40M -o new.mtx",
    "generate rmat --rows 1M --nnz 20M -o new.npz",
    "info generate:rmat:rows=1M,nnz=20M",
    "explain generate:rmat:rows=1M,nnz=20M --device cpu",
    "run spmm ../large.mtx --inner 512 --repeat 1000000 --device cpu -o new.npy",
    "run sddmm ../large.mtx --inner 5000 --algorithm naive --threads 1 --device cpu -o new.mtx",
    "train als ../large.mtx -o new.model --factors 200 --iterations 100000",
    "train lda ../words.mtx -o new.model --factors 500 --iterations 100000",
    "check generate:uniform:rows=100k,nnz=5M --device cpu",
    "bench ../large.mtx --inner 512 --device cpu --json new.jsonl",
};
enum { COMPUTATIONS = sizeof computations / sizeof *computations }; /* a multiple of five */

TEST(a_computation_ends) {
    enum { AT_ONCE = 5 }; /* their memory; a brief run has half of them */
    one_run runs[AT_ONCE];
    for (int first = test_rounds(0, AT_ONCE); first < COMPUTATIONS; first += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++) runs[i] = start(computations[first + i], NULL, 0);
        for (const double until = test_seconds() + 0.6; test_seconds() < until;) rest();
        for (int i = 0; i < AT_ONCE; i++) send(&runs[i], numbers[i % 2]);
        for (int i = 0; i < AT_ONCE; i++) check_end(&runs[i]);
    }
}

/* ------------------------------------------------------------------------------------------ how it ends */

TEST(an_ignored_signal_stays_ignored) {
    static const int ignored[] = {SIGINT, SIGHUP};
    one_run runs[2];
    for (int i = 0; i < 2; i++) {
        runs[i] = start("info in.fifo", "in.fifo", ignored[i]);
        open_end(&runs[i], "in.fifo", O_WRONLY);
        send(&runs[i], ignored[i]);
    }
    for (const double until = test_seconds() + 1; test_seconds() < until;) rest();
    for (int i = 0; i < 2; i++) {
        write_end(&runs[i], old_text);
        close(runs[i].end);
        const int status = wait_for(runs[i].process, LONG);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* A shell goes on with its loop after a command that ended with a code, even 130; not after one that SIGINT ended. */
TEST(a_loop_of_a_shell_ends) {
    static const char loop[] = "for i in 1 2 3; do echo $i >>turns.txt; " TAMIS_PROGRAM
                               " convert in.fifo new.npz; done 2>err.txt; echo end >>turns.txt";
    one_run run = {.command = loop, .folder = ".", .end = -1};
    make_fifo("in.fifo");
    run.process = fork();
    assert_true(run.process >= 0);
    if (run.process == 0) {
        end_with_parent();
        setpgid(0, 0);
        execl("/bin/sh", "sh", "-c", loop, (char *)NULL);
        _exit(99);
    }
    open_end(&run, "in.fifo", O_WRONLY);
    assert_int_equal(kill(-run.process, SIGINT), 0);
    const int status = wait_for(run.process, SOON);
    close(run.end);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    expect_file("turns.txt", "1\n");
}

/* What was measured before the signal is in the file, a whole line each, and in the table. */
TEST(completed_records_stay) {
    one_run run = start("bench ../small.mtx in.fifo --op spmm --inner 2 --seconds 0.01 --repeat 2 --device cpu "
                        "--algorithm auto --json new.jsonl",
                        "in.fifo", 0);
    open_end(&run, "in.fifo", O_WRONLY);
    send(&run, SIGTERM);
    check_end(&run);
    enter(run.folder);
    assert_int_equal(system("grep -q '\"record\": \"measurement\".*}$' new.jsonl"), 0);
    assert_int_equal(system("grep -q small out.txt"), 0);
    enter("..");
}

TEST(a_second_signal_ends_at_once) {
    one_run run = start("info in.fifo", "in.fifo", 0);
    open_end(&run, "in.fifo", O_WRONLY);
    send(&run, SIGINT);
    for (const double until = test_seconds() + 0.4; test_seconds() < until;) rest();
    send(&run, SIGTERM);
    const int status = wait_for(run.process, SOON);
    close(run.end);
    assert_true(WIFSIGNALED(status)); /* by which one is the machine's load */
}

static int make_inputs(void **unused) {
    if (system("rm -rf '" WORK_FOLDER "' && mkdir -p '" WORK_FOLDER "'") != 0 || chdir(WORK_FOLDER) != 0) return -1;
    setenv("XDG_CACHE_HOME", WORK_FOLDER, 1);
    setenv("OMP_WAIT_POLICY", "passive", 1);
    setenv("PYTHONPATH", TAMIS_SOURCE_FOLDER "/python:" TAMIS_SOURCE_FOLDER "/lab/python", 1);
    write_text("small.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 2\n3 1 3\n");
    return system(TAMIS_PROGRAM
                  " generate uniform --rows 20000 --nnz 200k -o large.mtx --quiet && " TAMIS_PROGRAM
                  " generate uniform --rows 20000 --nnz 200k --pattern -o words.mtx --quiet && " TAMIS_PROGRAM
                  " train als large.mtx -o films.model --iterations 1 --factors 4 --quiet");
}

TEST_RUN() {
    signal(SIGPIPE, SIG_IGN);
    return test_run(NULL, NULL, make_inputs, NULL);
}
