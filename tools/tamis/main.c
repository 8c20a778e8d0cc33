/* The program `tamis`: finds the subcommand in the table (commands.c), parses its options and runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tamis/tamis.h>

#include "command.h"
#include "exit.h"
#include "progress.h"
#include "text.h"

static const tool_command *find_command(const char *name) {
    for (int i = 0; tool_commands[i]; i++) {
        if (strcmp(tool_commands[i]->name, name) == 0) return tool_commands[i];
    }
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[32] = {NULL};
    for (int i = 0; tool_commands[i] && i < 31; i++) names[i] = tool_commands[i]->name;
    const char *nearest = tool_nearest(name, names);
    return tool_usage_error("unknown command '%s'%s%s%s", name, nearest ? " (did you mean " : "",
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
        return tool_usage_error("--completion: which shell? There are: bash, zsh");
    }
    if (strcmp(option, "--names") == 0) return print_names(count > 2 ? arguments[2] : "");
    static const char *const names[] = {"help", "version", "completion", NULL};
    const char *nearest = option[1] == '-' ? tool_nearest(option + 2, names) : NULL;
    return tool_usage_error("unknown option %s%s%s%s", option, nearest ? " (did you mean --" : "",
                            nearest ? nearest : "", nearest ? "?)" : "");
}

static int run_command(const tool_command *command, int count, char **arguments) {
    tool_set_command(command->name);
    void *settings = tool_allocate(1, command->settings_size);
    tool_options_preset(command->options, settings);
    tool_options_remember(count, arguments);
    int operands = 0;
    bool help = false;
    int code = tool_options_parse(command->options, settings, count, arguments, &operands, &help);
    if (code == 0 && help) {
        tool_command_help(command);
    } else if (code == 0 && operands < command->least) {
        code = tool_usage_error("%s wanted, %d given", command->operands, operands);
    } else if (code == 0 && command->most >= 0 && operands > command->most) {
        code = tool_usage_error("unexpected argument '%s'", arguments[command->most]);
    } else if (code == 0) {
        code = command->run(settings, operands, arguments);
    }
    free(settings);
    return code;
}

static int dispatch(int count, char **arguments) {
    if (count < 2) {
        tool_help(stderr);
        return TOOL_USAGE;
    }
    if (arguments[1][0] == '-') return run_global_option(count, arguments);
    if (strcmp(arguments[1], "help") == 0) {
        const tool_command *command = count > 2 ? find_command(arguments[2]) : NULL;
        if (count > 2 && !command) return unknown_command(arguments[2]);
        if (command) {
            tool_command_help(command);
        } else {
            tool_help(stdout);
        }
        return TOOL_OK;
    }
    const tool_command *command = find_command(arguments[1]);
    return command ? run_command(command, count - 2, arguments + 2) : unknown_command(arguments[1]);
}

int main(int count, char **arguments) {
    int code = dispatch(count, arguments);
    tool_progress_clear();
    if (fflush(stdout) != 0 || ferror(stdout)) {
        tool_error("standard output cannot be written");
        if (code == TOOL_OK) code = TOOL_FILE;
    }
    return code;
}
