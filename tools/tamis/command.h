/* The table of subcommands. */
#ifndef TOOL_COMMAND_H
#define TOOL_COMMAND_H

#include <stdio.h>

#include "options.h"

typedef struct tool_example {
    const char *line, *meaning;
} tool_example;

typedef struct tool_command {
    const char *name;
    const char *summary;     /* one line */
    const char *operands;    /* "FILE ..."; "" for none */
    int least, most;         /* how many operands; most < 0: any number */
    int output_operand;      /* which of them is written, from 0; 0: none */
    const char *description; /* a paragraph or more, separated by empty lines */
    const tool_option *options;
    const tool_example *examples; /* ends with a NULL line */
    size_t settings_size;         /* of the structure that the options fill */
    int (*run)(const void *settings, int count, char **operands);
    const struct tool_command *const *actions; /* of a group such as `als`: the word after it is one of these, which end
                                                  with NULL. A group itself has neither options nor run() */
    int (*run_action)(const struct tool_command *group, const void *settings, int count, char **operands);
} tool_command;

extern const tool_command tool_devices_command, tool_algorithms_command, tool_info_command, tool_generate_command,
    tool_convert_command, tool_run_command, tool_check_command, tool_bench_command, tool_explain_command,
    tool_cache_command, tool_spy_command, tool_report_command, tool_compare_command, tool_roofline_command,
    tool_tune_command, tool_als_command, tool_implicit_als_command, tool_ccd_command, tool_lda_command,
    tool_sfa_command, tool_gap_command;

extern const tool_command *const tool_commands[]; /* ends with NULL */

/* The command of that name among those of a list that ends with NULL, or NULL. */
const tool_command *tool_command_find(const tool_command *const *commands, const char *name);

/* --help of the program, of a subcommand and of an action of a group (group NULL: of a subcommand). */
void tool_help(FILE *out);
void tool_command_help(const tool_command *group, const tool_command *command);

/* The man page in mdoc, and the completion of a shell ("bash" or "zsh"; false for another). */
void tool_manual(FILE *out);
bool tool_completion(FILE *out, const char *shell);

#endif
