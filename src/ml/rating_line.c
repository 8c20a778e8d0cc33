/* See rating_line.h. */
#include "ml/rating_line.h"

#include <string.h>

enum { LOOKED_AT = 64, COUNTED = 4, NUMBER_BYTES = 64 };

const char *ml_rating_line_end(const tamis_bounded_text *text, const char *line) {
    const char *end = tamis_next_line(text, line);
    if (end > line && end[-1] == '\n') end--;
    return end;
}

/* Whether a character beside a field is padding: blanks, unless they are what separates. */
static bool is_padding(char separator, char c) { return separator == '\t' ? c == ' ' || c == '\r' : tamis_is_blank(c); }

const char *ml_rating_line_next(const tamis_bounded_text *text, const char *p) {
    for (; p < text->end; p = tamis_next_line(text, p)) {
        const char *const first = tamis_skip_blanks(p);
        if (first < text->end && *first != '\n' && *first != '#' && *first != '%') return p;
    }
    return text->end;
}

/* ------------------------------------------------------------------------------------------ the separator */

static bool separates(const char *p, const char *end, char separator) {
    if (separator == ':') return end - p >= 2 && p[0] == ':' && p[1] == ':';
    if (separator == ' ') return p < end && tamis_is_blank(*p);
    return p < end && *p == separator;
}

/* Returns how many fields the separator makes of the line, up to COUNTED. */
static int count_fields(const char *line, const char *end, char separator, bool quotes) {
    bool inside = false;
    int count = 1;
    while (line < end && tamis_is_blank(*line)) line++;
    while (end > line && tamis_is_blank(end[-1])) end--;
    for (const char *p = line; p < end && count < COUNTED; p++) {
        if (quotes && *p == '"') inside = !inside;
        if (!inside && separates(p, end, separator)) count++;
    }
    return count;
}

/* Returns the separator that makes fields of each of the first `lines` lines, 0 if none does. A tab is never part of an
   id. Of the others the one with the most fields, so that neither a decimal comma nor "::" in an id separates. Blanks
   are the last choice: they stand in names. */
static char find_common(const tamis_bounded_text *text, const char *line, bool ended, bool quotes, int lines) {
    static const char candidates[] = {'\t', ':', ',', ';', ' '};
    enum { CANDIDATES = sizeof candidates };
    int least[CANDIDATES] = {COUNTED, COUNTED, COUNTED, COUNTED, COUNTED};
    for (int n = 0; n < lines && line < text->end; n++) {
        const char *const end = ml_rating_line_end(text, line);
        if (n > 0 && end == text->end && !ended) break; /* it may be cut */
        for (int i = 0; i < CANDIDATES; i++) {
            const int count = count_fields(line, end, candidates[i], quotes);
            if (count < least[i]) least[i] = count;
        }
        line = ml_rating_line_next(text, tamis_next_line(text, line));
    }
    if (least[0] > 1) return candidates[0];
    int best = 1;
    for (int i = 2; i < CANDIDATES - 1; i++)
        if (least[i] > least[best]) best = i;
    if (least[best] > 1) return candidates[best];
    return least[CANDIDATES - 1] > 1 ? ' ' : '\0';
}

char ml_rating_separator(const tamis_bounded_text *text, const char *line, bool ended, bool quotes) {
    if (line >= text->end) return ' ';
    const char common = find_common(text, line, ended, quotes, LOOKED_AT);
    if (common) return common;
    const char first = find_common(text, line, ended, quotes, 1);
    return first ? first : ' ';
}

/* ------------------------------------------------------------------------------------------ fields */

/* Takes a quoted field: *p is at its first quote, and goes behind its last. */
static tamis_status take_quoted(const tamis_bounded_text *text, const char **p, const char *end,
                                ml_rating_field *taken) {
    const char *const start = *p + 1;
    *taken = (ml_rating_field){.begin = start};
    for (const char *at = start; at < end; at++) {
        if (*at != '"') continue;
        if (at + 1 < end && at[1] == '"') {
            taken->doubled = true;
            at++;
            continue;
        }
        taken->length = (size_t)(at - start);
        *p = at + 1;
        return TAMIS_OK;
    }
    return tamis_text_fail(text, *p, "a closing quote at the end of the field");
}

static void take_plain(char separator, const char **p, const char *end, ml_rating_field *taken) {
    const char *at = *p;
    while (at < end && !separates(at, end, separator)) at++;
    const char *last = at;
    while (last > *p && is_padding(separator, last[-1])) last--;
    *taken = (ml_rating_field){.begin = *p, .length = (size_t)(last - *p)};
    *p = at;
}

static const char *skip_padding(char separator, const char *p, const char *end) {
    while (p < end && is_padding(separator, *p)) p++;
    return p;
}

tamis_status ml_rating_split(const tamis_bounded_text *text, const ml_rating_form *form, const char *line, int most,
                             ml_rating_field *fields, int *count) {
    const char separator = form->separator, *const end = ml_rating_line_end(text, line);
    const char *p = skip_padding(separator, line, end);
    for (*count = 0; *count < most;) {
        ml_rating_field *const taken = &fields[(*count)++];
        if (form->quotes && p < end && *p == '"') {
            TRY(take_quoted(text, &p, end, taken));
            const char *const behind = p;
            p = skip_padding(separator, p, end);
            const bool separated = separator == ' ' ? p > behind : separates(p, end, separator);
            if (p < end && !separated) return tamis_text_fail(text, p, "a separator after the quoted field");
        } else {
            take_plain(separator, &p, end, taken);
            p = separator == ' ' ? skip_padding(separator, p, end) : p;
        }
        if (p >= end) break;
        if (separator != ' ') p += separator == ':' ? 2 : 1;
        p = skip_padding(separator, p, end);
    }
    return TAMIS_OK;
}

/* Behind the text there is room to read, as tamis_parse_real wants it. */
bool ml_rating_number(const ml_rating_form *form, const ml_rating_field *f, double *value) {
    if (f->length == 0) return false;
    if (tamis_parse_real(f->begin, value) == f->begin + f->length) return true;
    if (form->separator == ',' || f->length >= NUMBER_BYTES) return false;
    const char *const comma = memchr(f->begin, ',', f->length);
    if (!comma || memchr(f->begin, '.', f->length)) return false;
    char copy[NUMBER_BYTES + TAMIS_TEXT_PADDING] = {0};
    memcpy(copy, f->begin, f->length);
    copy[comma - f->begin] = '.';
    return tamis_parse_real(copy, value) == copy + f->length;
}
