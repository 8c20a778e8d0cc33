/* gzip by zlib, xz by liblzma; each is there when its library was found at configure time. */
#include "packing.h"

#include <stdlib.h>
#include <string.h>

#include "exit.h"

enum { CHUNK = 1 << 16 };

#ifdef TOOL_HAVE_ZLIB
#include <zlib.h>

typedef struct gzip_state {
    z_stream stream;
    unsigned char input[CHUNK];
    bool ended; /* a member has ended; another may follow */
} gzip_state;

static void *gzip_open(void) {
    gzip_state *state = tool_allocate(1, sizeof *state);
    if (inflateInit2(&state->stream, 15 + 16) == Z_OK) return state;
    free(state);
    return NULL;
}

static bool gzip_read(void *unpacker, FILE *file, char *to, size_t bytes, size_t *got, const char **reason) {
    gzip_state *state = unpacker;
    z_stream *stream = &state->stream;
    stream->next_out = (unsigned char *)to;
    stream->avail_out = (uInt)bytes;
    *got = 0;
    while (stream->avail_out == bytes) {
        if (stream->avail_in == 0) {
            stream->next_in = state->input;
            stream->avail_in = (uInt)fread(state->input, 1, CHUNK, file);
            if (stream->avail_in == 0) {
                *reason = "the gzip data are truncated";
                return state->ended && !ferror(file);
            }
        }
        if (state->ended) inflateReset(stream);
        const int result = inflate(stream, Z_NO_FLUSH);
        state->ended = result == Z_STREAM_END;
        if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR) continue;
        *reason = stream->msg ? stream->msg : "the gzip data are damaged";
        return false;
    }
    *got = bytes - stream->avail_out;
    return true;
}

static void gzip_close(void *unpacker) {
    gzip_state *state = unpacker;
    inflateEnd(&state->stream);
    free(state);
}
#else
#define gzip_open  NULL
#define gzip_read  NULL
#define gzip_close NULL
#endif

#ifdef TOOL_HAVE_LZMA
#include <lzma.h>

typedef struct xz_state {
    lzma_stream stream;
    unsigned char input[CHUNK];
    bool ended;
} xz_state;

static void *xz_open(void) {
    xz_state *state = tool_allocate(1, sizeof *state);
    const lzma_stream fresh = LZMA_STREAM_INIT;
    state->stream = fresh;
    if (lzma_stream_decoder(&state->stream, UINT64_MAX, LZMA_CONCATENATED) == LZMA_OK) return state;
    free(state);
    return NULL;
}

static bool xz_read(void *unpacker, FILE *file, char *to, size_t bytes, size_t *got, const char **reason) {
    xz_state *state = unpacker;
    lzma_stream *stream = &state->stream;
    stream->next_out = (unsigned char *)to;
    stream->avail_out = bytes;
    *got = 0;
    while (stream->avail_out == bytes && !state->ended) {
        if (stream->avail_in == 0) {
            stream->next_in = state->input;
            stream->avail_in = fread(state->input, 1, CHUNK, file);
        }
        const lzma_ret result = lzma_code(stream, stream->avail_in == 0 ? LZMA_FINISH : LZMA_RUN);
        state->ended = result == LZMA_STREAM_END;
        if (result == LZMA_OK || result == LZMA_STREAM_END) continue;
        *reason = result == LZMA_BUF_ERROR ? "the xz data are truncated" : "the xz data are damaged";
        return false;
    }
    *got = bytes - stream->avail_out;
    return true;
}

static void xz_close(void *unpacker) {
    xz_state *state = unpacker;
    lzma_end(&state->stream);
    free(state);
}
#else
#define xz_open  NULL
#define xz_read  NULL
#define xz_close NULL
#endif

static const tool_packing packings[] = {
    {"gzip", 2, {0x1f, 0x8b}, "zlib", gzip_open, gzip_read, gzip_close},
    {"xz", 6, {0xfd, '7', 'z', 'X', 'Z', 0}, "liblzma", xz_open, xz_read, xz_close},
};

const tool_packing *tool_packing_of(const unsigned char *first, size_t bytes) {
    for (size_t i = 0; i < sizeof packings / sizeof *packings; i++) {
        if (bytes >= packings[i].marked && memcmp(first, packings[i].mark, packings[i].marked) == 0) {
            return &packings[i];
        }
    }
    return NULL;
}
