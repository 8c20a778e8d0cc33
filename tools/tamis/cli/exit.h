/* How the program ends: its exit codes and its messages on standard error. The program's own functions begin with
   tool_, so that a reader tells them from the library's, which begin with tamis_. */
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

/* The codes with their meanings, for --help and the man page. */
typedef struct tool_exit_meaning {
    tool_exit code;
    const char *meaning;
} tool_exit_meaning;
extern const tool_exit_meaning tool_exit_meanings[7];

/* The subcommand that messages name: "tamis bench: ...". NULL before one is known. */
void tool_set_command(const char *name);
const char *tool_command_in_use(void);

/* Writes "tamis COMMAND: KIND MESSAGE" to standard error. */
void tool_message(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* One more line of the last message. Names are shown as terminals may see them: see visible.h. */
void tool_message_line(const char *text);
#define tool_error(...)   tool_message("", __VA_ARGS__)
#define tool_warning(...) tool_message("warning: ", __VA_ARGS__)

/* What was done or assumed that one may not expect: nothing after tool_set_quiet(true). */
#define tool_note(...) (tool_is_quiet() ? (void)0 : tool_message("", __VA_ARGS__))
void tool_set_quiet(bool quiet);
bool tool_is_quiet(void);

/* The number of this process among several that compute together. But for the first, messages name it, notes and
   warnings are left out, and so are errors that name a rank: those are known to all, and the first one says them. */
void tool_set_rank(int rank);
const char *tool_last_message(void); /* of tool_error and the like; "" before any */

/* An error of usage: the code 2, after the message and a hint at --help. */
#define tool_usage_error(...) (tool_message("", __VA_ARGS__), tool_usage_hint())
int tool_usage_hint(void);

/* Reports a failed call of the library ("CONTEXT: message") and returns the exit code that belongs to its status; of
   TAMIS_OK it says nothing and returns 0. */
int tool_library_error(tamis_status status, const char *context);
/* The same about a file, which the library's message may name already. */
int tool_file_error(tamis_status status, const char *path);

/* What a command returns: the code, or if that is 0 after Ctrl-C that of an interruption. */
int tool_outcome(int code);

/* Zeroed memory; the program ends with code 5 when there is none. */
void *tool_allocate(size_t count, size_t size);
void *tool_grow(void *memory, size_t count, size_t size);
char *tool_copy(const char *text); /* NULL of NULL */

#endif
