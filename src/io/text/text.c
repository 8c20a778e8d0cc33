/* Scans text line by line, and makes error messages with line numbers, which are counted only when needed. */
#include "io/text/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

enum { SHOWN = 32 }; /* characters of a bad token that a message quotes */

int64_t tamis_text_line(const tamis_bounded_text *text, const char *at) {
    int64_t line = 1 + text->lines_before;
    for (const char *p = text->begin; p < at; p++) line += *p == '\n';
    return line;
}

static bool ends_token(const tamis_bounded_text *text, const char *p) {
    return p >= text->end || *p == ' ' || *p == '\t' || *p == '\r' || *p == '\n' || *p == ',' || *p == ';';
}

/* Quotes the token at `at`, shortened and without control characters. */
static void describe(const tamis_bounded_text *text, const char *at, char *shown, size_t size) {
    while (at < text->end && tamis_is_blank(*at)) at++;
    if (at >= text->end) {
        snprintf(shown, size, "the end of the file");
        return;
    }
    if (*at == '\n') {
        snprintf(shown, size, "the end of the line");
        return;
    }
    size_t length = 0;
    int count = 0;
    shown[length++] = '\'';
    const char *p = at;
    do {
        const unsigned char c = (unsigned char)*p++;
        if (c >= 0x20 && c < 0x7f)
            shown[length++] = (char)c;
        else
            length += (size_t)snprintf(shown + length, size - length, "\\x%02x", c);
    } while (++count < SHOWN && !ends_token(text, p));
    snprintf(shown + length, size - length, count == SHOWN && !ends_token(text, p) ? "...'" : "'");
}

tamis_status tamis_text_fail(const tamis_bounded_text *text, const char *at, const char *format, ...) {
    char found[SHOWN * 4 + 16], expected[256];
    describe(text, at, found, sizeof found);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    return tamis_fail(TAMIS_ERROR_FORMAT, "%s:%lld: found %s, expected %s", text->name,
                      (long long)tamis_text_line(text, at), found, expected);
}

tamis_status tamis_text_refuse(tamis_status status, const tamis_bounded_text *text, const char *at, const char *format,
                               ...) {
    char message[384];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return tamis_fail(status, "%s:%lld: %s", text->name, (long long)tamis_text_line(text, at), message);
}

const char *tamis_next_line(const tamis_bounded_text *text, const char *p) {
    if (p >= text->end) return text->end;
    const char *const newline = memchr(p, '\n', (size_t)(text->end - p));
    return newline ? newline + 1 : text->end;
}

const char *tamis_skip_comments(const tamis_bounded_text *text, const char *p, const char *comments) {
    for (;;) {
        p = tamis_skip_blanks(p);
        if (p >= text->end) return text->end;
        if (*p != '\n' && (*p == '\0' || !strchr(comments, *p))) return p;
        p = tamis_next_line(text, p);
    }
}

tamis_status tamis_text_index(const tamis_bounded_text *text, const char **p, int64_t low, int64_t high,
                              const char *what, int64_t *value) {
    const char *const start = tamis_skip_blanks(*p);
    const char *const after = tamis_parse_index(start, value);
    if (!after || *value < low || *value > high) {
        if (high == INT64_MAX) return tamis_text_fail(text, start, "%s of %lld or more", what, (long long)low);
        return tamis_text_fail(text, start, "%s from %lld to %lld", what, (long long)low, (long long)high);
    }
    *p = after;
    return TAMIS_OK;
}

tamis_status tamis_text_line_end(const tamis_bounded_text *text, const char **p, const char *after) {
    const char *const start = tamis_skip_blanks(*p);
    if (!tamis_at_line_end(text, start)) return tamis_text_fail(text, start, "the end of the line after %s", after);
    *p = start < text->end ? start + 1 : text->end;
    return TAMIS_OK;
}

tamis_status tamis_text_file_end(const tamis_bounded_text *text, const char *p, const char *comments,
                                 const char *after) {
    p = tamis_skip_comments(text, p, comments);
    if (p < text->end) return tamis_text_fail(text, p, "the end of the file after %s", after);
    return TAMIS_OK;
}
