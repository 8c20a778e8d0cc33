/* Unpacking block by block: gzip, xz and Zstandard, one table row each. */
#define _GNU_SOURCE
#include "io/pack/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/files/file_error.h"
#include "io/files/standard.h"

#if TAMIS_HAVE_ZLIB
#include "io/pack/zlib_memory.h"
#endif
#if TAMIS_HAVE_LZMA
#include <lzma.h>
#endif
#if TAMIS_HAVE_ZSTD
#include <zstd.h>
#endif

enum { INPUT_BLOCK = 256 << 10, MAGIC_MOST = 6, STEP = 1 << 30, MOST_PADDING = 64 << 20 };

/* step: decompresses the input, or ends the content. start: NULL if the build does not include the format. */
typedef struct tamis_packer {
    const char *name;
    unsigned char magic[MAGIC_MOST];
    int magic_bytes;
    tamis_status (*start)(tamis_unpacker *u);
    tamis_status (*step)(tamis_unpacker *u, char *to, size_t room, size_t *got);
    void (*stop)(tamis_unpacker *u);
} tamis_packer;

static tamis_status read_some(tamis_unpacker *u, void *to, size_t room, size_t *got) {
    ssize_t count;
    do count = read(u->descriptor, to, room);
    while (count < 0 && errno == EINTR);
    if (count < 0) return tamis_file_error(u->name, "read");
    *got = (size_t)count;
    u->taken += count;
    return TAMIS_OK;
}

/* Refills the input behind its unread rest. */
static tamis_status fill(tamis_unpacker *u) {
    const size_t left = (size_t)(u->end - u->at);
    size_t got = 0;
    if (left > 0) memmove(u->block, u->at, left);
    u->at = u->block;
    u->end = u->block + left;
    TRY(read_some(u, u->block + left, INPUT_BLOCK - left, &got));
    u->end += got;
    u->input_ended = got == 0;
    return TAMIS_OK;
}

#if TAMIS_HAVE_ZLIB || TAMIS_HAVE_LZMA || TAMIS_HAVE_ZSTD
/* Returns the offset in the packed file of the next byte of the input. */
static int64_t place_of(const tamis_unpacker *u) { return u->taken - (u->end - u->at); }
#endif

static tamis_status truncated(const tamis_unpacker *u) {
    return tamis_fail(TAMIS_ERROR_FORMAT, "%s: the %s data are damaged: truncated", u->name, u->packer->name);
}

#if TAMIS_HAVE_ZLIB || TAMIS_HAVE_LZMA || TAMIS_HAVE_ZSTD
static tamis_status broken(const tamis_unpacker *u, const char *reason) {
    return tamis_fail(TAMIS_ERROR_FORMAT, "%s: the %s data are damaged at byte %lld: %s", u->name, u->packer->name,
                      (long long)place_of(u), reason);
}

static tamis_status no_memory(const tamis_unpacker *u) {
    return tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory to decompress", u->name);
}

static size_t at_most(size_t count, size_t most) { return count < most ? count : most; }
#endif

/* ---- gzip */

#if TAMIS_HAVE_ZLIB

static tamis_status start_gzip(tamis_unpacker *u) {
    void *memory;
    TRY(tamis_allocate_zeroed(1, sizeof(z_stream), "unpacking", &memory));
    z_stream *const stream = memory;
    stream->zalloc = tamis_zlib_allocate;
    stream->zfree = tamis_zlib_free;
    if (inflateInit2(stream, 15 + 16) != Z_OK) {
        tamis_release(memory);
        return no_memory(u);
    }
    u->state = stream;
    return TAMIS_OK;
}

/* Skips zeros up to the end of the file, with which tapes and block devices pad it; any other byte is an error. */
static tamis_status end_padding(tamis_unpacker *u) {
    const int64_t start = place_of(u);
    do {
        while (u->at < u->end && *u->at == 0) u->at++;
        if (u->at < u->end || place_of(u) - start > MOST_PADDING)
            return tamis_fail(TAMIS_ERROR_FORMAT,
                              "%s: the gzip data end at byte %lld of the file, and what stands behind them is no gzip "
                              "member: expected one, or zeros up to the end",
                              u->name, (long long)start);
        if (!u->input_ended) TRY(fill(u));
    } while (u->at < u->end);
    u->ended = true;
    return TAMIS_OK;
}

/* Begins the next member, if one follows. */
static tamis_status next_member(tamis_unpacker *u) {
    while (u->end - u->at < 2 && !u->input_ended) TRY(fill(u));
    if (u->end - u->at < 2 || u->at[0] != 0x1f || u->at[1] != 0x8b) return end_padding(u);
    inflateReset(u->state);
    return TAMIS_OK;
}

static tamis_status step_gzip(tamis_unpacker *u, char *to, size_t room, size_t *got) {
    z_stream *const stream = u->state;
    const uInt in = (uInt)at_most((size_t)(u->end - u->at), STEP), out = (uInt)at_most(room, STEP);
    memcpy(&stream->next_in, &u->at, sizeof u->at); /* zlib's pointer is not const; it does not write there */
    stream->avail_in = in;
    stream->next_out = (Bytef *)to;
    stream->avail_out = out;
    const int result = inflate(stream, Z_NO_FLUSH);
    u->at += in - stream->avail_in;
    *got = out - stream->avail_out;
    if (result == Z_STREAM_END) return next_member(u);
    if (result == Z_MEM_ERROR) return no_memory(u);
    if (result != Z_OK && result != Z_BUF_ERROR) return broken(u, stream->msg ? stream->msg : "bad block");
    return TAMIS_OK;
}

static void stop_gzip(tamis_unpacker *u) {
    inflateEnd(u->state);
    tamis_release(u->state);
}

#else
#define start_gzip NULL
#define step_gzip  NULL
#define stop_gzip  NULL
#endif

/* ---- xz */

#if TAMIS_HAVE_LZMA

enum { LZMA_MEMORY = 768 << 20 }; /* limit of a file's request; xz -9 needs 65 MiB */

typedef struct xz_state {
    lzma_stream stream;
    lzma_allocator allocator;
} xz_state;

static void *xz_allocate(void *context, size_t count, size_t size) {
    (void)context;
    void *memory = NULL;
    if (count > INT64_MAX) return NULL;
    return tamis_allocate((int64_t)count, size, "unpacking", &memory) == TAMIS_OK ? memory : NULL;
}

static void xz_release(void *context, void *memory) {
    (void)context;
    tamis_release(memory);
}

static tamis_status xz_failed(const tamis_unpacker *u, lzma_ret result) {
    switch (result) {
    case LZMA_MEM_ERROR: return no_memory(u);
    case LZMA_MEMLIMIT_ERROR: return broken(u, "decompression needs more than 768 MiB");
    case LZMA_FORMAT_ERROR: return broken(u, "not the xz format");
    case LZMA_OPTIONS_ERROR: return broken(u, "an option that liblzma does not support");
    case LZMA_BUF_ERROR: return truncated(u);
    default: return broken(u, "bad block");
    }
}

static tamis_status start_xz(tamis_unpacker *u) {
    void *memory;
    TRY(tamis_allocate_zeroed(1, sizeof(xz_state), "unpacking", &memory));
    xz_state *const state = memory;
    state->stream = (lzma_stream)LZMA_STREAM_INIT;
    state->allocator = (lzma_allocator){.alloc = xz_allocate, .free = xz_release};
    state->stream.allocator = &state->allocator;
    const lzma_ret result = lzma_stream_decoder(&state->stream, LZMA_MEMORY, LZMA_CONCATENATED);
    if (result != LZMA_OK) {
        tamis_release(memory);
        return xz_failed(u, result);
    }
    u->state = state;
    return TAMIS_OK;
}

static tamis_status step_xz(tamis_unpacker *u, char *to, size_t room, size_t *got) {
    lzma_stream *const stream = &((xz_state *)u->state)->stream;
    stream->next_in = u->at;
    stream->avail_in = (size_t)(u->end - u->at);
    stream->next_out = (uint8_t *)to;
    stream->avail_out = room;
    const lzma_ret result = lzma_code(stream, u->input_ended ? LZMA_FINISH : LZMA_RUN);
    u->at = u->end - stream->avail_in;
    *got = room - stream->avail_out;
    u->ended = result == LZMA_STREAM_END;
    return u->ended || result == LZMA_OK ? TAMIS_OK : xz_failed(u, result);
}

static void stop_xz(tamis_unpacker *u) {
    lzma_end(&((xz_state *)u->state)->stream);
    tamis_release(u->state);
}

#else
#define start_xz NULL
#define step_xz  NULL
#define stop_xz  NULL
#endif

/* ---- Zstandard */

#if TAMIS_HAVE_ZSTD

typedef struct zstd_state {
    ZSTD_DStream *stream;
    bool within; /* a frame has begun and not ended */
} zstd_state;

static tamis_status start_zstd(tamis_unpacker *u) {
    void *memory;
    TRY(tamis_allocate_zeroed(1, sizeof(zstd_state), "unpacking", &memory));
    zstd_state *const state = memory;
    state->stream = ZSTD_createDStream();
    state->within = true;
    if (!state->stream) {
        tamis_release(memory);
        return no_memory(u);
    }
    u->state = state;
    return TAMIS_OK;
}

static tamis_status step_zstd(tamis_unpacker *u, char *to, size_t room, size_t *got) {
    zstd_state *const state = u->state;
    if (u->input_ended && u->at == u->end && !state->within) {
        u->ended = true;
        return TAMIS_OK;
    }
    ZSTD_inBuffer in = {.src = u->at, .size = (size_t)(u->end - u->at)};
    ZSTD_outBuffer out = {.dst = to, .size = room};
    const size_t result = ZSTD_decompressStream(state->stream, &out, &in);
    u->at += in.pos;
    *got = out.pos;
    if (ZSTD_isError(result)) return broken(u, ZSTD_getErrorName(result));
    state->within = result != 0;
    return TAMIS_OK;
}

static void stop_zstd(tamis_unpacker *u) {
    ZSTD_freeDStream(((zstd_state *)u->state)->stream);
    tamis_release(u->state);
}

#else
#define start_zstd NULL
#define step_zstd  NULL
#define stop_zstd  NULL
#endif

/* ---- the whole */

static const tamis_packer packers[] = {
    {"gzip", {0x1f, 0x8b, 0x08}, 3, start_gzip, step_gzip, stop_gzip},
    {"xz", {0xfd, '7', 'z', 'X', 'Z', 0x00}, 6, start_xz, step_xz, stop_xz},
    {"Zstandard", {0x28, 0xb5, 0x2f, 0xfd}, 4, start_zstd, step_zstd, stop_zstd},
};

static void stop(tamis_unpacker *u) {
    if (u->state) u->packer->stop(u);
    u->state = NULL;
    u->packer = NULL;
}

/* Detects the packer by the first bytes and starts it. */
static tamis_status begin(tamis_unpacker *u) {
    u->ended = false;
    while (u->end - u->at < MAGIC_MOST && !u->input_ended) TRY(fill(u));
    for (size_t i = 0; i < sizeof packers / sizeof *packers; i++) {
        const tamis_packer *const packer = &packers[i];
        if (u->end - u->at < packer->magic_bytes || memcmp(u->at, packer->magic, (size_t)packer->magic_bytes) != 0)
            continue;
        if (!packer->start)
            return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s: packed with %s, which this build of Tamis does not include",
                              u->name, packer->name);
        u->packer = packer;
        return packer->start(u);
    }
    return TAMIS_OK;
}

static tamis_status open_input(const char *path, tamis_unpacker *u) {
    if (tamis_is_standard(path)) return tamis_standard_input(&u->descriptor, &u->origin);
    do u->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    while (u->descriptor < 0 && errno == EINTR);
    return u->descriptor >= 0 ? TAMIS_OK : tamis_file_error(path, "open");
}

tamis_status tamis_unpacker_open(const char *path, tamis_unpacker *u) {
    tamis_status status = TAMIS_OK;
    void *memory = NULL;
    struct stat about;
    *u = (tamis_unpacker){.name = path};
    TRY(open_input(path, u));
    if (fstat(u->descriptor, &about) != 0) {
        status = tamis_file_error(path, "read its size");
        goto failed;
    }
    if (S_ISDIR(about.st_mode)) {
        status = tamis_fail(TAMIS_ERROR_FILE, "%s: cannot read: it is a folder", path);
        goto failed;
    }
    if (S_ISREG(about.st_mode) && about.st_size > u->origin) u->told = (int64_t)about.st_size - u->origin;
    TRY_GOTO(failed, tamis_allocate(INPUT_BLOCK, 1, "a block of the file", &memory));
    u->block = memory;
    u->at = u->end = u->block;
    if (tamis_is_standard(path)) u->taken = (int64_t)tamis_standard_head(u->block, INPUT_BLOCK);
    u->end += u->taken;
    TRY_GOTO(failed, begin(u));
    return TAMIS_OK;
failed:
    tamis_unpacker_close(u);
    return status;
}

tamis_status tamis_unpacker_open_memory(const char *name, const void *data, size_t bytes, tamis_unpacker *u) {
    *u = (tamis_unpacker){.name = name,
                          .at = data,
                          .end = (const unsigned char *)data + bytes,
                          .told = (int64_t)bytes,
                          .taken = (int64_t)bytes,
                          .input_ended = true,
                          .descriptor = -1};
    const tamis_status status = begin(u);
    if (status != TAMIS_OK) tamis_unpacker_close(u);
    return status;
}

void tamis_unpacker_close(tamis_unpacker *u) {
    stop(u);
    tamis_release(u->block);
    if (u->descriptor >= 0) close(u->descriptor);
    u->block = NULL;
    u->descriptor = -1;
}

tamis_status tamis_unpacker_rewind(tamis_unpacker *u) {
    stop(u);
    if (lseek(u->descriptor, (off_t)u->origin, SEEK_SET) < 0 && errno == ESPIPE)
        return tamis_fail(TAMIS_ERROR_FILE,
                          "%s: a pipe, which cannot be read again from its beginning: write it to a file first",
                          u->name);
    if (lseek(u->descriptor, (off_t)u->origin, SEEK_SET) < 0)
        return tamis_file_error(u->name, "go back to its beginning");
    u->at = u->end = u->block;
    u->taken = 0;
    u->input_ended = false;
    const tamis_status status = begin(u);
    u->ended = status != TAMIS_OK;
    return status;
}

/* Reads uncompressed data: first the bytes read for detection. */
static tamis_status read_plain(tamis_unpacker *u, char *to, size_t room, size_t *got) {
    const size_t left = (size_t)(u->end - u->at);
    if (left > 0) {
        *got = left < room ? left : room;
        memcpy(to, u->at, *got);
        u->at += *got;
        return TAMIS_OK;
    }
    if (!u->input_ended) TRY(read_some(u, to, room, got));
    u->ended = *got == 0;
    return TAMIS_OK;
}

tamis_status tamis_unpacker_read(tamis_unpacker *u, char *to, size_t room, size_t *got) {
    *got = 0;
    if (u->ended) return TAMIS_OK;
    if (!u->packer) return read_plain(u, to, room, got);
    while (*got == 0 && !u->ended) {
        if (u->at == u->end && !u->input_ended) TRY(fill(u));
        TRY(u->packer->step(u, to, room, got));
        if (*got == 0 && !u->ended && u->input_ended && u->at == u->end) return truncated(u);
    }
    return TAMIS_OK;
}

size_t tamis_unpacked_name_length(const char *name) {
    static const char *const endings[] = {".gz", ".xz", ".zst"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(name + length - ending, endings[i]) == 0) return length - ending;
    }
    return length;
}

bool tamis_unpacked_name_ends(const char *name, const char *ending) {
    const size_t length = tamis_unpacked_name_length(name), size = strlen(ending);
    return length > size && strncasecmp(name + length - size, ending, size) == 0;
}
