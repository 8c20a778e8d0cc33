/*
 * Characters, numbers and lines of a file that is read block by block, and the messages for what is wrong in it;
 * io/text.h has the same for a file in memory.
 */
#include "ml/stream.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/number.h"
#include "io/unpack.h"

enum { BLOCK = 256 << 10, SHOWN = 32 /* characters of a bad token that a message quotes */, NUMBER_MOST = 255 };

struct ml_stream {
    tamis_unpacker bytes;
    char *path;
    char *block;
    size_t at, end;
    int64_t line;
    bool ended;
    tamis_status status; /* why it ended */
};

/* ---- characters */

static void fill(ml_stream *stream) {
    stream->at = stream->end = 0;
    if (stream->ended) return;
    stream->status = tamis_unpacker_read(&stream->bytes, stream->block, BLOCK, &stream->end);
    if (stream->status != TAMIS_OK) stream->end = 0;
    stream->ended = stream->end == 0;
}

static inline int peek(ml_stream *stream) {
    if (stream->at == stream->end) fill(stream);
    return stream->at < stream->end ? (unsigned char)stream->block[stream->at] : ML_STREAM_END;
}

static inline int take(ml_stream *stream) {
    const int c = peek(stream);
    if (c == ML_STREAM_END) return c;
    stream->line += c == '\n';
    stream->at++;
    return c;
}

static inline bool is_blank(int c) { return c == ' ' || c == '\t' || c == '\r'; }

int ml_stream_peek(ml_stream *stream) { return peek(stream); }
int ml_stream_take(ml_stream *stream) { return take(stream); }
tamis_status ml_stream_status(const ml_stream *stream) { return stream->status; }

/* A mark at the beginning says only that the text is UTF-8. */
static void begin(ml_stream *stream) {
    stream->at = stream->end = 0;
    stream->line = 1;
    stream->ended = false;
    stream->status = TAMIS_OK;
    fill(stream);
    if (stream->end >= 3 && memcmp(stream->block, "\xef\xbb\xbf", 3) == 0) stream->at = 3;
}

tamis_status ml_stream_open(const char *path, ml_stream **stream) {
    tamis_status status = TAMIS_OK;
    void *memory = NULL;
    ml_stream *made = NULL;
    TRY(tamis_allocate_zeroed(1, sizeof(ml_stream), "a file", &memory));
    made = memory;
    made->bytes.descriptor = -1;
    const size_t length = strlen(path) + 1;
    TRY_GOTO(failed, tamis_allocate((int64_t)length, 1, "a file's name", &memory));
    made->path = memory;
    memcpy(made->path, path, length);
    TRY_GOTO(failed, tamis_allocate(BLOCK, 1, "a block of the file", &memory));
    made->block = memory;
    TRY_GOTO(failed, tamis_unpacker_open(made->path, &made->bytes));
    begin(made);
    TRY_GOTO(failed, made->status);
    *stream = made;
    return TAMIS_OK;
failed:
    ml_stream_close(made);
    return status;
}

void ml_stream_close(ml_stream *stream) {
    if (!stream) return;
    tamis_unpacker_close(&stream->bytes);
    tamis_release(stream->block);
    tamis_release(stream->path);
    tamis_release(stream);
}

tamis_status ml_stream_rewind(ml_stream *stream) {
    TRY(tamis_unpacker_rewind(&stream->bytes));
    begin(stream);
    return stream->status;
}

/* ---- messages */

static bool ends_token(int c) { return c == ML_STREAM_END || is_blank(c) || c == '\n' || c == ',' || c == ';'; }

/* What stands next, quoted: never a control character, never long. `taken` is the part of it that was taken already. */
static void describe(ml_stream *stream, const char *taken, char *shown, size_t size) {
    size_t length = 0;
    int count = 0;
    if (*taken == '\0') {
        const int c = ml_stream_skip_blanks(stream);
        if (c == ML_STREAM_END || c == '\n') {
            snprintf(shown, size, "the end of the %s", c == '\n' ? "line" : "file");
            return;
        }
    }
    shown[length++] = '\'';
    for (; *taken != '\0' && count < SHOWN; count++) shown[length++] = *taken++;
    const bool more = *taken != '\0';
    for (; count < SHOWN && (count == 0 || !ends_token(peek(stream))); count++) {
        const int c = take(stream);
        if (c >= 0x20 && c < 0x7f)
            shown[length++] = (char)c;
        else
            length += (size_t)snprintf(shown + length, size - length, "\\x%02x", (unsigned)c);
    }
    snprintf(shown + length, size - length, more || (count == SHOWN && !ends_token(peek(stream))) ? "...'" : "'");
}

static tamis_status fail_with(ml_stream *stream, const char *taken, const char *expected) {
    char found[SHOWN * 4 + 16];
    if (peek(stream) == ML_STREAM_END && stream->status != TAMIS_OK) return stream->status;
    const int64_t line = stream->line;
    describe(stream, taken, found, sizeof found);
    return tamis_fail(TAMIS_ERROR_FORMAT, "%s:%lld: found %s, expected %s", stream->path, (long long)line, found,
                      expected);
}

tamis_status ml_stream_fail(ml_stream *stream, const char *format, ...) {
    char expected[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    return fail_with(stream, "", expected);
}

/* ---- fields */

int ml_stream_skip_blanks(ml_stream *stream) {
    while (is_blank(peek(stream))) take(stream);
    return peek(stream);
}

int ml_stream_skip_lines(ml_stream *stream) {
    while (is_blank(peek(stream)) || peek(stream) == '\n') take(stream);
    return peek(stream);
}

tamis_status ml_stream_index(ml_stream *stream, int64_t low, int64_t high, const char *what, int64_t *value) {
    char digits[SHOWN + 2], expected[192];
    size_t count = 0;
    int64_t number = 0;
    ml_stream_skip_blanks(stream);
    for (int c = peek(stream); c >= '0' && c <= '9'; c = peek(stream)) {
        const int64_t digit = c - '0';
        number = number > (INT64_MAX - digit) / 10 ? INT64_MAX : number * 10 + digit;
        if (count < sizeof digits - 1) digits[count++] = (char)c;
        take(stream);
    }
    digits[count] = '\0';
    if (count > 0 && number >= low && number <= high) {
        *value = number;
        return TAMIS_OK;
    }
    snprintf(expected, sizeof expected, "%s from %lld to %lld", what, (long long)low, (long long)high);
    return fail_with(stream, digits, expected);
}

tamis_status ml_stream_real(ml_stream *stream, const char *what, double *value) {
    char token[NUMBER_MOST + 1 + 16] = {0}; /* tamis_parse_real wants 16 characters behind the number */
    size_t count = 0;
    while (count < NUMBER_MOST && !ends_token(peek(stream)) && peek(stream) > 0x20 && peek(stream) < 0x7f)
        token[count++] = (char)take(stream);
    const char *const end = tamis_parse_real(token, value);
    const int next = peek(stream);
    if (end == token + count && count > 0 && (next == ML_STREAM_END || next == '\n' || is_blank(next))) return TAMIS_OK;
    return fail_with(stream, token, what);
}

tamis_status ml_stream_line_end(ml_stream *stream, const char *after) {
    const int next = ml_stream_skip_blanks(stream);
    if (next == '\n') {
        take(stream);
        return TAMIS_OK;
    }
    if (next == ML_STREAM_END) return stream->status;
    return ml_stream_fail(stream, "the end of the line after %s", after);
}
