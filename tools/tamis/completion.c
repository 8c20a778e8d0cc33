/* Completion for bash and zsh, from the tables. Names that depend on the machine (algorithms, devices) are asked of the
   program when the key is pressed. */
#include <string.h>

#include "command.h"

/* The words an option may take, separated by blanks, for a shell. */
static void print_words(FILE *out, const tool_choices *choices) {
    if (choices->list) {
        fprintf(out, "$(tamis --names %s 2>/dev/null)", choices->list);
        return;
    }
    for (int i = 0; choices->name(i); i++) fprintf(out, "%s%s", i ? " " : "", choices->name(i));
}

/* What the first operand of a command may be; NULL: a file. */
static const tool_choices *first_operand(const tool_command *command) {
    if (command == &tool_generate_command) return &tool_kinds;
    if (command == &tool_run_command) return &tool_operations;
    return command == &tool_cache_command ? &tool_cache_actions : NULL;
}

/* Actions, each once, whose groups are asked for by number: NULL past the end. Groups may share an action. */
static const tool_command *distinct_action(int number) {
    const tool_command *seen[64];
    int count = 0;
    for (int i = 0; tool_commands[i]; i++) {
        for (int j = 0; tool_commands[i]->actions && tool_commands[i]->actions[j]; j++) {
            const tool_command *action = tool_commands[i]->actions[j];
            bool known = false;
            for (int k = 0; k < count; k++) known |= seen[k] == action;
            if (known || count == 64) continue;
            if (count == number) return action;
            seen[count++] = action;
        }
    }
    return NULL;
}

/* A pattern of the groups and names that an action is called by: "als predict"|"ccd predict". */
static void print_pattern(FILE *out, const tool_command *action) {
    bool first = true;
    for (int i = 0; tool_commands[i]; i++) {
        for (int j = 0; tool_commands[i]->actions && tool_commands[i]->actions[j]; j++) {
            if (tool_commands[i]->actions[j] != action) continue;
            fprintf(out, "%s\"%s %s\"", first ? "" : "|", tool_commands[i]->name, action->name);
            first = false;
        }
    }
}

static void print_bash_group(FILE *out, const tool_command *group) {
    fprintf(out, "    %s) options=--help operand=\"", group->name);
    for (int i = 0; group->actions[i]; i++) fprintf(out, "%s%s", i ? " " : "", group->actions[i]->name);
    fputs("\" ;;\n", out);
}

static void print_bash_options(FILE *out, const tool_command *command) {
    fputs("        options=\"--help", out);
    for (const tool_option *option = command->options; option->name; option++) {
        const bool negatable = option->value == TOOL_FLAG && option->preset;
        fprintf(out, " --%s", option->name);
        if (negatable) fprintf(out, " --no-%s", option->name);
    }
    fputs("\"\n        case $previous in\n", out);
    for (const tool_option *option = command->options; option->name; option++) {
        if (option->value == TOOL_FLAG || option->value == TOOL_PATH_MAYBE) continue;
        fprintf(out, "        --%s", option->name);
        if (option->letter) fprintf(out, "|-%c", option->letter);
        fputs(") ", out);
        if (option->choices) {
            fputs("_tamis_words \"", out);
            print_words(out, option->choices);
            fputs("\"; return ;;\n", out);
        } else {
            fputs(tool_option_is_path(option) ? "_tamis_files; return ;;\n" : "return ;;\n", out);
        }
    }
    fputs("        esac\n", out);
    if (first_operand(command)) {
        fputs("        operand=\"", out);
        print_words(out, first_operand(command));
        fputs("\"\n", out);
    }
    fputs("        ;;\n", out);
}

static void print_bash(FILE *out) {
    fputs("# bash completion for tamis; written by 'tamis --completion bash'\n"
          "_tamis_files() {\n"
          "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
          "    type compopt >/dev/null 2>&1 && compopt -o filenames 2>/dev/null\n"
          "}\n\n"
          "# The last entry of a list with commas is completed; what stands before it is kept.\n"
          "_tamis_words() {\n"
          "    local before=\n"
          "    [[ $current == *,* ]] && before=${current%,*},\n"
          "    COMPREPLY=($(compgen -P \"$before\" -W \"$1\" -- \"${current##*,}\"))\n"
          "}\n\n"
          "_tamis() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} options= operand=\n"
          "    COMPREPLY=()\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        COMPREPLY=($(compgen -W \"",
          out);
    for (int i = 0; tool_commands[i]; i++) fprintf(out, "%s ", tool_commands[i]->name);
    fputs("help --help --version\" -- \"$current\"))\n"
          "        return\n"
          "    fi\n"
          "    case ${COMP_WORDS[1]} in\n",
          out);
    for (int i = 0; tool_commands[i]; i++) {
        if (tool_commands[i]->actions) {
            print_bash_group(out, tool_commands[i]);
            continue;
        }
        fprintf(out, "    %s)\n", tool_commands[i]->name);
        print_bash_options(out, tool_commands[i]);
    }
    fputs("    help) operand=\"", out);
    for (int i = 0; tool_commands[i]; i++) fprintf(out, "%s%s", i ? " " : "", tool_commands[i]->name);
    fputs("\" ;;\n"
          "    esac\n"
          "    ((COMP_CWORD > 2)) && case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n",
          out);
    for (int i = 0; distinct_action(i); i++) {
        fputs("    ", out);
        print_pattern(out, distinct_action(i));
        fputs(")\n", out);
        print_bash_options(out, distinct_action(i));
    }
    fputs("    esac\n"
          "    if [[ $current == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
          "    elif [[ -n $operand ]] && ((COMP_CWORD == 2)); then\n"
          "        COMPREPLY=($(compgen -W \"$operand\" -- \"$current\"))\n"
          "    else\n"
          "        _tamis_files\n"
          "    fi\n"
          "}\n"
          "complete -F _tamis tamis\n",
          out);
}

/* Text inside '...' and inside the [...] of an option's description. */
static void print_quoted(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '\'') {
            fputs("'\\''", out);
        } else if (strchr("[]:", *text)) {
            fprintf(out, "\\%c", *text);
        } else {
            fputc(*text, out);
        }
    }
}

static void print_zsh_option(FILE *out, const tool_option *option) {
    const bool negatable = option->value == TOOL_FLAG && option->preset;
    if (negatable) {
        fprintf(out, "            '(--%s)--no-%s[not: ", option->name, option->name);
        print_quoted(out, option->help);
        fputs("]' \\\n", out);
    }
    if (option->letter) {
        fprintf(out, "            '(-%c --%s)'{-%c,--%s}'[", option->letter, option->name, option->letter,
                option->name);
    } else {
        fprintf(out, "            '--%s%s[", option->name, option->value == TOOL_PATH_MAYBE ? "=-" : "");
    }
    print_quoted(out, option->help);
    fputc(']', out);
    if (option->argument) {
        fprintf(out, "%s:%s:", option->value == TOOL_PATH_MAYBE ? ":" : "", option->argument);
        if (tool_option_is_path(option)) {
            fputs("_files", out);
        } else if (option->choices && option->choices->list) {
            fprintf(out, "_tamis_%s", option->choices->list);
        } else if (option->choices) {
            fputs(option->value == TOOL_CHOSEN ? "_values -s , value " : "(", out);
            print_words(out, option->choices);
            if (option->value != TOOL_CHOSEN) fputc(')', out);
        }
    }
    fputs("' \\\n", out);
}

static void print_zsh_options(FILE *out, const tool_command *command) {
    fputs("        _arguments -s \\\n", out);
    for (const tool_option *option = command->options; option->name; option++) print_zsh_option(out, option);
    if (first_operand(command)) {
        fputs("            '1:what:(", out);
        print_words(out, first_operand(command));
        fputs(")' \\\n", out);
    }
    if (*command->operands && command != &tool_cache_command) fputs("            '*:file:_files' \\\n", out);
    fputs("            '(-h --help)'{-h,--help}'[how to use it]'\n        ;;\n", out);
}

/* The actions of a group, where its second word is being written. */
static void print_zsh_group(FILE *out, const tool_command *group) {
    fprintf(out, "    %s) commands=(\n", group->name);
    for (int i = 0; group->actions[i]; i++) {
        fprintf(out, "        '%s:", group->actions[i]->name);
        print_quoted(out, group->actions[i]->summary);
        fputs("'\n", out);
    }
    fputs("        )\n        _describe action commands ;;\n", out);
}

static void print_zsh(FILE *out) {
    fputs("#compdef tamis\n"
          "# zsh completion for tamis; written by 'tamis --completion zsh'\n"
          "_tamis_algorithms() { _values -s , algorithm ${(f)\"$(tamis --names algorithms 2>/dev/null)\"} }\n"
          "_tamis_devices() { _values -s , device ${${(f)\"$(tamis --names devices 2>/dev/null)\"}//:/\\\\:} }\n\n"
          "_tamis() {\n"
          "    local -a commands\n"
          "    commands=(\n",
          out);
    for (int i = 0; tool_commands[i]; i++) {
        fprintf(out, "        '%s:", tool_commands[i]->name);
        print_quoted(out, tool_commands[i]->summary);
        fputs("'\n", out);
    }
    fputs("    )\n"
          "    if ((CURRENT == 2)); then\n"
          "        _describe command commands\n"
          "        _arguments '--help[how to use it]' '--version[the version and how it was built]'\n"
          "        return\n"
          "    fi\n"
          "    local command=$words[2]\n"
          "    shift words\n"
          "    ((CURRENT--))\n"
          "    case $command in\n"
          "    ",
          out);
    bool first = true;
    for (int i = 0; tool_commands[i]; i++) {
        if (!tool_commands[i]->actions) continue;
        fprintf(out, "%s%s", first ? "" : "|", tool_commands[i]->name);
        first = false;
    }
    fputs(")\n"
          "        if ((CURRENT > 2)); then\n"
          "            command=\"$command $words[2]\"\n"
          "            shift words\n"
          "            ((CURRENT--))\n"
          "        fi\n"
          "        ;;\n"
          "    esac\n"
          "    case $command in\n"
          "    help) _describe command commands ;;\n",
          out);
    for (int i = 0; tool_commands[i]; i++) {
        if (tool_commands[i]->actions) {
            print_zsh_group(out, tool_commands[i]);
            continue;
        }
        fprintf(out, "    %s)\n", tool_commands[i]->name);
        print_zsh_options(out, tool_commands[i]);
    }
    for (int i = 0; distinct_action(i); i++) {
        fputs("    ", out);
        print_pattern(out, distinct_action(i));
        fputs(")\n", out);
        print_zsh_options(out, distinct_action(i));
    }
    fputs("    esac\n}\n\n_tamis \"$@\"\n", out);
}

bool tool_completion(FILE *out, const char *shell) {
    if (strcmp(shell, "bash") == 0) {
        print_bash(out);
        return true;
    }
    if (strcmp(shell, "zsh") == 0) {
        print_zsh(out);
        return true;
    }
    return false;
}
