/* The table of subcommands. */
#ifndef TOOL_COMMAND_H
#define TOOL_COMMAND_H

#include <stdio.h>

#include "cli/options.h"

/* Runs a command on a model; `operands` are those after it. Returns an exit code, after a message. */
struct tool_use;
typedef int tool_use_body(const struct tool_use *use, const void *settings, int count, char **operands);

typedef struct tool_command {
    const char *name;
    const char *summary;       /* one line */
    const char *operands;      /* "IN OUT", "FILE ...": one or more, "MODEL [USER ...]"; how many is read from this */
    const tool_choices *first; /* what the first operand is one of; NULL: a file */
    int output_operand;        /* the operand that is written, from 0; 0: none */
    bool drawn;                /* the Python package writes the output */
    const tool_option *options;
    size_t settings_size; /* size of the structure that the options fill */
    int (*run)(const void *settings, int count, char **operands);
    tool_use_body *use; /* in place of run(): gets the model of the first operand */
    const char *module; /* or: a module of the Python package, which gets the command line as it was given */
    const struct tool_command *methods; /* of `train`: the word after it names one of these, which end with no name and
                                           have options of their own. What runs is the run() of `train` */
} tool_command;

extern const tool_command tool_devices_command, tool_algorithms_command, tool_info_command, tool_generate_command,
    tool_convert_command, tool_run_command, tool_check_command, tool_bench_command, tool_correct_command,
    tool_explain_command, tool_cache_command, tool_spy_command, tool_report_command, tool_compare_command,
    tool_roofline_command, tool_tune_command, tool_evaluate_command, tool_train_command, tool_predict_command,
    tool_recommend_command, tool_similar_command, tool_topics_command, tool_score_command, tool_transform_command,
    tool_export_command;

extern const tool_command *const tool_commands[]; /* ends with NULL */

/* Find the command of that name, and the method of a command; NULL if there is none. */
const tool_command *tool_command_find(const char *name);
const tool_command *tool_method_find(const tool_command *command, const char *name);

/* Returns "train als", or "train" if method is NULL. */
tool_word tool_command_name(const tool_command *command, const tool_command *method);

/* The text of texts/commands.txt on a command, or on "COMMAND METHOD": paragraphs separated by empty lines, which may
   be lists of lines "name: meaning"; and for each example a line with the command and one with what it does. */
void tool_about(const char *name, tool_text *description, tool_text *examples);
const char *tool_shell_text(const char *name); /* returns a file of texts/; NULL if there is none */

/* Print --help of the program; of a subcommand, or of a method of it (NULL: of all). */
void tool_help(FILE *out);
void tool_command_help(const tool_command *command, const tool_command *method);

/* Print all of that as JSON, from which the man page is made; the script that completes words in a shell ("bash" or
   "zsh"; false for another); and the candidates for the last of some words, one a line, with a tab before the meaning.
 */
void tool_describe(FILE *out);
bool tool_completion(FILE *out, const char *shell);
void tool_complete(FILE *out, int count, char **words);

#endif
