/* Completion: a shell's script passes the words typed so far to the program, which answers from the tables. */
#include <string.h>

#include "cli/command.h"

static void offer(FILE *out, const char *name, const char *before, const char *typed, const char *meaning) {
    if (strncmp(name, typed, strlen(typed)) == 0) fprintf(out, "%s%s\t%s\n", before, name, meaning);
}

/* Completes the last entry of a comma-separated list, and keeps the entries before it. */
static void offer_choices(FILE *out, const tool_choices *choices, const char *typed) {
    const char *comma = strrchr(typed, ',');
    char before[512] = "";
    if (comma) snprintf(before, sizeof before, "%.*s", (int)(comma - typed) + 1, typed);
    for (int i = 0; tool_choice_name(choices, i); i++)
        offer(out, tool_choice_name(choices, i), before, comma ? comma + 1 : typed, "");
}

static void offer_options(FILE *out, const tool_option *option, const char *typed) {
    char name[64];
    offer(out, "--help", "", typed, "how to use it");
    for (; option && option->name; option++) {
        snprintf(name, sizeof name, "--%s", option->name);
        offer(out, name, "", typed, option->help);
        snprintf(name, sizeof name, "--no-%s", option->name);
        if (tool_option_is_flag(option) && option->preset) offer(out, name, "", typed, "not that");
    }
}

/* Returns the option whose value follows the word, or NULL. */
static const tool_option *option_before(const tool_option *option, const char *word) {
    for (; option && option->name; option++) {
        const bool short_form = word[0] == '-' && option->letter && word[1] == option->letter && !word[2];
        const bool long_form = strncmp(word, "--", 2) == 0 && strcmp(word + 2, option->name) == 0;
        if (short_form || long_form) break;
    }
    return option && option->name && !tool_option_is_flag(option) && !tool_option_is_optional(option) ? option : NULL;
}

static void offer_commands(FILE *out, const char *typed) {
    for (int i = 0; tool_commands[i]; i++) offer(out, tool_commands[i]->name, "", typed, tool_commands[i]->summary);
}

void tool_complete(FILE *out, int count, char **words) {
    const char *typed = count > 0 ? words[count - 1] : "";
    if (count <= 1) {
        offer_commands(out, typed);
        offer(out, "help", "", typed, "the help of a command");
        offer(out, "--help", "", typed, "how to use it");
        offer(out, "--version", "", typed, "the version and how it was built");
        return;
    }
    const tool_command *command = tool_command_find(words[0]);
    const tool_command *method = command && count > 2 ? tool_method_find(command, words[1]) : NULL;
    const tool_option *options = method ? method->options : command ? command->options : NULL;
    const tool_option *valued = option_before(options, words[count - 2]);
    if (valued && valued->choices) {
        offer_choices(out, valued->choices, typed);
    } else if (valued) {
        if (tool_option_is_path(valued)) fputs(":files\n", out);
    } else if (typed[0] == '-') {
        offer_options(out, options, typed);
    } else if (count == 2 && strcmp(words[0], "help") == 0) {
        offer_commands(out, typed);
    } else if (count == 2 && command && command->methods) {
        for (const tool_command *one = command->methods; one->name; one++)
            offer(out, one->name, "", typed, one->summary);
    } else if (count == 2 && command && command->first) {
        offer_choices(out, command->first, typed);
    } else {
        fputs(":files\n", out);
    }
}

bool tool_completion(FILE *out, const char *shell) {
    char name[32];
    snprintf(name, sizeof name, "completion.%s", shell);
    const char *text = tool_shell_text(name);
    if (text) fputs(text, out);
    return text != NULL;
}
