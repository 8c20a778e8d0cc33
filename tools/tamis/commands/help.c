/* --help, from the tables. */
#include <string.h>

#include "cli/command.h"
#include "cli/text.h"

enum { OPTION_COLUMN = 26 };

void tool_help(FILE *out) {
    fputs("tamis - sampled and sparse matrix products: SDDMM, SpMM and FusedMM\n"
          "\n"
          "Usage: tamis [--max-memory SIZE] COMMAND [options] [operands]\n"
          "\n"
          "Commands:\n",
          out);
    for (int i = 0; tool_commands[i]; i++)
        fprintf(out, "  %-14s%s\n", tool_commands[i]->name, tool_commands[i]->summary);
    fputs("\n"
          "Options:\n"
          "  --help      this text; 'tamis COMMAND --help' for a command\n"
          "  --version   the version and how it was built\n"
          "  --max-memory SIZE   limit the memory, such as 8G; exit code 5 if that is not enough\n"
          "\n"
          "Start here:\n"
          "  tamis explain FILE --inner 128     which algorithm a plan chooses, and why\n"
          "  tamis bench FILE --baseline naive  all three operations, timed and checked\n"
          "  tamis check FILE                   every algorithm against a reference in double\n",
          out);
}

static void print_option(const tool_option *option, int width) {
    char head[80];
    const char *name = option->name;
    const bool negatable = tool_option_is_flag(option) && option->preset;
    int length = snprintf(head, sizeof head, "  ");
    if (option->letter) length += snprintf(head + length, sizeof head - (size_t)length, "-%c, ", option->letter);
    length += snprintf(head + length, sizeof head - (size_t)length, "--%s%s", negatable ? "[no-]" : "", name);
    if (option->argument) {
        const bool maybe = tool_option_is_optional(option);
        length += snprintf(head + length, sizeof head - (size_t)length, maybe ? "[=%s]" : " %s", option->argument);
    }
    fputs(head, stdout);
    if (length + 2 > OPTION_COLUMN)
        printf("\n%*s", OPTION_COLUMN, "");
    else
        printf("%*s", OPTION_COLUMN - length, "");
    tool_text help = {0};
    tool_text_add(&help, "%s", option->help);
    if (option->choices && !option->choices->many) {
        for (int i = 0; tool_choice_name(option->choices, i); i++)
            tool_text_add(&help, "%s%s", i ? ", " : " (", tool_choice_name(option->choices, i));
        tool_text_add(&help, ")");
    }
    if (option->preset && !negatable) tool_text_add(&help, " [%s]", option->preset);
    if (negatable) tool_text_add(&help, " [%s]", strcmp(option->preset, "yes") == 0 ? "on" : "off");
    tool_wrap(stdout, tool_text_get(&help), OPTION_COLUMN, OPTION_COLUMN, width);
    tool_text_free(&help);
}

static void print_paragraphs(const char *text, int width) {
    for (const char *paragraph = text; paragraph && *paragraph;) {
        const char *end = strstr(paragraph, "\n\n");
        const size_t length = end ? (size_t)(end - paragraph) : strlen(paragraph);
        tool_text wrapped = {0};
        tool_text_add(&wrapped, "%.*s", (int)length, paragraph);
        tool_wrap(stdout, tool_text_get(&wrapped), 0, 0, width);
        putchar('\n');
        tool_text_free(&wrapped);
        paragraph += length + (end ? 2 : 0);
    }
}

/* Prints what follows the description: the options, or the methods that have some. */
static void print_options(const tool_option *option, int width) {
    puts("Options:");
    for (; option->name; option++) print_option(option, width);
    printf("  -h, --help%*sthis text\n", OPTION_COLUMN - 12, "");
}

static void print_methods(const tool_command *command) {
    puts("Methods:");
    for (const tool_command *method = command->methods; method->name; method++)
        printf("  %-14s%s\n", method->name, method->summary);
    printf("\n'tamis %s METHOD --help' for the options of one.\n", command->name);
}

static void print_examples(char *examples, int width) {
    puts("\nExamples:");
    for (char *line = strtok(examples, "\n"); line; line = strtok(NULL, "\n")) {
        printf("  %s\n      ", line);
        tool_wrap(stdout, strtok(NULL, "\n"), 6, 6, width);
    }
}

void tool_command_help(const tool_command *command, const tool_command *method) {
    const int width = tool_terminal_width();
    const bool any = command->methods && !method;
    const tool_word full = tool_command_name(command, method);
    const char *name = full.text;
    tool_text description = {0}, examples = {0}, of_all = {0}, others = {0};
    printf("tamis %s - %s\n\nUsage: tamis %s%s [options]%s%s\n\n", name, (method ? method : command)->summary, name,
           any ? " METHOD" : "", *command->operands ? " " : "", command->operands);
    tool_about(name, &description, &examples);
    print_paragraphs(tool_text_get(&description), width);
    if (method) tool_about(command->name, &of_all, &others);
    print_paragraphs(tool_text_get(&of_all), width);
    if (any)
        print_methods(command);
    else
        print_options(method ? method->options : command->options, width);
    if (examples.length) print_examples(examples.data, width);
    tool_text_free(&description);
    tool_text_free(&examples);
    tool_text_free(&of_all);
    tool_text_free(&others);
}
