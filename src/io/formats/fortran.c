/* Fortran formats: expanded into the fields of one line, then read field by field. */
#include "io/formats/fortran.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

enum { MOST_COLUMNS = 16384, DEEPEST = 4, SHOWN = 40 };

/* The format's text with blanks taken out and letters in upper case. */
typedef struct spelling {
    char text[SHOWN * 2];
    const char *p;
    int column, scale;
} spelling;

static int take_number(spelling *from) {
    if (!tamis_is_digit(*from->p)) return -1;
    int number = 0;
    for (; tamis_is_digit(*from->p); from->p++)
        if (number < MOST_COLUMNS) number = number * 10 + (*from->p - '0');
    return number;
}

static bool add_field(spelling *from, tamis_fortran_format *format, char kind, int width, int decimals) {
    if (format->count == TAMIS_FORTRAN_FIELDS || width < 1 || width > TAMIS_FORTRAN_WIDTH || decimals < 0 ||
        decimals > TAMIS_FORTRAN_WIDTH || from->column + width > MOST_COLUMNS)
        return false;
    format->fields[format->count].start = (short)from->column;
    format->fields[format->count].width = (short)width;
    format->fields[format->count].decimals = (short)decimals;
    format->fields[format->count].scale = (short)from->scale;
    format->fields[format->count++].kind = kind;
    from->column += width;
    return true;
}

/* Parses I8 or E20.12 or E20.12E3, and appends it `repeat` times. */
static bool take_edit(spelling *from, tamis_fortran_format *format, int repeat) {
    const char letter = *from->p++;
    const int width = take_number(from);
    int decimals = 0;
    if (*from->p == '.') {
        from->p++;
        decimals = take_number(from);
        if (decimals < 0) return false;
    }
    if (letter != 'I' && *from->p == 'E') { /* the exponent's width does not matter for reading */
        from->p++;
        if (take_number(from) < 0) return false;
    }
    if (letter == 'I') decimals = 0; /* for I it is the minimum of digits to write */
    for (int i = 0; i < repeat; i++)
        if (!add_field(from, format, letter == 'I' ? 'I' : 'R', width, decimals)) return false;
    return true;
}

static bool take_list(spelling *from, tamis_fortran_format *format, int depth);

/* Parses a group in parentheses, and appends it `repeat` times. */
static bool take_group(spelling *from, tamis_fortran_format *format, int repeat, int depth) {
    const char *const start = from->p;
    for (int i = 0; i < repeat; i++) {
        const int before = from->column;
        from->p = start;
        if (!take_list(from, format, depth + 1)) return false;
        if (from->column == before) break; /* an empty group */
    }
    return true;
}

static bool take_scale(spelling *from, int scale) {
    if (scale > 100) return false;
    from->p++;
    from->scale = scale;
    return true;
}

static bool take_item(spelling *from, tamis_fortran_format *format, int depth) {
    if (*from->p == '-' || *from->p == '+') { /* only a scale factor is signed: -1P */
        const int sign = *from->p++ == '-' ? -1 : 1;
        const int scale = take_number(from);
        return scale >= 0 && *from->p == 'P' && scale <= 100 && take_scale(from, sign * scale);
    }
    const int number = take_number(from);
    const int repeat = number < 0 ? 1 : number;
    if (repeat == 0 && *from->p != 'P') return false;
    switch (*from->p) {
    case 'P': return number >= 0 && take_scale(from, number);
    case 'X':
        from->p++;
        from->column += repeat;
        return from->column <= MOST_COLUMNS;
    case 'I':
    case 'F':
    case 'E':
    case 'D':
    case 'G': return take_edit(from, format, repeat);
    case '(': return depth < DEEPEST && take_group(from, format, repeat, depth);
    default: return false;
    }
}

/* Parses "(" items ")"; commas between items may be missing, as after 1P. */
static bool take_list(spelling *from, tamis_fortran_format *format, int depth) {
    if (*from->p++ != '(') return false;
    while (*from->p != ')') {
        if (!take_item(from, format, depth)) return false;
        if (*from->p == ',') from->p++;
    }
    from->p++;
    return true;
}

tamis_status tamis_fortran_parse(const tamis_bounded_text *text, const char *at, int64_t length, const char *what,
                                 tamis_fortran_format *format) {
    spelling from = {.column = 0};
    size_t used = 0;
    bool fits = true;
    for (int64_t i = 0; i < length && fits; i++) {
        const char c = at[i];
        if (tamis_is_blank(c)) continue;
        fits = used + 1 < sizeof from.text;
        if (fits) from.text[used++] = (char)(c >= 'a' && c <= 'z' ? c - 32 : c);
    }
    from.text[used] = '\0';
    from.p = from.text;
    format->count = 0;
    if (!fits || !take_list(&from, format, 0) || *from.p != '\0' || format->count == 0)
        return tamis_text_fail(text, at, "the Fortran format of %s, such as (10I8) or (4E20.12)", what);
    return TAMIS_OK;
}

/* Returns the end of the word at p. "1.5D 02", with a blank for the exponent's sign, is one. */
static const char *skip_word(const char *p, const char *end) {
    const char *const start = p;
    for (; p < end; p++) {
        const bool sign = p - start >= 2 && strchr("dDeE", p[-1]) && (tamis_is_digit(p[-2]) || p[-2] == '.') &&
                          p + 1 < end && tamis_is_digit(p[1]);
        if (tamis_is_blank(*p) && !sign) break;
    }
    return p;
}

/* Counts the words of a line up to `most` + 1; -1 when one is longer than a field can be. */
static int64_t count_words(const char *p, const char *end, int64_t most) {
    int64_t count = 0;
    while (count <= most) {
        while (p < end && tamis_is_blank(*p)) p++;
        if (p >= end) break;
        const char *const start = p;
        p = skip_word(p, end);
        if (p - start > TAMIS_FORTRAN_WIDTH) return -1;
        count++;
    }
    return count;
}

/* Goes to the next line. Some programs (such as SciPy) pad fields to another width than their format states. So if a
   line has as many words as fields, the words are taken as the fields, which makes no difference for a correct line. */
static void enter_line(tamis_fortran_cursor *cursor) {
    while (cursor->line >= cursor->text->end && !cursor->input->ended && cursor->status == TAMIS_OK) {
        cursor->status = tamis_input_next(cursor->input);
        cursor->line = cursor->text->begin;
    }
    const char *end = tamis_next_line(cursor->text, cursor->line);
    while (end > cursor->line && (end[-1] == '\n' || end[-1] == '\r')) end--;
    cursor->line_end = end;
    cursor->field = 0;
    const int64_t count = cursor->format->count;
    const int64_t fields = cursor->remaining < count ? cursor->remaining : count;
    cursor->by_words = count_words(cursor->line, end, fields) == fields;
    cursor->word = cursor->line;
}

tamis_fortran_cursor tamis_fortran_start(tamis_input *input, const tamis_fortran_format *format, const char *line,
                                         int64_t count) {
    tamis_fortran_cursor cursor = {
        .input = input, .text = &input->text, .format = format, .line = line, .remaining = count};
    enter_line(&cursor);
    return cursor;
}

const char *tamis_fortran_next_line(const tamis_fortran_cursor *cursor) {
    return cursor->field == 0 ? cursor->line : tamis_next_line(cursor->text, cursor->line);
}

static void find_in_columns(const tamis_fortran_cursor *cursor, int number, const char **begin, const char **end) {
    const int64_t start = cursor->format->fields[number].start, width = cursor->format->fields[number].width;
    const int64_t length = cursor->line_end - cursor->line;
    *begin = cursor->line + (start < length ? start : length);
    *end = cursor->line + (start + width < length ? start + width : length);
    while (*begin < *end && tamis_is_blank(**begin)) *begin += 1;
    while (*end > *begin && tamis_is_blank((*end)[-1])) *end -= 1;
}

static void find_word(tamis_fortran_cursor *cursor, const char **begin, const char **end) {
    while (cursor->word < cursor->line_end && tamis_is_blank(*cursor->word)) cursor->word++;
    *begin = cursor->word;
    cursor->word = skip_word(cursor->word, cursor->line_end);
    *end = cursor->word;
}

/* Copies the next field without its blanks into `copy`, which has room for the padding that the number parsers ask for.
 *at is its position. */
static tamis_status take_field(tamis_fortran_cursor *cursor, char *copy, const char **at, int *number) {
    if (cursor->field == cursor->format->count) {
        cursor->line = tamis_next_line(cursor->text, cursor->line);
        enter_line(cursor);
    }
    TRY(cursor->status);
    *number = cursor->field++;
    cursor->remaining--;
    const char *end;
    if (cursor->by_words)
        find_word(cursor, at, &end);
    else
        find_in_columns(cursor, *number, at, &end);
    memcpy(copy, *at, (size_t)(end - *at));
    memset(copy + (end - *at), 0, 16);
    return TAMIS_OK;
}

tamis_status tamis_fortran_integer(tamis_fortran_cursor *cursor, int64_t low, int64_t high, const char *what,
                                   int64_t *value) {
    char copy[TAMIS_FORTRAN_WIDTH + 16];
    const char *at;
    int number;
    TRY(take_field(cursor, copy, &at, &number));
    const char *const after = tamis_parse_integer(copy, value);
    if (!after || *after != '\0' || *value < low || *value > high)
        return tamis_text_fail(cursor->text, at, "%s from %lld to %lld in columns %d to %d", what, (long long)low,
                               (long long)high, cursor->format->fields[number].start + 1,
                               cursor->format->fields[number].start + cursor->format->fields[number].width);
    return TAMIS_OK;
}

tamis_status tamis_fortran_real(tamis_fortran_cursor *cursor, const char *what, double *value) {
    char copy[TAMIS_FORTRAN_WIDTH + 16];
    const char *at;
    int number;
    TRY(take_field(cursor, copy, &at, &number));
    const bool integer = cursor->format->fields[number].kind == 'I';
    for (char *p = copy; *p; p++) /* the blank of "1.5D 02" */
        if (*p == ' ' && p > copy && strchr("dDeE", p[-1])) *p = '+';
    const char *const after = integer ? tamis_parse_real(copy, value)
                                      : tamis_parse_fortran_real(copy, cursor->format->fields[number].decimals,
                                                                 cursor->format->fields[number].scale, value);
    if (!after || *after != '\0')
        return tamis_text_fail(cursor->text, at, "%s in columns %d to %d", what,
                               cursor->format->fields[number].start + 1,
                               cursor->format->fields[number].start + cursor->format->fields[number].width);
    /* digits without a point are a fraction, unless the format has none */
    const bool whole = integer || strchr(copy, '.') ||
                       (cursor->format->fields[number].decimals == 0 && cursor->format->fields[number].scale == 0);
    if (whole || *value == 0 || isinf(*value)) cursor->inexact += !tamis_number_kept(copy, after, *value);
    return TAMIS_OK;
}
