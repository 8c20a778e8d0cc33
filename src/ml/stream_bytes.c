/* Reading and unpacking a file block by block: gzip, xz and Zstandard, one table row each. */
#include "ml/stream_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/source.h"
#include "io/unpack.h"

#if TAMIS_HAVE_ZLIB
#include "io/zlib_memory.h"
#endif
#if TAMIS_HAVE_LZMA
#include <lzma.h>
#endif
#if TAMIS_HAVE_ZSTD
#include <zstd.h>
#endif

enum { INPUT_BLOCK = 256 << 10, MAGIC_MOST = 6 };

/* step: unpacks what is in the input, or ends the content. start is NULL where the build does not include it. */
typedef struct ml_packer {
    const char *name;
    unsigned char magic[MAGIC_MOST];
    size_t magic_bytes;
    tamis_status (*start)(ml_bytes *bytes);
    tamis_status (*step)(ml_bytes *bytes, char *to, size_t room, size_t *got);
    void (*stop)(ml_bytes *bytes);
} ml_packer;

static tamis_status file_error(const char *name, const char *doing) {
    return tamis_fail(TAMIS_ERROR_FILE, "%s: cannot %s: %s", name, doing, strerror(errno));
}

static tamis_status read_some(const ml_bytes *bytes, void *to, size_t room, size_t *got) {
    ssize_t count;
    do count = read(bytes->descriptor, to, room);
    while (count < 0 && errno == EINTR);
    if (count < 0) return file_error(bytes->name, "read");
    *got = (size_t)count;
    return TAMIS_OK;
}

/* More input behind what is left of it. */
static tamis_status fill(ml_bytes *bytes) {
    const size_t left = bytes->input_end - bytes->input_at;
    size_t got = 0;
    if (left > 0) memmove(bytes->input, bytes->input + bytes->input_at, left);
    bytes->input_at = 0;
    bytes->input_end = left;
    TRY(read_some(bytes, bytes->input + left, INPUT_BLOCK - left, &got));
    bytes->input_end += got;
    bytes->input_ended = got == 0;
    return TAMIS_OK;
}

#if TAMIS_HAVE_ZLIB || TAMIS_HAVE_LZMA || TAMIS_HAVE_ZSTD
static tamis_status broken(const ml_bytes *bytes, const char *reason) {
    return tamis_fail(TAMIS_ERROR_FORMAT, "%s: the %s data is broken: %s", bytes->name, bytes->packer->name, reason);
}

static tamis_status no_memory(const ml_bytes *bytes) {
    return tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory to unpack", bytes->name);
}
#endif

/* ---- gzip */

#if TAMIS_HAVE_ZLIB

static tamis_status start_gzip(ml_bytes *bytes) {
    void *memory;
    TRY(tamis_allocate_zeroed(1, sizeof(z_stream), "unpacking", &memory));
    z_stream *const stream = memory;
    stream->zalloc = tamis_zlib_allocate;
    stream->zfree = tamis_zlib_free;
    if (inflateInit2(stream, 15 + 16) != Z_OK) {
        tamis_release(memory);
        return no_memory(bytes);
    }
    bytes->state = stream;
    return TAMIS_OK;
}

/* Another member may follow; anything else, such as zeros, is left alone. */
static tamis_status next_member(ml_bytes *bytes) {
    while (bytes->input_end - bytes->input_at < 2 && !bytes->input_ended) TRY(fill(bytes));
    const unsigned char *const next = bytes->input + bytes->input_at;
    bytes->ended = bytes->input_end - bytes->input_at < 2 || next[0] != 0x1f || next[1] != 0x8b;
    if (!bytes->ended) inflateReset(bytes->state);
    return TAMIS_OK;
}

static tamis_status step_gzip(ml_bytes *bytes, char *to, size_t room, size_t *got) {
    z_stream *const stream = bytes->state;
    stream->next_in = bytes->input + bytes->input_at;
    stream->avail_in = (uInt)(bytes->input_end - bytes->input_at);
    stream->next_out = (Bytef *)to;
    stream->avail_out = (uInt)room;
    const int result = inflate(stream, Z_NO_FLUSH);
    bytes->input_at = bytes->input_end - stream->avail_in;
    *got = room - stream->avail_out;
    if (result == Z_STREAM_END) return next_member(bytes);
    if (result == Z_MEM_ERROR) return no_memory(bytes);
    if (result != Z_OK && result != Z_BUF_ERROR) return broken(bytes, stream->msg ? stream->msg : "bad block");
    return TAMIS_OK;
}

static void stop_gzip(ml_bytes *bytes) {
    inflateEnd(bytes->state);
    tamis_release(bytes->state);
}

#else
#define start_gzip NULL
#define step_gzip  NULL
#define stop_gzip  NULL
#endif

/* ---- xz */

#if TAMIS_HAVE_LZMA

enum { LZMA_MEMORY = 768 << 20 }; /* what xz -9 and beyond may ask for; it needs 65 MiB */

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

static tamis_status xz_failed(const ml_bytes *bytes, lzma_ret result) {
    switch (result) {
    case LZMA_MEM_ERROR: return no_memory(bytes);
    case LZMA_MEMLIMIT_ERROR: return broken(bytes, "it needs more than 768 MiB to unpack");
    case LZMA_FORMAT_ERROR: return broken(bytes, "not the xz format");
    case LZMA_OPTIONS_ERROR: return broken(bytes, "an option that liblzma does not know");
    case LZMA_BUF_ERROR: return broken(bytes, "it is cut short");
    default: return broken(bytes, "bad block");
    }
}

static tamis_status start_xz(ml_bytes *bytes) {
    void *memory;
    TRY(tamis_allocate_zeroed(1, sizeof(xz_state), "unpacking", &memory));
    xz_state *const state = memory;
    state->stream = (lzma_stream)LZMA_STREAM_INIT;
    state->allocator = (lzma_allocator){.alloc = xz_allocate, .free = xz_release};
    state->stream.allocator = &state->allocator;
    const lzma_ret result = lzma_stream_decoder(&state->stream, LZMA_MEMORY, LZMA_CONCATENATED);
    if (result != LZMA_OK) {
        tamis_release(memory);
        return xz_failed(bytes, result);
    }
    bytes->state = state;
    return TAMIS_OK;
}

static tamis_status step_xz(ml_bytes *bytes, char *to, size_t room, size_t *got) {
    lzma_stream *const stream = &((xz_state *)bytes->state)->stream;
    stream->next_in = bytes->input + bytes->input_at;
    stream->avail_in = bytes->input_end - bytes->input_at;
    stream->next_out = (uint8_t *)to;
    stream->avail_out = room;
    const lzma_ret result = lzma_code(stream, bytes->input_ended ? LZMA_FINISH : LZMA_RUN);
    bytes->input_at = bytes->input_end - stream->avail_in;
    *got = room - stream->avail_out;
    bytes->ended = result == LZMA_STREAM_END;
    return bytes->ended || result == LZMA_OK ? TAMIS_OK : xz_failed(bytes, result);
}

static void stop_xz(ml_bytes *bytes) {
    lzma_end(&((xz_state *)bytes->state)->stream);
    tamis_release(bytes->state);
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

static tamis_status start_zstd(ml_bytes *bytes) {
    void *memory;
    TRY(tamis_allocate_zeroed(1, sizeof(zstd_state), "unpacking", &memory));
    zstd_state *const state = memory;
    state->stream = ZSTD_createDStream();
    state->within = true;
    if (!state->stream) {
        tamis_release(memory);
        return no_memory(bytes);
    }
    bytes->state = state;
    return TAMIS_OK;
}

static tamis_status step_zstd(ml_bytes *bytes, char *to, size_t room, size_t *got) {
    zstd_state *const state = bytes->state;
    if (bytes->input_ended && bytes->input_at == bytes->input_end && !state->within) {
        bytes->ended = true;
        return TAMIS_OK;
    }
    ZSTD_inBuffer in = {.src = bytes->input, .size = bytes->input_end, .pos = bytes->input_at};
    ZSTD_outBuffer out = {.dst = to, .size = room};
    const size_t result = ZSTD_decompressStream(state->stream, &out, &in);
    bytes->input_at = in.pos;
    *got = out.pos;
    if (ZSTD_isError(result)) return broken(bytes, ZSTD_getErrorName(result));
    state->within = result != 0;
    return TAMIS_OK;
}

static void stop_zstd(ml_bytes *bytes) {
    ZSTD_freeDStream(((zstd_state *)bytes->state)->stream);
    tamis_release(bytes->state);
}

#else
#define start_zstd NULL
#define step_zstd  NULL
#define stop_zstd  NULL
#endif

/* ---- the whole */

static const ml_packer packers[] = {
    {"gzip", {0x1f, 0x8b, 0x08}, 3, start_gzip, step_gzip, stop_gzip},
    {"xz", {0xfd, '7', 'z', 'X', 'Z', 0x00}, 6, start_xz, step_xz, stop_xz},
    {"Zstandard", {0x28, 0xb5, 0x2f, 0xfd}, 4, start_zstd, step_zstd, stop_zstd},
};

static void stop(ml_bytes *bytes) {
    if (bytes->state) bytes->packer->stop(bytes);
    bytes->state = NULL;
    bytes->packer = NULL;
}

/* Looks at the first bytes and makes the packer ready that they belong to. */
static tamis_status begin(ml_bytes *bytes) {
    bytes->input_at = bytes->input_end = 0;
    bytes->input_ended = bytes->ended = false;
    while (bytes->input_end < MAGIC_MOST && !bytes->input_ended) TRY(fill(bytes));
    for (size_t i = 0; i < sizeof packers / sizeof *packers; i++) {
        const ml_packer *const packer = &packers[i];
        if (bytes->input_end < packer->magic_bytes || memcmp(bytes->input, packer->magic, packer->magic_bytes) != 0)
            continue;
        if (!packer->start)
            return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s: packed with %s, which this build of Tamis does not include",
                              bytes->name, packer->name);
        bytes->packer = packer;
        return packer->start(bytes);
    }
    return TAMIS_OK;
}

tamis_status ml_bytes_open(const char *path, ml_bytes *bytes) {
    tamis_status status = TAMIS_OK;
    void *memory = NULL;
    *bytes = (ml_bytes){.name = path};
    do bytes->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    while (bytes->descriptor < 0 && errno == EINTR);
    if (bytes->descriptor < 0) return file_error(path, "open");
    TRY_GOTO(failed, tamis_allocate(INPUT_BLOCK, 1, "a block of the file", &memory));
    bytes->input = memory;
    TRY_GOTO(failed, begin(bytes));
    return TAMIS_OK;
failed:
    ml_bytes_close(bytes);
    return status;
}

void ml_bytes_close(ml_bytes *bytes) {
    stop(bytes);
    tamis_release(bytes->input);
    if (bytes->descriptor >= 0) close(bytes->descriptor);
    bytes->input = NULL;
    bytes->descriptor = -1;
}

tamis_status ml_bytes_rewind(ml_bytes *bytes) {
    stop(bytes);
    if (lseek(bytes->descriptor, 0, SEEK_SET) < 0) return file_error(bytes->name, "go back to its beginning");
    const tamis_status status = begin(bytes);
    bytes->ended = status != TAMIS_OK;
    return status;
}

/* What is not packed: first what the look for a packer has read. */
static tamis_status read_plain(ml_bytes *bytes, char *to, size_t room, size_t *got) {
    const size_t left = bytes->input_end - bytes->input_at;
    if (left > 0) {
        *got = left < room ? left : room;
        memcpy(to, bytes->input + bytes->input_at, *got);
        bytes->input_at += *got;
        return TAMIS_OK;
    }
    TRY(read_some(bytes, to, room, got));
    bytes->ended = *got == 0;
    return TAMIS_OK;
}

tamis_status ml_bytes_read(ml_bytes *bytes, char *to, size_t room, size_t *got) {
    *got = 0;
    if (bytes->ended) return TAMIS_OK;
    if (!bytes->packer) return read_plain(bytes, to, room, got);
    while (*got == 0 && !bytes->ended) {
        if (bytes->input_at == bytes->input_end && !bytes->input_ended) TRY(fill(bytes));
        TRY(bytes->packer->step(bytes, to, room, got));
        if (*got == 0 && !bytes->ended && bytes->input_ended && bytes->input_at == bytes->input_end)
            return tamis_fail(TAMIS_ERROR_FORMAT, "%s: the %s data is broken: it is cut short", bytes->name,
                              bytes->packer->name);
    }
    return TAMIS_OK;
}
