/* Text helpers. */
#include "cli/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/exit.h"
#include "io/formats/formats.h"

void tool_text_add(tool_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    const size_t needed = text->length + (size_t)length + 1;
    if (needed > text->capacity) {
        text->capacity = needed * 2;
        text->data = tool_grow(text->data, text->capacity, 1);
    }
    va_start(arguments, format);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

const char *tool_text_get(const tool_text *text) { return text->data ? text->data : ""; }

void tool_text_free(tool_text *text) {
    free(text->data);
    *text = (tool_text){0};
}

tool_word tool_word_of(const char *format, ...) {
    tool_word word;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(word.text, sizeof word.text, format, arguments);
    va_end(arguments);
    return word;
}

tool_word tool_word_count(int64_t count) {
    tool_word word;
    char digits[32];
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)count);
    size_t to = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-') word.text[to++] = ',';
        word.text[to++] = digits[i];
    }
    word.text[to] = 0;
    return word;
}

static int decimals(double value) {
    const double size = fabs(value);
    return size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
}

tool_word tool_word_short(double value) {
    static const char *const units[] = {"", " k", " M", " G", " T"};
    int unit = 0;
    while (fabs(value) >= 999.5 && unit < 4) value /= 1000, unit++;
    return tool_word_of("%.*f%s", !unit && value == floor(value) ? 0 : decimals(value), value, units[unit]);
}

tool_word tool_word_bytes(int64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1023.95 && unit < 4) value /= 1024, unit++;
    return tool_word_of("%.*f %s", unit && value != floor(value) ? 1 : 0, value, units[unit]);
}

tool_word tool_word_seconds(double seconds) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double value = seconds * 1e9;
    int unit = 0;
    while (value >= 999.5 && unit < 3) value /= 1000, unit++;
    return tool_word_of("%.*f %s", decimals(value), value, units[unit]);
}

tool_word tool_word_number(double value) {
    if (!isfinite(value)) return tool_word_of("%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    if (value != 0 && (fabs(value) < 1e-3 || fabs(value) >= 1e6)) return tool_word_of("%.2e", value);
    return tool_word_of("%.*f", fabs(value) < 0.0995 ? 4 : decimals(value), value);
}

bool tool_parse_integer(const char *text, size_t length, int64_t *value) {
    char digits[48];
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '_' && i > 0) continue;
        if (count + 1 >= sizeof digits) return false;
        digits[count++] = text[i];
    }
    digits[count] = 0;
    if (count == 0 || !strchr("+-0123456789.", digits[0])) return false;
    char *end = NULL;
    const long long whole = strtoll(digits, &end, 10);
    if (*end == 0 && end != digits) {
        *value = whole;
        return whole > INT64_MIN && whole < INT64_MAX;
    }
    const size_t plain = strspn(digits, "+-0123456789.eE"); /* strtod would take 0x10 and inf too */
    double number = strtod(digits, &end);
    if (end == digits || end > digits + plain) return false;
    static const char suffixes[] = "kMG";
    const char *suffix = *end ? strchr(suffixes, *end == 'K' ? 'k' : *end) : NULL;
    if (suffix) {
        number *= pow(1000.0, (double)(suffix - suffixes) + 1);
        end++;
    }
    if (*end || !(fabs(number) < 9e18) || number != floor(number)) return false;
    *value = (int64_t)number;
    return true;
}

/* Damerau-Levenshtein distance (optimal string alignment); names longer than the table are never near. */
static int edit_distance(const char *a, const char *b) {
    enum { LONGEST = 40 };
    const int m = (int)strlen(a), n = (int)strlen(b);
    if (m > LONGEST || n > LONGEST) return LONGEST;
    int table[LONGEST + 1][LONGEST + 1];
    for (int i = 0; i <= m; i++) table[i][0] = i;
    for (int j = 0; j <= n; j++) table[0][j] = j;
    for (int i = 1; i <= m; i++) {
        for (int j = 1; j <= n; j++) {
            int best = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (table[i - 1][j] + 1 < best) best = table[i - 1][j] + 1;
            if (table[i][j - 1] + 1 < best) best = table[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && table[i - 2][j - 2] + 1 < best)
                best = table[i - 2][j - 2] + 1;
            table[i][j] = best;
        }
    }
    return table[m][n];
}

const char *tool_nearest(const char *wanted, const char *const *names) {
    const char *nearest = NULL;
    const int length = (int)strlen(wanted);
    /* one more than the largest accepted distance; a single letter would be near to every other one, so it has no
       neighbours */
    int best = length < 2 ? 1 : length < 3 ? 2 : length / 3 + 2;
    for (; *names; names++) {
        int distance = edit_distance(wanted, *names);
        if (length >= 3 && strncmp(wanted, *names, (size_t)length) == 0) distance = 1; /* a beginning */
        if (distance < best) best = distance, nearest = *names;
    }
    return nearest;
}

tool_hint tool_did_you_mean(const char *dashes, const char *wanted, const char *const *names) {
    const char *nearest = tool_nearest(wanted, names);
    tool_hint hint = {""};
    if (nearest) snprintf(hint.text, sizeof hint.text, " (did you mean %s%s?)", dashes, nearest);
    return hint;
}

void tool_wrap(FILE *out, const char *paragraph, int column, int indent, int width) {
    bool first = true;
    while (*paragraph) {
        const char *space = paragraph;
        while (*space && *space != ' ' && *space != '\n') space++;
        const int length = (int)(space - paragraph);
        if (!first && column + 1 + length > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', out);
            column++;
        }
        fwrite(paragraph, 1, (size_t)length, out);
        column += length;
        first = false;
        paragraph = *space ? space + 1 : space;
        if (*space == '\n') {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            first = true;
        }
    }
    fputc('\n', out);
}

int tool_terminal_width(void) {
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col < 60 ? 60 : size.ws_col > 120 ? 120 : size.ws_col;
}

void tool_matrix_name(const char *path, char *name, size_t bytes) {
    const char *slash = strrchr(path, '/');
    snprintf(name, bytes, "%s", slash && slash[1] ? slash + 1 : path);
    name[tamis_file_stem_length(name)] = 0;
}
