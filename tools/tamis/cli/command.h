/* The table of subcommands. */
#ifndef TOOL_COMMAND_H
#define TOOL_COMMAND_H

#include <stdio.h>

#include "cli/options.h"

/* What a command does with a model: operands are those behind it. Returns an exit code, after a message. */
struct tool_use;
typedef int tool_use_body(const struct tool_use *use, const void *settings, int count, char **operands);

typedef struct tool_command {
    const char *name;
    const char *summary;       /* one line */
    const char *operands;      /* "IN OUT", "FILE ...": one or more, "MODEL [USER ...]"; how many is read from this */
    const tool_choices *first; /* what the first operand is one of; NULL: a file */
    int output_operand;        /* which of them is written, from 0; 0: none */
    bool drawn;                /* what is written, the Python package writes */
    const tool_option *options;
    size_t settings_size; /* of the structure that the options fill */
    int (*run)(const void *settings, int count, char **operands);
    tool_use_body *use;                 /* in place of run(): what it does with the model of its first operand */
    const char *module;                 /* or: of the Python package, which gets the command line as it was given */
    const struct tool_command *methods; /* of `train`: the word after it names one of these, which end with no name and
                                           have options of their own. What runs is the run() of `train` */
} tool_command;

extern const tool_command tool_devices_command, tool_algorithms_command, tool_info_command, tool_generate_command,
    tool_convert_command, tool_run_command, tool_check_command, tool_bench_command, tool_explain_command,
    tool_cache_command, tool_spy_command, tool_report_command, tool_compare_command, tool_roofline_command,
    tool_tune_command, tool_train_command, tool_predict_command, tool_recommend_command, tool_similar_command,
    tool_topics_command, tool_score_command, tool_transform_command, tool_export_command;

extern const tool_command *const tool_commands[]; /* ends with NULL */

/* The command of that name, and the method among those of a command; NULL where there is none. */
const tool_command *tool_command_find(const char *name);
const tool_command *tool_method_find(const tool_command *command, const char *name);

/* "train als", or where method is NULL "train". */
tool_word tool_command_name(const tool_command *command, const tool_command *method);

/* What texts/commands.txt says of a command, or of "COMMAND METHOD": paragraphs separated by empty lines, which may be
   lists of lines "name: meaning"; and for each example a line with the command and one with what it does. */
void tool_about(const char *name, tool_text *description, tool_text *examples);
const char *tool_shell_text(const char *name); /* a file of texts/; NULL where there is none */

/* --help of the program, of a subcommand, and of a method of it (NULL: of all). */
void tool_help(FILE *out);
void tool_command_help(const tool_command *command, const tool_command *method);

/* All of that as JSON, of which the man page is made; and the completion of a shell ("bash" or "zsh"; false for
   another), which asks the program what the last of some words may become: a candidate a line, with a tab before what
   it means. */
void tool_describe(FILE *out);
bool tool_completion(FILE *out, const char *shell);
void tool_complete(FILE *out, int count, char **words);

#endif
