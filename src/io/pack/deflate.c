/* See deflate.h. */
#include "io/pack/deflate.h"

#include "base/status.h"
#include "io/pack/unpack.h"

#if TAMIS_HAVE_ISAL || TAMIS_HAVE_ZLIB

#include <string.h>

#include "base/memory.h"

enum { PACKED_BYTES = 256 << 10 };

#if TAMIS_HAVE_ISAL

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

enum { LEVEL = 1 };

typedef struct engine {
    struct isal_zstream stream;
    unsigned char tables[ISAL_DEF_LVL1_DEFAULT];
} engine;

static bool start(engine *e, bool gzip) {
    isal_deflate_init(&e->stream);
    e->stream.level = LEVEL;
    e->stream.level_buf = e->tables;
    e->stream.level_buf_size = sizeof e->tables;
    e->stream.gzip_flag = gzip ? IGZIP_GZIP : IGZIP_DEFLATE;
    return true;
}

static uint32_t checksum(uint32_t before, const void *data, int64_t bytes) {
    return crc32_gzip_refl(before, data, (uint64_t)bytes);
}

/* Compresses into `room`, which has *left bytes; sets *left to the bytes still free. *ended: all input is consumed. */
static bool step(engine *e, bool last, unsigned char *room, uint32_t *left, bool *ended) {
    e->stream.next_out = room;
    e->stream.avail_out = *left;
    e->stream.end_of_stream = last;
    const bool good = isal_deflate(&e->stream) == COMP_OK;
    *left = e->stream.avail_out;
    *ended = last ? e->stream.internal_state.state == ZSTATE_END : *left > 0;
    return good;
}

static void stop(engine *e) { (void)e; }

#else

#include "io/pack/zlib_memory.h"

enum { LEVEL = 4, WINDOW_BITS = 15, GZIP = 16 };

typedef struct engine {
    z_stream stream;
} engine;

static bool start(engine *e, bool gzip) {
    e->stream.zalloc = tamis_zlib_allocate;
    e->stream.zfree = tamis_zlib_free;
    const int window = gzip ? WINDOW_BITS + GZIP : -WINDOW_BITS;
    return deflateInit2(&e->stream, LEVEL, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK;
}

static uint32_t checksum(uint32_t before, const void *data, int64_t bytes) {
    return (uint32_t)crc32(before, data, (uInt)bytes);
}

static bool step(engine *e, bool last, unsigned char *room, uint32_t *left, bool *ended) {
    e->stream.next_out = room;
    e->stream.avail_out = *left;
    const int result = deflate(&e->stream, last ? Z_FINISH : Z_NO_FLUSH);
    *left = e->stream.avail_out;
    *ended = last ? result == Z_STREAM_END : *left > 0;
    return result != Z_STREAM_ERROR;
}

static void stop(engine *e) { deflateEnd(&e->stream); }

#endif

struct tamis_deflate {
    engine engine;
    bool gzip; /* gzip has its own checksum */
    uint32_t crc;
    unsigned char packed[PACKED_BYTES];
};

tamis_status tamis_deflate_open(const char *path, bool gzip, tamis_deflate **deflate) {
    tamis_deflate *made;
    TRY(tamis_allocate_zeroed(1, sizeof *made, "packing", (void **)&made));
    made->gzip = gzip;
    if (!start(&made->engine, gzip)) {
        tamis_release(made);
        return tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory to pack", path);
    }
    *deflate = made;
    return TAMIS_OK;
}

tamis_status tamis_deflate_pack(tamis_deflate *packer, const void *data, int64_t bytes, bool last,
                                tamis_deflate_sink *sink, void *context) {
    memcpy(&packer->engine.stream.next_in, &data,
           sizeof data); /* the pointer is not to const, but the library does not write there */
    packer->engine.stream.avail_in = (uint32_t)bytes;
    if (bytes > 0 && !packer->gzip) packer->crc = checksum(packer->crc, data, bytes);
    for (bool ended = false; !ended;) {
        uint32_t left = PACKED_BYTES;
        if (!step(&packer->engine, last, packer->packed, &left, &ended))
            return tamis_fail(TAMIS_ERROR_INTERNAL, "packing failed");
        TRY(sink(context, packer->packed, PACKED_BYTES - (int64_t)left));
    }
    return TAMIS_OK;
}

uint32_t tamis_deflate_crc(const tamis_deflate *packer) { return packer->crc; }

void tamis_deflate_close(tamis_deflate *packer) {
    if (!packer) return;
    stop(&packer->engine);
    tamis_release(packer);
}

#else

tamis_status tamis_deflate_open(const char *path, bool gzip, tamis_deflate **deflate) {
    *deflate = NULL;
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s: this build of Tamis does not include %s", path,
                      gzip ? "gzip" : "zlib, which .npz needs");
}

tamis_status tamis_deflate_pack(tamis_deflate *deflate, const void *data, int64_t bytes, bool last,
                                tamis_deflate_sink *sink, void *context) {
    (void)deflate, (void)data, (void)bytes, (void)last, (void)sink, (void)context;
    return TAMIS_ERROR_UNSUPPORTED; /* nothing opens one */
}

uint32_t tamis_deflate_crc(const tamis_deflate *deflate) {
    (void)deflate;
    return 0;
}

void tamis_deflate_close(tamis_deflate *deflate) { (void)deflate; }

#endif
