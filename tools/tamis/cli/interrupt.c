/*
 * Everything below runs on the main thread; other threads forward their signals to it. While the handler runs, the main
 * thread makes no file. The handler calls only async-signal-safe functions, and setitimer(), which is a plain system
 * call on Linux; timer_create() may fail.
 */
#include "cli/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/temporaries.h"

/* Grace time for work to end by itself. One Ctrl-C, or timeout(1), may send two signals at nearly the same time: to the
   process and to its group. */
enum { GRACE_MICROSECONDS = 600000 };
static const double SAME_INTERRUPT = 0.3;

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof *signals };

static volatile sig_atomic_t interrupted = 0;
static bool caught[SIGNALS], terminal;
static pthread_t main_thread;
static pid_t process; /* a child before exec() owns no files */
enum { GROUPS = 16 };
static volatile pid_t groups[GROUPS];
static const char *volatile words, *volatile other_path, *volatile other_words;

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* Writes without blocking: a full pipe would otherwise hang the process. */
static void write_text(const char *text) {
    struct pollfd errors = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&errors, 1, 0) != 1 || !(errors.revents & POLLOUT)) return;
    if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

/* how: SIG_BLOCK or SIG_UNBLOCK */
static void mask(int how, int number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(how, &set, NULL);
}

static void end_by(int number) {
    for (int i = 0; i < GROUPS; i++)
        if (groups[i] > 0 && getpid() == process) kill(-groups[i], SIGKILL);
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
    mask(SIG_UNBLOCK, number);
    raise(number);
    _exit(128 + number);
}

static void end_at_once(int number) {
    const bool other = other_path && access(other_path, F_OK) == 0;
    const char *const said = other ? other_words : words;
    tamis_temporaries_remove();
    if (terminal) write_text("\r\033[K"); /* the progress bar */
    if (said) write_text(said);
    end_by(number);
}

static void start_timer(int seconds, int microseconds) {
    const struct itimerval once = {.it_value = {.tv_sec = seconds, .tv_usec = microseconds}};
    setitimer(ITIMER_REAL, &once, NULL);
}

static void handle(int number) {
    static double first = 0;
    const int error = errno;
    if (getpid() != process) {
        end_by(number);
    } else if (!pthread_equal(pthread_self(), main_thread)) {
        pthread_kill(main_thread, number);
    } else if (number == SIGALRM) {
        if (interrupted) end_at_once(interrupted);
    } else if (!interrupted) {
        first = now();
        interrupted = number;
        start_timer(0, GRACE_MICROSECONDS);
    } else if (now() - first > SAME_INTERRUPT) {
        end_at_once(number);
    }
    errno = error;
}

void tool_interrupt_catch(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART}, before;
    sigfillset(&action.sa_mask);
    main_thread = pthread_self();
    process = getpid();
    terminal = isatty(STDERR_FILENO);
    sigaction(SIGALRM, &action, NULL);
    mask(SIG_UNBLOCK, SIGALRM);
    for (int i = 0; i < SIGNALS; i++) {
        caught[i] = sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN;
        if (caught[i]) sigaction(signals[i], &action, NULL);
    }
}

bool tool_interrupted(void) { return interrupted != 0; }

void tool_interrupt_wait(int seconds) {
    if (interrupted) start_timer(seconds, 0);
}

void tool_interrupt_release(void) {
    for (int i = 0; i < SIGNALS; i++)
        if (caught[i]) signal(signals[i], SIG_DFL);
    if (interrupted) end_by(interrupted);
}

static void replace_group(pid_t before, pid_t after) {
    int i = 0;
    while (i < GROUPS && groups[i] != before) i++;
    if (i < GROUPS) groups[i] = after;
}

void tool_interrupt_takes(pid_t group) { replace_group(0, group); }
void tool_interrupt_leaves(pid_t group) { replace_group(group, 0); }

void tool_interrupt_hand_over(void) {
    mask(SIG_BLOCK, SIGINT);
    tool_interrupt_release();
}

void tool_interrupt_words(const char *said) { words = said; }

void tool_interrupt_words_if(const char *path, const char *said) {
    other_path = NULL;
    other_words = said;
    other_path = path;
}
