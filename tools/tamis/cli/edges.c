#include "cli/edges.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/text.h"

enum { TEXTS = 32, NUMBERS = 16, NAME_MOST = 32 };

/* From the command line. */
static struct {
    char *texts[TEXTS];
    int count;
    tamis_edge_number numbers[NUMBERS];
    char names[NUMBERS][NAME_MOST + 1];
    int number_count;
} given;

static bool is_word(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z') || text[i] == '_')) return false;
    return length > 1; /* x and s are expressions */
}

int tool_edge_add(const char *text, size_t length) {
    if (is_word(text, length)) return -1;
    for (int i = 0; i < given.count; i++)
        if (strlen(given.texts[i]) == length && memcmp(given.texts[i], text, length) == 0) return TAMIS_EDGE_TEXT + i;
    char *const copy = given.count < TEXTS ? malloc(length + 1) : NULL;
    if (!copy) return -1;
    memcpy(copy, text, length);
    copy[length] = '\0';
    given.texts[given.count] = copy;
    return TAMIS_EDGE_TEXT + given.count++;
}

const char *tool_edge_name(int edge) {
    const char *const name = tamis_edge_name((tamis_edge)edge);
    tamis_edge found;
    if (edge >= TAMIS_EDGE_TEXT)
        return edge - TAMIS_EDGE_TEXT < given.count ? given.texts[edge - TAMIS_EDGE_TEXT] : NULL;
    return tamis_edge_from_name(name, &found) == TAMIS_OK ? name : NULL;
}

/* True if an expression names an array, as row.b. */
static bool reads_arrays(const char *text) {
    static const char *const kinds[] = {"row.", "col.", "entry.", "head."};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const char *const at = strstr(text, kinds[k]);
        if (at && (at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_'))) return true;
    }
    return false;
}

int tool_edges_let(const char *text) {
    for (int i = 0; i < given.count; i++)
        if (reads_arrays(given.texts[i]))
            return tool_usage_error("--edge: '%s' names arrays, which calls of the library and of Python give",
                                    given.texts[i]);
    given.number_count = 0;
    while (text && *text) {
        const char *const equals = strchr(text, '=');
        char *end = NULL;
        if (!equals || equals == text || equals - text > NAME_MOST)
            return tool_usage_error("--let: '%s' does not begin with a name of up to %d letters and '='", text,
                                    NAME_MOST);
        const double value = strtod(equals + 1, &end);
        if (end == equals + 1 || (*end && *end != ',') || isnan(value))
            return tool_usage_error("--let: '%s' is not a number", equals + 1);
        if (given.number_count == NUMBERS) return tool_usage_error("--let: more than %d numbers", NUMBERS);
        char *const name = given.names[given.number_count];
        memcpy(name, text, (size_t)(equals - text));
        name[equals - text] = '\0';
        given.numbers[given.number_count++] = (tamis_edge_number){name, value};
        text = *end ? end + 1 : end;
    }
    return 0;
}

void tool_edge_put(int edge, tamis_options *options) {
    options->edge = edge >= TAMIS_EDGE_TEXT ? TAMIS_EDGE_TEXT : (tamis_edge)edge;
    if (edge < TAMIS_EDGE_TEXT) return;
    options->edge_text = tool_edge_name(edge);
    options->edge_numbers = given.numbers;
    options->edge_number_count = given.number_count;
}
