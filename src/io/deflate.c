/* See deflate.h. */
#include "io/deflate.h"

#include "base/status.h"
#include "io/unpack.h"

#if TAMIS_HAVE_ZLIB

#include <string.h>

#include "io/zlib_memory.h"

enum { PACKED_BYTES = 256 << 10, LEVEL = 4, WINDOW_BITS = 15, GZIP = 16 };

struct tamis_deflate {
    z_stream stream;
    bool gzip; /* which has a checksum of its own */
    uLong crc;
    unsigned char packed[PACKED_BYTES];
};

tamis_status tamis_deflate_open(const char *path, bool gzip, tamis_deflate **deflate) {
    tamis_deflate *made;
    TRY(tamis_allocate_zeroed(1, sizeof *made, "packing", (void **)&made));
    made->stream.zalloc = tamis_zlib_allocate;
    made->stream.zfree = tamis_zlib_free;
    made->gzip = gzip;
    made->crc = crc32(0, NULL, 0);
    const int window = gzip ? WINDOW_BITS + GZIP : -WINDOW_BITS;
    if (deflateInit2(&made->stream, LEVEL, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        tamis_release(made);
        return tamis_fail(TAMIS_ERROR_MEMORY, "%s: no memory to pack", path);
    }
    *deflate = made;
    return TAMIS_OK;
}

tamis_status tamis_deflate_pack(tamis_deflate *packer, const void *data, int64_t bytes, bool last,
                                tamis_deflate_sink *sink, void *context) {
    z_stream *const stream = &packer->stream;
    memcpy(&stream->next_in, &data, sizeof data); /* zlib's pointer is not const; it does not write there */
    stream->avail_in = (uInt)bytes;
    if (bytes > 0 && !packer->gzip) packer->crc = crc32(packer->crc, data, (uInt)bytes);
    int result;
    do {
        stream->next_out = packer->packed;
        stream->avail_out = PACKED_BYTES;
        result = deflate(stream, last ? Z_FINISH : Z_NO_FLUSH);
        TRY(sink(context, packer->packed, PACKED_BYTES - (int64_t)stream->avail_out));
    } while (last ? result != Z_STREAM_END : stream->avail_out == 0);
    return TAMIS_OK;
}

uint32_t tamis_deflate_crc(const tamis_deflate *packer) { return (uint32_t)packer->crc; }

void tamis_deflate_close(tamis_deflate *packer) {
    if (!packer) return;
    deflateEnd(&packer->stream);
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
