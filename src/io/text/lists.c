/* Distinguishes times from weights and sizes from entries, and parses KONECT's header. */
#include "io/text/lists.h"

#include <string.h>
#include <strings.h>

#include "base/status.h"
#include "io/files/input.h"

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
    if (strncasecmp(p, "%%MatrixMarket", 14) == 0) { /* an edge list with this line as a comment */
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

/* Parses a line of up to three integers; returns their number, 0 for any other line. */
static int take_integers(const tamis_bounded_text *text, const tamis_field_form *form, const char *line,
                         int64_t numbers[3]) {
    tamis_field fields[4];
    int count = 0;
    if (tamis_fields_split(text, form, line, 4, fields, &count) != TAMIS_OK || count > 3) {
        tamis_clear_error();
        return 0;
    }
    for (int i = 0; i < count; i++)
        if (tamis_parse_index(fields[i].begin, &numbers[i]) != fields[i].begin + fields[i].length) return 0;
    return count;
}

tamis_size_line tamis_size_line_of(const tamis_bounded_text *text, const tamis_list_form *form) {
    tamis_size_line line = {0};
    if (form->titles || form->columns.known || form->lists || form->first >= text->end) return line;
    line.count = take_integers(text, &form->fields, form->first, line.sizes);
    if (line.count < 2) line.count = 0;
    return line;
}

static tamis_status refuse_sizes(const tamis_bounded_text *text, const tamis_size_line *line, const char *what,
                                 bool values) {
    return tamis_fail(TAMIS_ERROR_FORMAT,
                      "%s: the first line of data, '%lld %lld %lld', %s: delete it, or put '%%%%MatrixMarket matrix "
                      "coordinate %s general' before it in a file named .mtx, whose indices begin with 1%s",
                      text->name, (long long)line->sizes[0], (long long)line->sizes[1], (long long)line->sizes[2], what,
                      values ? "real" : "pattern",
                      values ? ", or if it is an entry read it with --columns user=1,item=2,rating=3, of a graph "
                               "from=1,to=2,weight=3 (`columns` in the options)"
                             : "");
}

tamis_status tamis_size_line_check_next(const tamis_bounded_text *text, const tamis_list_form *form,
                                        const tamis_size_line *line) {
    const char *const next = tamis_fields_next(text, &form->fields, tamis_next_line(text, form->first), NULL);
    int64_t ids[3];
    if (line->count != 3 || next >= text->end || take_integers(text, &form->fields, next, ids) != 2 ||
        ids[0] > line->sizes[0] || ids[1] > line->sizes[1])
        return TAMIS_OK;
    return refuse_sizes(text, line, "has three numbers, and the next one two", false);
}

tamis_status tamis_size_line_check(const tamis_bounded_text *text, const tamis_size_line *line, int64_t row_most,
                                   int64_t column_most, int64_t entries) {
    const int64_t *const sizes = line->sizes;
    const int64_t larger = sizes[0] > sizes[1] ? sizes[0] : sizes[1];
    if (line->count < 2 || sizes[line->count - 1] != entries - 1 || sizes[0] != row_most) return TAMIS_OK;
    if (line->count == 3 && sizes[1] == column_most)
        return refuse_sizes(text, line, "may be an entry, or the sizes of the matrix that follows", true);
    if (line->count == 3 || column_most > larger || entries < 3)
        return TAMIS_OK; /* one or two pairs may look so by chance */
    return tamis_fail(
        TAMIS_ERROR_FORMAT,
        "%s: the first line of data, '%lld %lld', may be an entry, or the numbers of nodes and edges that "
        "follow: delete it, or if it is an entry read it with --columns user=1,item=2, of a graph "
        "from=1,to=2 (`columns` in the options)",
        text->name, (long long)sizes[0], (long long)sizes[1]);
}
