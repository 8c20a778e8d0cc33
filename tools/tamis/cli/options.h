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

/* Rows by the kind of value, named after it; `at`: the offset of the field. */
#define TOOL_NUMBER_ROW(kind, name, letter, argument, preset, at, low, high, help)                                     \
    { name, letter, kind, argument, preset, help, at, low, high, NULL }
#define TOOL_CHOICE_ROW(kind, name, letter, argument, preset, at, choices, help)                                       \
    { name, letter, kind, argument, preset, help, at, 0, 0, choices }
#define TOOL_TEXT_ROW(kind, name, letter, argument, at, help)                                                          \
    { name, letter, kind, argument, NULL, help, at, 0, 0, NULL }
#define TOOL_FLAG(name, letter, at, help) TOOL_TEXT_ROW(TOOL_FLAG, name, letter, NULL, at, help)
#define TOOL_NAME(...)                    TOOL_TEXT_ROW(TOOL_NAME, __VA_ARGS__)
#define TOOL_PATH(...)                    TOOL_TEXT_ROW(TOOL_PATH, __VA_ARGS__)
#define TOOL_OUTPUT(...)                  TOOL_TEXT_ROW(TOOL_OUTPUT, __VA_ARGS__)
#define TOOL_ADDED_TO(...)                TOOL_TEXT_ROW(TOOL_ADDED_TO, __VA_ARGS__)
#define TOOL_LINES(...)                   TOOL_TEXT_ROW(TOOL_LINES, __VA_ARGS__)
#define TOOL_INTEGER(...)                 TOOL_NUMBER_ROW(TOOL_INTEGER, __VA_ARGS__)
#define TOOL_INTEGERS(...)                TOOL_NUMBER_ROW(TOOL_INTEGERS, __VA_ARGS__)
#define TOOL_INT(...)                     TOOL_NUMBER_ROW(TOOL_INT, __VA_ARGS__)
#define TOOL_REAL(...)                    TOOL_NUMBER_ROW(TOOL_REAL, __VA_ARGS__)
#define TOOL_CHOICE(...)                  TOOL_CHOICE_ROW(TOOL_CHOICE, __VA_ARGS__)
#define TOOL_CHOSEN(...)                  TOOL_CHOICE_ROW(TOOL_CHOSEN, __VA_ARGS__)

/* Rows that several commands have. */
#define TOOL_DATA_COLUMNS(at)                                                                                          \
    TOOL_NAME("columns", 0, "user=NAME,item=NAME,...", at,                                                             \
              "columns of a list, also rating= and time=: titles of its first line, or numbers from 1")
#define TOOL_MATH(at)                                                                                                  \
    TOOL_CHOICE("math", 0, "MATH", "exact", at, &tool_maths,                                                           \
                "precision; tf32: GPUs may round fp32 inputs to eleven bits")
#define TOOL_OPERATIONS(at) TOOL_CHOSEN("op", 0, "OP,...", "sddmm,spmm,fused", at, &tool_operations, "operations")
#define TOOL_EDGE(at)                                                                                                  \
    TOOL_CHOICE("edge", 'e', "EDGE", "scale", at, &tool_edges,                                                         \
                "edge operation of sddmm and fused, or an expression such as 'tanh(x / 30) * 30'")
#define TOOL_LET(at)           TOOL_NAME("let", 0, "NAME=NUMBER,...", at, "numbers that an expression as --edge names")
#define TOOL_WIDTHS(at)        TOOL_INTEGERS("inner", 'k', "K,...", "128", at, 0, 1e9, "columns of A and B, or of B for spmm")
#define TOOL_FUSED_WIDTH(at)   TOOL_INTEGER("width", 'l', "L", NULL, at, 1, 1e9, "columns of D in fused; by default K")
#define TOOL_ELEMENT_TYPES(at) TOOL_CHOSEN("type", 't', "TYPE,...", "fp32", at, &tool_types, "element types")
#define TOOL_DEVICE(at)        TOOL_CHOICE("device", 'd', "DEVICE", "best", at, &tool_devices, "device")
#define TOOL_THREADS(at)                                                                                               \
    TOOL_INTEGER("threads", 0, "T", "0", at, 0, TOOL_THREADS_MOST, "threads; 0: the device's setting")
#define TOOL_SEED(at) TOOL_INTEGER("seed", 0, "SEED", "1", at, 0, 9e18, "seed of the operands")
#define TOOL_EFFORT(at)                                                                                                \
    TOOL_CHOICE("effort", 0, "EFFORT", "estimate", at, &tool_efforts,                                                  \
                "how auto chooses: by predictions, or by timing the best candidates, once for each kind of problem")

/* Rows of commands that write: --to for matrices, --no-clobber with every TOOL_OUTPUT. */
#define TOOL_TO(at)                                                                                                    \
    TOOL_CHOICE("to", 0, "FORMAT", "auto", at, &tool_written_formats,                                                  \
                "format if the output is -, standard output; auto: matrix-market")
#define TOOL_NO_CLOBBER(at)   TOOL_FLAG("no-clobber", 0, at, "refuse to replace an existing file")
#define TOOL_QUIET(at)        TOOL_FLAG("quiet", 'q', at, "print nothing on success")
#define TOOL_JSON_OBJECT(at)  TOOL_FLAG("json", 'j', at, "an object instead of text")
#define TOOL_JSON_ARRAY(at)   TOOL_FLAG("json", 'j', at, "an array of objects instead of text")
#define TOOL_WRITTEN(command) /* for settings with these fields */                                                     \
    TOOL_NO_CLOBBER(offsetof(command, no_clobber)), TOOL_JSON_OBJECT(offsetof(command, json)),                         \
        TOOL_QUIET(offsetof(command, quiet))

/* The row of --json for lines of JSON, optionally in a file; in other commands --json is a flag. */
#define TOOL_JSON_LINES(of, at)                                                                                        \
    TOOL_LINES("json", 'j', "FILE", at,                                                                                \
               "a line of JSON for each " of                                                                           \
               ", flushed immediately, instead of text; =FILE: append them to FILE, beside the text")

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
