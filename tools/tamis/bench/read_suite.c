/* Reads suite files: one directive per line, words separated by blanks. */
#include "bench/suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/embedded.h"
#include "cli/exit.h"
#include "cli/text.h"
#include "select/laboratory.h"

enum { MOST_WORDS = 128, MOST_BRACES = 9, LINE_BYTES = 4096 };

/* The reader, and its position in the text. */
typedef struct reader {
    tool_suite *suite;
    const char *at; /* the rest of the text */
    int line;       /* number of the current line */
} reader;

static char **copy_words(char **words, int count) {
    char **copies = tool_allocate((size_t)count, sizeof *copies);
    for (int i = 0; i < count; i++) copies[i] = tool_copy(words[i]);
    return copies;
}

static int refuse(const reader *r, const char *what, const char *value) {
    return tool_failure(TOOL_FILE, "%s: line %d: %s%s%s%s", r->suite->path, r->line, what, value ? ": '" : "",
                        value ? value : "", value ? "'" : "");
}

/* Reads the next line, with its continuation lines, without its comment. Returns false at the end. */
static bool take_line(reader *r, char *line, int *code) {
    size_t length = 0;
    *line = 0;
    if (!*r->at) return false;
    for (bool more = true; more && *r->at;) {
        const size_t whole = strcspn(r->at, "\n");
        size_t used = strcspn(r->at, "#\n");
        r->line++;
        while (used > 0 && strchr(" \t\r", r->at[used - 1])) used--;
        more = used > 0 && r->at[used - 1] == '\\';
        if (more) used--;
        if (length + used + 2 > LINE_BYTES) {
            *code = refuse(r, "longer than 4094 characters", NULL);
            return false;
        }
        size_t blanks = 0; /* a list continues after its comma */
        if (length > 0 && line[length - 1] == ',') blanks = strspn(r->at, " \t");
        if (blanks > used) blanks = used;
        memcpy(line + length, r->at + blanks, used - blanks);
        length += used - blanks;
        while (more && length > 0 && line[length - 1] == ' ') length--;
        if (!more || length == 0 || line[length - 1] != ',') line[length++] = ' ';
        line[length] = 0;
        r->at += whole + (r->at[whole] == '\n');
    }
    return true;
}

static int split(char *line, char **words) {
    int count = 0;
    for (char *at = strtok(line, " \t\r"); at && count < MOST_WORDS; at = strtok(NULL, " \t\r")) words[count++] = at;
    return count;
}

/* ------------------------------------------------------------------------------------------ braces and matrices */

/* Writes `text` with the n-th brace replaced by the chosen of its values and $n by the value of the n-th brace. Braces
   are numbered within the line: `first` braces precede this text. Returns their number, -1 if the result is too
   long. */
static int expand(const char *text, int first, const char *const *values, const size_t *lengths, char *out,
                  size_t bytes) {
    size_t used = 0;
    int braces = 0;
    for (const char *at = text; *at; at++) {
        const char *piece = at;
        size_t length = 1;
        if (*at == '{') {
            piece = values[first + braces];
            length = lengths[first + braces];
            braces++;
            at += strcspn(at, "}");
        } else if (*at == '$' && at[1] >= '1' && at[1] <= '9') {
            piece = values[at[1] - '1'];
            length = lengths[at[1] - '1'];
            at++;
        }
        if (length >= bytes - used) return -1;
        if (length > 0) memcpy(out + used, piece, length);
        used += length;
    }
    out[used] = 0;
    return braces;
}

/* A brace of a line. A tied one, {$n:...}, takes its values as the n-th does. */
typedef struct brace {
    const char *values; /* between its commas, up to '}' */
    int place;          /* of the value that is taken */
    int tied;           /* the number of the other brace, from 0; -1: none */
} brace;

/* Finds the value at a place. Returns false past the last one. */
static bool find_value(const brace *b, int place, const char **value, size_t *length) {
    const char *at = b->values;
    for (; place > 0 && at[strcspn(at, ",}")] == ','; place--) at += strcspn(at, ",}") + 1;
    *value = at;
    *length = strcspn(at, ",}");
    return place == 0;
}

/* Finds the braces of a line. Returns their number, or -1 after a message. */
static int find_braces(const reader *r, int count, char **words, brace *braces) {
    int found = 0;
    for (int w = 0; w < count; w++) {
        for (const char *at = strchr(words[w], '{'); at; at = strchr(at + 1, '{')) {
            if (!strchr(at, '}')) return refuse(r, "an unclosed brace", words[w]), -1;
            if (found == MOST_BRACES) return refuse(r, "more than nine braces", NULL), -1;
            const bool tied = at[1] == '$' && at[2] >= '1' && at[2] <= '9' && at[3] == ':';
            const int to = tied ? at[2] - '1' : -1;
            if (to >= found) return refuse(r, "a list tied to none before it", words[w]), -1;
            braces[found++] =
                (brace){.values = at + (tied ? 4 : 1), .tied = tied && braces[to].tied >= 0 ? braces[to].tied : to};
        }
    }
    return found;
}

/* Reads a directive once for each combination of the values in its braces. The last brace runs fastest. */
static int read_expanded(reader *r, int count, char **words, int (*read)(reader *r, int count, char **words)) {
    brace braces[MOST_BRACES];
    const char *value[MOST_BRACES] = {NULL};
    size_t length[MOST_BRACES] = {0};
    const int found = find_braces(r, count, words, braces);
    if (found < 0) return TOOL_FILE;
    for (;;) {
        char text[LINE_BYTES], *expanded[MOST_WORDS];
        size_t end = 0;
        int used = 0;
        for (int b = 0; b < found; b++)
            if (!find_value(&braces[b], braces[braces[b].tied < 0 ? b : braces[b].tied].place, &value[b], &length[b]))
                return refuse(r, "a list shorter than the one that it is tied to", NULL);
        for (int w = 0; w < count; w++) {
            expanded[w] = text + end;
            const int here = expand(words[w], used, value, length, expanded[w], sizeof text - end);
            if (here < 0) return refuse(r, "too long when expanded", words[w]);
            used += here;
            end += strlen(expanded[w]) + 1;
        }
        TOOL_TRY(read(r, count, expanded));
        int b = found - 1;
        for (; b >= 0; b--) {
            const char *next;
            size_t bytes;
            if (braces[b].tied < 0 && find_value(&braces[b], ++braces[b].place, &next, &bytes)) break;
            braces[b].place = 0;
        }
        if (b < 0) return 0;
    }
}

static int read_matrix(reader *r, int count, char **words) {
    if (count != 4) return refuse(r, "a matrix is a name, a group (or -) and a specification without blanks", NULL);
    const char *name = words[1], *group = strcmp(words[2], "-") == 0 ? NULL : words[2];
    for (int i = 0; i < r->suite->matrices.count; i++)
        if (strcmp(r->suite->matrices.at[i].name, name) == 0) return refuse(r, "defined twice", name);
    tool_inputs_add(&r->suite->matrices, words[3], name, group, strcmp(words[0], "stand-in") == 0);
    return 0;
}

/* ------------------------------------------------------------------------------------------ cases */

static int read_case(reader *r, int count, char **words) {
    static const char *const tiers[] = {"small", "full", NULL}, *const places[] = {"any", "cpu", "gpu", NULL};
    int tier = 0, place = 0, dashes = 3;
    if (count < 3) return refuse(r, "a case is small or full, then any, cpu or gpu, options, -- and matrices", NULL);
    while (tiers[tier] && strcmp(tiers[tier], words[1]) != 0) tier++;
    if (!tiers[tier]) return refuse(r, "neither small nor full", words[1]);
    while (places[place] && strcmp(places[place], words[2]) != 0) place++;
    if (!places[place]) return refuse(r, "neither any, cpu nor gpu", words[2]);
    while (dashes < count && strcmp(words[dashes], "--") != 0) dashes++;
    if (dashes + 1 >= count) return refuse(r, "a case ends in -- and the matrices that it measures", NULL);
    tool_suite *suite = r->suite;
    suite->cases = tool_grow(suite->cases, (size_t)suite->case_count + 1, sizeof *suite->cases);
    suite->cases[suite->case_count++] =
        (tool_suite_case){.full = tier == 1,
                          .place = (tool_place)place,
                          .line = r->line,
                          .option_count = dashes - 3,
                          .pattern_count = count - dashes - 1,
                          .options = copy_words(words + 3, dashes - 3),
                          .patterns = copy_words(words + dashes + 1, count - dashes - 1)};
    return 0;
}

/* Sets or continues a text from the rest of the directive. */
static int read_text(char **to, const char *rest) {
    tool_text text = {0};
    size_t length = strlen(rest);
    while (length > 0 && rest[length - 1] == ' ') length--;
    tool_text_add(&text, "%s%s%.*s", *to ? *to : "", *to ? " " : "", (int)length, rest);
    free(*to);
    *to = tool_copy(tool_text_get(&text));
    tool_text_free(&text);
    return 0;
}

static int read_directive(reader *r, char *line) {
    char *words[MOST_WORDS];
    char rest[LINE_BYTES];
    const char *first = line + strspn(line, " \t\r");
    const char *after = first + strcspn(first, " \t\r");
    snprintf(rest, sizeof rest, "%s", after + strspn(after, " \t\r"));
    const int count = split(line, words);
    if (count == 0) return 0;
    if (count == MOST_WORDS) return refuse(r, "more than 127 words", NULL);
    if (strcmp(words[0], "title") == 0) return read_text(&r->suite->title, rest);
    if (strcmp(words[0], "paper") == 0) return read_text(&r->suite->paper, rest);
    if (strcmp(words[0], "about") == 0) return read_text(&r->suite->about, rest);
    if (strcmp(words[0], "matrix") == 0) return read_expanded(r, count, words, read_matrix);
    if (strcmp(words[0], "stand-in") == 0) return read_expanded(r, count, words, read_matrix);
    if (strcmp(words[0], "case") == 0) return read_expanded(r, count, words, read_case);
    return refuse(r, "neither title, paper, about, matrix, stand-in nor case", words[0]);
}

static int read_suite(tool_suite *suite, const char *text) {
    reader r = {.suite = suite, .at = text};
    char *line = tool_allocate(LINE_BYTES, 1);
    int code = 0;
    while (code == 0 && take_line(&r, line, &code)) code = read_directive(&r, line);
    free(line);
    if (code == 0 && suite->case_count == 0) code = refuse(&r, "the suite has no case", NULL);
    return code;
}

/* ------------------------------------------------------------------------------------------ opening */

const char *tool_suite_name(int number) {
    return number >= 0 && number < tool_suite_text_count ? tool_suite_texts[number].name : NULL;
}

/* Reads the whole file, which the caller frees. Returns NULL after a message. */
static char *read_file(const char *path) {
    enum { MOST = 1 << 20 };
    const bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "r");
    char *text = file ? tool_allocate(MOST + 1, 1) : NULL;
    const size_t length = file ? fread(text, 1, MOST + 1, file) : 0;
    const bool failed = !file || ferror(file) || length > MOST;
    if (failed)
        tool_error("%s: cannot be read: %s", path, file && length > MOST ? "larger than 1 MiB" : strerror(errno));
    if (file && !standard) fclose(file);
    if (failed) {
        free(text);
        return NULL;
    }
    text[length] = 0;
    return text;
}

static int unknown_suite(const char *name) {
    const char *names[32] = {NULL};
    tool_text list = {0};
    if (tool_suite_text_count == 0)
        return tool_usage_error("--suite: '%s' is not a file: this program " TAMIS_LABORATORY_BUILD, name);
    for (int i = 0; i < 31 && tool_suite_name(i); i++) {
        names[i] = tool_suite_name(i);
        tool_text_add(&list, "%s%s", i ? ", " : "", names[i]);
    }
    const int code = tool_usage_error("--suite: '%s' is neither a suite%s nor a file; expected one of %s", name,
                                      tool_did_you_mean("", name, names).text, tool_text_get(&list));
    tool_text_free(&list);
    return code;
}

int tool_suite_open(const char *name, tool_suite *suite) {
    *suite = (tool_suite){.path = name};
    tool_matrix_name(name, suite->name, sizeof suite->name);
    char *dot = strrchr(suite->name, '.');
    if (dot) *dot = 0;
    for (int i = 0; i < tool_suite_text_count; i++)
        if (strcmp(tool_suite_texts[i].name, name) == 0)
            return read_suite(suite, (const char *)tool_suite_texts[i].text);
    if (!strchr(name, '/') && !strchr(name, '.') && strcmp(name, "-") != 0) return unknown_suite(name);
    char *text = read_file(name);
    if (!text) return TOOL_FILE;
    const int code = read_suite(suite, text);
    free(text);
    return code;
}

void tool_suite_free(tool_suite *suite) {
    for (int i = 0; i < suite->case_count; i++) {
        tool_suite_case *one = &suite->cases[i];
        for (int w = 0; w < one->option_count; w++) free(one->options[w]);
        for (int w = 0; w < one->pattern_count; w++) free(one->patterns[w]);
        free((void *)one->options);
        free((void *)one->patterns);
    }
    free(suite->cases);
    free(suite->title);
    free(suite->paper);
    free(suite->about);
    tool_inputs_free(&suite->matrices);
    *suite = (tool_suite){0};
}
