/* Starts, talks to and abandons Python processes. */
#include "driver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/embedded.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/python.h"

enum { DRIVERS = 4, MOST_STARTS = 3, MOST_ANSWER = 1 << 20, LAST_LINE = 160 };
static const double TIMEOUT = 120; /* seconds to wait for an answer; loading PyTorch takes several */
static const double PATIENCE = 1;  /* seconds to wait after Ctrl-C, and for a process that has closed its end */

struct tool_driver {
    const char *module;
    pid_t process; /* 0: none */
    int starts;
    int socket, file, errors; /* its commands and answers; the arrays; its standard error */
    void *memory;
    size_t bytes;
    tool_text received; /* the beginning of an incomplete answer */
};

static tool_driver drivers[DRIVERS];

/* ------------------------------------------------------------------------------------------ ending */

static void close_one(int *descriptor) {
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
}

static void empty(tool_text *text) {
    text->length = 0;
    if (text->data) *text->data = 0;
}

/* Ends the process, which has `seconds` to do so by itself, and everything that it has started. Returns its status, as
   from waitpid(). */
static int end(tool_driver *driver, double seconds) {
    int status = 0;
    const struct timespec moment = {.tv_nsec = 1000 * 1000};
    const double until = tool_seconds() + seconds;
    close_one(&driver->socket);
    pid_t ended = waitpid(driver->process, &status, WNOHANG);
    while (ended == 0 && tool_seconds() < until) {
        nanosleep(&moment, NULL);
        ended = waitpid(driver->process, &status, WNOHANG);
    }
    kill(-driver->process, SIGKILL);
    if (ended == 0) waitpid(driver->process, &status, 0);
    tool_interrupt_leaves(driver->process);
    driver->process = 0;
    tool_driver_return_memory(driver);
    close_one(&driver->file);
    tool_text_free(&driver->received);
    return status;
}

/* The processes end with the program, but not with a fork of it. */
static pid_t owner = 0;

static void end_all(void) {
    for (int i = 0; i < DRIVERS && getpid() == owner; i++) {
        if (drivers[i].process) end(&drivers[i], 0.1);
    }
}

/* Returns the last line that the process has written to its standard error. */
static void add_last_line(const tool_driver *driver, tool_text *text) {
    char tail[1024];
    const off_t length = lseek(driver->errors, 0, SEEK_END);
    const off_t from = length > (off_t)sizeof tail - 1 ? length - (off_t)sizeof tail + 1 : 0;
    ssize_t count = length > 0 ? pread(driver->errors, tail, sizeof tail - 1, from) : 0;
    while (count > 0 && (unsigned char)tail[count - 1] <= ' ') count--;
    if (count <= 0) return;
    tail[count] = 0;
    const char *newline = strrchr(tail, '\n');
    tool_text_add(text, ": %.*s", LAST_LINE, newline ? newline + 1 : tail);
}

/* Ends the process and says why it has not answered. */
static bool give_up(tool_driver *driver, const char *reason, tool_text *answer) {
    const int status = end(driver, reason ? 0 : PATIENCE);
    empty(answer);
    if (reason) {
        tool_text_add(answer, "its Python process %s", reason);
    } else if (WIFSIGNALED(status)) {
        tool_text_add(answer, "its Python process was ended by signal %d", WTERMSIG(status));
    } else {
        tool_text_add(answer, "its Python process ended with code %d", WEXITSTATUS(status));
    }
    add_last_line(driver, answer);
    close_one(&driver->errors);
    return false;
}

/* ------------------------------------------------------------------------------------------ starting */

/* Moves a descriptor above the numbers that the child process uses. */
static int above(int descriptor) {
    const int moved = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 10);
    if (descriptor >= 0) close(descriptor);
    return moved;
}

static char *word(const void *text) { return (char *)(uintptr_t)text; } /* which nobody writes to */

/* Starts the process in its own process group: the terminal's Ctrl-C does not reach it, and its children end with
   it. */
static int spawn(tool_driver *driver, int far_end) {
    const char *const python = tool_python_interpreter();
    if (!python) return EPERM;
    char *const arguments[] = {word(python), word("-c"), word(tool_driver_texts[0].text), word(driver->module), NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, far_end, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, far_end, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, driver->errors, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, driver->file, 3);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    const int failed = posix_spawnp(&driver->process, arguments[0], &actions, &attributes, arguments, environ);
    if (failed) driver->process = 0;
    if (!failed) tool_interrupt_takes(driver->process);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed;
}

static bool start(tool_driver *driver, tool_text *answer) {
    int ends[2] = {-1, -1};
    driver->starts++;
    if (owner == 0) {
        owner = getpid();
        atexit(end_all);
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) ends[0] = ends[1] = -1;
    driver->socket = above(ends[0]);
    int far_end = above(ends[1]);
    driver->file = above(memfd_create("tamis-operands", MFD_CLOEXEC));
    driver->errors = above(memfd_create("tamis-errors", MFD_CLOEXEC));
    const bool opened = driver->socket >= 0 && far_end >= 0 && driver->file >= 0 && driver->errors >= 0;
    const int failed = opened ? spawn(driver, far_end) : errno;
    close_one(&far_end);
    if (!failed) return tool_driver_ask(driver, NULL, answer);
    const char *const python = tool_python_interpreter();
    tool_text_add(answer, "%s cannot be started: %s", python ? python : "python3", strerror(failed));
    close_one(&driver->socket);
    close_one(&driver->file);
    close_one(&driver->errors);
    return false;
}

tool_driver *tool_driver_get(const char *module) {
    tool_driver *driver = drivers;
    while (driver < drivers + DRIVERS - 1 && driver->module && strcmp(driver->module, module) != 0) driver++;
    if (!driver->module) *driver = (tool_driver){.module = module, .socket = -1, .file = -1, .errors = -1};
    if (driver->process) return driver;
    if (driver->starts >= MOST_STARTS) return NULL;
    tool_text answer = {0};
    const bool started = start(driver, &answer);
    if (!started) {
        if (answer.length > 0) tool_warning("%s is not available: %s", module, tool_text_get(&answer));
        driver->starts = MOST_STARTS;
        if (driver->process) give_up(driver, NULL, &answer);
    }
    tool_text_free(&answer);
    return started ? driver : NULL;
}

/* ------------------------------------------------------------------------------------------ asking */

static double timeout(void) {
    const char *given = getenv("TAMIS_PYTHON_TIMEOUT");
    const double seconds = given ? strtod(given, NULL) : 0;
    return seconds > 0 ? seconds : TIMEOUT;
}

static bool send_all(const tool_driver *driver, const char *text, size_t length) {
    while (length > 0) {
        const ssize_t sent = send(driver->socket, text, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        text += sent;
        length -= (size_t)sent;
    }
    return true;
}

/* Receives a whole line. Returns its end; 0 if the socket is closed; the reason if the process is abandoned. */
static const char *receive(tool_driver *driver, bool *closed) {
    double until = tool_seconds() + timeout();
    bool interrupted = false;
    *closed = false;
    while (!driver->received.data || !strchr(driver->received.data, '\n')) {
        if (tool_interrupted() && !interrupted) until = tool_seconds() + PATIENCE;
        interrupted = tool_interrupted();
        if (tool_seconds() > until) return "did not answer in time";
        if (driver->received.length > MOST_ANSWER) return "gave an answer that does not end";
        struct pollfd ready = {.fd = driver->socket, .events = POLLIN};
        if (poll(&ready, 1, 100) <= 0) continue;
        char part[4096];
        const ssize_t count = recv(driver->socket, part, sizeof part - 1, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            *closed = true;
            return NULL;
        }
        if (memchr(part, 0, (size_t)count)) return "gave an answer with zero bytes";
        tool_text_add(&driver->received, "%.*s", (int)count, part);
    }
    return NULL;
}

bool tool_driver_ask(tool_driver *driver, const char *command, tool_text *answer) {
    empty(answer);
    if (!driver->process) {
        tool_text_add(answer, "its Python process has ended");
        return false;
    }
    bool closed = false;
    const bool sent = !command || (send_all(driver, command, strlen(command)) && send_all(driver, "\n", 1));
    const char *reason = sent ? receive(driver, &closed) : NULL;
    if (reason || closed || !sent) {
        give_up(driver, reason, answer);
        if (tool_interrupted()) empty(answer);
        return false;
    }
    char *line = driver->received.data;
    line[strcspn(line, "\n")] = 0;
    const bool good = strncmp(line, "ok", 2) == 0 && (line[2] == ' ' || line[2] == 0);
    if (good || strncmp(line, "no ", 3) == 0) {
        tool_text_add(answer, "%s", line[2] ? line + 3 : "");
        empty(&driver->received); /* nothing comes after an answer */
        return good;
    }
    char odd[96];
    snprintf(odd, sizeof odd, "answers \"%.60s\"", line);
    return give_up(driver, odd, answer);
}

/* ------------------------------------------------------------------------------------------ memory */

void *tool_driver_memory(tool_driver *driver, size_t bytes) {
    tool_driver_return_memory(driver);
    if (!driver->process || bytes == 0 || posix_fallocate(driver->file, 0, (off_t)bytes) != 0) return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, driver->file, 0);
    if (memory == MAP_FAILED) return NULL;
    driver->memory = memory;
    driver->bytes = bytes;
    return memory;
}

void tool_driver_return_memory(tool_driver *driver) {
    if (driver->memory) munmap(driver->memory, driver->bytes);
    driver->memory = NULL;
    if (driver->process && ftruncate(driver->file, 0) != 0) tool_warning("%s: %s", driver->module, strerror(errno));
}
