/* The man page in mdoc: commands, options and examples from the tables, the rest written here. */
#include <string.h>

#include "command.h"
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

/* How an option of an action differs between the groups that have it. */
typedef struct differences {
    tool_text groups;  /* "als and ccd": which have it, where not all do */
    tool_text presets; /* "15; lda, gap: 20", where they are not the same */
} differences;

/* differs: NULL for a command of its own. */
static void print_option(FILE *out, const tool_option *option, const differences *differs) {
    const bool negatable = option->value == TOOL_FLAG && option->preset;
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
    if (differs && differs->groups.length) fprintf(out, "(%s)\n", tool_text_get(&differs->groups));
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
    if (differs && differs->presets.length) {
        fprintf(out, "Default: %s.\n", tool_text_get(&differs->presets));
        return;
    }
    if (option->preset && !negatable) fprintf(out, "Default:\n.Cm %s .\n", option->preset);
    if (negatable) fprintf(out, "Default: %s.\n", strcmp(option->preset, "yes") == 0 ? "on" : "off");
}

static void print_description(FILE *out, const tool_command *command) {
    for (const char *paragraph = command->description; *paragraph;) {
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
}

static void print_command(FILE *out, const tool_command *command) {
    fprintf(out, ".Ss tamis %s\n", command->name);
    print_description(out, command);
    fputs(".Bl -tag -width Ds\n", out);
    for (const tool_option *option = command->options; option->name; option++) print_option(out, option, NULL);
    fputs(".El\n", out);
}

/* ------------------------------------------------------------------------------------------ groups */

enum { GROUPS = 16 };

/* The groups, whose actions have the same names; returns how many there are. */
static int find_groups(const tool_command *groups[GROUPS]) {
    int count = 0;
    for (int i = 0; tool_commands[i] && count < GROUPS; i++) {
        if (tool_commands[i]->actions) groups[count++] = tool_commands[i];
    }
    return count;
}

static const tool_option *option_of(const tool_command *group, const char *action, const char *name) {
    return tool_option_find(tool_command_find(group->actions, action)->options, name, strlen(name));
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

/* Has an option of that name the same meaning in group a and group b? */
static bool same_help(const tool_command *a, const tool_command *b, const char *action, const char *name) {
    const tool_option *of_a = option_of(a, action, name), *of_b = option_of(b, action, name);
    return of_a && of_b && same_text(of_a->help, of_b->help);
}

/* The defaults of an option in the groups that agree with groups[first] about its meaning; nothing where they are the
   same. */
static void add_presets(tool_text *text, const tool_command *const *groups, int count, int first, const char *action,
                        const char *name) {
    int kinds = 0;
    bool done[GROUPS] = {false};
    for (int i = first; i < count; i++) {
        if (done[i] || !same_help(groups[first], groups[i], action, name)) continue;
        const char *preset = option_of(groups[i], action, name)->preset;
        tool_text_add(text, "%s%s (", kinds++ ? ", " : "", preset ? preset : "none");
        for (int j = i; j < count; j++) {
            if (!same_help(groups[first], groups[j], action, name)) continue;
            if (!same_text(preset, option_of(groups[j], action, name)->preset)) continue;
            tool_text_add(text, "%s%s", j > i ? ", " : "", groups[j]->name);
            done[j] = true;
        }
        tool_text_add(text, ")");
    }
    if (kinds < 2) tool_text_free(text);
}

/* The groups that agree with groups[first] about an option; nothing where all do. */
static void add_groups(tool_text *text, const tool_command *const *groups, int count, int first, const char *action,
                       const char *name) {
    int having = 0;
    for (int i = 0; i < count; i++) {
        if (!same_help(groups[first], groups[i], action, name)) continue;
        tool_text_add(text, "%s%s", having++ ? ", " : "", groups[i]->name);
    }
    if (having == count) tool_text_free(text);
}

/* Each meaning that an option has, with the groups that have it so. */
static void print_meanings(FILE *out, const tool_command *const *groups, int count, const char *action,
                           const char *name) {
    for (int i = 0; i < count; i++) {
        bool before = !option_of(groups[i], action, name);
        for (int j = 0; j < i; j++) before |= same_help(groups[j], groups[i], action, name);
        if (before) continue;
        differences differs = {0};
        add_groups(&differs.groups, groups, count, i, action, name);
        add_presets(&differs.presets, groups, count, i, action, name);
        print_option(out, option_of(groups[i], action, name), &differs);
        tool_text_free(&differs.groups);
        tool_text_free(&differs.presets);
    }
}

static void print_action(FILE *out, const tool_command *const *groups, int count, const char *action) {
    fprintf(out, ".Ss tamis METHOD %s\n", action);
    print_description(out, tool_command_find(groups[0]->actions, action));
    fputs(".Bl -tag -width Ds\n", out);
    for (int i = 0; i < count; i++) {
        const tool_option *option = tool_command_find(groups[i]->actions, action)->options;
        for (; option->name; option++) {
            bool printed = false;
            for (int j = 0; j < i; j++) printed |= option_of(groups[j], action, option->name) != NULL;
            if (!printed) print_meanings(out, groups, count, action, option->name);
        }
    }
    fputs(".El\n", out);
}

static void print_groups(FILE *out) {
    const tool_command *groups[GROUPS] = {NULL};
    const int count = find_groups(groups);
    if (count == 0) return;
    fputs(".Ss tamis METHOD ACTION\n"
          "Train and use factorisations and topic models.\n"
          "The methods are:\n"
          ".Bl -tag -width implicit-als\n",
          out);
    for (int i = 0; i < count; i++) {
        fprintf(out, ".It Cm %s\n", groups[i]->name);
        print_prose(out, groups[i]->description);
    }
    fputs(".El\n"
          ".Pp\n"
          "They have the same actions.\n"
          "If only some methods have an option, they are named.\n",
          out);
    for (int i = 0; groups[0]->actions[i]; i++) print_action(out, groups, count, groups[0]->actions[i]->name);
}

/* ------------------------------------------------------------------------------------------ sections */

static void print_synopsis(FILE *out) {
    for (int i = 0; tool_commands[i]; i++) {
        const tool_command *command = tool_commands[i];
        if (command->actions) continue;
        fprintf(out, ".Nm\n.Cm %s\n.Op Ar options\n", command->name);
        if (*command->operands) {
            fputs(".Ar ", out);
            fprintf(out, "%s\n", command->operands);
        }
    }
    const tool_command *groups[GROUPS] = {NULL};
    const int count = find_groups(groups);
    for (int i = 0; count > 0 && groups[0]->actions[i]; i++) {
        const tool_command *action = groups[0]->actions[i];
        const int needed = (int)strcspn(action->operands, "[");
        const char *optional = action->operands + needed;
        fprintf(out, ".Nm\n.Ar METHOD\n.Cm %s\n.Op Ar options\n.Ar %.*s\n", action->name,
                *optional ? needed - 1 : needed, action->operands);
        if (*optional) fprintf(out, ".Op Ar %.*s\n", (int)strlen(optional) - 2, optional + 1);
    }
    fputs(".Nm\n.Cm help\n.Op Ar command\n.Nm\n.Fl -version\n", out);
}

static void print_exit_codes(FILE *out) {
    fputs(".Sh EXIT STATUS\n.Bl -tag -width 130\n", out);
    for (size_t i = 0; i < sizeof tool_exit_meanings / sizeof *tool_exit_meanings; i++) {
        const char *meaning = tool_exit_meanings[i].meaning;
        fprintf(out, ".It %d\n%c%s.\n", (int)tool_exit_meanings[i].code, meaning[0] - 'a' + 'A', meaning + 1);
    }
    fputs(".El\n", out);
}

static void print_examples_of(FILE *out, const tool_command *command, bool *first) {
    for (const tool_example *example = command->examples; example && example->line; example++) {
        const char initial = example->meaning[0];
        const bool lower = initial >= 'a' && initial <= 'z';
        if (!*first) fputs(".Pp\n", out);
        *first = false;
        fprintf(out, "%c%s:\n.Dl ", lower ? initial - 'a' + 'A' : initial, example->meaning + 1);
        print_argument(out, example->line, false);
        fputc('\n', out);
    }
}

/* Groups may share an action, whose examples are then those of the first. */
static bool shown_before(int group, const tool_command *action) {
    for (int i = 0; i < group; i++) {
        for (int j = 0; tool_commands[i]->actions && tool_commands[i]->actions[j]; j++) {
            if (tool_commands[i]->actions[j] == action) return true;
        }
    }
    return false;
}

static void print_examples(FILE *out) {
    fputs(".Sh EXAMPLES\n", out);
    bool first = true;
    for (int i = 0; tool_commands[i]; i++) {
        print_examples_of(out, tool_commands[i], &first);
        for (int j = 0; tool_commands[i]->actions && tool_commands[i]->actions[j]; j++) {
            const tool_command *action = tool_commands[i]->actions[j];
            if (!shown_before(i, action)) print_examples_of(out, action, &first);
        }
    }
}

static const char introduction[] = ".Dd November 21, 2026\n"
                                   ".Dt TAMIS 1\n"
                                   ".Os\n"
                                   ".Sh NAME\n"
                                   ".Nm tamis\n"
                                   ".Nd sampled and sparse matrix products: SDDMM, SpMM and FusedMM\n"
                                   ".Sh SYNOPSIS\n";

static const char description[] = ".Sh DESCRIPTION\n"
                                  ".Nm\n"
                                  "computes and measures three operations on a sparse matrix S and dense\n"
                                  "matrices A, B and D:\n"
                                  ".Bl -tag -width sddmm\n"
                                  ".It Cm sddmm\n"
                                  "P = alpha * edge(S, A B^T) + beta * P, only at the nonzeros of S.\n"
                                  ".It Cm spmm\n"
                                  "C = alpha * S B + beta * C.\n"
                                  ".It Cm fused\n"
                                  "E = alpha * edge(S, A B^T) D + beta * E, in one call.\n"
                                  ".El\n"
                                  ".Pp\n"
                                  "The edge operation combines the sampled dot product x with the stored\n"
                                  "value s:\n"
                                  ".Bl -tag -width leaky_relu -compact\n"
                                  ".It Cm scale\n"
                                  "s * x\n"
                                  ".It Cm mask\n"
                                  "x; S is a pattern\n"
                                  ".It Cm residual\n"
                                  "s - x\n"
                                  ".It Cm quotient\n"
                                  "s / max(x, epsilon)\n"
                                  ".It Cm sigmoid\n"
                                  "1 / (1 + exp(-scale * x)), times s\n"
                                  ".It Cm exp\n"
                                  "exp(scale * x), times s\n"
                                  ".It Cm leaky_relu\n"
                                  "scale * x, times the slope where negative, times s\n"
                                  ".It Cm softmax\n"
                                  "the softmax of scale * x + s over each row\n"
                                  ".El\n"
                                  ".Pp\n"
                                  "The name SDDMM has two meanings: some libraries mean\n"
                                  ".Cm scale ,\n"
                                  "others\n"
                                  ".Cm mask .\n"
                                  ".Pp\n"
                                  "Lists are separated by commas.\n"
                                  "Whole numbers may be written as 1000, 1_000, 1e6, 64k, 2M or 1G; k, M and G\n"
                                  "are powers of 1000.\n"
                                  "A progress bar is shown on standard error if that is a terminal.\n"
                                  "Before the command,\n"
                                  ".Fl -max-memory Ar SIZE\n"
                                  "limits the memory of the process: what needs more ends with code 5.\n"
                                  "Every command prints its options with\n"
                                  ".Fl -help .\n"
                                  ".Sh COMMANDS\n";

static const char environment_and_files[] = ".Sh ENVIRONMENT\n"
                                            ".Bl -tag -width Ds\n"
                                            ".It Ev TAMIS_CPU_ISA\n"
                                            "The kernels to use instead of the best ones for this processor:\n"
                                            "x86-64-v2, x86-64-v3 or x86-64-v4.\n"
                                            ".It Ev OMP_NUM_THREADS\n"
                                            "The default number of threads of the cpu device.\n"
                                            ".It Ev XDG_CACHE_HOME\n"
                                            "The folder of the cache below;\n"
                                            ".Pa ~/.cache\n"
                                            "if it is not set.\n"
                                            ".It Ev TAMIS_CACHE_BYTES\n"
                                            "The maximum size in bytes of the cache of compiled GPU kernels.\n"
                                            ".It Ev TAMIS_CUDA_DRIVER , TAMIS_NVRTC , TAMIS_OPENCL\n"
                                            "The files of the CUDA driver, CUDA's run-time compiler and the OpenCL\n"
                                            "loader, instead of the default ones.\n"
                                            ".It Ev TAMIS_CUSPARSE , TAMIS_CUBLAS , TAMIS_GRAPHBLAS , TAMIS_OPENBLAS\n"
                                            "The same for the peers of\n"
                                            ".Cm bench .\n"
                                            ".It Ev TAMIS_PYTHON\n"
                                            "The interpreter for its Python peers and for\n"
                                            ".Cm report , compare\n"
                                            "and\n"
                                            ".Cm roofline ,\n"
                                            "instead of python3.\n"
                                            ".It Ev TAMIS_PYTHON_TIMEOUT\n"
                                            "Seconds to wait for an answer from these peers; 120 if it is not set.\n"
                                            ".It Ev TAMIS_OPENCL_OPTIONS\n"
                                            "Additional options for the OpenCL compiler, such as\n"
                                            ".Fl cl-opt-disable\n"
                                            "if kernels are compiled more often than used.\n"
                                            ".El\n"
                                            ".Sh FILES\n"
                                            ".Bl -tag -width Ds\n"
                                            ".It Pa $XDG_CACHE_HOME/tamis/\n"
                                            "The measured ceilings of this machine, and in\n"
                                            ".Pa programs\n"
                                            "the compiled GPU kernels.\n"
                                            "They may be deleted at any time, and are then measured and compiled "
                                            "again.\n"
                                            ".It Pa .mtx .mtx.gz\n"
                                            "Matrix Market, coordinate or array; read and written.\n"
                                            ".It Pa .npz .npy\n"
                                            "NumPy and SciPy (save_npz) files; read and written.\n"
                                            ".It Pa .rsa .rua .psa .pua .hb .rb\n"
                                            "Harwell-Boeing; read.\n"
                                            ".It Pa .graph\n"
                                            "METIS; read.\n"
                                            ".It Pa .smtx\n"
                                            "Patterns of the Deep Learning Matrix Collection; read.\n"
                                            ".It Pa .txt .el .edges .tsv\n"
                                            "Edge lists as SNAP has them; read.\n"
                                            ".It Pa docword.*.txt .ldac .dat\n"
                                            "Bags of words, UCI and lda-c; read.\n"
                                            ".It Pa .csv .tsv .ratings .data\n"
                                            "Rating triples; read.\n"
                                            ".It Pa .model .model.part\n"
                                            "Trained models and, while training, their checkpoints, by habit; any\n"
                                            "name will do.\n"
                                            ".El\n"
                                            ".Pp\n"
                                            "Names that end in .gz, .xz or .zst are unpacked while reading, where the\n"
                                            "build has that library.\n";

static const char diagnostics[] = ".Sh DIAGNOSTICS\n"
                                  "Messages go to standard error and begin with the command.\n"
                                  "A message about an option names it, its value and what is allowed.\n"
                                  "A message about a file names the line and what was expected there.\n"
                                  ".Pp\n"
                                  "An output that is also an input, or that cannot be written, is refused before\n"
                                  "the work.\n"
                                  "A symbolic link stays, and its target is written.\n"
                                  "A file that is replaced is named;\n"
                                  ".Fl -no-clobber\n"
                                  "refuses to replace one.\n"
                                  ".Pp\n"
                                  "After the first Ctrl-C, or signal TERM or HUP,\n"
                                  ".Cm bench\n"
                                  "and\n"
                                  ".Cm check\n"
                                  "finish the current measurement, close their output and report their\n"
                                  "progress.\n"
                                  "Training saves its last mini-batch in the checkpoint and prints the command\n"
                                  "that continues.\n"
                                  "A second Ctrl-C ends them immediately.\n"
                                  ".Sh SEE ALSO\n"
                                  "The manual and the headers\n"
                                  ".In tamis/tamis.h\n"
                                  "and\n"
                                  ".In tamis/ml.h .\n";

void tool_manual(FILE *out) {
    fputs(introduction, out);
    print_synopsis(out);
    fputs(description, out);
    for (int i = 0; tool_commands[i]; i++) {
        if (!tool_commands[i]->actions) print_command(out, tool_commands[i]);
    }
    print_groups(out);
    fputs(environment_and_files, out);
    print_exit_codes(out);
    print_examples(out);
    fputs(diagnostics, out);
}
