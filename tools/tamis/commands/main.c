/* The program `tamis`: finds the subcommand in the table (commands.c), parses its options and runs it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <tamis/tamis.h>

#include "cli/command.h"
#include "cli/commit.h"
#include "cli/exit.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/python.h"
#include "cli/ranks.h"
#include "cli/text.h"
#include "cli/wording.h"
#include "model/options.h"
#include "model/use.h"

enum { OPTIONS_MOST = 126 };

/* Explains the order of arguments, since until 0.1 the method came first. */
static int method_first(const char *method, const char *action) {
    const bool used = action && strcmp(action, "train") != 0 && tool_command_find(action);
    if (!used) return tool_usage_error("models are trained by 'tamis train %s DATA -o MODEL'", method);
    return tool_usage_error("a model knows its method: '%s %s' is now 'tamis %s MODEL'", method, action, action);
}

static int unknown_command(const char *name, const char *next) {
    const char *names[32] = {NULL};
    for (int i = 0; tool_commands[i] && i < 31; i++) names[i] = tool_commands[i]->name;
    return tool_method_find(&tool_train_command, name)
               ? method_first(name, next)
               : tool_usage_error("unknown command '%s'%s", name, tool_did_you_mean("", name, names).text);
}

static int unknown_method(const tool_command *command, const char *name) {
    const char *names[16] = {NULL};
    for (int i = 0; command->methods[i].name && i < 15; i++) names[i] = command->methods[i].name;
    tool_text list = {0};
    for (int i = 0; names[i]; i++) tool_text_add(&list, "%s%s", i ? ", " : "", names[i]);
    const int code = tool_usage_error("unknown method '%s'%s; expected one of %s", name,
                                      tool_did_you_mean("", name, names).text, tool_text_get(&list));
    tool_text_free(&list);
    return code;
}

static void print_version(void) {
    printf("tamis %s\ncommit       %s\n", tamis_version(), tool_commit);
    const char *information = tamis_build_information();
    if (strncmp(information, "tamis ", 6) == 0) information += strcspn(information, "\n") + 1;
    printf("%s%s", information, *information && information[strlen(information) - 1] != '\n' ? "\n" : "");
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
    if (strcmp(option, "--describe") == 0) {
        tool_describe(stdout);
        return TOOL_OK;
    }
    if (strcmp(option, "--completion") == 0) {
        if (count > 2 && tool_completion(stdout, arguments[2])) return TOOL_OK;
        return tool_usage_error("--completion: expected a shell, bash, zsh or fish");
    }
    if (strcmp(option, "--complete") == 0) {
        tool_complete(stdout, count - 2, arguments + 2);
        return TOOL_OK;
    }
    static const char *const names[] = {"help", "version", "completion", "max-memory", NULL};
    const tool_hint hint = option[1] == '-' ? tool_did_you_mean("--", option + 2, names) : (tool_hint){""};
    return tool_usage_error("unknown option %s%s", option, hint.text);
}

/* Reports that an option belongs only to other methods, and to which. */
static int refuse_option(const tool_command *command, const tool_command *method, const char *argument) {
    const char *name = argument + (strncmp(argument, "--no-", 5) == 0 ? 5 : 2);
    const size_t length = strcspn(name, "=");
    if (strncmp(argument, "--", 2) != 0 || length == 0 || tool_option_find(method->options, name, length)) return 0;
    tool_text others = {0};
    for (const tool_command *other = command->methods; other->name; other++) {
        if (!tool_option_find(other->options, name, length)) continue;
        tool_text_add(&others, "%s%s", others.length ? ", " : "", other->name);
    }
    const int code = others.length ? tool_usage_error("--%.*s is for %s, not for %s", (int)length, name,
                                                      tool_text_get(&others), method->name)
                                   : 0;
    tool_text_free(&others);
    return code;
}

static int refuse_options(const tool_command *command, const tool_command *method, int count, char **arguments) {
    int code = 0;
    for (int i = 0; i < count && code == 0 && strcmp(arguments[i], "--") != 0; i++)
        code = refuse_option(command, method, arguments[i]);
    return code;
}

/* Names the missing operands of a command, from number `given` on. */
static int missing_operands(const char *words, int given) {
    tool_text missing = {0};
    int count = 0;
    for (const char *word = words; *word && *word != '['; word += strspn(word, " ")) {
        const size_t length = strcspn(word, " ");
        if (given-- <= 0 && strncmp(word, "...", 3) != 0)
            tool_text_add(&missing, "%s%.*s", count++ ? " and " : "", (int)length, word);
        word += length;
    }
    const int code = tool_usage_error("%s %s missing", tool_text_get(&missing), count > 1 ? "are" : "is");
    tool_text_free(&missing);
    return code;
}

/* Counts the operands that a command takes; *most < 0: any number. */
static void count_operands(const char *words, int *least, int *most) {
    *least = *most = 0;
    for (const char *word = words; *word; word += strspn(word, " ")) {
        const bool any = strncmp(word, "...", 3) == 0;
        *least += !any && *word != '[';
        *most = any ? -1 : *most + 1;
        word += strcspn(word, " ");
    }
}

static int start(const tool_command *command, const void *settings, int count, char **operands) {
    if (command->use) return tool_use_run(settings, count, operands, command->use);
    return command->module ? tool_python_command(command->module) : command->run(settings, count, operands);
}

/* The operands of a command with methods begin with the method, whose options it has. */
static int run_command(const tool_command *command, const tool_command *method, int count, char **arguments) {
    static tool_word name; /* static, as messages use it until the process ends */
    name = tool_command_name(command, method);
    tool_set_command(name.text);
    const tool_option *options = method ? method->options : command->options;
    const int before = method ? 1 : 0;
    static const char *names[OPTIONS_MOST + 1];
    for (int i = 0; options[i].name && i < OPTIONS_MOST; i++) names[i] = options[i].name;
    tool_wording_options(names);
    void *settings = tool_allocate(1, command->settings_size);
    tool_options_preset(options, settings);
    tool_options_remember(count - before, arguments + before);
    int operands = 0, least = 0, most = 0;
    bool help = false;
    count_operands(command->operands, &least, &most);
    int code = method ? refuse_options(command, method, count - 1, arguments + 1) : 0;
    if (code == 0) code = tool_options_parse(options, settings, count - before, arguments + before, &operands, &help);
    for (int i = before; code == 0 && i < before + operands; i++) arguments[i] = tool_file_name(arguments[i]);
    if (code == 0 && help) {
        tool_command_help(command, method);
    } else if (code == 0 && operands < least) {
        code = missing_operands(command->operands, operands);
    } else if (code == 0 && most >= 0 && operands > most) {
        code = tool_usage_error("unexpected argument '%s'", arguments[before + most]);
    } else if (code == 0) {
        tool_set_quiet(tool_option_flag(options, settings, "quiet"));
        tool_options_use(options, settings);
        code = tool_outputs_check(command, options, settings, operands, arguments + before);
        if (code == 0) code = start(command, settings, operands + before, arguments);
        if (code == 0) tool_outputs_replaced();
    }
    free(settings);
    return code;
}

static int run_with_method(const tool_command *command, int count, char **arguments) {
    tool_set_command(command->name);
    if (count == 0) return tool_usage_error("METHOD is missing");
    if (strcmp(arguments[0], "--help") == 0 || strcmp(arguments[0], "-h") == 0) {
        tool_command_help(command, NULL);
        return TOOL_OK;
    }
    if (arguments[0][0] == '-') return tool_usage_error("expected METHOD before option %s", arguments[0]);
    const tool_command *method = tool_method_find(command, arguments[0]);
    return method ? run_command(command, method, count, arguments) : unknown_method(command, arguments[0]);
}

/* help, help COMMAND and help COMMAND METHOD */
static int show_help(int count, char **arguments) {
    if (count == 0) {
        tool_help(stdout);
        return TOOL_OK;
    }
    const tool_command *command = tool_command_find(arguments[0]), *method = NULL;
    if (!command) return unknown_command(arguments[0], count > 1 ? arguments[1] : NULL);
    if (count > 1 && command->methods) {
        tool_set_command(command->name);
        method = tool_method_find(command, arguments[1]);
        if (!method) return unknown_method(command, arguments[1]);
    }
    tool_command_help(command, method);
    return TOOL_OK;
}

/* Limits the memory of the process: it then exits with code 5 before the machine runs out of memory. */
static int limit_memory(const char *size) {
    int64_t bytes = 0;
    if (!size || !tool_parse_integer(size, strlen(size), &bytes) || bytes < 1)
        return tool_usage_error("--max-memory: expected a number of bytes, such as 500M or 8G%s%s%s",
                                size ? ", not '" : "", size ? size : "", size ? "'" : "");
    const struct rlimit limit = {(rlim_t)bytes, (rlim_t)bytes};
    if (setrlimit(RLIMIT_DATA, &limit) == 0) return 0;
    return tool_usage_error("--max-memory: %s: %s", size, strerror(errno));
}

static int dispatch(int count, char **arguments) {
    if (count >= 2 && strcmp(arguments[1], "--max-memory") == 0) {
        TOOL_TRY(limit_memory(count > 2 ? arguments[2] : NULL));
        count -= 2;
        arguments += 2;
    }
    if (count < 2) {
        tool_help(stderr);
        return TOOL_USAGE;
    }
    if (arguments[1][0] == '-') return run_global_option(count, arguments);
    if (strcmp(arguments[1], "help") == 0) return show_help(count - 2, arguments + 2);
    const tool_command *command = tool_command_find(arguments[1]);
    if (!command) return unknown_command(arguments[1], count > 2 ? arguments[2] : NULL);
    return command->methods ? run_with_method(command, count - 2, arguments + 2)
                            : run_command(command, NULL, count - 2, arguments + 2);
}

/* Keeps OpenCL compilers from printing the number of warnings to standard error. */
static void quieten_opencl(void) {
    const char *given = getenv("TAMIS_OPENCL_OPTIONS");
    tool_text options = {0};
    tool_text_add(&options, "%s%s-w", given ? given : "", given ? " " : "");
    setenv("TAMIS_OPENCL_OPTIONS", tool_text_get(&options), 1);
    tool_text_free(&options);
}

int main(int count, char **arguments) {
    tool_interrupt_catch();
    tool_wording_typed(count, arguments);
    signal(SIGXFSZ, SIG_IGN); /* then a write beyond the file size limit fails with an error */
    quieten_opencl();
    tool_train_options_prepare();
    int code = dispatch(count, arguments);
    tool_progress_clear();
    code = tool_ranks_end(code);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        tool_error("standard output cannot be written");
        if (code == TOOL_OK) code = TOOL_FILE;
    }
    tool_interrupt_release(); /* ends the process by a signal received meanwhile */
    return code;
}
