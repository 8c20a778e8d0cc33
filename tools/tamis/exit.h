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

/* Writes "tamis COMMAND: MESSAGE" to standard error. */
void tool_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tool_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What was done or assumed that one may not expect; nothing after tool_set_quiet(true). */
void tool_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tool_set_quiet(bool quiet);

/* The same with code 2 and a hint at --help. */
int tool_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports a failed call of the library ("CONTEXT: message") and returns the exit code that belongs to its status. */
int tool_library_error(tamis_status status, const char *context);

/* Zeroed memory; the program ends with code 5 when there is none. */
void *tool_allocate(size_t count, size_t size);
void *tool_grow(void *memory, size_t count, size_t size);
char *tool_copy(const char *text); /* NULL of NULL */

#endif
