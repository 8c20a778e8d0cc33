/* Exit codes, messages and the program's small allocations. */
#include "cli/exit.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/visible.h"
#include "cli/wording.h"

const tool_exit_meaning tool_exit_meanings[7] = {
    {TOOL_OK, "success"},
    {TOOL_FAILED, "a result is wrong, 'compare' found something slower, or Tamis has a defect"},
    {TOOL_USAGE, "wrong usage: an unknown option, a value out of range, inconsistent operands"},
    {TOOL_FILE, "an input file is missing or violates its format, or an output cannot be written"},
    {TOOL_UNSUPPORTED, "the device is absent, or it or the algorithm does not support the request"},
    {TOOL_MEMORY, "out of memory"},
    {TOOL_INTERRUPTED, "ended by Ctrl-C (129: by HUP, 143: by TERM); files are whole or as before"},
};

static const char *command_name = NULL;
static int rank = 0;
static char last_message[2048];

/* Prepares the message of the signal handler, which must not format text. */
static void prepare_last_words(void) {
    static char words[128];
    char who[24] = "";
    if (rank > 0) snprintf(who, sizeof who, "rank %d: ", rank);
    snprintf(words, sizeof words, "tamis%s%.60s: %sinterrupted\n", command_name ? " " : "",
             command_name ? command_name : "", who);
    tool_interrupt_words(words);
}

void tool_set_command(const char *name) {
    command_name = name;
    prepare_last_words();
}

const char *tool_command_in_use(void) { return command_name; }

void tool_set_rank(int number) {
    rank = number;
    prepare_last_words();
}

const char *tool_last_message(void) { return last_message; }

void tool_message(const char *kind, const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!*kind) memcpy(last_message, text, sizeof text);
    if (rank > 0 && (*kind || strstr(text, "rank ") || strstr(text, "the group has failed"))) return;
    tool_progress_clear();
    fflush(stdout);
    fprintf(stderr, "tamis%s%s: %s", command_name ? " " : "", command_name ? command_name : "", kind);
    if (rank > 0) fprintf(stderr, "rank %d: ", rank);
    tool_message_line(text);
}

void tool_message_line(const char *text) {
    char shown[4096];
    tool_visible_copy(text, shown, sizeof shown);
    fprintf(stderr, "%s\n", shown);
}

static bool is_quiet = false;

void tool_set_quiet(bool quiet) { is_quiet = quiet; }
bool tool_is_quiet(void) { return is_quiet || rank > 0; }

int tool_usage_hint(void) {
    fprintf(stderr, "Try 'tamis%s%s --help'.\n", command_name ? " " : "", command_name ? command_name : "");
    return TOOL_USAGE;
}

static int exit_of(tamis_status status) {
    static const tool_exit codes[] = {
        [TAMIS_OK] = TOOL_OK,
        [TAMIS_ERROR_ARGUMENT] = TOOL_USAGE,
        [TAMIS_ERROR_PATTERN] = TOOL_FILE,
        [TAMIS_ERROR_MEMORY] = TOOL_MEMORY,
        [TAMIS_ERROR_UNSUPPORTED] = TOOL_UNSUPPORTED,
        [TAMIS_ERROR_OVERFLOW] = TOOL_FILE,
        [TAMIS_ERROR_FILE] = TOOL_FILE,
        [TAMIS_ERROR_FORMAT] = TOOL_FILE,
        [TAMIS_ERROR_DEVICE] = TOOL_UNSUPPORTED,
        [TAMIS_ERROR_CANCELLED] = TOOL_INTERRUPTED,
        [TAMIS_ERROR_INTERNAL] = TOOL_FAILED,
    };
    return (size_t)status < sizeof codes / sizeof *codes ? (int)codes[status] : (int)TOOL_FAILED;
}

/* named: the context stands before the message. */
static int report(tamis_status status, const char *context, bool named) {
    char message[2048];
    if (status == TAMIS_OK) return TOOL_OK;
    const char *said = tamis_last_error();
    tool_wording(said && *said ? said : tamis_status_name(status), context, message, sizeof message);
    if (status == TAMIS_ERROR_CANCELLED) {
        tool_error("interrupted");
    } else if (named && context && *context) {
        tool_error("%s: %s", context, message);
    } else {
        tool_error("%s", message);
    }
    return exit_of(status);
}

int tool_library_error(tamis_status status, const char *context) { return report(status, context, true); }

int tool_file_error(tamis_status status, const char *path) {
    return report(status, path, status != TAMIS_OK && !strstr(tamis_last_error(), path));
}

int tool_outcome(int code) { return code == 0 && tool_interrupted() ? TOOL_INTERRUPTED : code; }

void *tool_allocate(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (memory) return memory;
    tool_error("out of memory: %zu x %zu bytes needed", count, size);
    exit(TOOL_MEMORY);
}

char *tool_copy(const char *text) {
    const size_t bytes = text ? strlen(text) + 1 : 0;
    return text ? memcpy(tool_allocate(bytes, 1), text, bytes) : NULL;
}

void *tool_grow(void *memory, size_t count, size_t size) {
    const bool overflows = size > 0 && count > SIZE_MAX / size;
    const size_t bytes = overflows ? 0 : count * size;
    void *grown = overflows ? NULL : realloc(memory, bytes ? bytes : 1);
    if (grown) return grown;
    tool_error("out of memory: %zu x %zu bytes needed", count, size);
    exit(TOOL_MEMORY);
}
