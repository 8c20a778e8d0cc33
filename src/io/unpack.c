/* Unpacking gzip, xz and Zstandard from memory to memory, one table row each. */
#include "io/unpack.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

#if TAMIS_HAVE_ZLIB
#include "io/zlib_memory.h"
#endif
#if TAMIS_HAVE_LZMA
#include <lzma.h>
#endif
#if TAMIS_HAVE_ZSTD
#include <zstd.h>
#endif

/* A matrix in text shrinks 3 to 100 times; a file built to fill the memory shrinks without limit (xz) or 1030 times
   (gzip). Up to ALWAYS_FINE bytes are unpacked from anything. */
enum { MOST_RATIO = 1200, ALWAYS_FINE = 256 << 20, STEP = 4 << 20 };

tamis_status tamis_bytes_reserve(tamis_bytes *bytes, int64_t capacity, const char *name) {
    if (bytes->data && capacity <= bytes->capacity) return TAMIS_OK;
    if (capacity > INT64_MAX / 2 - TAMIS_TEXT_PADDING)
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s: %lld bytes do not fit the address space", name,
                          (long long)capacity);
    void *memory = bytes->data;
    const int64_t held = bytes->data ? bytes->capacity + TAMIS_TEXT_PADDING : 0;
    if (memory)
        TRY(tamis_reallocate(held, capacity + TAMIS_TEXT_PADDING, 1, "the file's content", &memory));
    else
        TRY(tamis_allocate(capacity + TAMIS_TEXT_PADDING, 1, "the file's content", &memory));
    bytes->data = memory;
    bytes->capacity = capacity;
    return TAMIS_OK;
}

typedef tamis_status unpack_function(const char *name, const unsigned char *data, int64_t bytes,
                                     const tamis_progress *progress, tamis_bytes *unpacked);

#if TAMIS_HAVE_ZLIB || TAMIS_HAVE_LZMA || TAMIS_HAVE_ZSTD

/* Room for more output: called when all of it is used. */
static tamis_status grow(const char *name, int64_t packed_bytes, tamis_bytes *unpacked) {
    if (unpacked->size < unpacked->capacity) return TAMIS_OK;
    if (unpacked->size >= ALWAYS_FINE && unpacked->size / MOST_RATIO >= packed_bytes)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: unpacks to more than %d times its size: this is no matrix", name,
                          MOST_RATIO);
    const int64_t first = packed_bytes < INT64_MAX / 16 ? packed_bytes * 4 + 4096 : packed_bytes;
    return tamis_bytes_reserve(unpacked, unpacked->capacity > 0 ? unpacked->capacity * 2 : first, name);
}

static tamis_status broken(const char *name, const char *packer, const char *reason) {
    return tamis_fail(TAMIS_ERROR_FORMAT, "%s: the %s data is broken: %s", name, packer, reason);
}
#endif

#if !TAMIS_HAVE_ZLIB || !TAMIS_HAVE_LZMA || !TAMIS_HAVE_ZSTD
static tamis_status not_built_in(const char *name, const char *packer) {
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s: packed with %s, which this build of Tamis does not include", name,
                      packer);
}
#endif

#if TAMIS_HAVE_ZLIB

static tamis_status unpack_gzip(const char *name, const unsigned char *data, int64_t bytes,
                                const tamis_progress *progress, tamis_bytes *unpacked) {
    tamis_status status = TAMIS_OK;
    z_stream stream = {.zalloc = tamis_zlib_allocate, .zfree = tamis_zlib_free};
    if (inflateInit2(&stream, 15 + 16) != Z_OK) return tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory to unpack", name);
    const unsigned char *next = data, *const end = data + bytes;
    bool member_ended = false;
    for (;;) {
        TRY_GOTO(end, grow(name, bytes, unpacked));
        const int64_t left = end - next, room = unpacked->capacity - unpacked->size;
        const uInt in = (uInt)(left < STEP ? left : STEP), out = (uInt)(room < STEP ? room : STEP);
        memcpy(&stream.next_in, &next, sizeof next); /* zlib's pointer is not const; it does not write there */
        stream.avail_in = in;
        stream.next_out = (Bytef *)unpacked->data + unpacked->size;
        stream.avail_out = out;
        const int result = inflate(&stream, Z_NO_FLUSH);
        next += in - stream.avail_in;
        unpacked->size += out - stream.avail_out;
        if (result == Z_STREAM_END) { /* another member may follow; anything else, such as zeros, is left alone */
            member_ended = true;
            if (end - next < 2 || next[0] != 0x1f || next[1] != 0x8b) break;
            inflateReset(&stream);
            member_ended = false;
        } else if (result == Z_MEM_ERROR) {
            status = tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory to unpack", name);
            goto end;
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            status = broken(name, "gzip", stream.msg ? stream.msg : "bad block");
            goto end;
        } else if (next == end && stream.avail_out > 0) {
            break;
        }
        TRY_GOTO(end, tamis_progress_step(progress, (double)(next - data) / (double)bytes, name));
    }
    if (!member_ended) status = broken(name, "gzip", "it is cut short");
end:
    inflateEnd(&stream);
    return status;
}

#else

static tamis_status unpack_gzip(const char *name, const unsigned char *data, int64_t bytes,
                                const tamis_progress *progress, tamis_bytes *unpacked) {
    (void)data, (void)bytes, (void)progress, (void)unpacked;
    return not_built_in(name, "gzip");
}

#endif

#if TAMIS_HAVE_LZMA

enum { LZMA_MEMORY = 768 << 20 }; /* what xz -9 and beyond may ask for; it needs 65 MiB */

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

static const char *xz_reason(lzma_ret result) {
    switch (result) {
    case LZMA_MEMLIMIT_ERROR: return "it needs more than 768 MiB to unpack";
    case LZMA_FORMAT_ERROR: return "not the xz format";
    case LZMA_OPTIONS_ERROR: return "an option that liblzma does not know";
    case LZMA_BUF_ERROR: return "it is cut short";
    default: return "bad block";
    }
}

static tamis_status unpack_xz(const char *name, const unsigned char *data, int64_t bytes,
                              const tamis_progress *progress, tamis_bytes *unpacked) {
    tamis_status status = TAMIS_OK;
    const lzma_allocator allocator = {.alloc = xz_allocate, .free = xz_release};
    lzma_stream stream = LZMA_STREAM_INIT;
    stream.allocator = &allocator;
    if (lzma_stream_decoder(&stream, LZMA_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
        return tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory to unpack", name);
    int64_t used = 0;
    for (;;) {
        TRY_GOTO(end, grow(name, bytes, unpacked));
        const int64_t left = bytes - used, room = unpacked->capacity - unpacked->size;
        const size_t in = (size_t)(left < STEP ? left : STEP), out = (size_t)(room < STEP ? room : STEP);
        stream.next_in = data + used;
        stream.avail_in = in;
        stream.next_out = (uint8_t *)unpacked->data + unpacked->size;
        stream.avail_out = out;
        const lzma_ret result = lzma_code(&stream, (int64_t)in == left ? LZMA_FINISH : LZMA_RUN);
        used += (int64_t)(in - stream.avail_in);
        unpacked->size += (int64_t)(out - stream.avail_out);
        if (result == LZMA_STREAM_END) break;
        if (result == LZMA_MEM_ERROR) {
            status = tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory to unpack", name);
            goto end;
        }
        if (result != LZMA_OK) {
            status = broken(name, "xz", xz_reason(result));
            goto end;
        }
        TRY_GOTO(end, tamis_progress_step(progress, (double)used / (double)bytes, name));
    }
end:
    lzma_end(&stream);
    return status;
}

#else

static tamis_status unpack_xz(const char *name, const unsigned char *data, int64_t bytes,
                              const tamis_progress *progress, tamis_bytes *unpacked) {
    (void)data, (void)bytes, (void)progress, (void)unpacked;
    return not_built_in(name, "xz");
}

#endif

#if TAMIS_HAVE_ZSTD

static tamis_status unpack_zstd(const char *name, const unsigned char *data, int64_t bytes,
                                const tamis_progress *progress, tamis_bytes *unpacked) {
    tamis_status status = TAMIS_OK;
    ZSTD_DStream *const stream = ZSTD_createDStream();
    if (!stream) return tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory to unpack", name);
    ZSTD_inBuffer in = {.src = data, .size = (size_t)bytes, .pos = 0};
    for (;;) {
        TRY_GOTO(end, grow(name, bytes, unpacked));
        const int64_t room = unpacked->capacity - unpacked->size;
        ZSTD_outBuffer out = {.dst = unpacked->data + unpacked->size, .size = (size_t)(room < STEP ? room : STEP)};
        const size_t result = ZSTD_decompressStream(stream, &out, &in);
        unpacked->size += (int64_t)out.pos;
        if (ZSTD_isError(result)) {
            status = broken(name, "Zstandard", ZSTD_getErrorName(result));
            goto end;
        }
        if (in.pos == in.size && out.pos < out.size) {
            if (result != 0) status = broken(name, "Zstandard", "it is cut short");
            break;
        }
        TRY_GOTO(end, tamis_progress_step(progress, (double)in.pos / (double)bytes, name));
    }
end:
    ZSTD_freeDStream(stream);
    return status;
}

#else

static tamis_status unpack_zstd(const char *name, const unsigned char *data, int64_t bytes,
                                const tamis_progress *progress, tamis_bytes *unpacked) {
    (void)data, (void)bytes, (void)progress, (void)unpacked;
    return not_built_in(name, "Zstandard");
}

#endif

static const struct packer {
    unsigned char magic[6];
    int magic_bytes;
    unpack_function *unpack;
} packers[] = {
    {{0x1f, 0x8b, 0x08}, 3, unpack_gzip},
    {{0xfd, '7', 'z', 'X', 'Z', 0x00}, 6, unpack_xz},
    {{0x28, 0xb5, 0x2f, 0xfd}, 4, unpack_zstd},
};

tamis_status tamis_unpack(const char *name, const unsigned char *data, int64_t bytes, const tamis_progress *progress,
                          bool *packed, tamis_bytes *unpacked) {
    *packed = false;
    for (size_t i = 0; i < sizeof packers / sizeof *packers; i++) {
        if (bytes < packers[i].magic_bytes || memcmp(data, packers[i].magic, (size_t)packers[i].magic_bytes) != 0)
            continue;
        *packed = true;
        return packers[i].unpack(name, data, bytes, progress, unpacked);
    }
    return TAMIS_OK;
}
