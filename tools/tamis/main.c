/* The program `tamis`: finds the subcommand in the table (commands.c), parses its options and runs it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <tamis/tamis.h>

#include "command.h"
#include "exit.h"
#include "model_options.h"
#include "outputs.h"
#include "progress.h"
#include "text.h"

/* `kind` is what messages call them: "command", or "action" of a group. */
static int unknown_command(const tool_command *const *commands, const char *kind, const char *name) {
    const char *names[32] = {NULL};
    for (int i = 0; commands[i] && i < 31; i++) names[i] = commands[i]->name;
    const char *nearest = tool_nearest(name, names);
    return tool_usage_error("unknown %s '%s'%s%s%s", kind, name, nearest ? " (did you mean " : "",
                            nearest ? nearest : "", nearest ? "?)" : "");
}

static void print_version(void) {
    printf("tamis %s\n", tamis_version());
    const char *information = tamis_build_information();
    if (strncmp(information, "tamis ", 6) == 0) information += strcspn(information, "\n") + 1;
    printf("%s%s", information, *information && information[strlen(information) - 1] != '\n' ? "\n" : "");
}

/* Lists of names that completions ask for: one a line. */
static int print_names(const char *list) {
    const tool_choices *choices = strcmp(list, "algorithms") == 0 ? &tool_algorithms
                                  : strcmp(list, "devices") == 0  ? &tool_devices
                                                                  : NULL;
    if (!choices) return tool_usage_error("--names: '%s' is not a list; there are: algorithms, devices", list);
    for (int i = 0; choices->name(i); i++) puts(choices->name(i));
    return TOOL_OK;
}

static int run_global_option(int count, char **arguments) {
    const char *option = arguments[1];
    if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0) {
        tool_help(stdout);
        return TOOL_OK;
    }
    if (strcmp(option, "--version") == 0 || strcmp(option, "-V") == 0) {
        print_version();
        return TOOL_OK;
    }
    if (strcmp(option, "--manual") == 0) {
        tool_manual(stdout);
        return TOOL_OK;
    }
    if (strcmp(option, "--completion") == 0) {
        if (count > 2 && tool_completion(stdout, arguments[2])) return TOOL_OK;
        return tool_usage_error("--completion: expected a shell, bash or zsh");
    }
    if (strcmp(option, "--names") == 0) return print_names(count > 2 ? arguments[2] : "");
    static const char *const names[] = {"help", "version", "completion", "max-memory", NULL};
    const char *nearest = option[1] == '-' ? tool_nearest(option + 2, names) : NULL;
    return tool_usage_error("unknown option %s%s%s%s", option, nearest ? " (did you mean --" : "",
                            nearest ? nearest : "", nearest ? "?)" : "");
}

/* group: of which the command is an action; NULL for a command of its own. */
static int run_command(const tool_command *group, const tool_command *command, int count, char **arguments) {
    static char name[64]; /* which messages name to the end */
    snprintf(name, sizeof name, "%s%s%s", group ? group->name : "", group ? " " : "", command->name);
    tool_set_command(name);
    void *settings = tool_allocate(1, command->settings_size);
    tool_options_preset(command->options, settings);
    tool_options_remember(count, arguments);
    int operands = 0;
    bool help = false;
    int code = tool_options_parse(command->options, settings, count, arguments, &operands, &help);
    if (code == 0 && help) {
        tool_command_help(group, command);
    } else if (code == 0 && operands < command->least) {
        code = tool_usage_error("expected %s, %d given", command->operands, operands);
    } else if (code == 0 && command->most >= 0 && operands > command->most) {
        code = tool_usage_error("unexpected argument '%s'", arguments[command->most]);
    } else if (code == 0) {
        tool_set_quiet(tool_option_flag(command->options, settings, "quiet"));
        code = tool_outputs_check(command, settings, operands, arguments);
        if (code == 0) {
            code = group ? command->run_action(group, settings, operands, arguments)
                         : command->run(settings, operands, arguments);
        }
        if (code == 0) tool_outputs_replaced();
    }
    free(settings);
    return code;
}

static int run_group(const tool_command *group, int count, char **arguments) {
    tool_set_command(group->name);
    if (count == 0) return tool_usage_error("%s is missing", group->operands);
    if (strcmp(arguments[0], "--help") == 0 || strcmp(arguments[0], "-h") == 0) {
        tool_command_help(NULL, group);
        return TOOL_OK;
    }
    if (arguments[0][0] == '-') return tool_usage_error("expected %s before option %s", group->operands, arguments[0]);
    const tool_command *action = tool_command_find(group->actions, arguments[0]);
    return action ? run_command(group, action, count - 1, arguments + 1)
                  : unknown_command(group->actions, "action", arguments[0]);
}

/* help, help COMMAND and help GROUP ACTION */
static int show_help(int count, char **arguments) {
    if (count == 0) {
        tool_help(stdout);
        return TOOL_OK;
    }
    const tool_command *command = tool_command_find(tool_commands, arguments[0]);
    if (!command) return unknown_command(tool_commands, "command", arguments[0]);
    if (count > 1 && command->actions) {
        const tool_command *action = tool_command_find(command->actions, arguments[1]);
        tool_set_command(command->name);
        if (!action) return unknown_command(command->actions, "action", arguments[1]);
        tool_command_help(command, action);
    } else {
        tool_command_help(NULL, command);
    }
    return TOOL_OK;
}

/* Beyond so much memory of its own the process gets none, and ends with code 5 instead of the machine's memory. */
static int limit_memory(const char *size) {
    int64_t bytes = 0;
    if (!size || !tool_parse_integer(size, strlen(size), &bytes) || bytes < 1) {
        return tool_usage_error("--max-memory: expected a number of bytes, such as 500M or 8G%s%s%s",
                                size ? ", not '" : "", size ? size : "", size ? "'" : "");
    }
    const struct rlimit limit = {(rlim_t)bytes, (rlim_t)bytes};
    if (setrlimit(RLIMIT_DATA, &limit) == 0) return 0;
    return tool_usage_error("--max-memory: %s: %s", size, strerror(errno));
}

static int dispatch(int count, char **arguments) {
    if (count >= 2 && strcmp(arguments[1], "--max-memory") == 0) {
        const int code = limit_memory(count > 2 ? arguments[2] : NULL);
        if (code) return code;
        count -= 2;
        arguments += 2;
    }
    if (count < 2) {
        tool_help(stderr);
        return TOOL_USAGE;
    }
    if (arguments[1][0] == '-') return run_global_option(count, arguments);
    if (strcmp(arguments[1], "help") == 0) return show_help(count - 2, arguments + 2);
    const tool_command *command = tool_command_find(tool_commands, arguments[1]);
    if (!command) return unknown_command(tool_commands, "command", arguments[1]);
    return command->actions ? run_group(command, count - 2, arguments + 2)
                            : run_command(NULL, command, count - 2, arguments + 2);
}

/* OpenCL compilers may write to standard error how many warnings they have of our kernels. */
static void quieten_opencl(void) {
    const char *given = getenv("TAMIS_OPENCL_OPTIONS");
    tool_text options = {0};
    tool_text_add(&options, "%s%s-w", given ? given : "", given ? " " : "");
    setenv("TAMIS_OPENCL_OPTIONS", tool_text_get(&options), 1);
    tool_text_free(&options);
}

int main(int count, char **arguments) {
    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error of writing, which says so */
    quieten_opencl();
    tool_train_options_prepare();
    int code = dispatch(count, arguments);
    tool_progress_clear();
    if (fflush(stdout) != 0 || ferror(stdout)) {
        tool_error("standard output cannot be written");
        if (code == TOOL_OK) code = TOOL_FILE;
    }
    return code == TOOL_INTERRUPTED ? tool_interrupted_code() : code;
}
