/* The program's exit codes and its messages on standard error. Functions of the program begin with tool_, the library's
   with tamis_. */
#ifndef TOOL_EXIT_H
#define TOOL_EXIT_H

#include <stdbool.h>
#include <stddef.h>
#include <tamis/tamis.h>

typedef enum tool_exit {
    TOOL_OK = 0,
    TOOL_FAILED = 1,      /* a check failed, or Tamis itself has a defect */
    TOOL_USAGE = 2,       /* wrong arguments */
    TOOL_FILE = 3,        /* an input file is missing or bad, or an output cannot be written */
    TOOL_UNSUPPORTED = 4, /* the device is absent, or cannot do this */
    TOOL_MEMORY = 5,      /* out of memory */
    TOOL_INTERRUPTED = 130
} tool_exit;

/* Returns the code of a step that failed, after its message; or the library's status of a call. */
#define TOOL_TRY(expression)                                                                                           \
    do {                                                                                                               \
        const int try_code_ = (expression);                                                                            \
        if (try_code_) return try_code_;                                                                               \
    } while (0)

/* The codes with their meanings, for --help and the man page. */
typedef struct tool_exit_meaning {
    tool_exit code;
    const char *meaning;
} tool_exit_meaning;
extern const tool_exit_meaning tool_exit_meanings[7];

/* Sets the subcommand that messages name: "tamis bench: ..."; NULL before it is known. */
void tool_set_command(const char *name);
const char *tool_command_in_use(void);

/* Writes "tamis COMMAND: KIND MESSAGE" to standard error. */
void tool_message(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a line to the last message. Names in it are shown as terminals may see them (visible.h). */
void tool_message_line(const char *text);
#define tool_error(...)   tool_message("", __VA_ARGS__)
#define tool_warning(...) tool_message("warning: ", __VA_ARGS__)
/* Reports an error, and returns its exit code. */
#define tool_failure(code, ...) (tool_message("", __VA_ARGS__), (code))

/* Notes an action or assumption that the user may not expect; silent after tool_set_quiet(true). */
#define tool_note(...) (tool_is_quiet() ? (void)0 : tool_message("", __VA_ARGS__))
void tool_set_quiet(bool quiet);
bool tool_is_quiet(void);

/* Sets this process's rank among several that compute together. Messages of ranks other than 0 name the rank. These
   ranks omit notes, warnings, and errors that name a rank, which rank 0 reports for all. */
void tool_set_rank(int rank);
const char *tool_last_message(void); /* returns the last message of tool_error and the like; "" before any */

/* Reports an error of usage with a hint at --help, and returns code 2. */
#define tool_usage_error(...) (tool_message("", __VA_ARGS__), tool_usage_hint())
int tool_usage_hint(void);

/* Reports a failed call of the library ("CONTEXT: message") and returns the exit code of its status. TAMIS_OK: prints
   nothing and returns 0. */
int tool_library_error(tamis_status status, const char *context);
/* Reports a failed call on a file, which the library's message may already name. */
int tool_file_error(tamis_status status, const char *path);

/* Returns a command's exit code: `code`, or the code of an interruption if `code` is 0 after Ctrl-C. */
int tool_outcome(int code);

/* Allocates zeroed memory; exits with code 5 if there is none. */
void *tool_allocate(size_t count, size_t size);
void *tool_grow(void *memory, size_t count, size_t size);
char *tool_copy(const char *text); /* returns NULL for NULL */

#endif
