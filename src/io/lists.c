/* Telling times from weights, and reading KONECT's heading. */
#include "io/lists.h"

#include <string.h>
#include <strings.h>

#include "io/input.h"

static bool take_word(const char **p, const char *const *words, int *which) {
    const char *const start = tamis_skip_blanks(*p);
    for (int i = 0; words[i]; i++) {
        const size_t length = strlen(words[i]);
        if (strncmp(start, words[i], length) != 0 || !(tamis_is_blank(start[length]) || start[length] == '\n'))
            continue;
        *which = i;
        *p = start + length;
        return true;
    }
    return false;
}

tamis_konect tamis_konect_of(const tamis_bounded_text *text) {
    static const char *const forms[] = {"sym", "asym", "bip", NULL};
    static const char *const weights[] = {"unweighted",       "positive", "posweighted",   "signed",
                                          "multisigned",      "weighted", "multiweighted", "dynamic",
                                          "multiposweighted", NULL};
    const char *p = text->begin;
    int form = 0, weight = 0;
    if (strncasecmp(p, "%%MatrixMarket", 14) == 0) { /* of an edge list that has it as a comment */
        const char *const end = tamis_next_line(text, p), *const word = strstr(p, " symmetric");
        return (tamis_konect){.symmetric = word && word < end};
    }
    if (*p++ != '%' || !take_word(&p, forms, &form) || !take_word(&p, weights, &weight)) return (tamis_konect){0};
    return (tamis_konect){.found = true, .symmetric = form == 0, .bipartite = form == 2, .weights = weight > 0};
}

/* Skips the field at p and its separator. */
static const char *skip_field(const tamis_bounded_text *text, const char *p, char separator) {
    if (separator == ' ') {
        while (!tamis_at_line_end(text, p) && p < text->end && !tamis_is_blank(*p)) p++;
    } else {
        while (!tamis_at_line_end(text, p) && p < text->end && *p != separator) p++;
        while (p < text->end && *p == separator) p++;
    }
    return tamis_skip_blanks(p);
}

bool tamis_column_is_times(const tamis_bounded_text *text, const char *line, int column, char separator,
                           const char *comments) {
    enum { LINES = 1 << 16, BYTES = 512 << 10, FEWEST = 3, DAY = 86400 };
    const int64_t earliest = 100000000, latest = 100000000000000000;
    bool dates = true, rises = true;
    int64_t count = 0, first = 0, last = 0;
    for (const char *p = line; p < text->end && p - line < BYTES && count < LINES;
         p = tamis_skip_comments(text, tamis_next_line(text, p), comments)) {
        int64_t time = 0;
        const char *field = p;
        for (int i = 1; i < column; i++) field = skip_field(text, field, separator);
        const char *const after = tamis_parse_index(field, &time);
        if (!after || !(tamis_is_blank(*after) || tamis_at_line_end(text, after) || *after == separator)) return false;
        dates &= time >= earliest && time < latest;
        rises &= count == 0 || time >= last;
        if (count++ == 0) first = time;
        last = time;
    }
    return count > 0 && (dates || (rises && count >= FEWEST && last > first && last >= DAY));
}
