/* Escaping and short numbers. */
#include "markup.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The length of the UTF-8 character at `at`, and its number; 0 when there is none. */
static int character(const unsigned char *at, uint32_t *number) {
    if (at[0] < 0x80) {
        *number = at[0];
        return 1;
    }
    const int length = at[0] >= 0xf0 && at[0] < 0xf5 ? 4 : at[0] >= 0xe0 && at[0] < 0xf0 ? 3 : at[0] >= 0xc2 ? 2 : 0;
    if (length == 0 || at[0] >= 0xf5) return 0;
    *number = at[0] & (0xffu >> (length + 1));
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        *number = *number << 6 | (at[i] & 0x3fu);
    }
    const bool overlong = (length == 3 && *number < 0x800) || (length == 4 && *number < 0x10000);
    const bool surrogate = *number >= 0xd800 && *number < 0xe000;
    return overlong || surrogate || *number > 0x10ffff ? 0 : length;
}

void tool_add_raw(tool_text *text, const char *given) { tool_text_add(text, "%s", given); }

void tool_add_escaped_short(tool_text *text, const char *given, int most) {
    const unsigned char *at = (const unsigned char *)(given ? given : "");
    for (int written = 0; *at; written++) {
        uint32_t number = 0;
        const int length = character(at, &number);
        if (written == most - 1 && at[length ? length : 1]) {
            tool_text_add(text, "\u2026");
            return;
        }
        const bool control = number < 0x20 && number != '\t' && number != '\n';
        if (length == 0 || control || number == 0x7f || number == 0xfffe || number == 0xffff) {
            tool_text_add(text, "\ufffd");
        } else if (number == '&') {
            tool_text_add(text, "&amp;");
        } else if (number == '<') {
            tool_text_add(text, "&lt;");
        } else if (number == '>') {
            tool_text_add(text, "&gt;");
        } else if (number == '"') {
            tool_text_add(text, "&quot;");
        } else {
            tool_text_add(text, "%.*s", length, (const char *)at);
        }
        at += length ? length : 1;
    }
}

void tool_add_escaped(tool_text *text, const char *given) { tool_add_escaped_short(text, given, INT32_MAX); }

tool_word tool_word_time(double milliseconds) {
    const tool_word plain = tool_word_seconds(1e-3 * milliseconds);
    const char *blank = strchr(plain.text, ' ');
    if (!blank || !isfinite(milliseconds)) return (tool_word){"\u2013"};
    tool_word word;
    const char *unit = blank + 1;
    snprintf(word.text, sizeof word.text, "%.*s\u00a0%s%s", (int)(blank - plain.text), plain.text,
             unit[0] == 'u' ? "\u00b5" : "", unit[0] == 'u' ? unit + 1 : unit);
    return word;
}

tool_word tool_word_ratio(double ratio) {
    tool_word word;
    if (!isfinite(ratio)) return (tool_word){"\u2013"};
    const int decimals = ratio >= 99.5 ? 0 : ratio >= 9.95 ? 1 : ratio >= 0.0995 ? 2 : 3;
    snprintf(word.text, sizeof word.text, "%.*f\u00d7", decimals, ratio);
    return word;
}

tool_word tool_word_percent(double percent) {
    tool_word word;
    if (!isfinite(percent)) return (tool_word){"\u2013"};
    snprintf(word.text, sizeof word.text, "%.*f\u00a0%%", fabs(percent) < 9.95 ? 1 : 0, percent);
    return word;
}

tool_word tool_word_place(double value) {
    tool_word word;
    snprintf(word.text, sizeof word.text, "%.1f", value);
    char *end = word.text + strlen(word.text);
    if (end - word.text > 2 && end[-1] == '0') end[-2] = 0;
    if (strcmp(word.text, "-0") == 0) return (tool_word){"0"};
    return word;
}

tool_word tool_word_cell(double value) {
    tool_word word = {""};
    if (!isfinite(value)) return word;
    const double size = fabs(value);
    int decimals = 0;
    for (double limit = 1000; size < limit && size > 0 && decimals < 8; limit /= 10) decimals++;
    snprintf(word.text, sizeof word.text, "%.*f", decimals, value);
    if (strchr(word.text, '.')) {
        char *end = word.text + strlen(word.text) - 1;
        while (*end == '0') *end-- = 0;
        if (*end == '.') *end = 0;
    }
    return word;
}
