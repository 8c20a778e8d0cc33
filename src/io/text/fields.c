/* See fields.h. */
#include "io/text/fields.h"

#include <math.h>
#include <string.h>

enum { LOOKED_AT = 64, COUNTED = 4, NUMBER_BYTES = 64 };

const char *tamis_fields_end(const tamis_bounded_text *text, const char *line) {
    const char *end = tamis_next_line(text, line);
    if (end > line && end[-1] == '\n') end--;
    return end;
}

/* Returns true if a character beside a field is padding: a blank, except the separator. */
static bool is_padding(char separator, char c) { return separator == '\t' ? c == ' ' || c == '\r' : tamis_is_blank(c); }

/* ------------------------------------------------------------------------------------------ the separator */

static bool separates(const char *p, const char *end, char separator) {
    if (separator == ':') return end - p >= 2 && p[0] == ':' && p[1] == ':';
    if (separator == ' ') return p < end && tamis_is_blank(*p);
    return p < end && *p == separator;
}

/* Returns the number of fields with this separator, up to COUNTED. */
static int count_fields(const char *line, const char *end, char separator, bool quotes) {
    bool inside = false, begins = true; /* at the beginning of a field a quote may open it */
    int count = 1;
    while (line < end && tamis_is_blank(*line)) line++;
    while (end > line && tamis_is_blank(end[-1])) end--;
    for (const char *p = line; p < end && count < COUNTED; p++) {
        if (quotes && *p == '"' && (inside || begins)) {
            inside = !inside;
            begins = !inside; /* of a doubled one */
            continue;
        }
        const bool between = !inside && separates(p, end, separator);
        count += between;
        begins = between || (begins && tamis_is_blank(*p));
    }
    return count;
}

/* Returns the separator that splits each of the first `lines` lines, 0 if none does. A tab comes first, since it is
   never part of an id. Of the others it takes the one with the most fields, so that neither a decimal comma nor "::" in
   an id separates. Blanks are the last choice, as names contain them. */
static char find_common(const tamis_bounded_text *text, const char *line, bool ended, bool quotes, int lines) {
    static const char candidates[] = {'\t', ':', ',', ';', ' '};
    enum { CANDIDATES = sizeof candidates };
    int least[CANDIDATES] = {COUNTED, COUNTED, COUNTED, COUNTED, COUNTED};
    for (int n = 0; n < lines && line < text->end; n++) {
        const char *const end = tamis_fields_end(text, line);
        if (n > 0 && end == text->end && !ended) break; /* it may be cut */
        for (int i = 0; i < CANDIDATES; i++) {
            const int count = count_fields(line, end, candidates[i], quotes);
            if (count < least[i]) least[i] = count;
        }
        line = tamis_skip_comments(text, tamis_next_line(text, line), "#%");
    }
    if (least[0] > 1) return candidates[0];
    int best = 1;
    for (int i = 2; i < CANDIDATES - 1; i++)
        if (least[i] > least[best]) best = i;
    if (least[best] > 1) return candidates[best];
    return least[CANDIDATES - 1] > 1 ? ' ' : '\0';
}

char tamis_fields_separator(const tamis_bounded_text *text, const char *line, bool ended, bool quotes) {
    if (line >= text->end) return ' ';
    const char common = find_common(text, line, ended, quotes, LOOKED_AT);
    if (common) return common;
    const char first = find_common(text, line, ended, quotes, 1);
    return first ? first : ' ';
}

/* ------------------------------------------------------------------------------------------ fields */

/* Reads a quoted field and returns the position behind its closing quote; NULL: there is none. */
static const char *take_quoted(const char *p, const char *end, tamis_field *taken) {
    *taken = (tamis_field){.begin = p + 1, .quoted = true};
    for (const char *at = p + 1; at < end; at++) {
        if (*at != '"') continue;
        if (at + 1 < end && at[1] == '"') {
            taken->doubled = true;
            at++;
            continue;
        }
        taken->length = (size_t)(at - taken->begin);
        return at + 1;
    }
    return NULL;
}

static const char *take_plain(char separator, const char *p, const char *end, tamis_field *taken) {
    const char *at = p;
    while (at < end && !separates(at, end, separator)) at++;
    const char *last = at;
    while (last > p && is_padding(separator, last[-1])) last--;
    *taken = (tamis_field){.begin = p, .length = (size_t)(last - p)};
    return at;
}

static const char *skip_padding(char separator, const char *p, const char *end) {
    while (p < end && is_padding(separator, *p)) p++;
    return p;
}

const char *tamis_field_take(const tamis_field_form *form, const char *p, const char *end, tamis_field *field,
                             const char **fault) {
    const char separator = form->separator;
    *fault = NULL;
    if (form->quotes && p < end && *p == '"') {
        const char *const behind = take_quoted(p, end, field);
        if (!behind) {
            *fault = p;
            return NULL;
        }
        p = skip_padding(separator, behind, end);
        if (p < end && !(separator == ' ' ? p > behind : separates(p, end, separator))) {
            *fault = p;
            return NULL;
        }
    } else {
        p = take_plain(separator, p, end, field);
        if (separator == ' ') p = skip_padding(separator, p, end);
    }
    if (p >= end) return NULL;
    if (separator != ' ') p += separator == ':' ? 2 : 1;
    return skip_padding(separator, p, end);
}

tamis_status tamis_fields_split(const tamis_bounded_text *text, const tamis_field_form *form, const char *line,
                                int most, tamis_field *fields, int *count) {
    const char *const end = tamis_fields_end(text, line), *fault = NULL;
    const char *p = skip_padding(form->separator, line, end);
    for (*count = 0; *count < most && p;) {
        const char *const start = p;
        p = tamis_field_take(form, p, end, &fields[(*count)++], &fault);
        if (fault)
            return tamis_text_fail(text, fault, "%s",
                                   fault == start ? "a closing quote at the end of the field"
                                                  : "a separator after the quoted field");
    }
    return TAMIS_OK;
}

/* Counting separators is a fast first test: fewer than `most` cannot separate more than `most` fields. */
bool tamis_fields_exceed(const tamis_field_form *form, const char *p, const char *end, int most) {
    const char separator = form->separator, other = separator == ' ' ? '\t' : separator;
    int64_t separators = 0;
    p = skip_padding(separator, p, end);
    for (const char *q = p; q < end; q++) separators += (*q == separator) | (*q == other);
    if (separators < most) return false;
    int count = 0;
    for (const char *fault = NULL; p && p < end && !fault;) {
        tamis_field field;
        p = tamis_field_take(form, p, end, &field, &fault);
        count++;
        if (count > most && (field.length > 0 || field.quoted)) return true;
    }
    return false;
}

bool tamis_fields_are_none(const tamis_field_form *form, const char *p, const char *end) {
    tamis_field field;
    const char *fault, *const next = tamis_field_take(form, p, end, &field, &fault);
    return !next || (form->separator == ' ' && strspn(field.begin, "#%") >= field.length);
}

const char *tamis_fields_next(const tamis_bounded_text *text, const tamis_field_form *form, const char *p,
                              int64_t *comments) {
    for (; p < text->end; p = tamis_next_line(text, p)) {
        const char *const first = tamis_skip_blanks(p);
        if (first >= text->end || *first == '\n') continue;
        if (*first != '#' && *first != '%') return p;
        if (form && !tamis_fields_are_none(form, first, tamis_fields_end(text, first))) return p;
        if (comments) ++*comments;
    }
    return text->end;
}

/* ------------------------------------------------------------------------------------------ numbers */

/* The padding behind the text allows tamis_parse_real to read beyond it. */
bool tamis_field_number(const tamis_field_form *form, const tamis_field *f, double *value) {
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

/* ------------------------------------------------------------------------------------------ times */

/* Returns the days from 1970-01-01 to a date of the Gregorian calendar: years begin in March, with the leap day at
   their end. */
static double days_of(int year, int month, int day) {
    const int y = month > 2 ? year : year - 1, m = month > 2 ? month - 3 : month + 9;
    const int leap_days = y / 4 - y / 100 + y / 400, before_month = (153 * m + 2) / 5;
    return 365.0 * y + leap_days + before_month + day - 719469;
}

static bool take_digits(const char **p, const char *end, int digits, int most, int *value) {
    *value = 0;
    for (int i = 0; i < digits; i++, ++*p) {
        if (*p >= end || **p < '0' || **p > '9') return false;
        *value = *value * 10 + (**p - '0');
    }
    return *value <= most;
}

static bool take_mark(const char **p, const char *end, const char *marks) {
    if (*p >= end || !strchr(marks, **p) || !**p) return false;
    ++*p;
    return true;
}

bool tamis_field_time(const tamis_field_form *form, const tamis_field *f, double *seconds) {
    if (tamis_field_number(form, f, seconds)) return isfinite(*seconds);
    const char *p = f->begin, *const end = f->begin + f->length;
    int year, month, day, hour = 0, minute = 0, second = 0;
    if (!take_digits(&p, end, 4, 9999, &year) || !take_mark(&p, end, "-/") || !take_digits(&p, end, 2, 12, &month) ||
        !take_mark(&p, end, "-/") || !take_digits(&p, end, 2, 31, &day) || month == 0 || day == 0)
        return false;
    if (take_mark(&p, end, "T ")) {
        if (!take_digits(&p, end, 2, 24, &hour) || !take_mark(&p, end, ":") || !take_digits(&p, end, 2, 59, &minute))
            return false;
        if (take_mark(&p, end, ":") && !take_digits(&p, end, 2, 60, &second)) return false;
    }
    *seconds = 86400 * days_of(year, month, day) + 3600.0 * hour + 60.0 * minute + second;
    return true;
}
