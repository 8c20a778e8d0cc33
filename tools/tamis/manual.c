/* The man page in mdoc: commands, options and examples from the tables, the rest from texts/manual.mdoc. */
#include <string.h>

#include "command.h"
#include "embedded.h"
#include "exit.h"
#include "text.h"

enum { LINE_LENGTH = 76 };

/* A paragraph: lines of limited length, each sentence on a line of its own as mdoc wants; backslashes, and what would
   be a control character at the start of a line, are escaped. */
static void print_prose(FILE *out, const char *text) {
    int column = 0;
    while (*text) {
        size_t length = strcspn(text, " \n");
        if (column > 0 && column + 1 + (int)length > LINE_LENGTH) {
            fputc('\n', out);
            column = 0;
        } else if (column > 0) {
            fputc(' ', out);
            column++;
        }
        if (column == 0 && (*text == '.' || *text == '\'')) fputs("\\&", out);
        for (size_t i = 0; i < length; i++) fputs(text[i] == '\\' ? "\\e" : (char[]){text[i], 0}, out);
        column += (int)length;
        const bool sentence = length > 0 && strchr(".!?", text[length - 1]) && text[length] == ' ' &&
                              text[length + 1] >= 'A' && text[length + 1] <= 'Z';
        if (sentence) {
            fputc('\n', out);
            column = 0;
        }
        text += length;
        text += strspn(text, " \n");
    }
    if (column > 0) fputc('\n', out);
}

/* A paragraph of lines "name: meaning", as a list. */
static void print_list(FILE *out, char *text) {
    fputs(".Bl -tag -width Ds -compact\n", out);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *colon = strstr(line, ": ");
        if (!colon) continue;
        *colon = 0;
        fprintf(out, ".It Cm %s\n", line);
        print_prose(out, colon + 2);
    }
    fputs(".El\n", out);
}

/* An argument of a macro, or several. */
static void print_argument(FILE *out, const char *text, bool one_word) {
    const bool quote = one_word && strchr(text, ' ');
    if (quote) fputc('"', out);
    for (; *text; text++) fputs(*text == '\\' ? "\\e" : (char[]){*text, 0}, out);
    if (quote) fputc('"', out);
}

/* How an option differs between the methods of a command. */
typedef struct differences {
    tool_text methods; /* "als, ccd": which have it, where not all do */
    tool_text presets; /* "15 (als), 20 (lda, gap)", where they are not the same */
} differences;

static void print_option(FILE *out, const tool_option *option, const differences *differs) {
    const bool negatable = tool_option_is_flag(option) && option->preset;
    fputs(".It Fl ", out);
    if (option->letter) fprintf(out, "%c , ", option->letter);
    if (option->letter) fputs("Fl ", out);
    fprintf(out, "-%s", option->name);
    if (negatable) fprintf(out, " , Fl -no-%s", option->name);
    if (option->argument && option->value == TOOL_PATH_MAYBE) {
        fprintf(out, " Ns Oo = Ns Ar %s Oc", option->argument);
    } else if (option->argument) {
        fputs(" Ar ", out);
        print_argument(out, option->argument, true);
    }
    fputc('\n', out);
    if (differs->methods.length) fprintf(out, "(%s)\n", tool_text_get(&differs->methods));
    char first = option->help[0];
    if (first >= 'a' && first <= 'z' && strncmp(option->help, "spmm", 4) != 0 &&
        strncmp(option->help, "fused", 5) != 0) {
        first = (char)(first - 'a' + 'A');
    }
    tool_text help = {0};
    tool_text_add(&help, "%c%s", first, option->help + 1);
    if (option->choices && !option->choices->list) {
        for (int i = 0; option->choices->name(i); i++) {
            tool_text_add(&help, "%s%s", i ? ", " : ": ", option->choices->name(i));
        }
    }
    const bool ended = help.data[help.length - 1] == '.';
    tool_text_add(&help, "%s", ended ? "" : ".");
    print_prose(out, tool_text_get(&help));
    tool_text_free(&help);
    if (differs->presets.length) {
        fprintf(out, "Default: %s.\n", tool_text_get(&differs->presets));
        return;
    }
    if (option->preset && !negatable) fprintf(out, "Default:\n.Cm %s .\n", option->preset);
    if (negatable) fprintf(out, "Default: %s.\n", strcmp(option->preset, "yes") == 0 ? "on" : "off");
}

static void print_description(FILE *out, const char *name) {
    tool_text description = {0}, examples = {0};
    tool_about(name, &description, &examples);
    for (const char *paragraph = tool_text_get(&description); *paragraph;) {
        const char *end = strstr(paragraph, "\n\n");
        const size_t length = end ? (size_t)(end - paragraph) : strlen(paragraph);
        char text[2048];
        snprintf(text, sizeof text, "%.*s", (int)length, paragraph);
        if (strchr(text, '\n')) {
            print_list(out, text);
        } else {
            print_prose(out, text);
        }
        paragraph += length + (end ? 2 : 0);
        if (*paragraph && !strchr(text, '\n')) fputs(".Pp\n", out);
    }
    tool_text_free(&description);
    tool_text_free(&examples);
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

/* The option of a method that has the name and the meaning of another one's, or NULL. */
static const tool_option *same_option(const tool_command *method, const tool_option *option) {
    const tool_option *found = tool_option_find(method->options, option->name, strlen(option->name));
    return found && same_text(found->help, option->help) ? found : NULL;
}

/* Which methods have an option, and its defaults where they differ. */
static differences find_differences(const tool_command *methods, const tool_option *option) {
    differences differs = {0};
    int all = 0, having = 0, presets = 0;
    for (const tool_command *method = methods; method->name; method++, all++) {
        const tool_option *own = same_option(method, option);
        if (!own) continue;
        tool_text_add(&differs.methods, "%s%s", having++ ? ", " : "", method->name);
        bool before = false;
        for (const tool_command *other = methods; other < method; other++) {
            before |= same_option(other, option) && same_text(same_option(other, option)->preset, own->preset);
        }
        if (before) continue;
        tool_text_add(&differs.presets, "%s%s (", presets++ ? ", " : "", own->preset ? own->preset : "none");
        for (const tool_command *other = method; other->name; other++) {
            if (!same_option(other, option) || !same_text(same_option(other, option)->preset, own->preset)) continue;
            tool_text_add(&differs.presets, "%s%s", other > method ? ", " : "", other->name);
        }
        tool_text_add(&differs.presets, ")");
    }
    if (having == all) tool_text_free(&differs.methods);
    if (presets < 2) tool_text_free(&differs.presets);
    return differs;
}

static void print_methods(FILE *out, const tool_command *command) {
    const tool_command *const methods = command->methods;
    fputs(".Pp\nThe methods are:\n.Bl -tag -width implicit-als\n", out);
    for (const tool_command *method = methods; method->name; method++) {
        fprintf(out, ".It Cm %s\n", method->name);
        print_description(out, tool_command_name(command, method).text);
    }
    fputs(".El\n.Pp\nIf only some methods have an option, they are named.\n.Bl -tag -width Ds\n", out);
    for (const tool_command *method = methods; method->name; method++) {
        for (const tool_option *option = method->options; option->name; option++) {
            bool before = false;
            for (const tool_command *other = methods; other < method; other++)
                before |= same_option(other, option) != NULL;
            if (before) continue;
            differences differs = find_differences(methods, option);
            print_option(out, option, &differs);
            tool_text_free(&differs.methods);
            tool_text_free(&differs.presets);
        }
    }
    fputs(".El\n", out);
}

static void print_command(FILE *out, const tool_command *command) {
    fprintf(out, ".Ss tamis %s%s\n", command->name, command->methods ? " METHOD" : "");
    print_description(out, command->name);
    if (command->methods) {
        print_methods(out, command);
        return;
    }
    fputs(".Bl -tag -width Ds\n", out);
    for (const tool_option *option = command->options; option->name; option++) {
        print_option(out, option, &(differences){0});
    }
    fputs(".El\n", out);
}

/* ------------------------------------------------------------------------------------------ sections */

/* "MODEL [ITEM ...]": what may be left out stands in brackets. */
static void print_synopsis(FILE *out) {
    for (int i = 0; tool_commands[i]; i++) {
        const tool_command *command = tool_commands[i];
        const int needed = (int)strcspn(command->operands, "[");
        const char *optional = command->operands + needed;
        fprintf(out, ".Nm\n.Cm %s\n%s.Op Ar options\n", command->name, command->methods ? ".Ar METHOD\n" : "");
        if (needed) fprintf(out, ".Ar %.*s\n", *optional ? needed - 1 : needed, command->operands);
        if (*optional) fprintf(out, ".Op Ar %.*s\n", (int)strlen(optional) - 2, optional + 1);
    }
    fputs(".Nm\n.Cm help\n.Op Ar command\n.Nm\n.Fl -version\n", out);
}

static void print_commands(FILE *out) {
    for (int i = 0; tool_commands[i]; i++) print_command(out, tool_commands[i]);
}

static void print_exit_codes(FILE *out) {
    fputs(".Sh EXIT STATUS\n.Bl -tag -width 130\n", out);
    for (size_t i = 0; i < sizeof tool_exit_meanings / sizeof *tool_exit_meanings; i++) {
        const char *meaning = tool_exit_meanings[i].meaning;
        fprintf(out, ".It %d\n%c%s.\n", (int)tool_exit_meanings[i].code, meaning[0] - 'a' + 'A', meaning + 1);
    }
    fputs(".El\n", out);
}

static void print_examples_of(FILE *out, const char *name, bool *first) {
    tool_text description = {0}, examples = {0};
    tool_about(name, &description, &examples);
    for (char *line = strtok(examples.data, "\n"); line; line = strtok(NULL, "\n")) {
        const char *meaning = strtok(NULL, "\n"), initial = meaning[0];
        const bool lower = initial >= 'a' && initial <= 'z';
        if (!*first) fputs(".Pp\n", out);
        *first = false;
        fprintf(out, "%c%s:\n.Dl ", lower ? initial - 'a' + 'A' : initial, meaning + 1);
        print_argument(out, line, false);
        fputc('\n', out);
    }
    tool_text_free(&description);
    tool_text_free(&examples);
}

static void print_examples(FILE *out) {
    fputs(".Sh EXAMPLES\n", out);
    bool first = true;
    for (int i = 0; tool_commands[i]; i++) {
        const tool_command *method = tool_commands[i]->methods;
        print_examples_of(out, tool_commands[i]->name, &first);
        for (; method && method->name; method++) {
            print_examples_of(out, tool_command_name(tool_commands[i], method).text, &first);
        }
    }
}

/* The page is a text with lines "@part", in whose places the parts stand. */
void tool_manual(FILE *out) {
    static const struct {
        const char *name;
        void (*print)(FILE *out);
    } parts[] = {
        {"@synopsis\n", print_synopsis},
        {"@commands\n", print_commands},
        {"@exit\n", print_exit_codes},
        {"@examples\n", print_examples},
    };
    const char *at = tool_shell_text("manual.mdoc");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *part = strstr(at, parts[i].name);
        fprintf(out, "%.*s", (int)(part - at), at);
        parts[i].print(out);
        at = part + strlen(parts[i].name);
    }
    fputs(at, out);
}
