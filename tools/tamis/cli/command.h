/* The table of subcommands. */
#ifndef TOOL_COMMAND_H
#define TOOL_COMMAND_H

#include <stdio.h>

#include "cli/options.h"

/* Runs a command on a model, with the operands after it. Returns an exit code, after a message. */
struct tool_use;
typedef int tool_use_body(const struct tool_use *use, const void *settings, int count, char **operands);

typedef struct tool_command {
    const char *name;
    const char *summary; /* one line */
    const char
        *operands; /* "IN OUT", "FILE ..." (one or more), "MODEL [USER ...]"; determines the number of operands */
    const tool_choices *first; /* choices of the first operand; NULL: a file */
    int output_operand;        /* index of the operand that is written; 0: none */
    bool drawn;                /* the Python package writes the output */
    const tool_option *options;
    size_t settings_size; /* size of the structure that the options fill */
    int (*run)(const void *settings, int count, char **operands);
    tool_use_body *use; /* instead of run(): receives the model of the first operand */
    const char *module; /* instead of run(): a module of the Python package, which receives the original command line */
    const struct tool_command *methods; /* `train`: the next word names one of these, which have their own options; the
                                           last has no name. `train`'s run() runs */
} tool_command;

/* A command with options for its settings, of that type; the fields that say what runs follow. */
#define TOOL_COMMAND(name_, operands_, summary_, options_, settings_, ...)                                             \
    {                                                                                                                  \
        .name = name_, .operands = operands_, .summary = summary_, .options = options_,                                \
        .settings_size = sizeof(settings_), __VA_ARGS__                                                                \
    }

extern const tool_command tool_devices_command, tool_algorithms_command, tool_info_command, tool_generate_command,
    tool_convert_command, tool_run_command, tool_check_command, tool_bench_command, tool_tune_device_command,
    tool_explain_command, tool_cache_command, tool_spy_command, tool_report_command, tool_compare_command,
    tool_roofline_command, tool_tune_command, tool_evaluate_command, tool_train_command, tool_predict_command,
    tool_recommend_command, tool_similar_command, tool_topics_command, tool_score_command, tool_transform_command,
    tool_export_command;

extern const tool_command *const tool_commands[]; /* ends with NULL */

/* Find the command with that name, and the method of a command; NULL if there is none. */
const tool_command *tool_command_find(const char *name);
const tool_command *tool_method_find(const tool_command *command, const char *name);

/* Returns "train als", or "train" if method is NULL. */
tool_word tool_command_name(const tool_command *command, const tool_command *method);

/* Returns the text in texts/commands.txt on a command, or on "COMMAND METHOD": paragraphs separated by empty lines,
   which may be lists of lines "name: meaning"; and for each example a line with the command and a line that explains
   it. */
void tool_about(const char *name, tool_text *description, tool_text *examples);
const char *tool_shell_text(const char *name); /* returns a file of texts/; NULL if there is none */

/* Print --help of the program; of a subcommand, or of one of its methods (NULL: of all). */
void tool_help(FILE *out);
void tool_command_help(const tool_command *command, const tool_command *method);

/* Print all of that as JSON, from which the man page is made; the completion script of a shell ("bash" or "zsh"; false
   for others); and the completions of the last word, one per line, with a tab before the meaning. */
void tool_describe(FILE *out);
bool tool_completion(FILE *out, const char *shell);
void tool_complete(FILE *out, int count, char **words);

#endif
