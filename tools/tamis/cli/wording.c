/* Rewords some messages of the library. File names within them stay. */
#include "cli/wording.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const phrases[][2] = {
    {"which tamis_read_dense reads", "but a sparse one is needed"},
    {"which tamis_read_sparse reads; expected an array", "but a dense one (an array) is needed"},
    {"index_type = int64, or relabel = true", "--index int64, or --relabel"},
    {"index_type = int64", "--index int64"},
    {"offset_type = int64", "--offset int64"},
    {"relabel = true", "--relabel"},
    {"with tamis_model_transform", "with 'tamis transform'"},
    {"use tamis_model_transform", "use 'tamis transform'"},
    {"an index_type of int32 cannot hold", "--index int32 cannot hold"},
    {"an offset_type of int32 cannot hold it", "it needs --offset int64"},
    {"pass those of tamis_model_transform as W", "name their known entries by --new FILE"},
    {"held_out.entries.cols", "columns of --held-out"},
    {"held_out.entries.rows", "rows of --held-out"},
    {"held_out.observed.cols", "columns of --observed"},
    {"held_out.observed.rows", "rows of --observed"},
    {"slabs.device_memory", "--device-memory"},
    {"options.offset_type", "--offset"},
    {"options.index_type", "--index"},
    {"options.value_type", "--type"},
    {"options.expected_calls", "--calls"},
    {"options.skip_loss", "--loss"},
    {"S.cols = 0, expected 1 or more", "no entries and no columns, expected at least one entry"},
    {"S.cols", "columns of the data"},
    {"S.rows", "rows of the data"},
    {"S has", "the data have"},
};
enum { PHRASES = sizeof phrases / sizeof *phrases };
static const char field[] = "options."; /* any name may follow */

static struct {
    int count;
    char *const *words;
} typed;

void tool_wording_typed(int count, char *const *words) {
    typed.count = count;
    typed.words = words;
}

static const char *const *options;

void tool_wording_options(const char *const *names) { options = names; }

static bool has_phrase(const char *text) {
    bool found = strstr(text, field) != NULL;
    for (int i = 0; i < PHRASES && !found; i++) found = strstr(text, phrases[i][0]) != NULL;
    return found;
}

/* Returns the length of `name` if the text begins with it and a phrase occurs in it, else 0. */
static size_t is_name(const char *text, const char *name) {
    const size_t length = name ? strlen(name) : 0;
    return length > 0 && strncmp(text, name, length) == 0 && has_phrase(name) ? length : 0;
}

/* Returns the length of the longest name at the beginning of the text: `name`, a word of the command line, or the part
   behind the first = of "--output=OUT" or "generate:KIND:name=OUT". */
static size_t longest_name(const char *text, const char *name) {
    size_t longest = is_name(text, name);
    for (int i = 0; i < typed.count; i++) {
        const char *const value = strchr(typed.words[i], '=');
        const size_t whole = is_name(text, typed.words[i]), part = value ? is_name(text, value + 1) : 0;
        if (whole > longest) longest = whole;
        if (part > longest) longest = part;
    }
    return longest;
}

/* Returns the length of the quotation that begins here, or 0. An apostrophe within a word, as in "the model's", is not
   a quotation mark. */
static size_t quotation(const char *text, char before) {
    if ((*text != '\'' && *text != '"') || isalnum((unsigned char)before)) return 0;
    for (const char *end = strchr(text + 1, *text); end; end = strchr(end + 1, *text))
        if (!isalnum((unsigned char)end[1])) return (size_t)(end + 1 - text);
    return 0;
}

/* Rewords "row_prior = 0", if the command has an option --row-prior. */
static size_t translate_option(const char *text, char before, char *ours, size_t bytes) {
    const size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    char name[40];
    if (length == 0 || length >= sizeof name || strncmp(text + length, " = ", 3) != 0) return 0;
    if (isalnum((unsigned char)before) || (before && strchr("_.->", before))) return 0;
    for (size_t i = 0; i < length; i++) name[i] = text[i] == '_' ? '-' : text[i];
    name[length] = 0;
    for (const char *const *option = options; option && *option; option++) {
        if (strcmp(*option, name) != 0) continue;
        snprintf(ours, bytes, "--%s", name);
        return length;
    }
    return 0;
}

/* Translates the phrase that begins here to `ours`. Returns the length of the original, or 0 if there is none. */
static size_t translate(const char *text, char before, char *ours, size_t bytes) {
    for (int i = 0; i < PHRASES; i++) {
        const size_t length = strlen(phrases[i][0]);
        if (strncmp(text, phrases[i][0], length) != 0 || isalnum((unsigned char)before)) continue;
        if (isalnum((unsigned char)text[length]) || text[length] == '_') continue;
        snprintf(ours, bytes, "%s", phrases[i][1]);
        return length;
    }
    if (strncmp(text, field, sizeof field - 1) != 0 || isalnum((unsigned char)before)) return 0;
    const size_t name = strspn(text + sizeof field - 1, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (name == 0 || name > 40) return 0;
    snprintf(ours, bytes, "--%.*s", (int)name, text + sizeof field - 1);
    for (char *at = ours; *at; at++) *at = *at == '_' ? '-' : *at;
    return sizeof field - 1 + name;
}

void tool_wording(const char *message, const char *name, char *ours, size_t bytes) {
    size_t used = 0;
    char before = 0;
    while (*message && used + 1 < bytes) {
        char other[96] = "";
        size_t kept = longest_name(message, name);
        if (kept == 0) kept = quotation(message, before);
        size_t replaced = kept == 0 ? translate(message, before, other, sizeof other) : 0;
        if (kept + replaced == 0) replaced = translate_option(message, before, other, sizeof other);
        if (kept == 0 && replaced == 0) kept = 1;
        const int length = replaced ? snprintf(ours + used, bytes - used, "%s", other)
                                    : snprintf(ours + used, bytes - used, "%.*s", (int)kept, message);
        message += replaced ? replaced : kept;
        before = message[-1];
        used += (size_t)length;
    }
    ours[used < bytes ? used : bytes - 1] = 0;
}
