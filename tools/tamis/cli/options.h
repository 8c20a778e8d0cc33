/* Options, described by tables, from which the parser, --help, the man page and the completions derive. */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/choices.h"
#include "cli/text.h"

/* The kind of an option's value, and the C type of the field that holds it. */
typedef enum tool_value {
    TOOL_FLAG,       /* bool; no argument. With the default "yes", --no-NAME turns it off */
    TOOL_FLAG_NOT,   /* a flag whose field has the opposite value */
    TOOL_INTEGER,    /* int64_t within low .. high */
    TOOL_INT,        /* int within low .. high */
    TOOL_REAL,       /* double within low .. high */
    TOOL_NAME,       /* const char *, any text */
    TOOL_PATH,       /* const char *, a file that is read */
    TOOL_OUTPUT,     /* const char *, a file that is written and replaces an old one */
    TOOL_ADDED_TO,   /* const char *, a file that is appended to, or whose old content has its own rule */
    TOOL_PATH_MAYBE, /* const char *, an optional file: --NAME ("") or --NAME=FILE */
    TOOL_LINES,      /* const char *, lines of JSON: --NAME ("-") to standard output, or --NAME=FILE, appended */
    TOOL_CHOICE,     /* int, index into choices */
    TOOL_INTEGERS,   /* tool_integers: a list with commas, each within low .. high */
    TOOL_CHOSEN      /* tool_chosen: a list with commas of names from choices */
} tool_value;

enum { TOOL_LIST_LIMIT = 64, TOOL_THREADS_MOST = 1024 };

typedef struct tool_integers {
    int count;
    int64_t at[TOOL_LIST_LIMIT];
} tool_integers;

typedef struct tool_chosen {
    int count;
    int at[TOOL_LIST_LIMIT];
} tool_chosen;

typedef struct tool_option {
    const char *name; /* without dashes; NULL ends the table */
    char letter;      /* short form, 0 for none */
    tool_value value;
    const char *argument; /* "K", "FILE"; NULL for flags */
    const char *preset;   /* the default as one would type it; NULL: none */
    const char *help;
    size_t offset; /* offset of the field in the command's settings */
    double low, high;
    const tool_choices *choices;
} tool_option;

/* The row of --columns: roles of a rating file's columns. */
#define TOOL_DATA_COLUMNS(at)                                                                                          \
    {                                                                                                                  \
        "columns", 0, TOOL_NAME, "user=NAME,item=NAME,...", NULL,                                                      \
            "columns of a list, also rating= and time=: titles of its first line, or numbers from 1", at, 0, 0, NULL   \
    }

/* The row of --no-clobber, for every command with a TOOL_OUTPUT. */
#define TOOL_NO_CLOBBER(offset)                                                                                        \
    { "no-clobber", 0, TOOL_FLAG, NULL, NULL, "refuse to replace an existing file", offset, 0, 0, NULL }

/* The row of --math, for commands with plans of operations. */
#define TOOL_MATH(offset)                                                                                              \
    {                                                                                                                  \
        "math", 0, TOOL_CHOICE, "MATH", "exact", "precision; tf32: GPUs may round fp32 inputs to eleven bits", offset, \
            0, 0, &tool_maths                                                                                          \
    }

/* The row of --to, for commands that write matrices. */
#define TOOL_TO(offset)                                                                                                \
    {                                                                                                                  \
        "to", 0, TOOL_CHOICE, "FORMAT", "auto", "format if the output is -, standard output; auto: matrix-market",     \
            offset, 0, 0, &tool_written_formats                                                                        \
    }

/* The row of --json for lines of JSON, optionally in a file; in other commands --json is a flag. */
#define TOOL_JSON_LINES(of, offset)                                                                                    \
    {                                                                                                                  \
        "json", 'j', TOOL_LINES, "FILE", NULL,                                                                         \
            "a line of JSON for each " of                                                                              \
            ", flushed immediately, instead of text; =FILE: append them to FILE, beside the text",                     \
            offset, 0, 0, NULL                                                                                         \
    }

/* Returns an option's value, as one would type it; for flags, numbers and choices. */
tool_word tool_option_text(const tool_option *option, const void *settings);

/* Writes the names of the chosen items, separated by commas, as one would type them. */
void tool_chosen_text(const tool_choices *choices, const tool_chosen *chosen, char *text, size_t bytes);

/* Return true if an option has no value; if its value is the name of a file; if its value is optional. */
bool tool_option_is_flag(const tool_option *option);
bool tool_option_is_path(const tool_option *option);
bool tool_option_is_optional(const tool_option *option); /* --NAME or --NAME=VALUE */

/* Fills the settings from the presets. */
void tool_options_preset(const tool_option *options, void *settings);

/* Parses the arguments after the subcommand's name. Operands move to the front of `arguments` and are counted. "--"
   ends the options. Returns 0, or TOOL_USAGE after a message. --help and -h set *help. */
int tool_options_parse(const tool_option *options, void *settings, int count, char **arguments, int *operands,
                       bool *help);

/* Keep the original arguments, before parsing moves them; parse the options among them again, overriding the current
   settings. */
void tool_options_remember(int count, char **arguments);
int tool_options_repeat(const tool_option *options, void *settings);

/* Set and return the options of the running command, and their settings. */
void tool_options_use(const tool_option *options, const void *settings);
const tool_option *tool_options_in_use(const void **settings);

/* Returns the original arguments; NULL if there are none. */
char *const *tool_options_given(int *count);

/* Appends these arguments to a text, as one would type them in a shell, without the option `without` (NULL: all), which
   is a flag or has its value in the same word. */
void tool_options_retype(tool_text *line, const char *without);

/* Sets an option. described: its name in messages ("--rows"). Returns 0 or TOOL_USAGE. */
int tool_option_set(const tool_option *option, void *settings, const char *value, const char *described);

/* Parses one name from a list; `described` may be "". Returns 0 or TOOL_USAGE after a message that lists the names. */
int tool_choice_parse(const tool_choices *choices, const char *described, const char *value, int *result);

/* Returns "-" for device files of standard input and output, and other words unchanged. */
char *tool_file_name(char *word);

/* Finds the option with that name, or returns NULL. */
const tool_option *tool_option_find(const tool_option *options, const char *name, size_t length);

/* Returns true if the flag with that name is set; false if there is none. */
bool tool_option_flag(const tool_option *options, const void *settings, const char *name);

/* Returns a hint at the option most similar to `wanted`, for the end of a message. */
tool_hint tool_option_hint(const tool_option *options, const char *dashes, const char *wanted);

#endif
