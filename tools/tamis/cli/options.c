/* The option parser. Every message names the option and the value, and says what is allowed. */
#include "cli/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/exit.h"
#include "cli/text.h"
#include "select/laboratory.h"

const tool_option *tool_option_find(const tool_option *options, const char *name, size_t length) {
    for (; options->name; options++)
        if (strlen(options->name) == length && memcmp(options->name, name, length) == 0) return options;
    return NULL;
}

bool tool_option_flag(const tool_option *options, const void *settings, const char *name) {
    const tool_option *option = tool_option_find(options, name, strlen(name));
    return option && *(const bool *)((const char *)settings + option->offset);
}

tool_hint tool_option_hint(const tool_option *options, const char *dashes, const char *wanted) {
    const char *names[64] = {NULL};
    int count = 0;
    for (; options->name && count < 62; options++) names[count++] = options->name;
    names[count] = "help";
    return tool_did_you_mean(dashes, wanted, names);
}

static int refuse_choice(const tool_choices *choices, const char *described, const char *value, size_t length) {
    tool_text list = {0};
    const char *names[80] = {NULL};
    int count = 0;
    for (; count < 79 && tool_choice_name(choices, count); count++) {
        names[count] = tool_choice_name(choices, count);
        if (choices == &tool_devices && !tool_device_is_present(count)) continue;
        tool_text_add(&list, "%s%s", count ? ", " : "", names[count]);
    }
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%.*s", (int)length, value);
    const bool missing = (choices == &tool_algorithms || choices == &tool_algorithms_one) &&
                         (tamis_laboratory_has(TAMIS_HOST, wanted) || tamis_laboratory_has(TAMIS_DEVICE, wanted));
    if (missing) {
        tool_text_free(&list);
        return tool_usage_error("%s%s'%s' " TAMIS_LABORATORY_MISSING, described, *described ? ": " : "", wanted);
    }
    if (count == 0) {
        tool_text_free(&list);
        return tool_usage_error("%s%s'%s' is not %s: this program " TAMIS_LABORATORY_BUILD, described,
                                *described ? ": " : "", wanted, choices->what);
    }
    const int code =
        tool_usage_error("%s%s'%s' is not %s%s; expected one of %s", described, *described ? ": " : "", wanted,
                         choices->what, tool_did_you_mean("", wanted, names).text, tool_text_get(&list));
    tool_text_free(&list);
    return code;
}

static int parse_integer(const tool_option *option, const char *described, const char *value, size_t length,
                         int64_t *result) {
    if (!tool_parse_integer(value, length, result))
        return tool_usage_error("%s: '%.*s' is not an integer", described, (int)length, value);
    if ((double)*result < option->low)
        return tool_usage_error("%s: %.*s is less than the minimum, %.0f", described, (int)length, value, option->low);
    if (option->high > option->low && (double)*result > option->high)
        return tool_usage_error("%s: %.*s is more than the maximum, %.0f", described, (int)length, value, option->high);
    return 0;
}

static const char by_library[] = "chosen"; /* of a real number: not a number, the library chooses it */

static int parse_real(const tool_option *option, const char *described, const char *value, double *result) {
    char *end = NULL;
    *result = (double)NAN;
    if (option->preset && strcmp(option->preset, by_library) == 0 && strcmp(value, by_library) == 0) return 0;
    *result = strtod(value, &end);
    if (end == value || *end || !isfinite(*result))
        return tool_usage_error("%s: '%s' is not a number", described, value);
    if (option->high > option->low && (*result < option->low || *result > option->high))
        return tool_usage_error("%s: %s is not within %g to %g", described, value, option->low, option->high);
    return 0;
}

static int parse_choice(const tool_choices *choices, const char *described, const char *value, size_t length,
                        int *result) {
    *result = tool_choices_find(choices, value, length);
    return *result >= 0 ? 0 : refuse_choice(choices, described, value, length);
}

int tool_choice_parse(const tool_choices *choices, const char *described, const char *value, int *result) {
    return parse_choice(choices, described, value, strlen(value), result);
}

/* The length up to the next comma that is in no parentheses. */
static size_t part_length(const char *part) {
    size_t length = 0;
    for (int depth = 0; part[length] && (depth > 0 || part[length] != ','); length++)
        depth += part[length] == '(' ? 1 : part[length] == ')' ? -1 : 0;
    return length;
}

/* Splits at commas and parses each part as one value. */
static int parse_list(const tool_option *option, const char *described, const char *value, void *list) {
    tool_integers *integers = list;
    tool_chosen *chosen = list;
    int count = 0;
    for (const char *part = value;;) {
        const size_t length = part_length(part);
        if (length == 0) return tool_usage_error("%s: '%s' has an empty entry", described, value);
        if (count == TOOL_LIST_LIMIT) return tool_usage_error("%s: more than %d entries", described, TOOL_LIST_LIMIT);
        TOOL_TRY(option->value == TOOL_INTEGERS
                     ? parse_integer(option, described, part, length, &integers->at[count])
                     : parse_choice(option->choices, described, part, length, &chosen->at[count]));
        count++;
        if (!part[length]) break;
        part += length + 1;
    }
    if (option->value == TOOL_INTEGERS)
        integers->count = count;
    else
        chosen->count = count;
    return 0;
}

int tool_option_set(const tool_option *option, void *settings, const char *value, const char *described) {
    void *to = (char *)settings + option->offset;
    switch (option->value) {
    case TOOL_FLAG: *(bool *)to = strcmp(value, "yes") == 0; return 0;
    case TOOL_FLAG_NOT: *(bool *)to = strcmp(value, "yes") != 0; return 0;
    case TOOL_INT: {
        int64_t number = 0;
        const int code = parse_integer(option, described, value, strlen(value), &number);
        *(int *)to = (int)number;
        return code;
    }
    case TOOL_INTEGER: return parse_integer(option, described, value, strlen(value), to);
    case TOOL_REAL: return parse_real(option, described, value, to);
    case TOOL_NAME:
    case TOOL_PATH:
    case TOOL_OUTPUT:
    case TOOL_ADDED_TO:
    case TOOL_LINES:
        if (!*value) return tool_usage_error("%s: empty value, expected %s", described, option->argument);
        *(const char **)to = value;
        return 0;
    case TOOL_PATH_MAYBE: *(const char **)to = value; return 0;
    case TOOL_CHOICE: return parse_choice(option->choices, described, value, strlen(value), to);
    case TOOL_INTEGERS:
    case TOOL_CHOSEN: return parse_list(option, described, value, to);
    }
    return TOOL_USAGE;
}

tool_word tool_option_text(const tool_option *option, const void *settings) {
    const void *at = (const char *)settings + option->offset;
    switch (option->value) {
    case TOOL_FLAG: return tool_word_of("%s", *(const bool *)at ? "yes" : "no");
    case TOOL_FLAG_NOT: return tool_word_of("%s", *(const bool *)at ? "no" : "yes");
    case TOOL_INTEGER: return tool_word_of("%lld", (long long)*(const int64_t *)at);
    case TOOL_INT: return tool_word_of("%d", *(const int *)at);
    case TOOL_REAL:
        return isnan(*(const double *)at) ? tool_word_of("%s", by_library) : tool_word_of("%.10g", *(const double *)at);
    case TOOL_CHOICE: return tool_word_of("%s", tool_choice_name(option->choices, *(const int *)at));
    default: return (tool_word){""};
    }
}

void tool_chosen_text(const tool_choices *choices, const tool_chosen *chosen, char *text, size_t bytes) {
    size_t used = 0;
    *text = 0;
    for (int i = 0; i < chosen->count && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", i > 0 ? "," : "",
                                 tool_choice_name(choices, chosen->at[i]));
}

bool tool_option_is_flag(const tool_option *option) {
    return option->value == TOOL_FLAG || option->value == TOOL_FLAG_NOT;
}

bool tool_option_is_path(const tool_option *option) {
    return option->value == TOOL_PATH || option->value == TOOL_OUTPUT || option->value == TOOL_ADDED_TO ||
           option->value == TOOL_PATH_MAYBE || option->value == TOOL_LINES;
}

void tool_options_preset(const tool_option *options, void *settings) {
    for (; options->name; options++)
        if (options->preset) tool_option_set(options, settings, options->preset, options->name);
}

bool tool_option_is_optional(const tool_option *option) {
    return option->value == TOOL_PATH_MAYBE || option->value == TOOL_LINES;
}

static bool ends_in(const char *word, const char *ending) {
    const size_t length = strlen(word), size = strlen(ending);
    return length > size && strcmp(word + length - size, ending) == 0;
}

/* Decides if the word after --json is its file, as in some commands until 0.2. It is if it cannot be an operand: "-", a
   device file, a name ending in .json, a file that is empty or holds JSON, or a new file. Anything that may be a matrix
   is an operand. */
static int take_word(const char *described, const char *word, bool *taken) {
    struct stat there;
    char name[256];
    *taken = false;
    if (!word || (word[0] == '-' && word[1])) return 0;
    *taken = strcmp(word, "-") == 0 || ends_in(word, ".json") || ends_in(word, ".jsonl");
    if (*taken || strncmp(word, "generate:", 9) == 0) return 0;
    if (stat(word, &there) == 0 && S_ISREG(there.st_mode)) {
        FILE *file = fopen(word, "r");
        const int first = file ? fgetc(file) : 0;
        if (file) fclose(file);
        *taken = first == '{' || there.st_size == 0;
        return 0;
    }
    const char *slash = strrchr(word, '/');
    tool_matrix_name(word, name, sizeof name);
    const bool of_matrix = strcmp(name, slash ? slash + 1 : word) != 0;
    *taken = stat(word, &there) == 0 ? S_ISCHR(there.st_mode) : !of_matrix;
    if (*taken) return 0;
    return tool_usage_error("%s %s: to append lines of JSON to that file, write %s=%s; to read it, name it before %s",
                            described, word, described, word, described);
}

char *tool_file_name(char *word) {
    static const char *const standard[] = {"/dev/stdin", "/dev/stdout", "/dev/fd/0", "/dev/fd/1"};
    static char dash[] = "-";
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
        if (strcmp(word, standard[i]) == 0) return dash;
    return word;
}

/* Parses one option. value: in the same word; NULL: it is the next word, to which *at advances. */
static int take_value(const tool_option *option, void *settings, const char *described, const char *value, int count,
                      char **arguments, int *at) {
    if (tool_option_is_flag(option)) {
        if (value && strcmp(option->name, "json") == 0)
            return tool_usage_error("%s takes no value here: it prints to standard output", described);
        if (value) return tool_usage_error("%s takes no value", described);
        return tool_option_set(option, settings, "yes", described);
    }
    if (!value && option->value == TOOL_PATH_MAYBE) value = "";
    if (!value && option->value == TOOL_LINES) {
        bool taken = false;
        TOOL_TRY(take_word(described, *at + 1 < count ? arguments[*at + 1] : NULL, &taken));
        value = taken ? arguments[++*at] : "-";
    }
    if (!value) {
        if (*at + 1 >= count) return tool_usage_error("%s: %s is missing", described, option->argument);
        value = arguments[++*at];
    }
    const bool file = option->value != TOOL_NAME && strncmp(value, "/dev/", 5) == 0;
    return tool_option_set(option, settings, file ? tool_file_name((char *)(uintptr_t)value) : value, described);
}

static int parse_long(const tool_option *options, void *settings, int count, char **arguments, int *at) {
    const char *name = arguments[*at] + 2;
    const size_t length = strcspn(name, "=");
    const char *value = name[length] ? name + length + 1 : NULL;
    char described[64];
    snprintf(described, sizeof described, "--%.*s", (int)length, name);
    const tool_option *option = tool_option_find(options, name, length);
    if (!option && length > 3 && strncmp(name, "no-", 3) == 0) {
        const tool_option *negated = tool_option_find(options, name + 3, length - 3);
        if (negated && tool_option_is_flag(negated) && negated->preset) {
            if (value) return tool_usage_error("%s takes no value", described);
            return tool_option_set(negated, settings, "no", described);
        }
    }
    if (!option)
        return tool_usage_error("unknown option %s%s", described, tool_option_hint(options, "--", described + 2).text);
    return take_value(option, settings, described, value, count, arguments, at);
}

static int parse_short(const tool_option *options, void *settings, int count, char **arguments, int *at) {
    const char *letters = arguments[*at] + 1;
    const tool_option *option = options;
    while (option->name && option->letter != *letters) option++;
    if (!option->name) return tool_usage_error("unknown option -%c", *letters);
    char described[8];
    snprintf(described, sizeof described, "-%c", *letters);
    return take_value(option, settings, described, letters[1] ? letters + 1 : NULL, count, arguments, at);
}

int tool_options_parse(const tool_option *options, void *settings, int count, char **arguments, int *operands,
                       bool *help) {
    *operands = 0;
    *help = false;
    bool ended = false;
    for (int at = 0; at < count; at++) {
        char *argument = arguments[at];
        int code = 0;
        if (ended || argument[0] != '-' || !argument[1]) {
            arguments[(*operands)++] = argument;
        } else if (strcmp(argument, "--") == 0) {
            ended = true;
        } else if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            *help = true;
        } else if (argument[1] == '-') {
            code = parse_long(options, settings, count, arguments, &at);
        } else {
            code = parse_short(options, settings, count, arguments, &at);
        }
        if (code) return code;
    }
    return 0;
}

static struct {
    int count;
    char **arguments;
} given;

void tool_options_remember(int count, char **arguments) {
    free((void *)given.arguments);
    given.count = count;
    given.arguments = tool_allocate((size_t)count, sizeof *given.arguments);
    if (count > 0) memcpy((void *)given.arguments, (void *)arguments, (size_t)count * sizeof *given.arguments);
}

static const tool_option *used;
static const void *used_settings;

void tool_options_use(const tool_option *options, const void *settings) {
    used = options;
    used_settings = settings;
}

const tool_option *tool_options_in_use(const void **settings) {
    *settings = used_settings;
    return used;
}

char *const *tool_options_given(int *count) {
    *count = given.count;
    return given.arguments;
}

int tool_options_repeat(const tool_option *options, void *settings) {
    char **arguments = tool_allocate((size_t)given.count, sizeof *arguments);
    if (given.count > 0) memcpy((void *)arguments, (void *)given.arguments, (size_t)given.count * sizeof *arguments);
    int operands = 0;
    bool help = false;
    const int code = tool_options_parse(options, settings, given.count, arguments, &operands, &help);
    free((void *)arguments);
    return code;
}

/* Appends a word, quoted for a shell if necessary. */
static void add_word(tool_text *line, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,%@";
    tool_text_add(line, " ");
    if (*word && word[strspn(word, plain)] == 0) {
        tool_text_add(line, "%s", word);
        return;
    }
    tool_text_add(line, "'");
    for (; *word; word++) tool_text_add(line, "%s", *word == '\'' ? "'\\''" : (char[]){*word, 0});
    tool_text_add(line, "'");
}

void tool_options_retype(tool_text *line, const char *without) {
    const size_t length = without ? strlen(without) : 0;
    for (int i = 0; i < given.count; i++) {
        const char *word = given.arguments[i];
        const bool named = without && strncmp(word, "--", 2) == 0 && strncmp(word + 2, without, length) == 0;
        if (named && (word[2 + length] == 0 || word[2 + length] == '=')) continue;
        add_word(line, word);
    }
}
